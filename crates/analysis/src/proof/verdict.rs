//! Whether a change made a model faster; why not, where that is known; and what to try next.

use number::percent;
use types::{Interval, Optimisation, Outcome, Precision, SpeedUp, SpeedVerdict};

/// A model is called no faster where its interval ends below this; a wider one would claim what was not seen.
///
/// The bound that a comparison of engines calls no difference.
const NO_FASTER_BELOW: f64 = 1.10;

/// More processes than this nobody starts for one answer: a quieter machine is then the better advice.
const MOST_PROCESSES: f64 = 64.0;

/// What else was seen, beside the times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Circumstances {
    /// Operations after ÷ before, where both were counted.
    pub work: Option<f64>,
    /// Why the times themselves are not valid, where they are not.
    pub invalid: Option<String>,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: SpeedVerdict,
    /// Why it is not faster, or why that cannot be told; only what was seen or holds for every such change.
    pub why: Option<String>,
    /// What to try next.
    pub instead: Option<String>,
}

/// What an outcome of before against after means for this change.
#[must_use]
pub fn judge_speed(
    change: &Optimisation,
    outcome: &Outcome,
    speed_up: Option<&SpeedUp>,
    seen: &Circumstances,
) -> Judgement {
    let most = speed_up.and_then(|found| found.interval).map(|interval| interval.high);
    let verdict = match outcome {
        Outcome::Better => SpeedVerdict::Faster,
        Outcome::CannotTell if seen.invalid.is_some() => SpeedVerdict::CannotTell,
        Outcome::CannotTell if most.is_some_and(|most| most < NO_FASTER_BELOW) => {
            SpeedVerdict::NoFaster
        }
        Outcome::CannotTell => SpeedVerdict::CannotTell,
        Outcome::Worse => SpeedVerdict::Slower,
        Outcome::Refused { .. } => SpeedVerdict::Unmeasured,
    };
    let (why, instead) = match verdict {
        SpeedVerdict::Faster => (None, None),
        SpeedVerdict::Unmeasured => match outcome {
            Outcome::Refused { why, .. } => (Some(why.clone()), None),
            _ => (None, None),
        },
        SpeedVerdict::CannotTell => undecided(speed_up, seen),
        SpeedVerdict::NoFaster | SpeedVerdict::Slower => reason(change, seen),
    };
    Judgement { verdict, why, instead }
}

/// Nothing is known of a cause where nothing is known of an effect: only why it is open, and what would settle it.
fn undecided(speed_up: Option<&SpeedUp>, seen: &Circumstances) -> (Option<String>, Option<String>) {
    const QUIET: &str = "measure again on a quieter machine";
    if let Some(why) = &seen.invalid {
        return (Some(why.clone()), Some(QUIET.into()));
    }
    let why = match speed_up.and_then(|found| found.interval) {
        Some(Interval { low, high }) if low > 1.0 || high < 1.0 => {
            "the interval excludes 1, but too few processes agree".to_owned()
        }
        Some(_) => "the interval reaches from slower to faster".to_owned(),
        None => "too few processes were measured for an interval".to_owned(),
    };
    let more = speed_up.and_then(processes_to_tell);
    let instead = match more {
        Some(processes) => format!("`--processes {processes}` or a quieter machine narrows it"),
        None => QUIET.to_owned(),
    };
    (Some(why), Some(instead))
}

/// How many processes would show a difference of a tenth: an interval narrows with their square root.
fn processes_to_tell(found: &SpeedUp) -> Option<u64> {
    let seen = found.detectable.filter(|seen| *seen > 0.0)?.ln_1p();
    let now = found.rounds.len().max(1) as f64;
    let needed = (now * (seen / NO_FASTER_BELOW.ln()).powi(2)).ceil().max(now + 1.0);
    (needed <= MOST_PROCESSES).then_some(needed as u64)
}

/// Why such a change left the time as it is, where that is known; and what does not.
fn reason(change: &Optimisation, seen: &Circumstances) -> (Option<String>, Option<String>) {
    const SMALLER: &str = "`prune --method structured` makes the matrices themselves smaller";
    let (why, instead): (Option<String>, &str) = match change {
        // The same operations on the same sizes: every engine here computes zeros like other numbers.
        Optimisation::Zeroed { method, .. } if method == "n-m" => (
            Some(
                "dense kernels do not skip zeros; groups like these are skipped by the sparse tensor cores of recent GPUs only"
                    .into(),
            ),
            SMALLER,
        ),
        Optimisation::Zeroed { .. } => (
            Some("dense kernels do not skip zeros: a product takes as long with them as without".into()),
            SMALLER,
        ),
        Optimisation::Structured { .. } => (
            fewer_operations(seen),
            "a higher `--sparsity`, or a larger batch; `profile --layers` of both shows where the time goes",
        ),
        Optimisation::Quantised { to: Precision::Int8, how: Some(how), .. }
            if how == "weights-only" =>
        {
            (
                Some("the weights are converted to floats before each product".into()),
                "`quantize --to int8` without `--weights-only` multiplies integers",
            )
        }
        Optimisation::Quantised { to: Precision::Int8, .. } => {
            (None, "another engine (`--engines`), or `prune --method structured`")
        }
        Optimisation::Quantised { .. } => (None, "another engine (`--engines`), or `quantize --to int8`"),
        Optimisation::Together { .. } => {
            (fewer_operations(seen), "each change alone, or another engine (`--engines`)")
        }
    };
    (why, Some(instead.to_owned()))
}

/// The one thing that is known: how much less there is to compute.
fn fewer_operations(seen: &Circumstances) -> Option<String> {
    let left = seen.work.filter(|work| work.is_finite() && *work < 1.0)?;
    Some(format!(
        "{} of the operations are left, and the time did not fall with them",
        percent(left)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeroed() -> Optimisation {
        Optimisation::Zeroed {
            method: "magnitude".into(),
            pattern: None,
            asked: 0.5,
            reached: 0.5,
            calibrated: false,
            steps: 1,
        }
    }

    fn structured() -> Optimisation {
        Optimisation::Structured { asked: 0.3, reached: 0.3, calibrated: false, steps: 1 }
    }

    fn int8() -> Optimisation {
        Optimisation::Quantised {
            to: Precision::Int8,
            how: Some("dynamic".into()),
            per_channel: true,
        }
    }

    fn within(low: f64, high: f64) -> SpeedUp {
        SpeedUp {
            ratio: (low * high).sqrt(),
            interval: Some(Interval { low, high }),
            best: high,
            worst: low,
            rounds: vec![(low * high).sqrt(); 4],
            p_value: None,
            adjusted_p: None,
            detectable: Some((high / low).sqrt() - 1.0),
        }
    }

    fn judge(change: &Optimisation, outcome: &Outcome, found: Option<&SpeedUp>) -> Judgement {
        judge_speed(change, outcome, found, &Circumstances::default())
    }

    #[test]
    fn zeros_that_are_not_skipped_are_named_and_so_is_what_helps() {
        let found = judge(&zeroed(), &Outcome::CannotTell, Some(&within(0.97, 1.02)));
        assert_eq!(found.verdict, SpeedVerdict::NoFaster);
        assert!(found.why.unwrap().contains("dense kernels do not skip zeros"));
        assert!(found.instead.unwrap().contains("structured"));
        assert_eq!(judge(&zeroed(), &Outcome::Worse, None).verdict, SpeedVerdict::Slower);
        let better = judge(&zeroed(), &Outcome::Better, None);
        assert_eq!((better.verdict, better.why), (SpeedVerdict::Faster, None));
        let refused = judge(
            &zeroed(),
            &Outcome::Refused { code: types::RemarkCode::NotMeasured, why: "it crashed".into() },
            None,
        );
        assert_eq!(refused.why.as_deref(), Some("it crashed"));
    }

    #[test]
    fn what_cannot_be_told_has_no_cause_but_what_would_settle_it() {
        for change in [zeroed(), structured(), int8()] {
            let found = judge(&change, &Outcome::CannotTell, Some(&within(0.72, 2.16)));
            assert_eq!(found.verdict, SpeedVerdict::CannotTell, "a wide interval claims nothing");
            let why = found.why.unwrap();
            assert_eq!(why, "the interval reaches from slower to faster");
            let instead = found.instead.unwrap();
            assert!(instead.contains("quieter machine"), "{instead}");
        }
        // 4 processes saw 20 %; a tenth takes (ln 1.2 ÷ ln 1.1)² = 3.66 times as many.
        let close = SpeedUp { detectable: Some(0.2), ..within(0.9, 1.25) };
        let found = judge(&structured(), &Outcome::CannotTell, Some(&close));
        assert!(found.instead.unwrap().contains("`--processes 15`"));
    }

    #[test]
    fn times_that_are_not_valid_are_the_reason_themselves() {
        let busy = Circumstances {
            invalid: Some("other work used 55 % of the machine".into()),
            ..Circumstances::default()
        };
        let narrow = within(0.99, 1.01);
        let found = judge_speed(&zeroed(), &Outcome::CannotTell, Some(&narrow), &busy);
        assert_eq!(found.verdict, SpeedVerdict::CannotTell, "a busy machine shows no equality");
        assert_eq!(found.why, busy.invalid);
    }

    #[test]
    fn a_cut_that_did_not_help_is_told_with_what_was_counted() {
        let seen = Circumstances { work: Some(0.71), ..Circumstances::default() };
        let found =
            judge_speed(&structured(), &Outcome::CannotTell, Some(&within(0.98, 1.03)), &seen);
        assert!(found.why.unwrap().starts_with("71 % of the operations are left"));
        let unknown = judge(&int8(), &Outcome::Worse, Some(&within(0.5, 0.6)));
        assert_eq!(unknown.why, None, "nothing was seen that would explain it");
        assert!(unknown.instead.is_some());
    }
}
