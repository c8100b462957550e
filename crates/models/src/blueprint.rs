//! What a builder hands over: a graph without its weights, and the list of the weights it needs.

use crate::{EncoderConfig, FeedForwardConfig};
use graph::{DataType, Model};
use types::{Category, DecoderShape, InputRole, Postprocess};

/// How a weight lies in the checkpoint, compared with the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As the graph wants it.
    AsStored,
    /// Two dimensions, swapped (`torch.nn.Linear` keeps `[out, in]`, `MatMul` wants `[in, out]`).
    Transposed,
}

impl Layout {
    /// The other one.
    pub(crate) fn turned(self) -> Layout {
        match self {
            Layout::AsStored => Layout::Transposed,
            Layout::Transposed => Layout::AsStored,
        }
    }
}

/// How a weight is drawn when there is no checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// Normal with mean 0.
    Normal {
        /// Standard deviation.
        std: f32,
    },
    /// All the same (1 for a norm's scale, 0 for a bias).
    Constant(f32),
}

/// One weight the graph needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// The initialiser's name in the graph; also the module path of the parameter.
    pub name: String,
    /// Names it may have in a checkpoint, best first (`bert.` may or may not stand in front).
    pub checkpoint: Vec<String>,
    /// Its dimensions in the graph.
    pub dims: Vec<usize>,
    /// How the checkpoint keeps it.
    pub layout: Layout,
    /// How it is drawn without a checkpoint.
    pub init: Init,
}

impl Weight {
    /// Whether it is a running statistic of a batch normalisation: kept with the weights, counted by nobody.
    #[must_use]
    pub fn is_statistic(&self) -> bool {
        [".running_mean", ".running_var"].iter().any(|ending| self.name.ends_with(ending))
    }
}

/// An input of the graph and what it means; dimensions are symbols until batch and length are known.
#[derive(Debug, Clone, PartialEq)]
pub struct InputKind {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub role: InputRole,
    /// For token ids: one above the largest id.
    pub vocabulary: Option<usize>,
}

/// What a blueprint was built from: enough to build the same model as a framework's module.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A configuration of `transformers`.
    Transformers {
        /// The class that was built: the one in `architectures`, or the base class.
        class: String,
        /// The whole configuration.
        config: serde_json::Value,
    },
    /// Our own transformer encoder.
    Encoder(EncoderConfig),
    /// Our own feed-forward network.
    FeedForward(FeedForwardConfig),
}

/// A graph without its weights, and the weights it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// The graph; its `initializers` hold small constants only, the weights are listed below.
    /// Dynamic dimensions are the symbols `batch` and `sequence` (and `decoder_sequence` for a decoder beside an encoder).
    pub model: Model,
    /// The weights, in the order they are first used.
    pub weights: Vec<Weight>,
    /// Their element type in the graph.
    pub dtype: DataType,
    /// What the model is for.
    pub category: Category,
    /// `distilbert`, `gpt2`, `encoder`.
    pub architecture: String,
    /// What the inputs mean.
    pub inputs: Vec<InputKind>,
    /// The longest sequence the positions allow.
    pub max_length: Option<usize>,
    /// What turns outputs into an answer.
    pub postprocess: Postprocess,
    /// What it was built from.
    pub origin: Origin,
    /// The same model drawn to generate token by token, where that was asked for and it predicts the next token.
    pub decoder: Option<Box<DecoderBlueprint>>,
}

/// A model that predicts the next token, drawn a second time: it takes what it has read as `past_key_values.N.key` and
/// `.value`, gives that with the new tokens as `present.N.key` and `.value`, and scores the last token only.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderBlueprint {
    /// The graph. Its weights are those of the other graph, under the same names.
    pub model: Model,
    /// What the inputs mean.
    pub inputs: Vec<InputKind>,
    /// What decides the size of the cache.
    pub shape: DecoderShape,
    /// How many tokens it can hold, in the fused dialect; `None` in the standard one.
    pub reach: Option<usize>,
}

impl Blueprint {
    /// How many numbers the trained weights are; a shared weight counts once, statistics of a norm do not count.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let trained = self.weights.iter().filter(|weight| !weight.is_statistic());
        trained.map(|weight| weight.dims.iter().product::<usize>() as u64).sum()
    }
}
