//! What the caller knows of a file that the file itself may not say.

use crate::draft::BATCH_UNTOLD;
use types::{Device, Direction, Metric, Precision, Run, Unit};

/// What the caller knows of a file; it fills what the file does not tell. Only the name of the model is the caller's word
/// in any case: many tools take it from the name of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// The model's name.
    pub model: Option<String>,
    /// What it ran on.
    pub device: Option<Device>,
    /// The number format.
    pub precision: Option<Precision>,
    /// Samples in one inference.
    pub batch_size: Option<usize>,
    /// When it was measured, in microseconds since the epoch: the file's own time is a good guess.
    pub started_at: Option<i64>,
}

impl Given {
    /// Fills what the run's file does not tell.
    pub(crate) fn apply(&self, run: &mut Run) {
        if let Some(model) = &self.model {
            run.cell.model.clone_from(model);
            run.model.name.clone_from(model);
            told(run, "cell.model");
        }
        if let Some(device) = self.device.filter(|_| !run.tells("cell.device")) {
            run.cell.device = device;
            told(run, "cell.device");
        }
        if let Some(precision) = self.precision.filter(|_| !run.tells("cell.precision")) {
            run.cell.precision = precision;
            told(run, "cell.precision");
        }
        if let Some(batch) = self.batch_size.filter(|_| !run.tells("cell.batch_size")) {
            run.cell.batch_size = batch;
            told(run, "cell.batch_size");
            // Calls a second were known before; with the batch they are samples per second.
            let calls = run.metric("throughput.queries").and_then(|metric| metric.value);
            if let Some(rate) = calls {
                let key = "throughput.samples";
                run.metrics.retain(|metric| metric.key != key);
                let (unit, up) = (Unit::PerSecond, Direction::Higher);
                run.metrics.push(Metric::imported(key, unit, up, rate * batch as f64));
            }
            run.verdict.reasons.retain(|reason| reason.text != BATCH_UNTOLD);
        }
        if let Some(started_at) = self.started_at.filter(|_| !run.tells("started_at")) {
            run.started_at = started_at;
        }
    }
}

fn told(run: &mut Run, path: &str) {
    if let Some(import) = &mut run.imported {
        import.untold.retain(|name| name != path);
    }
}
