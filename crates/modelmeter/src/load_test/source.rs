//! From a scenario to the moments of its requests.

use super::LoadTest;
use ::load::{Pattern, Schedule, Source, nanoseconds};
use types::Scenario;

impl LoadTest {
    /// Where requests come from.
    pub(super) fn source(&self, seed: u64) -> Source {
        let seconds = self.duration.as_secs_f64();
        match &self.scenario {
            Scenario::SingleStream => Source::Closed { users: 1 },
            Scenario::Concurrency { users } => Source::Closed { users: *users as usize },
            Scenario::MultiStream { streams } => Source::Bursts { streams: *streams as usize },
            Scenario::Offline => Source::Open(Schedule::at_once(self.max_requests).moments),
            Scenario::Server { rate, arrivals, ramp_to } => {
                let ramp_to = ramp_to.map(|rate| rate.0);
                let pattern = Pattern { rate: rate.0, ramp_to, arrivals: *arrivals };
                Source::Open(Schedule::draw(&pattern, seconds, self.max_requests, seed).moments)
            }
            Scenario::Replay { .. } => {
                let mut moments = Schedule::of_trace(&self.trace, self.max_requests).moments;
                let end = nanoseconds(seconds);
                moments.retain(|moment| *moment < end);
                Source::Open(moments)
            }
        }
    }

    /// As many requests as contents are drawn for.
    pub(super) fn expected_requests(&self, source: &Source) -> usize {
        match source {
            Source::Open(moments) => moments.len(),
            Source::Closed { .. } | Source::Bursts { .. } => self.max_requests,
        }
    }

    /// When the last request may be sent: with a schedule, requests that had to wait are sent after it too.
    pub(super) fn until(&self) -> u64 {
        let end = match self.scenario.is_open() {
            true => self.duration + self.timeout,
            false => self.duration,
        };
        nanoseconds(end.as_secs_f64())
    }
    /// Moments of the trace that are not sent, because they come after the end of the load or after its last request.
    pub(super) fn moments_left_out(&self) -> usize {
        let whole = Schedule::of_trace(&self.trace, usize::MAX).moments.len();
        match (&self.scenario, self.source(0)) {
            (Scenario::Replay { .. }, Source::Open(moments)) => whole - moments.len(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_test::tests::single_stream;
    use std::time::Duration;

    #[test]
    fn offline_sends_as_many_requests_as_asked() {
        let test = LoadTest { scenario: Scenario::Offline, max_requests: 5000, ..single_stream() };
        assert_eq!(test.expected_requests(&test.source(1)), 5000);
    }

    #[test]
    fn moments_of_a_trace_that_are_not_sent_are_counted() {
        let of = |seconds, max_requests| LoadTest {
            scenario: Scenario::Replay { trace: "x".into() },
            trace: vec![100.0, 101.0, 110.0, 120.5],
            duration: Duration::from_secs(seconds),
            max_requests,
            ..single_stream()
        };
        assert_eq!(of(21, 100).moments_left_out(), 0);
        assert_eq!(of(10, 100).moments_left_out(), 2);
        assert_eq!(of(21, 3).moments_left_out(), 1);
        assert_eq!(single_stream().moments_left_out(), 0);
    }
}
