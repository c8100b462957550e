//! How far one candidate is behind another, and whether that can be told.

use crate::outcome::Unseen;
use stats::quotient;
use types::{Behind, Objective, Pooled, PooledCell};

/// How far `other` is behind `best`, which is at least as good.
///
/// Stored cells took no turns. Unless their runs alternate in time, drift of a machine may be all there is to see, so either
/// end of the interval is allowed as much as an idle machine was seen to drift. Memory does not drift; there only a single
/// process leaves something unseen.
pub(super) fn behind(
    objective: Objective,
    (best, best_value): (&PooledCell, &Pooled),
    (other, other_value): (&PooledCell, &Pooled),
) -> Behind {
    let factor = match objective {
        Objective::Throughput => quotient(best_value, other_value),
        _ => quotient(other_value, best_value),
    };
    let repeated = best.runs.len() > 1 && other.runs.len() > 1;
    let unseen = match objective {
        Objective::Memory if repeated => Unseen::Nothing,
        Objective::Memory => Unseen::OtherProcesses,
        _ if repeated && alternate(best, other) => Unseen::Nothing,
        _ => Unseen::Drift,
    };
    let allowance = unseen.allowance();
    // A single high-water mark has no interval, but it is exact; a single time is not.
    let exact = (objective == Objective::Memory && !repeated).then_some(factor.value);
    let low = factor.interval.map(|interval| interval.low).or(exact);
    let told_apart = low.is_some_and(|low| low / (1.0 + allowance) > 1.0);
    Behind { factor, allowance, told_apart }
}

/// Whether each has a run before the other's last and after the other's first.
pub(crate) fn alternate(left: &PooledCell, right: &PooledCell) -> bool {
    left.key.machine == right.key.machine
        && left.began.0 < right.began.1
        && right.began.0 < left.began.1
}
