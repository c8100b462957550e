//! Two targets under the same load by turns: what changes with the hour changes for both.

use super::{LoadTarget, LoadTest};
use crate::{Error, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Event, Interval, LoadComparison, LoadMetric, LoadRatio, LoadStatistic, Phase, Run};

/// Times whose medians, and the slow end of which, are compared.
const COMPARED: [(LoadMetric, Phase); 3] = [
    (LoadMetric::Ttft, Phase::Ttft),
    (LoadMetric::Itl, Phase::Itl),
    (LoadMetric::E2e, Phase::Total),
];

/// Two targets, and the loads of both in the order in which they were sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedLoads {
    /// What follows.
    pub comparison: LoadComparison,
    /// The loads: in every round one of each.
    pub runs: Vec<Run>,
}

impl LoadTest {
    /// Sends this load to both targets in so many rounds, with the same schedule for both in each.
    ///
    /// # Errors
    /// Where a load cannot be sent at all.
    pub fn compare(
        &self,
        rounds: usize,
        [first, second]: [&LoadTarget; 2],
        session: &mut Session,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<ComparedLoads, Error> {
        let mut pairs: Vec<[Run; 2]> = Vec::new();
        let mut runs = Vec::new();
        for round in 0..rounds.max(1) {
            let test = LoadTest { seed: stats::mix(self.seed ^ round as u64), ..self.clone() };
            let mut send = |target: &LoadTarget, which: &str| {
                let label = format!("round {} of {rounds}, {which}", round + 1);
                test.run(target, session, stop, &mut |event| sink(event.labelled(&label)))
            };
            // Forward and backward, so that a drift strikes both alike.
            let pair = match round % 2 {
                0 => {
                    let one = send(first, "first")?;
                    [one, send(second, "second")?]
                }
                _ => {
                    let two = send(second, "second")?;
                    [send(first, "first")?, two]
                }
            };
            runs.extend(pair.iter().cloned());
            if stop.load(Ordering::Relaxed) {
                break;
            }
            pairs.push(pair);
        }
        let target = |place: usize| {
            let run = runs.get(place).and_then(|run: &Run| run.load.as_deref());
            run.map(|load| load.target.clone()).unwrap_or_default()
        };
        let comparison = LoadComparison {
            first: target(0),
            second: target(1),
            rounds: pairs.len() as u64,
            ratios: ratios(&pairs),
        };
        Ok(ComparedLoads { comparison, runs })
    }
}

fn ratios(pairs: &[[Run; 2]]) -> Vec<LoadRatio> {
    let mut all = Vec::new();
    for (metric, phase) in COMPARED {
        for statistic in [LoadStatistic::P50, LoadStatistic::P99] {
            let key = format!("{}.{}", metric.name(), statistic.name());
            let share = statistic.share().unwrap_or(0.5);
            let value = |run: &Run| quantile(run.samples_of(phase)?, share);
            all.extend(ratio(key, pairs, &value, false));
        }
    }
    let answered = |run: &Run| run.load.as_deref()?.rates.completed.value;
    all.extend(ratio("rate.completed".into(), pairs, &answered, true));
    all
}

/// The quotient over all rounds; `None` if a round lacks the value. Above 1 the second is better.
fn ratio(
    key: String,
    pairs: &[[Run; 2]],
    value: &dyn Fn(&Run) -> Option<f64>,
    more_is_better: bool,
) -> Option<LoadRatio> {
    let mut rounds = Vec::new();
    let (mut first, mut second) = (0.0, 0.0);
    for [one, two] in pairs {
        let (one, two) = (value(one).filter(|x| *x > 0.0)?, value(two).filter(|x| *x > 0.0)?);
        let log = if more_is_better { (two / one).ln() } else { (one / two).ln() };
        rounds.push(vec![log]);
        first += one / pairs.len() as f64;
        second += two / pairs.len() as f64;
    }
    let found = stats::paired_ratio(&rounds, 0)?;
    // One round says nothing of the next.
    let interval = found.interval.filter(|_| rounds.len() > 1);
    let better = |interval: &Interval| match (interval.low > 1.0, interval.high < 1.0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    Some(LoadRatio {
        key,
        first,
        second,
        ratio: found.ratio,
        second_is_better: interval.as_ref().and_then(better),
        interval,
    })
}

fn quantile(nanos: &[u64], share: f64) -> Option<f64> {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().checked_sub(1)?);
    Some(sorted[place] as f64 / 1e9)
}
