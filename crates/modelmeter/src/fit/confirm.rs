//! Whole measurements of those who may be first, under the limit.

use super::{
    Standing,
    way::{latency_of, peak_of, standing, throughput_of},
};
use crate::{Error, Profiler, Session};
use analysis::advice::measuring;
use types::{Cell, Confirmation, Event, Pooled};

/// The most that are measured whole because they cannot be told apart.
const MOST_EQUALS: usize = 3;
/// The most that are measured whole in all: beyond that the limit is not what is wrong.
const MOST_TRIES: usize = 8;

/// One who may be first.
pub(super) struct Candidate {
    pub(super) profiler: Profiler,
    pub(super) cell: Cell,
    pub(super) throughput: Pooled,
}

/// Measures the best and those that cannot be told from it; those that break the limit give way to the next.
pub(super) fn confirm(
    candidates: &[Candidate],
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Vec<Confirmation>, Error> {
    let throughputs: Vec<Pooled> = candidates.iter().map(|one| one.throughput).collect();
    let equals = analysis::contenders(&throughputs, MOST_EQUALS);
    let mut confirmations: Vec<Confirmation> = Vec::new();
    for (at, index) in analysis::ranked(&throughputs).into_iter().enumerate() {
        let fitting = || confirmations.iter().filter(|one| one.refused.is_none());
        let best = fitting().filter_map(|one| one.throughput).map(|found| found.value);
        // Being first of many in a short run is partly luck: who was faster than the first is now gets a turn.
        let is_ahead = best.reduce(f64::max).is_none_or(|best| throughputs[index].value > best);
        let is_equal = equals.contains(&index) || is_ahead;
        if at >= MOST_TRIES || fitting().count() >= MOST_EQUALS || !is_equal {
            break;
        }
        confirmations.push(measure(&candidates[index], session, sink)?);
    }
    Ok(confirmations)
}

/// The confirmed one with the highest throughput; one that can be believed before one that cannot.
pub(super) fn winner(confirmations: &[Confirmation]) -> Option<usize> {
    let fitting = confirmations.iter().enumerate().filter(|(_, one)| one.refused.is_none());
    let key = |one: &Confirmation| {
        let valid = one.verdict.as_ref().is_some_and(|verdict| verdict.valid);
        (valid, one.throughput.map_or(0.0, |found| found.value))
    };
    let better = |a: &Confirmation, b: &Confirmation| {
        let ((a_valid, a), (b_valid, b)) = (key(a), key(b));
        a_valid.cmp(&b_valid).then(a.total_cmp(&b))
    };
    fitting.max_by(|(_, a), (_, b)| better(a, b)).map(|(index, _)| index)
}

fn measure(
    candidate: &Candidate,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Result<Confirmation, Error> {
    let Candidate { profiler, cell, .. } = candidate;
    let label = format!("confirming {} {}, batch {}", cell.engine, cell.precision, cell.batch_size);
    let mut hear = |event: Event| sink(event.labelled(&label));
    let measured = profiler.profile_in(session, &mut hear).map(|profile| profile.run);
    let mut confirmation = Confirmation {
        cell: cell.clone(),
        run: None,
        throughput: None,
        latency: None,
        peak: None,
        verdict: None,
        refused: None,
        command: command(profiler, cell),
    };
    match standing(measured)? {
        Standing::Refused(refusal) => confirmation.refused = Some(refusal),
        Standing::Fits(run) => {
            confirmation.throughput = throughput_of(&run);
            confirmation.latency = latency_of(&run);
            confirmation.peak = peak_of(&run);
            confirmation.verdict = Some(run.verdict.clone());
            confirmation.cell = run.cell.clone();
            confirmation.run = session.stored_as(&run.id).map(types::RunId);
        }
    }
    Ok(confirmation)
}

/// How to measure it again.
fn command(profiler: &Profiler, cell: &Cell) -> String {
    let limit = profiler.memory_limit.map_or(0, |limit| limit.0 >> 20);
    let mut words = format!("{} --memory-limit {limit}", measuring(cell));
    if let Some(by) = profiler.limit_by {
        words.push_str(&format!(" --limit-by {by}"));
    }
    words
}
