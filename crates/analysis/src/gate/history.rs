//! A baseline that was stored before: what can be told when nobody took turns.
//!
//! Runs of one sitting share the machine's mood, so that a sitting is the unit. Where there are enough of them, their
//! scatter says how far a new sitting may lie from them by chance. Where there are not, drift must be allowed for by
//! what machines were seen to do.

use super::{value_of, worse};
use stats::Evidence;
use types::{GateDesign, Gauge, Run};

/// From so many sittings on their own scatter tells how the machine drifts.
pub const HISTORY_SITTINGS: usize = 5;

/// What an idle machine was seen to drift between minutes, where nothing better is known.
pub const STORED_DRIFT: f64 = 0.30;

/// Runs that began so long after the one before belong to another sitting, in microseconds.
const NEW_SITTING: i64 = 15 * 60 * 1_000_000;

/// How much worse the runs are than those of the baseline, which design that is, and whether drift is in it already.
///
/// `None` where there are too few values to say anything.
#[must_use]
pub fn stored_change(gauge: Gauge, base: &[Run], side: &[Run]) -> Option<(Evidence, GateDesign)> {
    let logs = |runs: &[Run]| -> Vec<f64> {
        let each = runs.iter().filter_map(|run| value_of(run, gauge).ok());
        each.map(|value| worse(gauge, value.ln())).collect()
    };
    let side = logs(side);
    let now = mean(&side)?;
    let sittings = sittings(base);
    let history: Vec<f64> = sittings.iter().filter_map(|runs| mean(&logs(runs))).collect();
    if history.len() >= HISTORY_SITTINGS {
        return Some((Evidence::of_next(&history, now)?, GateDesign::History));
    }
    let base = logs(base);
    let evidence = match (base.as_slice(), side.len()) {
        ([], _) => None,
        // One process of a side scatters as those of the other do, as far as anyone knows.
        ([only], _) => Evidence::of_next(&side, *only).map(mirrored),
        (_, 1) => Evidence::of_next(&base, now),
        _ => Evidence::between(&base, &side),
    };
    Some((evidence?, GateDesign::Stored))
}

fn mirrored(evidence: Evidence) -> Evidence {
    Evidence { centre: -evidence.centre, ..evidence }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The runs of each sitting, in the order of time.
fn sittings(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut runs: Vec<Run> = runs.to_vec();
    runs.sort_by_key(|run| run.started_at);
    let mut sittings: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let last = sittings.last().and_then(|sitting| sitting.last());
        let is_new = last.is_none_or(|last| run.started_at - last.started_at > NEW_SITTING);
        if is_new {
            sittings.push(vec![run]);
        } else if let Some(sitting) = sittings.last_mut() {
            sitting.push(run);
        }
    }
    sittings
}
