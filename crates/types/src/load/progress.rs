//! How a load goes, while it runs: for whoever looks on. Nothing that is reported later rests on it.

use serde::{Deserialize, Serialize};

/// Three percentiles in nanoseconds; `None` if there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoadPercentiles {
    /// The median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
}

/// How a load goes. Rates and percentiles are those of the last five seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Nanoseconds since the start.
    pub at: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that wait for an answer.
    pub in_flight: u64,
    /// Answers a second.
    pub rate: f64,
    /// From the schedule to the end of the answer.
    pub e2e: LoadPercentiles,
    /// From the schedule to the first content; without numbers where answers come whole.
    pub ttft: LoadPercentiles,
    /// How late the generator was.
    pub lag: LoadPercentiles,
}
