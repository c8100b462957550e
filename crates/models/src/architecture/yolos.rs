//! A detector that is a plain encoder of image patches: YOLOS, whose extra tokens become objects.

use super::{
    ArchitectureError,
    blocks::{Activation, Context, Linear, draw_layers},
    config::{Detector, labels, yolos},
    draft::{Draft, Value, vector_dims},
    families::{Drawn, Request},
    heads::Head,
    naming,
    text_encoder::pooler,
    vision::{expand, patches, pixel_values, prepend},
};
use crate::{Init, Layout};
use graph::Dim;
use types::Postprocess;

/// Linear layers of a prediction head.
const HEAD_LAYERS: usize = 3;

pub(super) fn draw(request: &Request, draft: &mut Draft) -> Result<Drawn, ArchitectureError> {
    let detector = yolos(&request.keys)?;
    let Detector { vision, tokens, .. } = &detector;
    let (stack, width, init) = (&vision.stack, vision.stack.hidden, vision.stack.init);
    let places = vision.places() + tokens;
    let pixels = pixel_values(draft, vision);
    let hidden = draft.within(request.base, |draft| {
        let hidden = draft.within("embeddings", |draft| {
            let patches = patches(draft, vision, "patch_embeddings.projection", &pixels, true);
            let class = draft.weight("cls_token", &[1, 1, width], Layout::AsStored, init);
            let all = prepend(draft, &class, &patches, &pixels, width);
            let dims = [1, *tokens, width];
            let objects = draft.weight("detection_tokens", &dims, Layout::AsStored, init);
            let objects = expand(draft, &objects, &pixels, *tokens, width);
            let all = draft.concat(&[&all, &objects], 1);
            let dims = [1, places, width];
            let known = draft.weight("position_embeddings", &dims, Layout::AsStored, init);
            draft.op("Add", &[&all, &known], &[])
        });
        let between = match detector.between {
            true => positions_between(draft, stack.layers, places, width, init),
            false => Vec::new(),
        };
        let context = Context { between, ..Context::default() };
        let hidden = draw_layers(draft, &naming::YOLOS, stack, &context, hidden);
        stack.norm.draw(draft, "layernorm", &hidden, width)
    });
    if request.head == Head::Objects {
        let objects = draft.slice(&hidden, (places - tokens) as i64, places as i64, 1);
        // One class more than there are: no object.
        let classes = labels(&request.keys)? + 1;
        let scores = predict(draft, "class_labels_classifier", &objects, [width, classes], init);
        let boxes = predict(draft, "bbox_predictor", &objects, [width, 4], init);
        let boxes = draft.op("Sigmoid", &[&boxes], &[]);
        let dims = |last: usize| vec![Dim::from("batch"), Dim::from(*tokens), Dim::from(last)];
        draft.output("logits", scores, dims(classes));
        draft.output("pred_boxes", boxes, dims(4));
        return Ok(Drawn { max_length: None, postprocess: Postprocess::Argmax });
    }
    let pooled = pooler(draft, &hidden, width, init);
    let dims = vec![Dim::from("batch"), Dim::from(places), Dim::from(width)];
    draft.output("last_hidden_state", hidden, dims);
    draft.output("pooler_output", pooled, vector_dims(width));
    Ok(Drawn { max_length: None, postprocess: Postprocess::None })
}

/// The positions that are added again after each layer but the last.
fn positions_between(
    draft: &mut Draft,
    layers: usize,
    places: usize,
    width: usize,
    init: Init,
) -> Vec<Value> {
    draft.within("encoder.interpolation", |draft| {
        if layers < 2 {
            return Vec::new();
        }
        let dims = [layers - 1, 1, places, width];
        let all = draft.weight("mid_position_embeddings", &dims, Layout::AsStored, init);
        (0..layers - 1)
            .map(|layer| {
                let one = draft.slice(&all, layer as i64, layer as i64 + 1, 0);
                draft.reshape(&one, &[1, places as i64, width as i64])
            })
            .collect()
    })
}

/// Linear layers with ReLU between them.
fn predict(
    draft: &mut Draft,
    module: &str,
    x: &str,
    [width, outputs]: [usize; 2],
    init: Init,
) -> Value {
    let mut x = x.to_owned();
    for layer in 0..HEAD_LAYERS {
        let is_last = layer + 1 == HEAD_LAYERS;
        let linear = Linear::torch(width, if is_last { outputs } else { width }, init);
        x = linear.draw(draft, &format!("{module}.layers.{layer}"), &x);
        if !is_last {
            x = Activation::Relu.draw(draft, module, &x);
        }
    }
    x
}
