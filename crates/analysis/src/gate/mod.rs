//! What a gate may rule: held, failed, or that the data do not decide.
//!
//! Everything is asked as "is it worse": a value over its limit, or a value over its baseline, as the logarithm of a
//! quotient above 0 where it is worse. A process, a round of a duel or a session is the unit; samples inside one share
//! its luck. The chance of a false alarm holds over all questions together (Benjamini and Hochberg) and over all looks
//! (each look gets an equal part of it).

mod history;
mod noise;
mod settle;
mod values;

pub use history::{HISTORY_SESSIONS, STORED_DRIFT, stored_change, stored_drift};
pub use noise::typical_median;
pub use values::{NoValue, paired_changes, round_changes, value_of};

use settle::settle;
use stats::{Evidence, false_discovery};
use types::{Direction, GateEvidence, Gauge, Interval, Question, Ruling};

/// A question with what was measured for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Which number.
    pub gauge: Gauge,
    /// What is asked of it.
    pub question: Question,
    /// What the units say: for a limit the logarithm of value ÷ limit, for a change that of value ÷ baseline, turned so that
    /// above 0 is worse. `None` if they say nothing.
    pub evidence: Option<Evidence>,
}

/// What may be said to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The ruling.
    pub ruling: Ruling,
    /// The numbers it rests on.
    pub evidence: Option<GateEvidence>,
    /// How many processes would settle it; `None` if it is settled or none would.
    pub settle: Option<u64>,
}

/// Turns a logarithm so that above 0 is worse.
#[must_use]
pub fn worse(gauge: Gauge, log: f64) -> f64 {
    match gauge.direction() {
        Direction::Higher => -log,
        _ => log,
    }
}

/// What a value says to a limit, unit by unit.
#[must_use]
pub fn over_limit(gauge: Gauge, values: &[f64], limit: f64) -> Option<Evidence> {
    let logs: Vec<f64> = values.iter().map(|value| worse(gauge, (value / limit).ln())).collect();
    Evidence::of(&logs)
}

/// The rulings on all questions together at one look, where a false alarm may have this chance.
#[must_use]
pub fn rule(trials: &[Trial], chance: f64) -> Vec<Finding> {
    let p_value = |trial: &Trial| {
        let evidence = trial.evidence?;
        Some(evidence.chance_if_below(must_pass(&trial.question)))
    };
    let known: Vec<f64> = trials.iter().filter_map(p_value).collect();
    let mut adjusted = false_discovery(&known).into_iter();
    let each = trials.iter().map(|trial| {
        let (Some(evidence), Some(p_value)) = (trial.evidence, p_value(trial)) else {
            return Finding { ruling: Ruling::CannotTell, evidence: None, settle: None };
        };
        let adjusted_p = adjusted.next().unwrap_or(1.0);
        let ruling = decide(&trial.question, &evidence, adjusted_p, chance);
        let settle = match ruling {
            Ruling::CannotTell => settle(&trial.question, &evidence, chance),
            _ => None,
        };
        let evidence = shown(trial, &evidence, p_value, adjusted_p, chance);
        Finding { ruling, evidence: Some(evidence), settle }
    });
    each.collect()
}

/// What must be passed before anything is called worse.
fn must_pass(question: &Question) -> f64 {
    match question {
        Question::Limit { .. } => 0.0,
        Question::Change { drift, .. } => drift.ln_1p(),
    }
}

/// From where on it is worse than people want to be told of.
fn alert(question: &Question) -> f64 {
    match question {
        Question::Limit { .. } => 0.0,
        Question::Change { effective, .. } => effective.ln_1p(),
    }
}

/// Below what it must surely be to be held: what was measured may be better by drift alone, too.
fn held_below(question: &Question) -> f64 {
    alert(question) - must_pass(question)
}

/// Failed: surely worse, and by as much as was asked about as far as anyone can say. Held: surely not worse by so much.
fn decide(question: &Question, evidence: &Evidence, adjusted_p: f64, chance: f64) -> Ruling {
    if adjusted_p < chance && evidence.centre >= alert(question) {
        Ruling::Failed
    } else if evidence.chance_if_above(held_below(question)) < chance {
        Ruling::Held
    } else {
        Ruling::CannotTell
    }
}

/// The numbers as people read them: a value for a limit, how many times worse for a change.
fn shown(
    trial: &Trial,
    evidence: &Evidence,
    p_value: f64,
    adjusted_p: f64,
    chance: f64,
) -> GateEvidence {
    let Interval { low, high } = evidence.interval(chance);
    let (estimate, interval) = match trial.question {
        Question::Change { .. } => (evidence.ratio(), Interval { low, high }),
        Question::Limit { limit } => match trial.gauge.direction() {
            Direction::Higher => {
                let interval = Interval { low: limit / high, high: limit / low };
                (limit / evidence.ratio(), interval)
            }
            _ => (limit * evidence.ratio(), Interval { low: limit * low, high: limit * high }),
        },
    };
    let detectable = evidence.detectable(chance);
    GateEvidence { estimate, interval, p_value, adjusted_p, detectable }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{GateDesign, Statistic};

    const LATENCY: Gauge = Gauge::Latency(Statistic::P50);

    fn change(effective: f64, rounds: &[f64]) -> Trial {
        let design = GateDesign::Interleaved;
        let question = Question::Change { alert: effective, effective, design, drift: 0.0 };
        Trial { gauge: LATENCY, question, evidence: Evidence::of(rounds) }
    }

    fn limit(gauge: Gauge, limit: f64, values: &[f64]) -> Trial {
        let evidence = over_limit(gauge, values, limit);
        Trial { gauge, question: Question::Limit { limit }, evidence }
    }

    fn rulings(trials: &[Trial]) -> Vec<Ruling> {
        rule(trials, 0.01).into_iter().map(|finding| finding.ruling).collect()
    }

    #[test]
    fn surely_worse_by_enough_fails_and_surely_not_is_held() {
        let slower = change(0.03, &[0.05, 0.052, 0.049, 0.051, 0.048]);
        let equal = change(0.03, &[0.002, -0.001, 0.0, 0.001, -0.002]);
        let wide = change(0.03, &[0.1, -0.1, 0.05, -0.05, 0.02]);
        // Surely slower, but by less than anyone wants to hear of.
        let little = change(0.03, &[0.01, 0.011, 0.009, 0.01, 0.01]);
        assert_eq!(rulings(&[slower]), [Ruling::Failed]);
        assert_eq!(
            rulings(&[equal, wide, little]),
            [Ruling::Held, Ruling::CannotTell, Ruling::Held]
        );
    }

    #[test]
    fn what_was_faster_is_held() {
        assert_eq!(rulings(&[change(0.03, &[-0.2, -0.21, -0.19, -0.2])]), [Ruling::Held]);
    }

    #[test]
    fn limits_are_kept_from_either_side() {
        let trials = [
            limit(LATENCY, 0.1, &[0.05, 0.051, 0.049, 0.05]),
            limit(LATENCY, 0.1, &[0.15, 0.151, 0.149, 0.15]),
            limit(LATENCY, 0.1, &[0.09, 0.11, 0.1, 0.102]),
            limit(Gauge::Throughput, 1000.0, &[1500.0, 1510.0, 1490.0]),
            limit(Gauge::Throughput, 1000.0, &[500.0, 510.0, 490.0]),
            limit(Gauge::MemoryPeak, 2e9, &[1e9, 1e9, 1e9]),
        ];
        assert_eq!(
            rulings(&trials),
            [
                Ruling::Held,
                Ruling::Failed,
                Ruling::CannotTell,
                Ruling::Held,
                Ruling::Failed,
                Ruling::Held
            ]
        );
        let found = rule(&trials, 0.01);
        let throughput = found[3].evidence.unwrap();
        assert!((throughput.estimate - 1500.0).abs() < 1.0, "{throughput:?}");
        assert!(throughput.interval.low < 1500.0 && throughput.interval.high > 1500.0);
    }

    #[test]
    fn many_questions_make_a_weak_alarm_no_alarm() {
        let weak = change(0.03, &[0.04, 0.05, 0.03, 0.06, 0.055]);
        assert_eq!(rulings(std::slice::from_ref(&weak)), [Ruling::Failed]);
        let mut many = vec![weak];
        many.extend((0..40).map(|_| change(0.03, &[0.01, -0.01, 0.002, 0.0, -0.003])));
        assert_eq!(rulings(&many)[0], Ruling::CannotTell);
    }

    #[test]
    fn drift_must_be_passed_first() {
        let mut trial = change(0.1, &[0.12, 0.121, 0.119, 0.12, 0.122]);
        assert_eq!(rulings(std::slice::from_ref(&trial)), [Ruling::Failed]);
        if let Question::Change { drift, effective, .. } = &mut trial.question {
            (*drift, *effective) = (0.3, 0.1);
        }
        assert_eq!(
            rulings(std::slice::from_ref(&trial)),
            [Ruling::CannotTell],
            "12 % may be drift, and asked was 10 %"
        );
        if let Question::Change { drift, .. } = &mut trial.question {
            *drift = 0.05;
        }
        assert_eq!(rulings(&[trial]), [Ruling::Failed], "asked was 10 %, and drift makes 5 %");
        let mut equal = change(0.1, &[0.002, -0.001, 0.0, 0.001, -0.002]);
        if let Question::Change { drift, .. } = &mut equal.question {
            *drift = 0.05;
        }
        assert_eq!(rulings(std::slice::from_ref(&equal)), [Ruling::Held]);
        if let Question::Change { drift, .. } = &mut equal.question {
            *drift = 0.3;
        }
        assert_eq!(rulings(&[equal]), [Ruling::CannotTell], "drift may hide a tenth");
    }

    #[test]
    fn what_is_not_settled_says_what_would_settle_it() {
        let wide = change(0.03, &[0.05, -0.05, 0.03, -0.03, 0.01]);
        let found = rule(&[wide], 0.01).remove(0);
        assert!(found.settle.unwrap() > 20, "{found:?}");
        let one = Trial { evidence: None, ..change(0.03, &[]) };
        assert_eq!(rule(&[one], 0.01)[0].evidence, None);
    }
}
