//! Time that goes into tokens before the model sees any.

use super::{advise, padding::no_text};
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, evidence, gain},
    overlap,
};
use types::{Goal, Phase, Proof, Unit};

pub(super) struct Tokenisation;

impl Rule for Tokenisation {
    fn id(&self) -> &'static str {
        "tokenisation"
    }

    fn about(&self) -> &'static str {
        "time in the tokenizer while the model waits"
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("a training step takes token ids, not text")
    }

    fn beside_generating(&self) -> Option<&'static str> {
        Some("tokenising is part of the time to the first token: `generate --text` shows it")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let run = facts.run;
        if run.cell.sequence_length.is_none() {
            return Ok(Judgement::Beside("the model takes no tokens".into()));
        }
        let phase = |phase: Phase| run.summaries.get(&phase);
        let (Some(tokenise), Some(total)) = (phase(Phase::Tokenise), phase(Phase::Total)) else {
            return Err(no_text());
        };
        let factor = overlap(run).ok_or_else(|| Missing::because("the run has no times"))?;
        let share = tokenise.median / total.median;
        let text = "share of the time that the tokenizer takes";
        let number = evidence(text, "tokenise.share", share, Unit::Ratio);
        if factor < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let (early, late) = (tokenise.ci95_median, total.ci95_median);
        let longer = |tokenise: f64, total: f64| tokenise.max(total - tokenise);
        let low = late.low / longer(early.high, late.high).max(longer(early.low, late.high));
        let high = late.high / longer(early.low, late.low).min(longer(early.high, late.low));
        let numbers = vec![
            number,
            evidence("time of the tokenizer", "tokenise.latency", tokenise.median, Unit::Seconds),
            evidence("total time", "total.latency", total.median, Unit::Seconds),
        ];
        let basis = "the longer of the two alone, when both run at the same time";
        let gain = gain(Goal::Throughput, low.min(factor), high.max(factor), basis);
        let title = "tokenise the next batch while the model runs, or on more threads";
        let caveat =
            "a single request is not answered sooner; the tokenizer needs a core of its own";
        Ok(advise(title, numbers, gain, Proof::Repeat, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Run;

    fn with_times(tokenise: f64, total: f64) -> Run {
        let mut run = scene::run();
        run.summaries.insert(Phase::Tokenise, scene::summary(tokenise));
        run.summaries.insert(Phase::Total, scene::summary(total));
        run
    }

    #[test]
    fn a_tokenizer_that_takes_a_fifth_is_worth_hiding() {
        let run = with_times(0.002, 0.010);
        let advice = said::advice(&Tokenisation, &scene::facts(&run));
        said::is_between(&advice, 1.25, 1.25);
        assert!((advice.evidence[0].value - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_tokenizer_that_takes_longer_than_the_model_is_the_limit() {
        let run = with_times(0.006, 0.010);
        said::is_between(&said::advice(&Tokenisation, &scene::facts(&run)), 10.0 / 6.0, 10.0 / 6.0);
    }

    #[test]
    fn a_fast_tokenizer_is_fine_and_none_is_not_judged() {
        let mut run = with_times(0.0001, 0.010);
        assert!((said::fine(&Tokenisation, &scene::facts(&run)).value - 0.01).abs() < 1e-12);
        run.summaries.remove(&Phase::Tokenise);
        assert!(said::missing(&Tokenisation, &scene::facts(&run)).hint.is_some());
        run.cell.sequence_length = None;
        said::beside(&Tokenisation, &scene::facts(&run));
    }
}
