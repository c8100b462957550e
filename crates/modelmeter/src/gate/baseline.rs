//! Which stored runs a gate compares with: the same work, on this machine, and for times only what was not disturbed.

use super::{Gate, GateBaseline, gather::Gathered};
use number::count;
use types::{Gauge, InvalidRuns, ReasonCode, Remark, RemarkCode, Run};

impl GateBaseline {
    /// How many of these runs have times that no gate compares with, and why.
    #[must_use]
    pub fn unfit(runs: &[Run]) -> InvalidRuns {
        runs.iter().filter_map(unfit).collect()
    }
}

impl Gate {
    /// What is said where some stored runs do not count for times and others do.
    pub(super) fn left_out(&self, cell: &Gathered) -> Option<Remark> {
        let GateBaseline::Stored { runs, .. } = &self.against else { return None };
        let now = cell.side.first()?;
        if !self.gauges.iter().copied().any(is_of_time) {
            return None;
        }
        let alike: Vec<Run> = runs.iter().filter(|run| is_alike(run, now)).cloned().collect();
        let (fit, unfit) = without_unfit(&here_of(&alike, Some(now)));
        if fit.is_empty() || unfit.is_empty() {
            return None;
        }
        let text = format!(
            "{} of {} runs of the baseline are not valid and are left out of the times ({})",
            count(unfit.total()),
            count(unfit.total() + fit.len() as u64),
            causes(&unfit)
        );
        Some(Remark::new(RemarkCode::NotValid, text))
    }
}

/// Whether two runs asked the same of the same model; its weights may have changed.
pub(super) fn is_alike(left: &Run, right: &Run) -> bool {
    let (a, b) = (&left.cell, &right.cell);
    left.imported.is_none()
        && left.model.name == right.model.name
        && left.engine.id == right.engine.id
        && (a.device, a.precision, a.batch_size) == (b.device, b.precision, b.batch_size)
        && (a.sequence_length, a.mode, a.threads) == (b.sequence_length, b.mode, b.threads)
        && (&a.training, a.generation, &a.inputs, &a.text, &a.options)
            == (&b.training, b.generation, &b.inputs, &b.text, &b.options)
}

/// The runs that were measured on the same machine as this one.
pub(super) fn here_of(runs: &[Run], now: Option<&Run>) -> Vec<Run> {
    let Some(now) = now else { return Vec::new() };
    let key = &now.environment.machine.key;
    runs.iter().filter(|run| run.environment.machine.key == *key).cloned().collect()
}

/// Everything but memory is a time or follows from one.
pub(super) fn is_of_time(gauge: Gauge) -> bool {
    gauge != Gauge::MemoryPeak
}

/// The runs whose times can be a baseline, and how many cannot: a baseline that was slowed down would hide a regression.
pub(super) fn without_unfit(runs: &[Run]) -> (Vec<Run>, InvalidRuns) {
    let fit = runs.iter().filter(|run| unfit(run).is_none()).cloned().collect();
    (fit, GateBaseline::unfit(runs))
}

/// Why nothing can be said where the times of all runs are unfit.
pub(super) fn no_valid_run(unfit: &InvalidRuns) -> String {
    format!("no run of the baseline is valid ({})", causes(unfit))
}

/// Why the times of a run cannot be a baseline. That one process alone says little does not matter: scatter between
/// processes decides.
fn unfit(run: &Run) -> Option<ReasonCode> {
    let of_one_process = |code: ReasonCode| {
        matches!(
            code,
            ReasonCode::TooFewSamples
                | ReasonCode::UnsupportedPercentile
                | ReasonCode::WideInterval
                | ReasonCode::Drift
        )
    };
    let main = run.verdict.main_reason()?;
    if !of_one_process(main) {
        return Some(main);
    }
    let mut others = run.verdict.reasons.iter().filter(|reason| reason.invalidates);
    others.find(|reason| !of_one_process(reason.code)).map(|reason| reason.code)
}

/// `3 × other work, 1 × warm-up did not settle`.
fn causes(runs: &InvalidRuns) -> String {
    let each = runs.by_count().into_iter();
    let words = each.map(|(reason, runs)| format!("{} × {}", count(runs), reason.words()));
    words.collect::<Vec<_>>().join(", ")
}
