//! One cell of a plan as it is asked for.

use crate::{EngineChoice, Profiler};
use serde::{Deserialize, Serialize};
use types::{Device, Mode, Precision};

/// One cell of a plan as it is asked for: enough for any machine to measure it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The model, as it was named.
    pub model: String,
    /// The engine's id.
    pub engine: String,
    /// Where it shall run; never `Auto`.
    pub device: Device,
    /// The number format; the model's own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Samples in one inference; the usual where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// Tokens in each sample; the usual where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<usize>,
    /// Threads the engine may use; the physical cores where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Inference or training.
    #[serde(default)]
    pub mode: Mode,
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
        if self.mode == Mode::Training {
            words.push("training".into());
        }
        if self.seed != 0 {
            words.push(format!("seed={}", self.seed));
        }
        words.join(" ")
    }

    /// Its name with the process that measures it; counted from 1.
    pub(crate) fn key(&self, process: u32) -> String {
        format!("{} #{process}", self.name())
    }

    /// The measurement that it asks for; `base` says everything that all cells have in common.
    #[must_use]
    pub fn profiler(&self, base: &Profiler) -> Profiler {
        let mut profiler = base.clone();
        profiler.model.clone_from(&self.model);
        profiler.engine = EngineChoice::Named(self.engine.clone());
        profiler.device = self.device;
        profiler.precision = self.precision;
        profiler.batch_size = self.batch_size;
        profiler.sequence_length = self.sequence_length;
        profiler.threads = self.threads.or(base.threads);
        profiler.seed = self.seed;
        profiler.training = match self.mode {
            Mode::Inference => None,
            Mode::Training => Some(base.training.clone().unwrap_or_default()),
        };
        profiler
    }
}

/// What the database keeps of a task: the task and which process measures it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unit {
    pub(crate) task: Task,
    pub(crate) process: u32,
}

impl Unit {
    pub(crate) fn key(&self) -> String {
        self.task.key(self.process)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn task(model: &str, batch_size: usize) -> Task {
        Task {
            model: model.into(),
            engine: "rten".into(),
            device: Device::Cpu,
            precision: None,
            batch_size: Some(batch_size),
            sequence_length: None,
            threads: None,
            mode: Mode::Inference,
            seed: 0,
        }
    }

    #[test]
    fn names_tell_cells_apart_and_documents_come_back() {
        let plain = task("gpt2", 4);
        let trained = Task { mode: Mode::Training, ..plain.clone() };
        let longer = Task { sequence_length: Some(64), ..plain.clone() };
        assert_eq!(plain.name(), "gpt2 rten cpu batch=4");
        assert_eq!(trained.key(2), "gpt2 rten cpu batch=4 training #2");
        assert_eq!(longer.name(), "gpt2 rten cpu batch=4 length=64");
        let unit = Unit { task: trained, process: 2 };
        let text = serde_json::to_string(&unit).unwrap();
        assert_eq!(serde_json::from_str::<Unit>(&text).unwrap(), unit);
    }
}
