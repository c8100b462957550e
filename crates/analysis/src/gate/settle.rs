//! How much more would have to be measured before a question is settled.

use super::{alert, held_below, must_pass};
use stats::Evidence;
use types::Question;

/// How many units would settle the question, as far as the scatter seen goes; `None` if no sensible number would, because
/// the truth lies where the answer changes.
pub(super) fn settle(question: &Question, evidence: &Evidence, chance: f64) -> Option<u64> {
    let distance = match evidence.centre >= alert(question) {
        true => evidence.centre - must_pass(question),
        false => held_below(question) - evidence.centre,
    };
    if distance <= 0.0 {
        return None;
    }
    let units = evidence.units_to_tell(distance, chance)?;
    (units > evidence.units as u64).then_some(units)
}
