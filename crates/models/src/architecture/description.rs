//! What a transformer looks like, whatever its family calls the parts.

use super::blocks::Activation;
use crate::Init;

/// Which norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormKind {
    Layer,
    RootMeanSquare,
    /// The same with a scale that is counted from 1: a weight of 0 changes nothing.
    RootMeanSquareAboveOne,
}

/// A norm over the last axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Norm {
    pub(super) kind: NormKind,
    pub(super) epsilon: f32,
}

/// Whether a block normalises what goes in or what comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormOrder {
    Before,
    After,
}

/// What attention scores are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaling {
    /// By the root of the head's width.
    pub(super) by_width: bool,
    /// By the layer's number, counted from 1.
    pub(super) by_layer: bool,
    /// By the root of this number, in the place of the head's width.
    pub(super) root_of: Option<usize>,
}

impl Scaling {
    pub(super) const BY_WIDTH: Scaling = Scaling { by_width: true, by_layer: false, root_of: None };
    pub(super) const NONE: Scaling = Scaling { by_width: false, by_layer: false, root_of: None };

    /// The divisor in one layer, where it is not 1.
    pub(super) fn divisor(self, head_dim: usize, layer: usize) -> Option<f32> {
        let width = match (self.root_of, self.by_width) {
            (Some(number), _) => (number as f32).sqrt(),
            (None, true) => (head_dim as f32).sqrt(),
            (None, false) => 1.0,
        };
        let divisor = if self.by_layer { width * (layer + 1) as f32 } else { width };
        (divisor != 1.0).then_some(divisor)
    }
}

/// Attention that sees only so many tokens back, in the layers that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) tokens: usize,
    pub(super) layers: Vec<bool>,
}

/// What Gemma has beyond a Llama.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Refinements {
    /// Whether queries and keys are normalised head by head before they are turned.
    pub(super) head_norm: bool,
    /// The scores of tokens stay within this: cap × tanh(score ÷ cap).
    pub(super) final_cap: Option<f32>,
    /// What embeddings are multiplied with.
    pub(super) embedding_scale: Option<f32>,
    /// The base of rotary positions in layers with a window, where it is another one.
    pub(super) window_theta: Option<f64>,
}

/// A stack of equal transformer layers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stack {
    pub(super) layers: usize,
    pub(super) hidden: usize,
    pub(super) heads: usize,
    /// Fewer than `heads` where several queries share a key.
    pub(super) key_heads: usize,
    pub(super) head_dim: usize,
    pub(super) intermediate: usize,
    pub(super) activation: Activation,
    pub(super) gated: bool,
    pub(super) norm: Norm,
    pub(super) order: NormOrder,
    pub(super) scaling: Scaling,
    /// Biases of query, key and value.
    pub(super) projection_bias: bool,
    /// Whether the key has one as well, where the others do.
    pub(super) key_bias: bool,
    pub(super) output_bias: bool,
    pub(super) mlp_bias: bool,
    pub(super) window: Option<Window>,
    pub(super) refinements: Refinements,
    pub(super) init: Init,
}

impl Stack {
    /// Whether a layer sees only its window.
    pub(super) fn slides(&self, layer: usize) -> bool {
        self.window.as_ref().is_some_and(|window| window.layers[layer])
    }
}

/// How rotary frequencies are stretched for longer texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RotaryScaling {
    None,
    Linear { factor: f32 },
    Llama3 { factor: f32, low: f32, high: f32, original_length: f32 },
}

/// How a model knows where a token stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Positions {
    /// One learned vector for each place.
    Learned { places: usize },
    /// One learned vector for each place, counted over real tokens only and above the padding token's id.
    LearnedAbovePadding { places: usize, padding: i64 },
    /// Queries and keys are turned by an angle.
    Rotary { theta: f64, scaling: RotaryScaling, longest: usize },
    /// A bias on the scores for each distance.
    Relative { buckets: usize, longest_distance: usize },
}

impl Positions {
    /// The longest sequence, if there is a limit.
    pub(super) fn longest(self) -> Option<usize> {
        match self {
            Positions::Learned { places } => Some(places),
            Positions::LearnedAbovePadding { places, padding } => {
                Some(places.saturating_sub(usize::try_from(padding).unwrap_or(0) + 1))
            }
            Positions::Rotary { longest, .. } => Some(longest),
            Positions::Relative { .. } => None,
        }
    }
}

/// A transformer over text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) vocabulary: usize,
    pub(super) positions: Positions,
    /// How many kinds of segment; 0 where the model has none.
    pub(super) token_types: usize,
    pub(super) stack: Stack,
    /// Whether the language head shares its weight with the token embedding.
    pub(super) tied: bool,
}

/// A transformer over image patches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Vision {
    /// Height and width.
    pub(super) image: [usize; 2],
    pub(super) patch: usize,
    pub(super) channels: usize,
    pub(super) stack: Stack,
}

impl Vision {
    /// How many vectors the layers see: the patches and the class token.
    pub(super) fn places(&self) -> usize {
        self.patches() + 1
    }

    /// How many patches the image has.
    pub(super) fn patches(&self) -> usize {
        let [height, width] = self.image;
        (height / self.patch) * (width / self.patch)
    }
}
