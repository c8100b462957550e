//! The first answer against the later ones.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{evidence, gain},
    warmth,
};
use types::{Goal, Phase, Proof, Unit};

/// From here on people notice that they wait.
const NOTICED: f64 = 1.0;
/// A first inference so many times slower than a warm one does work that belongs before the first request.
const SLOW_FIRST: f64 = 3.0;
/// Below this nobody waits for it, whatever the ratio.
const SHORT: f64 = 0.05;
/// A start that adds less than this share to the time of all requests no longer counts.
const PAID_OFF: f64 = 0.1;
/// How far the same machine drifts between minutes, as a factor.
const DRIFT: f64 = 1.3;

pub(super) struct ColdStart;

impl Rule for ColdStart {
    fn id(&self) -> &'static str {
        "cold-start"
    }

    fn about(&self) -> &'static str {
        "the time to the first result"
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("a training starts once")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let run = facts.run;
        let missing = || Missing::because("the run has no times");
        let warm = run.summaries.get(&Phase::Inference).ok_or_else(missing)?.median;
        let factor = warmth(run).ok_or_else(missing)?;
        let first = run.cold.first_inference.as_secs_f64();
        let (start, load) = (run.cold.process_start.as_secs_f64(), run.cold.load.as_secs_f64());
        let cold = start + load + first;
        let number = evidence("time to the first result", "cold", cold, Unit::Seconds);
        let slow_first = first / warm >= SLOW_FIRST && first - warm >= SHORT;
        if cold < NOTICED && !slow_first {
            return Ok(Judgement::Fine(number));
        }
        let requests = ((cold - warm) / (PAID_OFF * warm)).ceil();
        let numbers = vec![
            number,
            evidence("of which starting the process", "cold.start", start, Unit::Seconds),
            evidence("of which loading the model", "cold.load", load, Unit::Seconds),
            evidence("of which the first inference", "cold.first", first, Unit::Seconds),
            evidence("time of a warm inference", "inference.latency", warm, Unit::Seconds),
            evidence(
                "inferences until the start is a tenth of all time",
                "cold.paid_off",
                requests,
                Unit::Count,
            ),
        ];
        let title = "keep the process alive, and run one inference before the first request";
        let basis = "start, load and first inference compared with a warm one; starts vary by 30 %";
        let gain = gain(Goal::Start, (factor / DRIFT).max(1.0), factor * DRIFT, basis);
        let caveat = "only the first result gets faster";
        Ok(advise(title, numbers, gain, Proof::Repeat, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use std::time::Duration;

    #[test]
    fn a_start_that_people_notice_is_told_with_its_parts() {
        let mut run = scene::run();
        run.cold.load = Duration::from_millis(1970);
        let advice = said::advice(&ColdStart, &scene::facts(&run));
        // 10 + 1970 + 20 ms against 10 ms.
        said::is_between(&advice, 200.0 / 1.3, 200.0 * 1.3);
        // 1990 ms more than a warm one, a tenth of 10 ms each.
        assert_eq!(advice.evidence[5].value, 1990.0);
        assert_eq!(advice.gain.what, Goal::Start);
    }

    #[test]
    fn a_slow_first_inference_is_told_even_where_the_start_is_quick() {
        let mut run = scene::run();
        run.cold.first_inference = Duration::from_millis(90);
        said::is_between(&said::advice(&ColdStart, &scene::facts(&run)), 20.0 / 1.3, 20.0 * 1.3);
    }

    #[test]
    fn a_quick_start_is_fine_and_no_times_are_not_judged() {
        let mut run = scene::run();
        assert!((said::fine(&ColdStart, &scene::facts(&run)).value - 0.13).abs() < 1e-12);
        run.summaries.clear();
        said::missing(&ColdStart, &scene::facts(&run));
    }
}
