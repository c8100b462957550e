//! From a scenario to the moments of its requests.

use super::LoadTest;
use ::load::{Pattern, Schedule, Source, nanoseconds};
use types::Scenario;

/// Requests of the scenario offline where nobody says how many.
const OFFLINE: usize = 1000;

impl LoadTest {
    /// Where requests come from.
    pub(super) fn source(&self, seed: u64) -> Source {
        let seconds = self.duration.as_secs_f64();
        match &self.scenario {
            Scenario::SingleStream => Source::Closed { users: 1 },
            Scenario::Concurrency { users } => Source::Closed { users: *users as usize },
            Scenario::MultiStream { streams } => Source::Bursts { streams: *streams as usize },
            Scenario::Offline => {
                Source::Open(Schedule::at_once(self.max_requests.min(OFFLINE)).moments)
            }
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
}
