//! Encoders of image patches: ViT, and the patches that CLIP's vision tower shares.

use super::{
    ArchitectureError,
    blocks::{Context, Linear, draw_layers},
    config::{labels, vit},
    description::Vision,
    draft::{Draft, Value, vector_dims},
    families::{Drawn, Request},
    heads::Head,
    naming,
    text_encoder::pooler,
};
use crate::{Init, Layout};
use graph::{Attribute, DataType, Dim};
use types::{InputRole, Postprocess};

pub(super) fn draw(request: &Request, draft: &mut Draft) -> Result<Drawn, ArchitectureError> {
    let vision = vit(&request.keys)?;
    let (stack, width, init) = (&vision.stack, vision.stack.hidden, vision.stack.init);
    let pixels = pixel_values(draft, &vision);
    let hidden = draft.within(request.base, |draft| {
        let hidden = draft.within("embeddings", |draft| {
            let patches = patches(draft, &vision, "patch_embeddings.projection", &pixels, true);
            let class = draft.weight("cls_token", &[1, 1, width], Layout::AsStored, init);
            let all = prepend(draft, &class, &patches, &pixels, width);
            let dims = [1, vision.places(), width];
            let places = draft.weight("position_embeddings", &dims, Layout::AsStored, init);
            draft.op("Add", &[&all, &places], &[])
        });
        let hidden = draw_layers(draft, &naming::VIT, stack, &Context::default(), hidden);
        stack.norm.draw(draft, "layernorm", &hidden, width)
    });
    if request.head == Head::SequenceClasses {
        let first = draft.pick(&hidden, 0, 1);
        let classes = labels(&request.keys)?;
        let scores = Linear::torch(width, classes, init).draw(draft, "classifier", &first);
        draft.output("logits", scores, vector_dims(classes));
        return Ok(Drawn { max_length: None, postprocess: Postprocess::Argmax });
    }
    let places = Dim::from(vision.places());
    let dims = vec![Dim::from("batch"), places, Dim::from(width)];
    let pooled = pooler(draft, &hidden, width, init);
    draft.output("last_hidden_state", hidden, dims);
    draft.output("pooler_output", pooled, vector_dims(width));
    Ok(Drawn { max_length: None, postprocess: Postprocess::None })
}

/// Images, `[batch, channels, height, width]`.
pub(super) fn pixel_values(draft: &mut Draft, vision: &Vision) -> Value {
    let [height, width] = vision.image.map(Dim::from);
    let dims = [Dim::from("batch"), Dim::from(vision.channels), height, width];
    draft.input("pixel_values", InputRole::Image, DataType::Float, &dims, None)
}

/// One vector for each patch of the image, `[batch, patches, width]`.
pub(super) fn patches(
    draft: &mut Draft,
    vision: &Vision,
    module: &str,
    pixels: &str,
    bias: bool,
) -> Value {
    let (width, patch, init) = (vision.stack.hidden, vision.patch, vision.stack.init);
    let patches = draft.within(module, |draft| {
        let dims = [width, vision.channels, patch, patch];
        let mut inputs =
            vec![pixels.to_owned(), draft.weight("weight", &dims, Layout::AsStored, init)];
        if bias {
            let zero = Init::Constant(0.0);
            inputs.push(draft.weight("bias", &[width], Layout::AsStored, zero));
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let sizes = Attribute::Ints(vec![patch as i64; 2]);
        draft.op("Conv", &inputs, &[("kernel_shape", sizes.clone()), ("strides", sizes)])
    });
    let count = vision.patches() as i64;
    let flat = draft.reshape(&patches, &[0, width as i64, count]);
    draft.transpose(&flat, &[0, 2, 1])
}

/// Puts the class token before the patches of every image.
pub(super) fn prepend(
    draft: &mut Draft,
    class: &str,
    patches: &str,
    pixels: &str,
    width: usize,
) -> Value {
    let classes = expand(draft, class, pixels, 1, width);
    draft.concat(&[&classes, patches], 1)
}

/// The same tokens for every image of the batch.
pub(super) fn expand(
    draft: &mut Draft,
    tokens: &str,
    pixels: &str,
    count: usize,
    width: usize,
) -> Value {
    let shape = draft.op("Shape", &[pixels], &[]);
    let batch = draft.slice(&shape, 0, 1, 0);
    let rest = draft.integers(&[count as i64, width as i64]);
    let shape = draft.concat(&[&batch, &rest], 0);
    draft.op("Expand", &[tokens, &shape], &[])
}
