//! What a tensor of a file is called in `transformers`, and how its rows lie.

use super::{config::Family, file::Gguf};

/// How the rows of a matrix lie, compared with the checkpoint of `transformers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Alike.
    Same,
    /// Within every head, rows of its first and second half take turns: llama.cpp turns neighbours, not halves.
    Interleaved {
        /// Rows of a head.
        head: usize,
    },
    /// The other way round: `[out, in]` for `[in, out]`.
    Turned,
    /// Alike, with one added to every number: the scales of Gemma's norms.
    AboveOne,
}

impl Rows {
    /// Where row `wanted` lies.
    pub(crate) fn stored(self, wanted: usize) -> usize {
        let Rows::Interleaved { head } = self else { return wanted };
        let (first, inside) = (wanted / head * head, wanted % head);
        let half = head / 2;
        first + 2 * (inside % half) + inside / half
    }
}

/// A tensor under the name that a checkpoint would have.
pub(crate) struct Found {
    pub(crate) name: String,
    /// Its place in `Gguf::tensors`.
    pub(crate) tensor: usize,
    pub(crate) rows: Rows,
}

/// Parts of a layer: ours after `blk.N.`, theirs after the list of layers.
type Parts = &'static [(&'static str, &'static str)];

const LLAMA: Parts = &[
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

const LLAMA_WHOLE: Parts =
    &[("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")];

const GEMMA3: Parts = &[
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

const GPT2: Parts = &[
    ("attn_norm", "ln_1"),
    ("attn_qkv", "attn.c_attn"),
    ("attn_output", "attn.c_proj"),
    ("ffn_norm", "ln_2"),
    ("ffn_up", "mlp.c_fc"),
    ("ffn_down", "mlp.c_proj"),
];

const GPT2_WHOLE: Parts = &[
    ("token_embd", "transformer.wte"),
    ("position_embd", "transformer.wpe"),
    ("output_norm", "transformer.ln_f"),
    ("output", "lm_head"),
];

/// The names of all tensors that the family has a name for.
pub(crate) fn names(gguf: &Gguf, family: Family) -> Vec<Found> {
    let found = |(tensor, name): (usize, &str)| {
        let (name, rows) = renamed(name, family)?;
        let is_matrix = gguf.tensors()[tensor].dims.len() == 2;
        let rows = match rows {
            Rows::Turned if !is_matrix => Rows::Same,
            rows => rows,
        };
        Some(Found { name, tensor, rows })
    };
    let all = gguf.tensors().iter().map(|tensor| tensor.name.as_str()).enumerate();
    all.filter_map(found).collect()
}

fn renamed(name: &str, family: Family) -> Option<(String, Rows)> {
    let (module, parameter) = name.rsplit_once('.')?;
    let (whole, parts, layers) = match family {
        Family::Llama { .. } | Family::Qwen2 => (LLAMA_WHOLE, LLAMA, "model.layers"),
        Family::Gemma3 => (LLAMA_WHOLE, GEMMA3, "model.layers"),
        Family::Gpt2 => (GPT2_WHOLE, GPT2, "transformer.h"),
    };
    let find = |list: Parts, module: &str| {
        list.iter().find(|(ours, _)| *ours == module).map(|(_, theirs)| *theirs)
    };
    let Some(rest) = module.strip_prefix("blk.") else {
        let rows = if is_norm(family, module) { Rows::AboveOne } else { Rows::Same };
        return Some((format!("{}.{parameter}", find(whole, module)?), rows));
    };
    let (layer, part) = rest.split_once('.')?;
    let rows = match (family, part) {
        (Family::Llama { head }, "attn_q" | "attn_k") => Rows::Interleaved { head },
        (Family::Gemma3, part) if is_norm(family, part) => Rows::AboveOne,
        (Family::Gpt2, "attn_qkv" | "attn_output" | "ffn_up" | "ffn_down") => Rows::Turned,
        _ => Rows::Same,
    };
    Some((format!("{layers}.{layer}.{}.{parameter}", find(parts, part)?), rows))
}

/// Whether a tensor is the scale of one of Gemma's norms, which files have with one added.
fn is_norm(family: Family, part: &str) -> bool {
    family == Family::Gemma3 && part.ends_with("norm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_halves() {
        let rows = Rows::Interleaved { head: 4 };
        let places: Vec<usize> = (0..8).map(|row| rows.stored(row)).collect();
        assert_eq!(places, [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn tensors_get_the_names_of_a_checkpoint() {
        let name = |name: &str, family| renamed(name, family).map(|(name, _)| name);
        assert_eq!(
            name("blk.12.attn_q.bias", Family::Qwen2).as_deref(),
            Some("model.layers.12.self_attn.q_proj.bias")
        );
        assert_eq!(name("output.weight", Family::Gpt2).as_deref(), Some("lm_head.weight"));
        assert_eq!(name("rope_freqs.weight", Family::Llama { head: 64 }), None);
        let (name, rows) = renamed("blk.0.post_ffw_norm.weight", Family::Gemma3).unwrap();
        assert_eq!(name, "model.layers.0.post_feedforward_layernorm.weight");
        assert_eq!(rows, Rows::AboveOne);
        assert_eq!(renamed("output_norm.weight", Family::Gemma3).unwrap().1, Rows::AboveOne);
        let (_, rows) = renamed("blk.0.ffn_up.weight", Family::Gpt2).unwrap();
        assert_eq!(rows, Rows::Turned);
    }
}
