//! A finished measurement as a typed value.

use types::{Allocations, Phase, Run, Summary, Timeline};

/// A finished measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The run, whole: samples, summaries, metrics, environment, verdict.
    pub run: Run,
    /// What happened when in a few inferences, where that was asked for and the engine can tell.
    pub timeline: Option<Timeline>,
    /// Every allocation and free that was seen, where that was asked for and the engine can tell.
    pub allocations: Option<Allocations>,
}

impl Profile {
    /// The latency people mean, in seconds: end to end where there was text, of the model alone otherwise.
    ///
    /// # Panics
    /// Never: a run is only made from samples.
    #[must_use]
    pub fn latency(&self) -> &Summary {
        latency_of(&self.run).expect("every run has samples of inferences or of steps")
    }

    /// Samples a second.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        self.metric("throughput.samples")
    }

    /// Peak memory of the worker in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> Option<f64> {
        self.metric(types::key::MEMORY_PEAK)
    }

    /// Whether the numbers are valid.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.run.verdict.valid
    }

    /// A measured number by its key, where it could be had.
    #[must_use]
    pub fn metric(&self, key: &str) -> Option<f64> {
        self.run.metric(key).and_then(|metric| metric.value)
    }

    /// The run as JSON (`modelmeter.run/1`).
    #[must_use]
    pub fn to_json(&self) -> String {
        let document = report::run_json(&self.run, report::JsonOptions::default());
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }

    /// The run as CSV, header first.
    #[must_use]
    pub fn to_csv(&self) -> String {
        report::runs_csv(std::slice::from_ref(&self.run))
    }
}

/// The latency people mean, in seconds: end to end where there was text, of the model alone otherwise, of a step where it
/// was trained.
#[must_use]
pub fn latency_of(run: &Run) -> Option<&Summary> {
    let summaries = &run.summaries;
    let inference = summaries.get(&Phase::Inference);
    let is_whole = run.cell.is_end_to_end() || inference.is_none();
    summaries.get(&Phase::Total).filter(|_| is_whole).or(inference)
}
