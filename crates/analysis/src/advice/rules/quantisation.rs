//! Eight-bit integers.

use super::narrower;
use crate::advice::{Facts, Judgement, Missing, Rule};
use types::Precision;

pub(super) struct Quantisation;

impl Rule for Quantisation {
    fn id(&self) -> &'static str {
        "quantisation"
    }

    fn about(&self) -> &'static str {
        "int8 instead of floating point"
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("no engine here trains in int8")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        if facts.run.cell.precision == Precision::Int8 {
            return Ok(Judgement::Beside("the model computes in int8 already".into()));
        }
        let caveat = "the proof checks only the direction of the outputs; measure the quality of your task as well";
        narrower::judge(facts, &[Precision::Int8], caveat)
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Goal;

    #[test]
    fn faster_integers_are_advised_by_their_ceiling() {
        let run = scene::run();
        let facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 600e9);
        let advice = said::advice(&Quantisation, &facts);
        // Three times the ceiling, half of it reached; without layers everything may be compute-bound.
        said::is_between(&advice, 1.0 / (0.5 + 0.5 / 3.0), 3.0);
        assert_eq!(advice.gain.what, Goal::Latency);
    }

    #[test]
    fn whoever_wants_memory_is_told_of_the_weights() {
        let run = scene::run();
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 600e9);
        facts.goal = Some(Goal::Memory);
        // Three quarters of 200 MB go from 300 MB.
        let advice = said::advice(&Quantisation, &facts);
        said::is_between(&advice, 1.0, 2.0);
        assert_eq!(advice.gain.saved.unwrap().0, 150_000_000);
    }

    #[test]
    fn integers_that_are_no_faster_are_fine_and_unmeasured_ones_not_judged() {
        let mut run = scene::run();
        run.model.size.0 = 1_000_000;
        let facts = scene::with_ceiling(scene::facts(&run), Precision::Int8, 190e9);
        assert_eq!(said::fine(&Quantisation, &facts).value, 0.95);
        assert!(said::missing(&Quantisation, &scene::facts(&run)).why.contains("int8 ceiling"));
        run.cell.precision = Precision::Int8;
        assert!(said::beside(&Quantisation, &scene::facts(&run)).contains("already"));
    }
}
