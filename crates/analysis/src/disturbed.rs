//! Turns that something else disturbed: left out of every ratio, counted, and named.

use types::{Disturbed, InvalidRuns, ReasonCode, Turn};

/// The pairs of neighbouring turns of one round in which neither was disturbed.
pub(crate) fn undisturbed<'t>(
    base: &'t [Turn],
    side: &'t [Turn],
) -> impl Iterator<Item = (&'t Turn, &'t Turn)> {
    base.iter().zip(side).filter(|(base, side)| cause(base, side).is_none())
}

/// How many pairs of turns were disturbed, over all rounds; `None` if none was.
#[must_use]
pub fn disturbed_pairs(base: &[Vec<Turn>], side: &[Vec<Turn>]) -> Option<Disturbed> {
    let pairs = || base.iter().zip(side).flat_map(|(base, side)| base.iter().zip(side));
    let causes: InvalidRuns = pairs().filter_map(|(base, side)| cause(base, side)).collect();
    let found = Disturbed {
        pairs: pairs().count() as u64,
        left_out: causes.total(),
        causes: causes.by_count(),
    };
    (found.left_out > 0).then_some(found)
}

fn cause(base: &Turn, side: &Turn) -> Option<ReasonCode> {
    base.disturbed.or(side.disturbed)
}

/// What people are told where too many turns were disturbed.
#[must_use]
pub fn too_busy(disturbed: &Disturbed) -> String {
    format!("the machine was too busy: {}", disturbed.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(disturbed: Option<ReasonCode>) -> Turn {
        Turn { disturbed, ..Turn::quiet(vec![100; 3]) }
    }

    #[test]
    fn a_pair_counts_where_neither_was_disturbed_and_the_rest_is_counted() {
        let busy = Some(ReasonCode::BusyMachine);
        let base = vec![vec![turn(None), turn(busy), turn(None), turn(None)]];
        let side = vec![vec![turn(None), turn(busy), turn(busy), turn(None)]];
        assert_eq!(undisturbed(&base[0], &side[0]).count(), 2);
        let found = disturbed_pairs(&base, &side).unwrap();
        assert_eq!(found.words(), "2 of 4 pairs of turns were disturbed (2 × other work)");
        assert!(!found.is_too_much());
        assert_eq!(disturbed_pairs(&base[..0], &side), None);
    }
}
