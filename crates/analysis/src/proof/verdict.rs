//! Whether a change made a model faster, and if not, why not and what would.

use types::{Optimisation, Outcome, Precision, SpeedUp, SpeedVerdict};

/// A model is called no faster where its interval ends below this; a wider one would claim what was not seen.
///
/// The bound that a comparison of engines calls no difference.
const NO_FASTER_BELOW: f64 = 1.10;

/// What may be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: SpeedVerdict,
    /// Why it is not faster.
    pub why: Option<String>,
    /// What would be faster.
    pub instead: Option<String>,
}

/// What an outcome of before against after means for this change.
#[must_use]
pub fn judge_speed(
    change: &Optimisation,
    outcome: &Outcome,
    speed_up: Option<&SpeedUp>,
) -> Judgement {
    let most = speed_up.and_then(|found| found.interval).map(|interval| interval.high);
    let verdict = match outcome {
        Outcome::Better => SpeedVerdict::Faster,
        Outcome::CannotTell if most.is_some_and(|most| most < NO_FASTER_BELOW) => {
            SpeedVerdict::NoFaster
        }
        Outcome::CannotTell => SpeedVerdict::CannotTell,
        Outcome::Worse => SpeedVerdict::Slower,
        Outcome::Refused { .. } => SpeedVerdict::Unmeasured,
    };
    match outcome {
        Outcome::Better => Judgement { verdict, why: None, instead: None },
        Outcome::Refused { why } => Judgement { verdict, why: Some(why.clone()), instead: None },
        Outcome::CannotTell | Outcome::Worse => {
            let (why, instead) = reason(change);
            Judgement { verdict, why: Some(why.into()), instead: instead.map(str::to_owned) }
        }
    }
}

/// Why such a change may leave the time as it is, and what does not.
fn reason(change: &Optimisation) -> (&'static str, Option<&'static str>) {
    const SMALLER: &str = "`prune --method structured` makes the matrices themselves smaller";
    match change {
        Optimisation::Zeroed { method, .. } if method == "n-m" => (
            "dense kernels do not skip zeros; groups like these are skipped by the sparse tensor cores of recent GPUs only",
            Some(SMALLER),
        ),
        Optimisation::Zeroed { .. } => (
            "dense kernels do not skip zeros: a product takes as long with them as without",
            Some(SMALLER),
        ),
        Optimisation::Structured { .. } => (
            "too little of the time is spent in what was cut, or the smaller sizes suit the kernels less",
            Some("a higher `--sparsity`, or a larger batch, where the products weigh more"),
        ),
        Optimisation::Quantised { to: Precision::Int8, how: Some(how), .. }
            if how == "weights-only" =>
        {
            (
                "the weights are widened before each product, which is then one of floats",
                Some("`quantize --to int8` without `--weights-only` multiplies integers"),
            )
        }
        Optimisation::Quantised { to: Precision::Int8, .. } => (
            "rounding the activations costs what the integer products save, or the engine has no fast ones here",
            Some("another engine (`--engines`), or `prune --method structured`"),
        ),
        Optimisation::Quantised { .. } => (
            "this processor or engine computes 16-bit floats by widening them",
            Some("`quantize --to int8` multiplies integers"),
        ),
        Optimisation::Together { .. } => (
            "what one change saves the others cost, or the engine has no fast kernels for them here",
            Some("each change alone, or another engine (`--engines`)"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Interval;

    #[test]
    fn zeros_that_are_not_skipped_are_named_and_so_is_what_helps() {
        let change = Optimisation::Zeroed {
            method: "magnitude".into(),
            pattern: None,
            asked: 0.5,
            reached: 0.5,
            calibrated: false,
            steps: 1,
        };
        let within = |high: f64| SpeedUp {
            ratio: 1.0,
            interval: Some(Interval { low: 0.97, high }),
            best: 1.0,
            worst: 1.0,
            rounds: Vec::new(),
            p_value: None,
            adjusted_p: None,
            detectable: None,
        };
        let found = judge_speed(&change, &Outcome::CannotTell, Some(&within(1.02)));
        assert_eq!(found.verdict, SpeedVerdict::NoFaster);
        assert!(found.why.unwrap().contains("dense kernels do not skip zeros"));
        assert!(found.instead.unwrap().contains("structured"));
        let wide = judge_speed(&change, &Outcome::CannotTell, Some(&within(1.3)));
        assert_eq!(wide.verdict, SpeedVerdict::CannotTell, "a wide interval claims nothing");
        assert_eq!(judge_speed(&change, &Outcome::Worse, None).verdict, SpeedVerdict::Slower);
        let better = judge_speed(&change, &Outcome::Better, None);
        assert_eq!((better.verdict, better.why), (SpeedVerdict::Faster, None));
        let refused = judge_speed(&change, &Outcome::Refused { why: "it crashed".into() }, None);
        assert_eq!(refused.why.as_deref(), Some("it crashed"));
    }
}
