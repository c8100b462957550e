//! Decoders of text that predict the next token: GPT-2, Llama, Mistral, Qwen2, Gemma 3.

use super::{
    ArchitectureError,
    blocks::{
        Context, LayerBias, Linear, SharedTable, cache_dims, causal_bias, draw_layers, embed,
        fused_positions, fused_reach, positions_with_past, rotary_tables, score_rows,
        sequence_positions, soft_cap,
    },
    description::{Positions, RotaryScaling, Stack, Text},
    draft::{Draft, Value, hidden_dims, vector_dims},
    families::{Drawn, Request},
    heads::Head,
    naming::{self, LayerNames},
};
use crate::Layout;
use graph::{DataType, Dim};
use types::{DecoderShape, InputRole, Postprocess};

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

pub(super) const GEMMA3: Names =
    Names { layers: &naming::GEMMA3, tokens: "embed_tokens", places: "", norm: "norm" };

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
        let places = Places { queries: &positions, keys: &positions, mask: Some(&mask) };
        let hidden = draw_stack(draft, text, names, &ids, &places, Vec::new());
        stack.norm.draw(draft, names.norm, &hidden, stack.hidden)
    });
    let max_length = text.positions.longest();
    if request.head != Head::CausalLanguage {
        draft.output("last_hidden_state", hidden, hidden_dims("sequence", stack.hidden));
        return Ok(Drawn { max_length, postprocess: Postprocess::MeanPool });
    }
    let scores = if text.tied {
        let table = shared_table(request, draft, text, names);
        draft.within("lm_head", |draft| score_rows(draft, &hidden, &table, None, &ids))
    } else {
        let head = Linear::torch(stack.hidden, rows, stack.init).without_bias();
        head.draw(draft, "lm_head", &hidden)
    };
    let scores = capped(draft, stack, scores);
    draft.output("logits", scores, hidden_dims("sequence", rows));
    Ok(Drawn { max_length, postprocess: Postprocess::Argmax })
}

/// Draws the same model to generate: new tokens after those in the cache, and scores for the last one only.
pub(super) fn draw_cached(
    request: &Request,
    draft: &mut Draft,
    text: &Text,
    names: &Names,
) -> DecoderShape {
    let (stack, rows) = (&text.stack, text.vocabulary);
    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(rows));
    let sequence = [Dim::from("sequence")];
    let role = InputRole::Other;
    let positions = draft.input("position_ids", role, DataType::Int64, &sequence, None);
    let mut past = |layer: usize, part: &str| {
        let name = format!("past_key_values.{layer}.{part}");
        draft.input(&name, role, DataType::Float, &cache_dims(stack, "past"), None)
    };
    let past: Vec<[Value; 2]> =
        (0..stack.layers).map(|layer| [past(layer, "key"), past(layer, "value")]).collect();
    if draft.wants_fused()
        && let Some(reach) = fused_reach(stack, text.positions)
    {
        let shared = draft.within(request.base, |draft| {
            fused_positions(draft, &ids, &positions, stack, text.positions, reach)
        });
        draft.fuse(shared);
    }
    let last = draft.within(request.base, |draft| {
        // A fused attention knows where keys stand.
        let keys = match draft.fused() {
            Some(_) => positions.clone(),
            None => positions_with_past(draft, &positions),
        };
        let places = Places { queries: &positions, keys: &keys, mask: None };
        let hidden = draw_stack(draft, text, names, &ids, &places, past);
        let last = draft.pick(&hidden, -1, 1);
        stack.norm.draw(draft, names.norm, &last, stack.hidden)
    });
    let scores = if text.tied {
        let table = shared_table(request, draft, text, names);
        draft.within("lm_head", |draft| {
            draft.op("Gemm", &[&last, &table.weight], &[("transB", 1.into())])
        })
    } else {
        let head = Linear::torch(stack.hidden, rows, stack.init).without_bias();
        head.draw(draft, "lm_head", &last)
    };
    let scores = capped(draft, stack, scores);
    draft.output("logits", scores, vector_dims(rows));
    DecoderShape {
        layers: stack.layers,
        key_heads: stack.key_heads,
        head_dim: stack.head_dim,
        vocabulary: rows,
        context: text.positions.longest(),
        window: stack.window.as_ref().map(|window| window.tokens),
        sliding_layers: (0..stack.layers).filter(|layer| stack.slides(*layer)).count(),
    }
}

/// Scores within their bounds, where the model has some.
fn capped(draft: &mut Draft, stack: &Stack, scores: Value) -> Value {
    match stack.refinements.final_cap {
        Some(cap) => soft_cap(draft, &scores, cap),
        None => scores,
    }
}

/// Where tokens stand: those that ask, those that are asked, and which of them are real.
struct Places<'a> {
    queries: &'a str,
    keys: &'a str,
    mask: Option<&'a str>,
}

/// Embedding and layers, without the last norm.
fn draw_stack(
    draft: &mut Draft,
    text: &Text,
    names: &Names,
    ids: &str,
    places: &Places<'_>,
    past: Vec<[Value; 2]>,
) -> Value {
    let (stack, rows) = (&text.stack, text.vocabulary);
    let Places { queries, keys, mask } = *places;
    let mut hidden = embed(draft, names.tokens, ids, rows, stack.hidden, stack.init);
    if let Some(scale) = stack.refinements.embedding_scale {
        let scale = draft.number(scale);
        hidden = draft.op("Mul", &[&hidden, &scale], &[]);
    }
    if let Positions::Learned { places } = text.positions {
        let init = stack.init;
        let places = embed(draft, names.places, queries, places, stack.hidden, init);
        hidden = draft.op("Add", &[&hidden, &places], &[]);
    }
    let is_fused = draft.fused().is_some();
    let rotary = match text.positions {
        _ if is_fused => None,
        Positions::Rotary { theta, scaling, .. } => Some(draft.within("rotary_emb", |draft| {
            rotary_tables(draft, queries, stack.head_dim, theta, scaling)
        })),
        _ => None,
    };
    let window_rotary = stack.refinements.window_theta.map(|theta| {
        draft.within("rotary_emb", |draft| {
            rotary_tables(draft, queries, stack.head_dim, theta, RotaryScaling::None)
        })
    });
    let mut bias = LayerBias::default();
    if let Some(window) = stack.window.as_ref().filter(|_| !is_fused) {
        bias.sliding = Some(causal_bias(draft, queries, keys, mask, Some(window.tokens)));
    }
    if !is_fused && (0..stack.layers).any(|layer| !stack.slides(layer)) {
        bias.full = Some(causal_bias(draft, queries, keys, mask, None));
    }
    let context = Context { bias, rotary, window_rotary, past, ..Context::default() };
    draw_layers(draft, names.layers, stack, &context, hidden)
}

/// The token embedding as the head that shares it.
fn shared_table(request: &Request, draft: &mut Draft, text: &Text, names: &Names) -> SharedTable {
    let (rows, width) = (text.vocabulary, text.stack.hidden);
    let name = format!("{}.{}.weight", request.base, names.tokens);
    let weight = draft.shared_weight(name, &[rows, width], Layout::AsStored, text.stack.init);
    SharedTable { weight, rows, width }
}
