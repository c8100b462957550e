//! Two towers, text and image, and how well each text fits each image: CLIP.

use super::{
    ArchitectureError,
    blocks::{Context, LayerBias, Linear, causal_bias, draw_layers, embed, sequence_positions},
    config::{clip_text, clip_vision},
    description::{Text, Vision},
    draft::{Draft, Value, vector_dims},
    families::{Drawn, Request},
    naming,
    vision::{patches, pixel_values, prepend},
};
use crate::{Init, Layout};
use graph::{Attribute, DataType, Dim};
use types::{InputRole, Postprocess};

/// The end token of configurations written before it was fixed; its place is then where the largest id stands.
const WRONG_END_TOKEN: i64 = 2;

pub(super) fn draw(request: &Request, draft: &mut Draft) -> Result<Drawn, ArchitectureError> {
    let keys = request.keys;
    let text_keys = keys.table("text_config")?;
    let text = clip_text(&text_keys)?;
    let end = text_keys.token_or("eos_token_id", 49_407)?;
    let vision = clip_vision(&keys.table("vision_config")?)?;
    let width = keys.count_or("projection_dim", 512)?;

    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(text.vocabulary));
    let pixels = pixel_values(draft, &vision);
    let mask = draft.token_ids("attention_mask", InputRole::AttentionMask, "sequence", None);

    let images = draft.within("vision_model", |draft| image_tower(draft, &vision, &pixels));
    let init = vision.stack.init;
    let head = Linear::torch(vision.stack.hidden, width, init).without_bias();
    let images = head.draw(draft, "visual_projection", &images);
    let images = scale_to_one(draft, &images);

    let texts = draft.within("text_model", |draft| text_tower(draft, &text, end, &ids, &mask));
    let head = Linear::torch(text.stack.hidden, width, text.stack.init).without_bias();
    let texts = head.draw(draft, "text_projection", &texts);
    let texts = scale_to_one(draft, &texts);

    let columns = draft.transpose(&images, &[1, 0]);
    let fit = draft.op("MatMul", &[&texts, &columns], &[]);
    let start = keys.number_or("logit_scale_init_value", 2.6592)? as f32;
    let scale = draft.weight("logit_scale", &[], Layout::AsStored, Init::Constant(start));
    let scale = draft.op("Exp", &[&scale], &[]);
    let per_text = draft.op("Mul", &[&fit, &scale], &[]);
    let per_image = draft.transpose(&per_text, &[1, 0]);
    let square = vec![Dim::from("batch"), Dim::from("batch")];
    draft.output("logits_per_image", per_image, square.clone());
    draft.output("logits_per_text", per_text, square);
    draft.output("text_embeds", texts, vector_dims(width));
    draft.output("image_embeds", images, vector_dims(width));
    Ok(Drawn { max_length: text.positions.longest(), postprocess: Postprocess::Argmax })
}

/// The image's class token after all layers.
fn image_tower(draft: &mut Draft, vision: &Vision, pixels: &str) -> Value {
    let (stack, width) = (&vision.stack, vision.stack.hidden);
    let hidden = draft.within("embeddings", |draft| {
        let patches = patches(draft, vision, "patch_embedding", pixels, false);
        let class = draft.weight("class_embedding", &[width], Layout::AsStored, stack.init);
        let all = prepend(draft, &class, &patches, pixels, width);
        let places = draft.within("position_embedding", |draft| {
            draft.weight("weight", &[vision.places(), width], Layout::AsStored, stack.init)
        });
        draft.op("Add", &[&all, &places], &[])
    });
    let hidden = stack.norm.draw(draft, "pre_layrnorm", &hidden, width);
    let hidden = draw_layers(draft, &naming::CLIP, stack, &Context::default(), hidden);
    let class = draft.pick(&hidden, 0, 1);
    stack.norm.draw(draft, "post_layernorm", &class, width)
}

/// The text's end token after all layers.
fn text_tower(draft: &mut Draft, text: &Text, end: i64, ids: &str, mask: &str) -> Value {
    let (stack, width) = (&text.stack, text.stack.hidden);
    let positions = sequence_positions(draft, ids);
    let hidden = draft.within("embeddings", |draft| {
        let tokens = embed(draft, "token_embedding", ids, text.vocabulary, width, stack.init);
        let rows = text.positions.longest().unwrap_or(1);
        let places = embed(draft, "position_embedding", &positions, rows, width, stack.init);
        draft.op("Add", &[&tokens, &places], &[])
    });
    let bias = causal_bias(draft, &positions, &positions, Some(mask), None);
    let bias = LayerBias { full: Some(bias), sliding: None };
    let context = Context { bias, ..Context::default() };
    let hidden = draw_layers(draft, &naming::CLIP, stack, &context, hidden);
    let hidden = stack.norm.draw(draft, "final_layer_norm", &hidden, width);

    let marks = if end == WRONG_END_TOKEN {
        draft.cast(ids, DataType::Int32)
    } else {
        let end = draft.integer(end);
        let ends = draft.op("Equal", &[ids, &end], &[]);
        draft.cast(&ends, DataType::Int32)
    };
    let attributes = [("axis", Attribute::Int(-1)), ("keepdims", 1.into())];
    let place = draft.op("ArgMax", &[&marks], &attributes);
    draft.op("GatherND", &[&hidden, &place], &[("batch_dims", 1.into())])
}

/// Divides each vector by its length.
fn scale_to_one(draft: &mut Draft, x: &str) -> Value {
    let attributes = [("axes", Attribute::Ints(vec![-1])), ("keepdims", 1.into())];
    let length = draft.op("ReduceL2", &[x], &attributes);
    draft.op("Div", &[x, &length], &[])
}
