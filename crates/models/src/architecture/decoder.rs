//! Decoders of text that predict the next token: GPT-2, Llama, Mistral, Qwen2.

use super::{
    ArchitectureError,
    blocks::{
        Context, LayerBias, Linear, SharedTable, causal_bias, draw_layers, embed, rotary_tables,
        score_rows, sequence_positions,
    },
    description::{Positions, Text},
    draft::{Draft, hidden_dims},
    families::{Drawn, Request},
    heads::Head,
    naming::{self, LayerNames},
};
use crate::Layout;
use types::{InputRole, Postprocess};

/// What one family of decoders calls its parts.
pub(super) struct Names {
    layers: &'static LayerNames,
    tokens: &'static str,
    places: &'static str,
    norm: &'static str,
}

pub(super) const GPT2: Names =
    Names { layers: &naming::GPT2, tokens: "wte", places: "wpe", norm: "ln_f" };

pub(super) const LLAMA: Names =
    Names { layers: &naming::LLAMA, tokens: "embed_tokens", places: "", norm: "norm" };

pub(super) fn draw(
    request: &Request,
    draft: &mut Draft,
    text: &Text,
    names: &Names,
) -> Result<Drawn, ArchitectureError> {
    let (stack, rows) = (&text.stack, text.vocabulary);
    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(rows));
    let mask = draft.token_ids("attention_mask", InputRole::AttentionMask, "sequence", None);
    let hidden = draft.within(request.base, |draft| {
        let positions = sequence_positions(draft, &ids);
        let mut hidden = embed(draft, names.tokens, &ids, rows, stack.hidden, stack.init);
        if let Positions::Learned { places } = text.positions {
            let init = stack.init;
            let places = embed(draft, names.places, &positions, places, stack.hidden, init);
            hidden = draft.op("Add", &[&hidden, &places], &[]);
        }
        let rotary = match text.positions {
            Positions::Rotary { theta, scaling, .. } => Some(draft.within("rotary_emb", |draft| {
                rotary_tables(draft, &positions, stack.head_dim, theta, scaling)
            })),
            _ => None,
        };
        let mut bias = LayerBias::default();
        if let Some(window) = &stack.window {
            bias.sliding = Some(causal_bias(draft, &positions, Some(&mask), Some(window.tokens)));
        }
        if (0..stack.layers).any(|layer| !stack.slides(layer)) {
            bias.full = Some(causal_bias(draft, &positions, Some(&mask), None));
        }
        let context = Context { bias, rotary, ..Context::default() };
        let hidden = draw_layers(draft, names.layers, stack, &context, hidden);
        stack.norm.draw(draft, names.norm, &hidden, stack.hidden)
    });
    let max_length = text.positions.longest();
    if request.head != Head::CausalLanguage {
        draft.output("last_hidden_state", hidden, hidden_dims("sequence", stack.hidden));
        return Ok(Drawn { max_length, postprocess: Postprocess::MeanPool });
    }
    let scores = if text.tied {
        let name = format!("{}.{}.weight", request.base, names.tokens);
        let dims = [rows, stack.hidden];
        let weight = draft.shared_weight(name, &dims, Layout::AsStored, stack.init);
        let table = SharedTable { weight, rows, width: stack.hidden };
        draft.within("lm_head", |draft| score_rows(draft, &hidden, &table, None, &ids))
    } else {
        let head = Linear::torch(stack.hidden, rows, stack.init).without_bias();
        head.draw(draft, "lm_head", &hidden)
    };
    draft.output("logits", scores, hidden_dims("sequence", rows));
    Ok(Drawn { max_length, postprocess: Postprocess::Argmax })
}
