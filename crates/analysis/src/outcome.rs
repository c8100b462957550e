//! What may be said of a speed-up: better, worse, or that the data do not decide.

use crate::disturbed::too_busy;
use number::fixed;
use stats::{RatioEstimate, false_discovery};
use types::{Comparison, Disturbed, Interval, Outcome, Remark, RemarkCode, SideInfo, SpeedUp};

/// The chance of a false alarm that is accepted where the number of processes was fixed beforehand, after correction for
/// the number of comparisons.
pub(crate) const LEVEL: f64 = 0.05;

/// What the times of a comparison cannot show, as a share that is added to either end of its interval before a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// Several processes per side, and drift struck both sides alike.
    Nothing,
    /// One process per side: addresses and pages alone may move a program by a tenth (Mytkowicz and others, 2009).
    OtherProcesses,
    /// The sides were timed at different times: an idle machine was seen to drift by 30 % between batches minutes apart.
    Drift,
}

impl Unseen {
    /// The share by which either end of the interval may be off.
    pub(crate) fn allowance(self) -> f64 {
        match self {
            Unseen::Nothing => 0.0,
            Unseen::OtherProcesses => 0.10,
            Unseen::Drift => 0.30,
        }
    }
}

/// A comparison before its verdict.
pub(crate) struct Pending {
    pub(crate) side: String,
    pub(crate) estimate: Result<RatioEstimate, Remark>,
    pub(crate) unseen: Unseen,
    /// Why the times themselves are not to be believed.
    pub(crate) invalid: Vec<Remark>,
    /// Turns that something else disturbed.
    pub(crate) disturbed: Option<Disturbed>,
    pub(crate) remarks: Vec<Remark>,
}

/// The verdicts on all comparisons of one session together, so that asking often is paid for; `level` is the accepted
/// chance of a false alarm.
pub(crate) fn decide(pending: Vec<Pending>, baseline: &str, level: f64) -> Vec<Comparison> {
    let known = pending.iter().filter_map(|one| one.estimate.as_ref().ok()?.p_value);
    let known: Vec<f64> = known.collect();
    let asked = known.len();
    let mut adjusted = false_discovery(&known).into_iter();
    pending
        .into_iter()
        .map(|one| {
            let Pending { side, estimate, unseen, mut invalid, disturbed, mut remarks } = one;
            match &disturbed {
                // The one reason that explains the others.
                Some(found) if found.is_too_much() => {
                    let why = too_busy(found);
                    let text = format!("{why}; stop other programs and measure again");
                    invalid = vec![Remark::new(RemarkCode::TooBusy, text)];
                }
                Some(found) => remarks.push(Remark::new(
                    RemarkCode::DisturbedLeftOut,
                    format!("{} and left out", found.words()),
                )),
                None => {}
            }
            let (speed_up, outcome) = match estimate {
                Ok(estimate) => {
                    let adjusted_p = estimate.p_value.and_then(|_| adjusted.next());
                    let speed_up = speed_up(estimate, adjusted_p);
                    let outcome = if invalid.is_empty() {
                        judge(&speed_up, unseen, level)
                    } else {
                        Outcome::CannotTell
                    };
                    remarks.extend(corrected(&side, &speed_up, asked, level));
                    (Some(speed_up), outcome)
                }
                Err(why) => (None, Outcome::from(why)),
            };
            remarks.extend(invalid);
            let baseline = baseline.to_owned();
            Comparison { side, baseline, speed_up, outcome, disturbed, remarks }
        })
        .collect()
}

/// An interval that leaves out 1 beside `cannot tell` needs a word: several comparisons or looks were made, and that was
/// paid for.
fn corrected(side: &str, speed_up: &SpeedUp, asked: usize, level: f64) -> Option<Remark> {
    let Interval { low, high } = speed_up.interval?;
    let p = speed_up.adjusted_p.filter(|p| *p >= level)?;
    if low <= 1.0 && high >= 1.0 {
        return None;
    }
    let text = if asked > 1 {
        format!(
            "the interval of `{side}` excludes 1, but p corrected for {asked} comparisons is {}",
            fixed(p, 2)
        )
    } else if level < LEVEL {
        format!(
            "the interval of `{side}` excludes 1, but p over all looks is {}, and a verdict needs less than {level}; \
             `--processes 10` measures more",
            fixed(p, 2)
        )
    } else {
        return None;
    };
    Some(Remark::new(RemarkCode::ManyComparisons, text))
}

/// Why a side's times are not to be believed, where they are not.
pub(crate) fn invalid(info: &SideInfo) -> Option<Remark> {
    let why = info.verdict.cause().map_or("no reason is stored", |reason| reason.text.as_str());
    (!info.verdict.valid)
        .then(|| Remark::new(RemarkCode::NotValid, format!("`{}` is not valid: {why}", info.label)))
}

fn speed_up(estimate: RatioEstimate, adjusted_p: Option<f64>) -> SpeedUp {
    let RatioEstimate { ratio, interval, best, worst, rounds, p_value, detectable } = estimate;
    SpeedUp { ratio, interval, best, worst, rounds, p_value, adjusted_p, detectable }
}

fn judge(speed_up: &SpeedUp, unseen: Unseen, level: f64) -> Outcome {
    let Some(Interval { low, high }) = speed_up.interval else { return Outcome::CannotTell };
    let factor = 1.0 + unseen.allowance();
    let (low, high) = (low / factor, high * factor);
    // Only repeated processes have a p value; without one the allowance alone stands guard.
    if speed_up.adjusted_p.is_some_and(|p| p >= level) {
        return Outcome::CannotTell;
    }
    if speed_up.adjusted_p.is_none() && unseen == Unseen::Nothing {
        return Outcome::CannotTell;
    }
    if low > 1.0 {
        Outcome::Better
    } else if high < 1.0 {
        Outcome::Worse
    } else {
        Outcome::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_that_decides_is_said() {
        let speed_up = speed_up(estimate(1.01, 1.2, Some(0.04)), Some(0.08));
        let text = corrected("x", &speed_up, 2, LEVEL).unwrap().text;
        assert!(text.contains("2 comparisons") && text.contains("0.08"), "{text}");
        assert_eq!(corrected("x", &speed_up, 1, LEVEL), None);
    }

    fn estimate(low: f64, high: f64, p_value: Option<f64>) -> RatioEstimate {
        RatioEstimate {
            ratio: (low * high).sqrt(),
            interval: Some(Interval { low, high }),
            best: high,
            worst: low,
            rounds: Vec::new(),
            p_value,
            detectable: None,
        }
    }

    fn outcomes(estimates: Vec<RatioEstimate>, unseen: Unseen) -> Vec<Outcome> {
        let pending = estimates.into_iter().map(|estimate| Pending {
            side: "x".into(),
            estimate: Ok(estimate),
            unseen,
            invalid: Vec::new(),
            disturbed: None,
            remarks: Vec::new(),
        });
        decide(pending.collect(), "y", LEVEL).into_iter().map(|found| found.outcome).collect()
    }

    #[test]
    fn an_interval_on_one_side_of_equal_decides() {
        let found = outcomes(
            vec![
                estimate(1.1, 1.3, Some(0.001)),
                estimate(0.7, 0.9, Some(0.002)),
                estimate(0.9, 1.1, Some(0.9)),
            ],
            Unseen::Nothing,
        );
        assert_eq!(found, [Outcome::Better, Outcome::Worse, Outcome::CannotTell]);
    }

    #[test]
    fn many_questions_make_a_weak_answer_no_answer() {
        let alone = outcomes(vec![estimate(1.01, 1.3, Some(0.04))], Unseen::Nothing);
        assert_eq!(alone, [Outcome::Better]);
        let mut many = vec![estimate(1.01, 1.3, Some(0.04))];
        many.extend((0..4).map(|_| estimate(0.9, 1.1, Some(0.8))));
        assert_eq!(outcomes(many, Unseen::Nothing)[0], Outcome::CannotTell);
    }

    #[test]
    fn what_was_not_seen_is_allowed_for() {
        for (low, high, unseen, outcome) in [
            (1.08, 1.2, Unseen::OtherProcesses, Outcome::CannotTell),
            (1.15, 1.2, Unseen::OtherProcesses, Outcome::Better),
            (1.15, 1.2, Unseen::Drift, Outcome::CannotTell),
            (2.9, 3.1, Unseen::Drift, Outcome::Better),
            (0.4, 0.5, Unseen::Drift, Outcome::Worse),
            // Processes were said to be repeated, but nothing says how they scatter.
            (2.9, 3.1, Unseen::Nothing, Outcome::CannotTell),
        ] {
            let found = outcomes(vec![estimate(low, high, None)], unseen);
            assert_eq!(found, [outcome], "{low} {high} {unseen:?}");
        }
    }

    #[test]
    fn times_that_are_not_valid_decide_nothing() {
        let pending = Pending {
            side: "x".into(),
            estimate: Ok(estimate(1.5, 1.6, Some(1e-6))),
            unseen: Unseen::Nothing,
            invalid: vec![Remark::new(RemarkCode::NotValid, "`x` is not valid: throttled")],
            disturbed: None,
            remarks: Vec::new(),
        };
        let found = decide(vec![pending], "y", LEVEL).remove(0);
        assert_eq!(found.outcome, Outcome::CannotTell);
        assert_eq!(found.remarks[0].code, RemarkCode::NotValid);
        assert_eq!(found.remarks.len(), 1);
    }

    #[test]
    fn a_machine_that_was_too_busy_decides_nothing_and_is_named() {
        let found = |left_out: u64| {
            let causes = vec![(types::ReasonCode::BusyMachine, left_out)];
            let pending = Pending {
                side: "x".into(),
                estimate: Ok(estimate(1.32, 1.44, Some(1e-6))),
                unseen: Unseen::Nothing,
                invalid: Vec::new(),
                disturbed: Some(Disturbed { pairs: 20, left_out, causes }),
                remarks: Vec::new(),
            };
            decide(vec![pending], "y", LEVEL).remove(0)
        };
        let busy = found(18);
        assert_eq!(busy.outcome, Outcome::CannotTell);
        assert_eq!(busy.remarks[0].code, RemarkCode::TooBusy);
        assert!(busy.remarks[0].text.contains("18 of 20 pairs"), "{:?}", busy.remarks);
        let mostly_quiet = found(3);
        assert_eq!(mostly_quiet.outcome, Outcome::Better);
        assert_eq!(mostly_quiet.remarks[0].code, RemarkCode::DisturbedLeftOut);
    }

    #[test]
    fn a_refusal_carries_no_ratio() {
        let pending = Pending {
            side: "x".into(),
            estimate: Err(Remark::new(RemarkCode::OutputsDiffer, "outputs differ")),
            unseen: Unseen::Nothing,
            invalid: Vec::new(),
            disturbed: None,
            remarks: Vec::new(),
        };
        let found = decide(vec![pending], "y", LEVEL).remove(0);
        assert_eq!(found.speed_up, None);
        assert_eq!(
            found.outcome,
            Outcome::Refused { code: RemarkCode::OutputsDiffer, why: "outputs differ".into() }
        );
    }
}
