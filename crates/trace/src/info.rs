//! What a trace says of the run it shows.

use report::{DOT, clean, setting};
use types::{Gpu, Run};

/// What a trace, or a picture beside it, says of the run it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// The run's name; empty if it has none.
    pub run: String,
    /// The model's name.
    pub model: String,
    /// Engine, device, precision and batch, for people: `rten 0.27.0 on cpu (Xeon, 2 cores) · fp32 · batch 4`.
    pub setting: String,
    /// The machine's GPUs.
    pub gpus: Vec<Gpu>,
}

impl TraceInfo {
    /// What is to be said of a run.
    #[must_use]
    pub fn of(run: &Run) -> TraceInfo {
        TraceInfo {
            run: clean(&run.id.0),
            model: clean(&run.model.name),
            setting: setting(run).join(DOT),
            gpus: run.environment.machine.gpus.clone(),
        }
    }

    /// The model's name, or a word for its absence.
    #[must_use]
    pub fn title(&self) -> String {
        match clean(&self.model) {
            name if name.is_empty() => "unnamed model".into(),
            name => name,
        }
    }
}
