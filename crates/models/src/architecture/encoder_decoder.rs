//! An encoder beside a decoder that looks at it: T5.

use super::{
    ArchitectureError,
    blocks::{
        Context, LayerBias, Linear, SharedTable, causal_bias, draw_layers, padding_bias,
        relative_bias, score_rows, sequence_positions,
    },
    config::{self, EncoderDecoder},
    description::{Positions, Stack},
    draft::{Draft, Value, hidden_dims},
    families::{Drawn, Request},
    heads::Head,
    naming::{LayerNames, T5_DECODER, T5_DECODER_GATED, T5_ENCODER, T5_ENCODER_GATED},
};
use crate::{Init, Layout};
use types::{InputRole, Postprocess};

pub(super) fn draw(request: &Request, draft: &mut Draft) -> Result<Drawn, ArchitectureError> {
    let model = config::t5(&request.keys)?;
    let (stack, rows) = (&model.text.stack, model.text.vocabulary);
    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(rows));
    let mask = draft.token_ids("attention_mask", InputRole::AttentionMask, "sequence", None);
    let gated = stack.gated;
    let names = if gated { LayerNames { mlp: T5_ENCODER_GATED, ..T5_ENCODER } } else { T5_ENCODER };
    let side = Side { name: "encoder", names, stack, model: &model };
    let padding = draft.within("encoder", |draft| padding_bias(draft, &mask));
    let encoded = side.draw(draft, &ids, &padding, None);
    let mean_pool = Drawn { max_length: None, postprocess: Postprocess::MeanPool };
    if request.head == Head::EncoderOnly {
        draft.output("last_hidden_state", encoded, hidden_dims("sequence", stack.hidden));
        return Ok(mean_pool);
    }

    let length = "decoder_sequence";
    let role = InputRole::DecoderTokenIds;
    let decoder_ids = draft.token_ids("decoder_input_ids", role, length, Some(rows));
    let names = if gated { LayerNames { mlp: T5_DECODER_GATED, ..T5_DECODER } } else { T5_DECODER };
    let stack = &Stack { layers: model.decoder_layers, ..stack.clone() };
    let side = Side { name: "decoder", names, stack, model: &model };
    let causal = draft.within("decoder", |draft| {
        let positions = sequence_positions(draft, &decoder_ids);
        causal_bias(draft, &positions, &positions, None, None)
    });
    let hidden = side.draw(draft, &decoder_ids, &causal, Some((encoded.clone(), padding)));
    if request.head == Head::Base {
        draft.output("last_hidden_state", hidden, hidden_dims(length, stack.hidden));
        let dims = hidden_dims("sequence", stack.hidden);
        draft.output("encoder_last_hidden_state", encoded, dims);
        return Ok(mean_pool);
    }
    let scores = language_head(draft, &model, hidden, &decoder_ids);
    draft.output("logits", scores, hidden_dims(length, rows));
    Ok(Drawn { max_length: None, postprocess: Postprocess::Argmax })
}

/// The encoder or the decoder.
struct Side<'a> {
    name: &'static str,
    names: LayerNames,
    stack: &'a Stack,
    model: &'a EncoderDecoder,
}

impl Side<'_> {
    fn draw(
        &self,
        draft: &mut Draft,
        ids: &str,
        mask: &str,
        encoder: Option<(Value, Value)>,
    ) -> Value {
        let stack = self.stack;
        let hidden = draft.within(&format!("{}.embed_tokens", self.name), |draft| {
            let table = shared_table(draft, self.model);
            draft.op("Gather", &[&table.weight, ids], &[("axis", 0.into())])
        });
        // The first layer owns the bias of distances, all layers use it.
        let first = format!("{}.0.{}", self.names.list, self.names.attention.module);
        let bias = draft.within(&first, |draft| {
            let Positions::Relative { buckets, longest_distance } = self.model.text.positions
            else {
                return mask.to_owned();
            };
            let positions = sequence_positions(draft, ids);
            let both_ways = encoder.is_none();
            let bias = relative_bias(
                draft,
                &positions,
                buckets,
                longest_distance,
                stack.heads,
                both_ways,
                stack.init,
            );
            draft.op("Add", &[&bias, mask], &[])
        });
        let bias = LayerBias { full: Some(bias), sliding: None };
        let context = Context { bias, encoder, ..Context::default() };
        let hidden = draw_layers(draft, &self.names, stack, &context, hidden);
        let norm = format!("{}.final_layer_norm", self.name);
        stack.norm.draw(draft, &norm, &hidden, stack.hidden)
    }
}

fn shared_table(draft: &mut Draft, model: &EncoderDecoder) -> SharedTable {
    let (rows, width) = (model.text.vocabulary, model.text.stack.hidden);
    let (dims, init) = ([rows, width], Init::Normal { std: 1.0 });
    let weight = draft.shared_weight("shared.weight".to_owned(), &dims, Layout::AsStored, init);
    SharedTable { weight, rows, width }
}

fn language_head(
    draft: &mut Draft,
    model: &EncoderDecoder,
    hidden: Value,
    decoder_ids: &str,
) -> Value {
    let stack = &model.text.stack;
    if !model.scaled_head {
        let head = Linear::torch(stack.hidden, model.text.vocabulary, stack.init).without_bias();
        return head.draw(draft, "lm_head", &hidden);
    }
    let table = shared_table(draft, model);
    let scale = draft.number((stack.hidden as f32).powf(-0.5));
    let scaled = draft.op("Mul", &[&hidden, &scale], &[]);
    draft.within("lm_head", |draft| score_rows(draft, &scaled, &table, None, decoder_ids))
}
