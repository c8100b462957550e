//! What the database keeps of a cell of a plan.

use serde::{Deserialize, Serialize};
use types::Task;

/// What the database keeps of a task: the task and which process measures it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unit {
    pub(crate) task: Task,
    pub(crate) process: u32,
}

impl Unit {
    /// The task's name with the process, which is counted from 1.
    pub(crate) fn key(&self) -> String {
        format!("{} #{}", self.task.name(), self.process)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use types::{Device, Mode};

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
            generation: None,
            seed: 0,
        }
    }

    #[test]
    fn names_tell_cells_apart_and_documents_come_back() {
        let plain = task("gpt2", 4);
        let trained = Task { mode: Mode::Training, ..plain.clone() };
        let longer = Task { sequence_length: Some(64), ..plain.clone() };
        assert_eq!(plain.name(), "gpt2 rten cpu batch=4");
        assert_eq!(longer.name(), "gpt2 rten cpu batch=4 length=64");
        let unit = Unit { task: trained, process: 2 };
        assert_eq!(unit.key(), "gpt2 rten cpu batch=4 training #2");
        let text = serde_json::to_string(&unit).unwrap();
        assert_eq!(serde_json::from_str::<Unit>(&text).unwrap(), unit);
    }
}
