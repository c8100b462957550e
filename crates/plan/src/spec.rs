//! What a plan asks for.

use crate::{PlanError, SkipEntry};
use serde::{Deserialize, Serialize};
use types::{Device, Mode, Precision, stable_hash};

/// What a plan asks for: every combination of what is listed. An empty list means everything that is here, or the usual.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSpec {
    /// The plan's name in the database.
    pub name: String,
    /// The models.
    pub models: Vec<String>,
    /// The engines; empty for all that are here.
    pub engines: Vec<String>,
    /// The devices; empty for all that an engine can use here.
    pub devices: Vec<Device>,
    /// The number formats; empty for each model's own.
    pub precisions: Vec<Precision>,
    /// Samples in one inference.
    pub batch_sizes: Vec<usize>,
    /// Tokens in each sample.
    pub sequence_lengths: Vec<usize>,
    /// Threads the engines may use.
    pub threads: Vec<u32>,
    /// Inference, training, generating, or several of them.
    pub modes: Vec<Mode>,
    /// Tokens of the prompts that are read, for generating; 512 where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_tokens: Vec<usize>,
    /// Tokens that are generated; 128 where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_tokens: Vec<usize>,
    /// Tokens that are in the cache before; 0 where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<usize>,
    /// Fresh processes that measure each cell.
    pub processes: u32,
    /// Seed of weights, inputs and the order.
    pub seed: u64,
    /// At most so many cells: the first ones.
    pub limit: Option<usize>,
    /// Combinations that are not wanted.
    pub skip: Vec<SkipEntry>,
}

impl Default for PlanSpec {
    fn default() -> PlanSpec {
        PlanSpec {
            name: String::new(),
            models: Vec::new(),
            engines: Vec::new(),
            devices: Vec::new(),
            precisions: Vec::new(),
            batch_sizes: Vec::new(),
            sequence_lengths: Vec::new(),
            threads: Vec::new(),
            modes: vec![Mode::Inference],
            prompt_tokens: Vec::new(),
            new_tokens: Vec::new(),
            depths: Vec::new(),
            processes: 3,
            seed: 0,
            limit: None,
            skip: Vec::new(),
        }
    }
}

impl PlanSpec {
    /// A name for a plan that has none: equal plans have equal names.
    ///
    /// # Panics
    /// Never: every field can be written.
    #[must_use]
    pub fn name_by_content(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("bench-{:08x}", stable_hash(text.bytes()) >> 32)
    }

    /// Finds what contradicts itself before anything is measured.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let wrong = |text: &str| Err(PlanError::Rule(text.into()));
        if self.models.is_empty() {
            let hint = "give `--model`, `--category` or `--all`, or `models = […]` in the plan";
            return Err(PlanError::wrong("the plan names no model", Some(hint.into())));
        }
        if self.processes == 0 {
            return wrong("the number of processes must be at least 1");
        }
        if self.batch_sizes.contains(&0) || self.sequence_lengths.contains(&0) {
            return wrong("batch sizes and sequence lengths must be at least 1");
        }
        if self.limit == Some(0) {
            return wrong("a limit of 0 leaves nothing to measure");
        }
        Ok(())
    }
}
