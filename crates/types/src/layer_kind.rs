//! What a layer is for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a layer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// Tokens, positions or patches to vectors.
    Embedding,
    /// Attention with its projections.
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
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
