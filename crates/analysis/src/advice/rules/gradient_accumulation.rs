//! The optimiser once for several batches.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, amdahl, change, evidence, gain},
};
use types::{Change, Goal, Phase, Unit};

/// So many batches are put together: beyond, little is left of the optimiser's share.
const BATCHES: u32 = 4;

pub(super) struct GradientAccumulation;

impl Rule for GradientAccumulation {
    fn id(&self) -> &'static str {
        "gradient-accumulation"
    }

    fn about(&self) -> &'static str {
        "the optimiser's share of a training step"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let run = facts.run;
        let Some(training) = &run.cell.training else {
            return Ok(Judgement::Beside("the run is not a training".into()));
        };
        let median = |phase: Phase| run.summaries.get(&phase).map(|summary| summary.median);
        let missing = || Missing::because("the run has no times of its phases");
        let step = median(Phase::Total).filter(|step| *step > 0.0).ok_or_else(missing)?;
        let optimizer = median(Phase::Optimizer).ok_or_else(missing)?;
        let share = (optimizer / step).clamp(0.0, 1.0);
        let number =
            evidence("share of the optimiser in a step", "optimizer.share", share, Unit::Ratio);
        let likely = amdahl(share, f64::from(BATCHES));
        if likely < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let batches = training.accumulation.saturating_mul(BATCHES);
        let numbers = vec![
            number,
            evidence("time of one training step", "step", step, Unit::Seconds),
            evidence("of which the optimiser", "optimizer", optimizer, Unit::Seconds),
        ];
        let basis =
            "the weights are updated once instead of four times; everything else stays the same";
        let title = format!("accumulate the gradients of {batches} batches before each update");
        let proof = change(Change { accumulation: Some(batches), ..Change::default() });
        let caveat = "fewer, larger steps train differently: check learning rate and loss again";
        Ok(advise(title, numbers, gain(Goal::Throughput, 1.0, likely, basis), proof, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Proof;

    #[test]
    fn an_optimiser_that_takes_a_share_of_the_step_is_called_less_often() {
        let run = scene::training_run();
        let advice = said::advice(&GradientAccumulation, &scene::facts(&run));
        // 6 of 40 ms, a quarter of it left: 1 ÷ (0.85 + 0.15 ÷ 4).
        said::is_between(&advice, 1.0, 1.0 / (0.85 + 0.15 / 4.0));
        let change = Change { accumulation: Some(4), ..Change::default() };
        assert_eq!(advice.proof, Proof::Change { change });
    }

    #[test]
    fn a_quick_optimiser_is_fine_and_an_inference_has_none() {
        let mut run = scene::training_run();
        run.summaries.insert(Phase::Optimizer, scene::summary(0.001));
        assert!(
            (said::fine(&GradientAccumulation, &scene::facts(&run)).value - 0.025).abs() < 1e-9
        );
        let run = scene::run();
        assert!(said::beside(&GradientAccumulation, &scene::facts(&run)).contains("training"));
        let mut run = scene::training_run();
        run.summaries.clear();
        said::missing(&GradientAccumulation, &scene::facts(&run));
    }
}
