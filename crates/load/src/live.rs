//! How a load goes, while it runs: for a screen. Nothing that is reported later rests on it.

use crate::Record;
use std::collections::VecDeque;
use types::{LoadPercentiles, LoadProgress};

/// How long the numbers of a screen look back, in nanoseconds.
const LOOKING_BACK: u64 = 5_000_000_000;
/// The most requests they look at.
const MOST: usize = 20_000;

/// The last requests.
#[derive(Debug, Default)]
pub struct LastRequests {
    last: VecDeque<Seen>,
    completed: u64,
    failed: u64,
}

#[derive(Debug)]
struct Seen {
    ended: u64,
    e2e: Option<u64>,
    ttft: Option<u64>,
    lag: Option<u64>,
}

impl LastRequests {
    /// Adds one that was answered, or failed.
    pub fn add(&mut self, record: &Record, streaming: bool) {
        match record.is_completed() {
            true => self.completed += 1,
            false => self.failed += 1,
        }
        let since = |end: Option<u64>| Some(end?.saturating_sub(record.scheduled));
        let is_answer = record.is_completed();
        self.last.push_back(Seen {
            ended: record.ended.unwrap_or_default(),
            e2e: since(record.last()).filter(|_| is_answer),
            ttft: since(record.first()).filter(|_| is_answer && streaming),
            lag: record.lag,
        });
        if self.last.len() > MOST {
            self.last.pop_front();
        }
    }

    /// How the load goes at this moment.
    pub fn live(&mut self, at: u64, sent: u64, in_flight: u64) -> LoadProgress {
        let from = at.saturating_sub(LOOKING_BACK);
        while self.last.front().is_some_and(|seen| seen.ended < from) {
            self.last.pop_front();
        }
        let span = at.min(LOOKING_BACK) as f64 / 1e9;
        let answers = self.last.iter().filter(|seen| seen.e2e.is_some()).count();
        // Where the list is cut, the time it covers is shorter.
        let span = match (self.last.len() >= MOST, self.last.front()) {
            (true, Some(first)) => at.saturating_sub(first.ended) as f64 / 1e9,
            _ => span,
        };
        LoadProgress {
            at,
            sent,
            completed: self.completed,
            failed: self.failed,
            in_flight,
            rate: if span > 0.0 { answers as f64 / span } else { 0.0 },
            e2e: percentiles(self.last.iter().filter_map(|seen| seen.e2e)),
            ttft: percentiles(self.last.iter().filter_map(|seen| seen.ttft)),
            lag: percentiles(self.last.iter().filter_map(|seen| seen.lag)),
        }
    }
}

fn percentiles(values: impl Iterator<Item = u64>) -> LoadPercentiles {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    let at = |share: f64| {
        sorted
            .get(((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1)))
            .copied()
    };
    LoadPercentiles { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::RequestOutcome;

    #[test]
    fn only_the_last_seconds_are_looked_at() {
        let second = 1_000_000_000;
        let mut last = LastRequests::default();
        for at in 0..20u64 {
            let record = Record {
                ended: Some(at * second + 5),
                outcome: RequestOutcome::Completed,
                lag: Some(7),
                ..Record::not_sent(0, at * second)
            };
            last.add(&record, false);
        }
        let live = last.live(20 * second, 25, 5);
        assert_eq!((live.completed, live.failed, live.in_flight), (20, 0, 5));
        assert_eq!(live.rate, 1.0);
        assert_eq!(live.e2e.p99, Some(5));
        assert_eq!((live.ttft.p50, live.lag.p50), (None, Some(7)));
        let failed = Record {
            ended: Some(20 * second),
            outcome: RequestOutcome::Closed,
            ..Record::not_sent(1, 0)
        };
        last.add(&failed, false);
        assert_eq!(last.live(40 * second, 25, 4).rate, 0.0);
    }
}
