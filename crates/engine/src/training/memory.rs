//! Where the memory of a training step goes: what is held by module, and what was allocated in which part of the step.

use super::{
    state::Weight,
    trainer::{Trainer, Trio},
};
use crate::{
    AllocationTracker, Arena, EngineError, GraphRunner, MemoryRecord, OutputView, watch_runs,
};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{
    Bytes, LayerName, MissingCode, ModuleMemory, Phase, Reading, Remark, RemarkCode, StepMemory,
};

/// The part of the step that runs, as a place among [`PARTS`], counted from 1; 0 outside of steps.
static PART: AtomicU64 = AtomicU64::new(0);

const PARTS: [Phase; 4] = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer];

fn part() -> u64 {
    PART.load(Ordering::Relaxed)
}

fn enter(phase: Phase) {
    let place = PARTS.iter().position(|part| *part == phase).map_or(0, |at| at as u64 + 1);
    PART.store(place, Ordering::Relaxed);
}

/// What the values of a step weigh, by their names.
#[derive(Debug, Clone, Default)]
pub(super) struct Weighed {
    /// Kept by the forward pass.
    pub(super) kept: Vec<(String, u64)>,
    /// Outputs of the backward graph.
    pub(super) gradients: Vec<(String, u64)>,
}

impl Weighed {
    pub(super) fn of(kept: &[OutputView<'_>], gradients: &[OutputView<'_>]) -> Weighed {
        let all = |views: &[OutputView<'_>]| {
            views.iter().map(|view| (view.name.to_owned(), super::trainer::bytes(view))).collect()
        };
        Weighed { kept: all(kept), gradients: all(gradients) }
    }
}

impl Trainer<'_> {
    /// Takes `count` steps under instruments and tells what they allocate and hold.
    pub(crate) fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
    ) -> Result<MemoryRecord, EngineError> {
        let runners = self.runners();
        let trio = [0, 1, 2].map(|at: usize| -> &dyn GraphRunner { &*runners[at] });
        let before = arenas(trio);
        let mut seen = Vec::new();
        let watched = watch_runs(count, tracker, part, &mut || {
            seen.clear();
            let taken = self.step_on(trio, &mut |phase| {
                enter(phase);
                seen.extend(arenas(trio).and_then(Result::ok));
            });
            PART.store(0, Ordering::Relaxed);
            taken.map(drop)
        })?;
        let steps = count.max(1) as f64;
        let mut record = match before {
            None => {
                let mut record = watched.record("every allocation of the worker");
                record.allocations = watched.columns(names(), |mark| usize::try_from(mark).ok());
                record.layers = Reading::of(true);
                let kept = "what the engine keeps for later is part of these allocations";
                record.in_use_peak = Reading::missing(MissingCode::NotSeparable, kept);
                record.reserved_peak = Reading::missing(MissingCode::NotSeparable, kept);
                record
            }
            Some(before) => {
                let mut record = watched.record("the arenas of the engine's three graphs");
                let sums = "an arena reports totals, not single allocations";
                record.allocations = Reading::missing(MissingCode::NotReported, sums);
                record.layers = Reading::missing(MissingCode::NotReported, sums);
                fill(&mut record, before, &seen, arenas(trio), steps);
                record
            }
        };
        record.step = Some(self.held());
        Ok(record)
    }

    /// What a step holds, by module.
    fn held(&self) -> StepMemory {
        let mut step = StepMemory::default();
        let files = self.files();
        for weight in self.weights() {
            let (values, states) = weight.bytes();
            let row = row(&mut step, self.module_of(&weight.plan.name));
            row.held.weights = row.held.weights.saturating_add(values);
            row.held.optimizer = row.held.optimizer.saturating_add(states);
            let gradient = Bytes(gradient_bytes(weight, &self.weighed().gradients));
            row.held.gradients = row.held.gradients.saturating_add(gradient);
        }
        let turned = files.prepared.iter().filter(|value| value.turned);
        let turned = turned.map(|value| {
            (value.of.clone(), 4 * value.dims.iter().map(|dim| *dim as u64).product::<u64>())
        });
        for (name, bytes) in self.weighed().kept.iter().cloned().chain(turned) {
            let row = row(&mut step, self.module_of(&name));
            row.held.activations = row.held.activations.saturating_add(Bytes(bytes));
        }
        step
    }
}

/// The row of a module, made where it is new.
fn row<'a>(step: &'a mut StepMemory, path: &str) -> &'a mut ModuleMemory {
    let at = step.modules.iter().position(|module| module.path == path).unwrap_or_else(|| {
        step.modules.push(ModuleMemory { path: path.to_owned(), ..ModuleMemory::default() });
        step.modules.len() - 1
    });
    &mut step.modules[at]
}

fn gradient_bytes(weight: &Weight, gradients: &[(String, u64)]) -> u64 {
    let of = |name: &String| gradients.iter().find(|(known, _)| known == name).map_or(0, |g| g.1);
    let whole = weight.plan.gradient.as_ref().map_or(0, of);
    let rows = weight.plan.rows.as_ref().map_or(0, |(indices, values)| of(indices) + of(values));
    whole + rows
}

/// What allocations are named by: nothing, then the parts of a step.
fn names() -> Vec<LayerName> {
    let part = |phase: Phase| LayerName { name: phase.name().into(), kind: "step".into() };
    std::iter::once(LayerName::default()).chain(PARTS.map(part)).collect()
}

/// The arenas of the three graphs; `None` if the engine has none of its own.
fn arenas(trio: Trio<'_>) -> Option<Result<[Arena; 3], String>> {
    let mut found = [Arena::default(); 3];
    for (place, runner) in found.iter_mut().zip(trio) {
        match runner.arena()? {
            Ok(arena) => *place = arena,
            Err(why) => return Some(Err(why)),
        }
    }
    Some(Ok(found))
}

/// The peak from the arenas: what earlier graphs of the step still hold, and the most that the running one ever held.
fn fill(
    record: &mut MemoryRecord,
    before: Result<[Arena; 3], String>,
    seen: &[[Arena; 3]],
    after: Option<Result<[Arena; 3], String>>,
    steps: f64,
) {
    // One look as each part begins; the last batch of a step is as large as any.
    let parts = seen.len().checked_sub(4).map(|from| &seen[from..]);
    let (before, after, parts) = match (before, after, parts) {
        (Ok(before), Some(Ok(after)), Some(parts)) => (before, after, parts),
        (Err(why), ..) | (_, Some(Err(why)), _) => return silent(record, &why),
        _ => return silent(record, "the arenas were not recorded in a step"),
    };
    let held =
        |at: usize, graph: usize| parts[at][graph].in_use.saturating_sub(before[graph].in_use);
    let most = |graph: usize| after[graph].most_in_use.saturating_sub(before[graph].in_use);
    let peaks = [
        (Phase::Forward, most(0)),
        (Phase::Loss, held(1, 0) + most(1)),
        (Phase::Backward, held(2, 0) + held(2, 1) + most(2)),
    ];
    let (phase, peak) = peaks.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or(peaks[0]);
    let base: u64 = before.iter().map(|arena| arena.in_use).sum();
    record.peak = Reading::of(Bytes(peak));
    record.peak_node = phase.name().into();
    record.in_use_peak = Reading::of(Bytes(base + peak));
    record.reserved_peak = Reading::of(Bytes(after.iter().map(|arena| arena.reserved).sum()));
    let asked: u64 = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after.allocations.saturating_sub(before.allocations))
        .sum();
    record.asked = Reading::of(asked as f64 / steps);
    record.remarks.push(Remark::new(
        RemarkCode::PeakOfAllSteps,
        "an arena's high-water mark cannot be reset: the peak is that of all steps so far",
    ));
}

fn silent(record: &mut MemoryRecord, why: &str) {
    record.peak = Reading::missing(MissingCode::NotReported, why);
    record.in_use_peak = Reading::missing(MissingCode::NotReported, why);
    record.reserved_peak = Reading::missing(MissingCode::NotReported, why);
    record.asked = Reading::missing(MissingCode::NotReported, why);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_earlier_graphs_hold_and_the_most_of_the_running_one() {
        let arena =
            |in_use, most_in_use| Arena { in_use, most_in_use, reserved: 100, allocations: 8 };
        let before =
            [arena(10, 10), arena(0, 0), arena(5, 5)].map(|a| Arena { allocations: 0, ..a });
        let start = before;
        // Forward leaves 40 behind, the loss 3; backward reaches 30 above its own 5.
        let loss = [arena(50, 60), arena(0, 0), arena(5, 5)];
        let backward = [arena(50, 60), arena(3, 4), arena(5, 5)];
        let optimiser = [arena(10, 60), arena(0, 4), arena(20, 35)];
        let mut record = MemoryRecord::default();
        let seen = [start, loss, backward, optimiser];
        fill(&mut record, Ok(before), &seen, Some(Ok(optimiser)), 2.0);
        assert_eq!(record.peak.value, Some(Bytes(40 + 3 + 30)));
        assert_eq!(record.peak_node, "backward");
        assert_eq!(record.reserved_peak.value, Some(Bytes(300)));
        assert_eq!(record.asked.value, Some(12.0));
    }
}
