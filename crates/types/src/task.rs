//! A cell of a plan as it is asked for.

use crate::{Device, Generation, Mode, Precision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One requested cell of a plan, with everything that a machine needs to measure it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The model, as it was named.
    pub model: String,
    /// The engine's id.
    pub engine: String,
    /// The device to run on; never `Auto`.
    pub device: Device,
    /// The number format; null means the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Samples in one inference; null means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// Tokens in each sample; null means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<usize>,
    /// Threads the engine may use; null means the number of physical cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Inference, training or generating.
    #[serde(default)]
    pub mode: Mode,
    /// What is measured of generating; only for that mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// Seed of weights and inputs.
    #[serde(default)]
    pub seed: u64,
}

impl Task {
    /// Its name among all cells of a plan, for people and for the database.
    #[must_use]
    pub fn name(&self) -> String {
        let mut words = vec![self.model.clone(), self.engine.clone(), self.device.to_string()];
        words.extend(self.precision.map(|precision| precision.name().to_owned()));
        words.extend(self.batch_size.map(|size| format!("batch={size}")));
        words.extend(self.sequence_length.map(|length| format!("length={length}")));
        words.extend(self.threads.map(|threads| format!("threads={threads}")));
        if self.mode != Mode::Inference {
            words.push(self.mode.name().into());
        }
        words.extend(self.generation.map(|generation| generation.name()));
        if self.seed != 0 {
            words.push(format!("seed={}", self.seed));
        }
        words.join(" ")
    }
}

/// The cells of a plan that cannot be measured, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanLeftOut {
    /// Which part of the plan.
    pub what: String,
    /// How many cells that would have been; 0 if the combination was not requested explicitly.
    pub cells: usize,
    /// Why.
    pub why: String,
}
