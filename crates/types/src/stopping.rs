//! How long to warm up, and when a measurement is enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long to warm up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Warmup {
    /// Until the last three windows agree within 10 %, at most so long.
    Settle {
        /// The cap.
        cap: Duration,
    },
    /// Exactly so many runs.
    Runs {
        /// How many.
        count: u64,
    },
}

/// When a measurement is enough: both minima reached and the interval tight, or a cap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// How to warm up.
    pub warmup: Warmup,
    /// At least so many samples.
    pub min_runs: u64,
    /// At most so many samples.
    pub max_runs: u64,
    /// At least so long.
    pub min_duration: Duration,
    /// At most so long.
    pub max_duration: Duration,
    /// Half-width of the median's 95 % interval as a share of the median.
    pub target_error: f64,
    /// The longest a worker may stay silent in one call.
    pub timeout: Duration,
}

impl Default for StoppingRule {
    fn default() -> StoppingRule {
        StoppingRule {
            warmup: Warmup::Settle { cap: Duration::from_secs(10) },
            min_runs: 11, // the floor of the median: below it no interval can be claimed
            max_runs: 1_000_000,
            min_duration: Duration::from_secs(3),
            max_duration: Duration::from_secs(30),
            target_error: 0.01,
            timeout: Duration::from_secs(600),
        }
    }
}

/// Why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Minimum count and duration are reached and the interval is narrow enough.
    Settled,
    /// The requested number of runs is reached.
    RunsDone,
    /// The maximum duration was reached before the interval was narrow enough.
    DurationCap,
    /// The maximum count was reached before the interval was narrow enough.
    RunsCap,
}

/// A time as people write it: `500ms`, `10s`, `3m`, `2h`, `7d`; a bare number is seconds.
///
/// # Errors
/// A sentence that says how to write it.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write 500ms, 10s, 3m, 2h or 7d");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "ms" => number / 1e3,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}
