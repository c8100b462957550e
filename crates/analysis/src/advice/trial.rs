//! Holds what was found against what was expected.

use types::{ExpectedGain, Interval, Outcome, Phase, Run, TrialVerdict};

/// What became of an expectation: the factor that was found, its interval, and what a comparison says of it.
///
/// It came true where the gain is sure and its interval reaches the low end of what was expected. It did not where it
/// got worse, or where even the upper end of the interval is below what was expected.
#[must_use]
pub fn judge_trial(
    expected: &ExpectedGain,
    interval: Option<Interval>,
    outcome: &Outcome,
) -> TrialVerdict {
    let reaches = |interval: Interval| interval.high >= expected.factor.low;
    match (outcome, interval) {
        (Outcome::Refused { .. }, _) => TrialVerdict::Refused,
        (Outcome::Worse, _) => TrialVerdict::DidNot,
        (Outcome::Better, Some(found)) if reaches(found) => TrialVerdict::CameTrue,
        (Outcome::Better, _) => TrialVerdict::FellShort,
        (Outcome::CannotTell, Some(found)) if !reaches(found) => TrialVerdict::DidNot,
        (Outcome::CannotTell, _) => TrialVerdict::CannotTell,
    }
}

/// How many times as long a first answer takes as a warm one: process start, load and first inference ÷ median.
#[must_use]
pub fn warmth(run: &Run) -> Option<f64> {
    let warm = run.summaries.get(&Phase::Inference)?.median;
    let cold = run.cold.process_start + run.cold.load + run.cold.first_inference;
    (warm > 0.0).then(|| cold.as_secs_f64() / warm)
}

/// How much more a second would be done if texts were tokenised while the model runs: total ÷ the longer of both.
#[must_use]
pub fn overlap(run: &Run) -> Option<f64> {
    let total = run.summaries.get(&Phase::Total)?.median;
    let tokenise = run.summaries.get(&Phase::Tokenise)?.median;
    let longer = tokenise.max(total - tokenise);
    (longer > 0.0).then(|| total / longer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Goal;

    fn expected(low: f64, high: f64) -> ExpectedGain {
        ExpectedGain {
            what: Goal::Latency,
            factor: Interval { low, high },
            saved: None,
            basis: String::new(),
        }
    }

    #[test]
    fn what_was_found_is_held_against_what_was_expected() {
        use TrialVerdict::{CameTrue, CannotTell, DidNot, FellShort, Refused};
        let refused = Outcome::Refused {
            code: types::RemarkCode::OutputsDiffer,
            why: "outputs differ".into(),
        };
        for (low, high, outcome, verdict) in [
            (1.6, 2.0, Outcome::Better, CameTrue),
            // More than was promised is no broken promise.
            (3.5, 3.9, Outcome::Better, CameTrue),
            (1.1, 1.2, Outcome::Better, FellShort),
            (0.8, 0.9, Outcome::Worse, DidNot),
            // Nothing is sure but that it is less than 1.5.
            (0.9, 1.2, Outcome::CannotTell, DidNot),
            (0.9, 1.8, Outcome::CannotTell, CannotTell),
            (1.0, 1.0, refused, Refused),
        ] {
            let found = Some(Interval { low, high });
            assert_eq!(judge_trial(&expected(1.5, 2.5), found, &outcome), verdict, "{low}");
        }
    }
}
