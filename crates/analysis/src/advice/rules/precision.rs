//! Sixteen bits instead of thirty-two.

use super::narrower;
use crate::advice::{Facts, Judgement, Missing, Rule};
use types::Precision;

pub(super) struct LowerPrecision;

impl Rule for LowerPrecision {
    fn id(&self) -> &'static str {
        "precision"
    }

    fn about(&self) -> &'static str {
        "fp16 or bf16 instead of fp32"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let now = facts.run.cell.precision;
        if now != Precision::Fp32 {
            return Ok(Judgement::Beside(format!("the model computes in {now} already")));
        }
        let caveat =
            "outputs differ in the third or fourth digit; the proof compares them with fp32";
        narrower::judge(facts, &[Precision::Bf16, Precision::Fp16], caveat)
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::{Bound, Change, Goal, Proof};

    #[test]
    fn the_gain_lies_between_the_ceilings_own_share_and_the_compute_bound_one() {
        let mut run = scene::run();
        run.layers = scene::layers(&[("mlp", 0.8, Some(Bound::Compute)), ("norm", 0.2, None)], &[]);
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Bf16, 800e9);
        facts.alternatives = Ok(vec![scene::engine("rten", &[Precision::Bf16])]);
        let advice = said::advice(&LowerPrecision, &facts);
        // Four times the ceiling; half of it is reached, four fifths are compute-bound.
        said::is_between(&advice, 1.0 / (0.5 + 0.5 / 4.0), 1.0 / (0.2 + 0.8 / 4.0));
        assert_eq!(advice.title, "compute in bf16 instead of fp32");
        let change = Change { precision: Some(Precision::Bf16), ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
    }

    #[test]
    fn another_engine_is_named_where_the_own_one_cannot() {
        let run = scene::run();
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Bf16, 800e9);
        facts.alternatives = Ok(vec![
            scene::engine("rten", &[Precision::Fp32]),
            scene::engine("torch", &[Precision::Fp32, Precision::Bf16]),
        ]);
        let advice = said::advice(&LowerPrecision, &facts);
        assert_eq!(advice.title, "compute in bf16 on torch instead of fp32 on rten");
        said::is_between(&advice, 1.6, 4.0);
    }

    #[test]
    fn a_ceiling_that_is_no_higher_is_fine() {
        let run = scene::run();
        let mut facts = scene::with_ceiling(scene::facts(&run), Precision::Fp16, 200e9);
        facts.alternatives = Ok(vec![scene::engine("rten", &[Precision::Fp16])]);
        assert_eq!(said::fine(&LowerPrecision, &facts).value, 1.0);
    }

    #[test]
    fn without_a_ceiling_only_memory_can_be_told() {
        let mut run = scene::run();
        let mut facts = scene::facts(&run);
        facts.alternatives = Ok(vec![scene::engine("rten", &[Precision::Bf16])]);
        // 100 of 300 MB go: 300 ÷ 200.
        let advice = said::advice(&LowerPrecision, &facts);
        assert_eq!((advice.gain.what, advice.gain.saved.unwrap().0), (Goal::Memory, 100_000_000));
        said::is_between(&advice, 1.0, 1.5);
        let mut elsewhere = scene::facts(&run);
        elsewhere.alternatives = Ok(vec![scene::engine("torch", &[Precision::Bf16])]);
        assert!(said::missing(&LowerPrecision, &elsewhere).why.contains("bf16 ceiling"));
        run.model.size.0 = 10_000_000;
        let mut facts = scene::facts(&run);
        facts.alternatives = Ok(vec![scene::engine("rten", &[Precision::Bf16])]);
        let missing = said::missing(&LowerPrecision, &facts);
        assert!(missing.why.contains("bf16 ceiling") && missing.hint.is_some());
    }

    #[test]
    fn nothing_to_say_where_it_is_done_or_nobody_can() {
        let mut run = scene::run();
        assert!(said::beside(&LowerPrecision, &scene::facts(&run)).contains("no engine here"));
        run.cell.precision = Precision::Bf16;
        assert!(said::beside(&LowerPrecision, &scene::facts(&run)).contains("already"));
        run.cell.precision = Precision::Fp32;
        let mut facts = scene::facts(&run);
        facts.alternatives = Err(Missing::because("another machine"));
        assert_eq!(said::missing(&LowerPrecision, &facts).why, "another machine");
    }
}
