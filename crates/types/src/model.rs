//! Information about a model before it runs.

use crate::{Bytes, Flops, LengthUnit, Precision, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// The task of a model.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Text in, vectors or classes out.
    Text,
    /// Text in, text out.
    Generation,
    /// Images in.
    Vision,
    /// Sound in.
    Audio,
    /// Several kinds in.
    Multimodal,
    /// Our own small networks with known numbers.
    Reference,
    /// Nothing above fits.
    Other,
}

impl Category {
    /// The name used in tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::Text => "text",
            Category::Generation => "generation",
            Category::Vision => "vision",
            Category::Audio => "audio",
            Category::Multimodal => "multimodal",
            Category::Reference => "reference",
            Category::Other => "other",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where a model came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum ModelSource {
    /// An `.onnx` file.
    File {
        /// Its path.
        path: PathBuf,
    },
    /// A Hugging Face folder.
    Folder {
        /// Its path.
        path: PathBuf,
    },
    /// The Hugging Face hub, or its local cache.
    Hub {
        /// The commit that was used.
        revision: String,
    },
    /// A known architecture, built in.
    Preset,
    /// A TOML description.
    Description {
        /// Its path.
        path: PathBuf,
    },
    /// Another tool measured the model; Modelmeter has not read it.
    Elsewhere,
}

/// Whether the weights are the trained ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Weights {
    /// The model's own.
    Real,
    /// Random values from a seed; the speed does not depend on the values.
    Random {
        /// The seed.
        seed: u64,
    },
}

/// Information about a model before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelInfo {
    /// The name people use: a hub name, a preset or a file stem.
    pub name: String,
    /// What it is for.
    pub category: Category,
    /// `distilbert`, `gpt2`, `onnx`.
    pub architecture: String,
    /// Where it came from.
    pub source: ModelSource,
    /// Whether the weights are trained or random.
    pub weights: Weights,
    /// Trainable parameters, counted on the graph.
    pub parameters: u64,
    /// Bytes on disk of graph and weights.
    pub size: Bytes,
    /// A hash over graph and weights: equal keys mean the same computation.
    pub fingerprint: String,
    /// The model that `quantize`, `prune` or `optimize` made it from; absent if none of them did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<MadeFrom>,
}

/// The model that a written folder was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeFrom {
    /// The fingerprint of that model.
    pub fingerprint: String,
    /// The number format, if the change is the one that `--precision` makes; absent after any other change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted_to: Option<Precision>,
}

impl ModelInfo {
    /// A length of its samples in words: tokens where it takes any.
    #[must_use]
    pub fn length_words(&self, length: usize) -> String {
        match self.category {
            Category::Audio | Category::Vision | Category::Other => format!("length {length}"),
            _ => LengthUnit::Tokens.words(length),
        }
    }
}

/// The work of one inference at a given batch and length, counted on the graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Floating-point operations of one batch; a lower bound if coverage is below 1.
    pub flops: Flops,
    /// Share of the nodes whose operations were counted, among those that can cost time.
    pub coverage: Ratio,
    /// Bytes read by all nodes.
    pub bytes_read: Bytes,
    /// Bytes written by all nodes.
    pub bytes_written: Bytes,
    /// Peak of live activations, computed from lifetimes; `None` if shapes are unknown.
    pub activation_peak: Option<Bytes>,
}
