//! The function of a layer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

const NORM_OPERATORS: [&str; 9] = [
    "LayerNormalization",
    "SimplifiedLayerNormalization",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "RMSNormalization",
    "BatchNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "GroupNorm",
];

/// The function of a layer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// Tokens, positions or patches to vectors.
    Embedding,
    /// Attention, including its projections.
    Attention,
    /// The feed-forward part of a block.
    Mlp,
    /// Normalisation.
    Norm,
    /// From vectors to the answer.
    Head,
    /// Convolution.
    Conv,
    /// Nothing above fits.
    Other,
}

impl LayerKind {
    /// Every kind in the order of tables.
    pub const ALL: [LayerKind; 7] = [
        LayerKind::Embedding,
        LayerKind::Attention,
        LayerKind::Mlp,
        LayerKind::Norm,
        LayerKind::Head,
        LayerKind::Conv,
        LayerKind::Other,
    ];

    /// The name used in tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LayerKind::Embedding => "embedding",
            LayerKind::Attention => "attention",
            LayerKind::Mlp => "mlp",
            LayerKind::Norm => "norm",
            LayerKind::Head => "head",
            LayerKind::Conv => "conv",
            LayerKind::Other => "other",
        }
    }

    /// The kind of a module, or of a node in it; the path's words come first, then the operator or class.
    #[must_use]
    pub fn of(path: &str, operator: &str) -> LayerKind {
        let op = operator;
        let path = path.to_ascii_lowercase();
        let words: Vec<&str> = path.split(['.', '/']).filter(|word| !word.is_empty()).collect();
        let any = |test: &dyn Fn(&str) -> bool| words.iter().any(|word| test(word));
        let last = words.last().copied().unwrap_or_default();
        let is_norm = |word: &str| {
            word.contains("norm") || matches!(word, "ln" | "ln_1" | "ln_2" | "ln_f" | "bn")
        };
        if NORM_OPERATORS.contains(&op) || is_norm(last) {
            return LayerKind::Norm;
        }
        if any(&|word| {
            word.contains("attn") || word.contains("attention") || word.contains("selfatt")
        }) || matches!(
            op,
            "Attention" | "MultiHeadAttention" | "GroupQueryAttention" | "QAttention"
        ) {
            return LayerKind::Attention;
        }
        let is_mlp = |word: &str| {
            word.contains("mlp")
                || word.contains("ffn")
                || word.contains("feed_forward")
                || word.contains("feedforward")
                || word.contains("densereludense")
                || matches!(
                    word,
                    "ff" | "intermediate" | "fc1" | "fc2" | "lin1" | "lin2" | "linear1"
                )
                || matches!(word, "linear2" | "gate_proj" | "up_proj" | "down_proj")
        };
        // BERT calls the second half of its feed-forward part `layer.N.output`.
        let bert_output =
            words.windows(3).any(|three| three[0].starts_with("layer") && three[2] == "output");
        if any(&is_mlp) || bert_output {
            return LayerKind::Mlp;
        }
        let is_head = |word: &str| {
            word.contains("head") && !word.contains("heads")
                || word.contains("classifier")
                || word.contains("pooler")
                || matches!(
                    word,
                    "cls" | "logits" | "score" | "vocab_projector" | "vocab_transform"
                )
                || word.contains("projection") && !word.contains("patch")
        };
        let is_embedding = |word: &str| {
            word.contains("embed")
                || word.contains("positional_encoding")
                || matches!(word, "wte" | "wpe" | "shared" | "embed_tokens")
        };
        if op == "EmbedLayerNormalization" || any(&is_embedding) {
            return LayerKind::Embedding;
        }
        if any(&is_head) {
            return LayerKind::Head;
        }
        if op.contains("Conv") && !op.starts_with("Convert") {
            return LayerKind::Conv;
        }
        LayerKind::Other
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
