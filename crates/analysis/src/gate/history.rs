//! A baseline that was stored before: what can be told when nobody took turns.
//!
//! Runs of one session share the machine's mood, so that a session is the unit. Where there are enough of them, their
//! scatter says how far a new session may lie from them by chance. Where there are not, drift must be allowed for by
//! what machines were seen to do.

use super::{value_of, worse};
use crate::scatter::{Scatter, drift_between};
use stats::Evidence;
use types::{GateDesign, Gauge, Run};

/// From so many sessions on their own scatter tells how the machine drifts.
pub const HISTORY_SESSIONS: usize = 5;

/// What an idle machine was seen to drift between minutes, if there are too few processes to tell.
pub const STORED_DRIFT: f64 = 0.30;

/// Runs that began so long after the one before belong to another session, in microseconds.
const NEW_SESSION: i64 = 15 * 60 * 1_000_000;

/// How much worse the runs are than those of the baseline, which design that is, and whether drift is in it already.
///
/// `None` if there are too few values to say anything.
#[must_use]
pub fn stored_change(gauge: Gauge, base: &[Run], side: &[Run]) -> Option<(Evidence, GateDesign)> {
    let logs = |runs: &[Run]| -> Vec<f64> {
        let each = runs.iter().filter_map(|run| value_of(run, gauge).ok());
        each.map(|value| worse(gauge, value.ln())).collect()
    };
    let side = logs(side);
    let now = mean(&side)?;
    let sessions = sessions(base);
    let history: Vec<f64> = sessions.iter().filter_map(|runs| mean(&logs(runs))).collect();
    if history.len() >= HISTORY_SESSIONS {
        return Some((Evidence::of_next(&history, now)?, GateDesign::History));
    }
    let base = logs(base);
    let evidence = match (base.as_slice(), side.len()) {
        ([], _) => None,
        // One process of a side scatters as those of the other do, as far as anyone knows.
        ([only], _) => Evidence::of_next(&side, *only).map(mirrored),
        (_, 1) => Evidence::of_next(&base, now),
        _ => Evidence::between(&base, &side),
    };
    Some((evidence?, GateDesign::Stored))
}

/// What drift alone may have made between the baseline's processes and those of now, from how far both scatter.
///
/// `None` if there are too few of them; then [`STORED_DRIFT`] must be allowed for.
#[must_use]
pub fn stored_drift(gauge: Gauge, base: &[Run], side: &[Run]) -> Option<f64> {
    let scatter = |runs: &[Run]| {
        let each = runs.iter().filter_map(|run| value_of(run, gauge).ok());
        Scatter::of(&each.map(f64::ln).collect::<Vec<f64>>())
    };
    drift_between(scatter(base)?, scatter(side)?)
}

fn mirrored(evidence: Evidence) -> Evidence {
    Evidence { centre: -evidence.centre, ..evidence }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The runs of each session, in the order of time.
fn sessions(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut runs: Vec<Run> = runs.to_vec();
    runs.sort_by_key(|run| run.started_at);
    let mut sessions: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let last = sessions.last().and_then(|session| session.last());
        let is_new = last.is_none_or(|last| run.started_at - last.started_at > NEW_SESSION);
        if is_new {
            sessions.push(vec![run]);
        } else if let Some(session) = sessions.last_mut() {
            session.push(run);
        }
    }
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        advice::scene,
        gate::{Trial, rule},
    };
    use types::{Phase, Question, Ruling, Statistic};

    const LATENCY: Gauge = Gauge::Latency(Statistic::P50);

    /// Processes around a median, which scatter by 2 % to either side.
    fn processes(milliseconds: f64, count: usize, seed: usize) -> Vec<Run> {
        let one = |place: usize| {
            let mut run = scene::run();
            let noise = (0.02 * (((place + seed) * 7919 % 13) as f64 / 6.0 - 1.0)).exp();
            run.started_at = place as i64 * 1_000_000;
            let summary = scene::summary(milliseconds / 1e3 * noise);
            run.summaries.insert(Phase::Inference, summary);
            run
        };
        (0..count).map(one).collect()
    }

    /// What is said of a slow-down where an alert of 10 % was asked for.
    fn ruling(slower: f64, count: usize) -> Ruling {
        let (base, side) = (processes(10.0, count, 0), processes(10.0 * slower, count, 5));
        let (evidence, design) = stored_change(LATENCY, &base, &side).unwrap();
        let drift = stored_drift(LATENCY, &base, &side).unwrap_or(STORED_DRIFT);
        let question = Question::Change { alert: 0.1, effective: 0.1, design, drift };
        let trial = Trial { gauge: LATENCY, question, evidence: Some(evidence) };
        rule(&[trial], 0.01 / 3.0).remove(0).ruling
    }

    #[test]
    fn an_alert_of_ten_percent_means_ten_percent() {
        assert_eq!(ruling(1.0, 24), Ruling::Held);
        assert_eq!(ruling(1.02, 24), Ruling::Held);
        assert_eq!(ruling(1.15, 10), Ruling::Failed, "fifteen percent, ten processes per side");
        assert_eq!(ruling(1.3, 10), Ruling::Failed);
        assert_eq!(ruling(1.07, 24), Ruling::CannotTell, "drift may make it a tenth");
        // Three processes know nothing of how the machine drifts: less than 30 % is open, not held.
        assert_eq!(ruling(1.15, 3), Ruling::CannotTell);
        assert_eq!(ruling(1.0, 3), Ruling::CannotTell);
        assert_eq!(ruling(1.6, 4), Ruling::Failed);
    }
}
