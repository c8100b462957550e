//! One combination out of a plan; measured in one fresh worker.

use crate::{Device, EngineOptions, Feed, Generation, Load, Precision, Training};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Inference, training, generating or load.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Forward only.
    #[default]
    Inference,
    /// Forward, loss, backward, optimiser step.
    Training,
    /// A language model reads a prompt or writes token by token.
    Generate,
    /// Requests that come by a schedule, to a server or to a model in this process.
    Load,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 4] = [Mode::Inference, Mode::Training, Mode::Generate, Mode::Load];

    /// The mode with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The name used in tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Inference => "inference",
            Mode::Training => "training",
            Mode::Generate => "generate",
            Mode::Load => "load",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A shape the user fixed for one input: `--input pixel_values=4x3x224x224`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct InputShape {
    /// The input's name.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<usize>,
}

/// Text input, instead of random token ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// One entry per text; texts are repeated to fill the batch.
    pub lines: Vec<String>,
}

/// One combination out of a plan; measured in one fresh worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The model as the user named it.
    pub model: String,
    /// The engine's id: `rten`.
    pub engine: String,
    /// The resolved device to run on; never `Auto`.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    pub batch_size: usize,
    /// Length of each sample: tokens, or the unit in `feed.length_unit`; `None` if it is fixed by the model.
    pub sequence_length: Option<usize>,
    /// Inference, training, generating or load.
    pub mode: Mode,
    /// How it is trained; only for training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// What is measured of generating; only for that mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// Who asks when; only for load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Threads the engine may use.
    pub threads: u32,
    /// Seed of weights and inputs.
    pub seed: u64,
    /// Shapes the user fixed.
    #[serde(default)]
    pub inputs: Vec<InputShape>,
    /// Text to tokenise in every sample.
    #[serde(default)]
    pub text: Option<Text>,
    /// Other engine options.
    #[serde(default, skip_serializing_if = "EngineOptions::is_default")]
    pub options: EngineOptions,
    /// Inputs other than shapes and text.
    #[serde(default, skip_serializing_if = "Feed::is_default")]
    pub feed: Feed,
}

impl Cell {
    /// Whether people wait for more than the model: what goes in is made ready in every sample.
    #[must_use]
    pub fn is_end_to_end(&self) -> bool {
        // The steps of a language model are compared with each other, whatever text came before.
        self.mode != Mode::Generate && (self.text.is_some() || self.feed.media.is_some())
    }
}
