//! What a cell's numbers did over time: points in order, and where their level changed.

use crate::{CellKey, Direction, Interval, InvalidRuns, Pooled, Remark, RunId, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// A number of a run that has a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum TrendMetric {
    /// Median latency.
    #[default]
    #[serde(rename = "latency.p50")]
    Median,
    /// 90th percentile of the latency.
    #[serde(rename = "latency.p90")]
    P90,
    /// 95th percentile of the latency.
    #[serde(rename = "latency.p95")]
    P95,
    /// 99th percentile of the latency.
    #[serde(rename = "latency.p99")]
    P99,
    /// Mean latency.
    #[serde(rename = "latency.mean")]
    Mean,
    /// Samples a second.
    #[serde(rename = "throughput")]
    Throughput,
    /// Peak memory where the model computes: of the worker, or of a device with its own memory.
    #[serde(rename = "memory.peak")]
    Memory,
    /// Time to load the model.
    #[serde(rename = "load")]
    Load,
    /// Time of the true first inference.
    #[serde(rename = "first")]
    First,
    /// Energy of one sample.
    #[serde(rename = "energy")]
    Energy,
    /// Median time to the first token of a load.
    #[serde(rename = "ttft.p50")]
    TtftMedian,
    /// 99th percentile of the time to the first token of a load.
    #[serde(rename = "ttft.p99")]
    TtftP99,
    /// Median time between tokens of a load.
    #[serde(rename = "itl.p50")]
    ItlMedian,
    /// 99th percentile of the time between tokens of a load.
    #[serde(rename = "itl.p99")]
    ItlP99,
    /// Requests a second that keep every limit of a load.
    #[serde(rename = "goodput")]
    Goodput,
}

/// A word that names no metric with a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{0}`; known metrics: {known}", known = TrendMetric::ALL.map(TrendMetric::name).join(", "))]
pub struct ParseTrendMetricError(pub String);

impl TrendMetric {
    /// Every metric.
    pub const ALL: [TrendMetric; 15] = [
        TrendMetric::Median,
        TrendMetric::P90,
        TrendMetric::P95,
        TrendMetric::P99,
        TrendMetric::Mean,
        TrendMetric::Throughput,
        TrendMetric::Memory,
        TrendMetric::Load,
        TrendMetric::First,
        TrendMetric::Energy,
        TrendMetric::TtftMedian,
        TrendMetric::TtftP99,
        TrendMetric::ItlMedian,
        TrendMetric::ItlP99,
        TrendMetric::Goodput,
    ];

    /// The name used in arguments and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TrendMetric::Median => "latency.p50",
            TrendMetric::P90 => "latency.p90",
            TrendMetric::P95 => "latency.p95",
            TrendMetric::P99 => "latency.p99",
            TrendMetric::Mean => "latency.mean",
            TrendMetric::Throughput => "throughput",
            TrendMetric::Memory => crate::key::MEMORY_PEAK,
            TrendMetric::Load => "load",
            TrendMetric::First => "first",
            TrendMetric::Energy => "energy",
            TrendMetric::TtftMedian => "ttft.p50",
            TrendMetric::TtftP99 => "ttft.p99",
            TrendMetric::ItlMedian => "itl.p50",
            TrendMetric::ItlP99 => "itl.p99",
            TrendMetric::Goodput => "goodput",
        }
    }

    /// What it is called in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            TrendMetric::Median => "median latency",
            TrendMetric::P90 => "90th percentile of the latency",
            TrendMetric::P95 => "95th percentile of the latency",
            TrendMetric::P99 => "99th percentile of the latency",
            TrendMetric::Mean => "mean latency",
            TrendMetric::Throughput => "samples per second",
            TrendMetric::Memory => "peak memory",
            TrendMetric::Load => "time to load",
            TrendMetric::First => "first inference",
            TrendMetric::Energy => "energy of a sample",
            TrendMetric::TtftMedian => "median time to the first token",
            TrendMetric::TtftP99 => "99th percentile of the time to the first token",
            TrendMetric::ItlMedian => "median time between tokens",
            TrendMetric::ItlP99 => "99th percentile of the time between tokens",
            TrendMetric::Goodput => "good requests per second",
        }
    }

    /// The unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            TrendMetric::Throughput | TrendMetric::Goodput => Unit::PerSecond,
            TrendMetric::Memory => Unit::Bytes,
            TrendMetric::Energy => Unit::Joules,
            _ => Unit::Seconds,
        }
    }

    /// The better direction.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            TrendMetric::Throughput | TrendMetric::Goodput => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// By what factor a ratio of after to before is worse: above 1 is worse, whichever way the metric goes.
    #[must_use]
    pub fn worsening(self, ratio: f64) -> f64 {
        match self.direction() {
            Direction::Higher => 1.0 / ratio,
            _ => ratio,
        }
    }

    /// The interval of [`TrendMetric::worsening`] from that of a ratio.
    #[must_use]
    pub fn worsening_interval(self, interval: Interval) -> Interval {
        let (one, other) = (self.worsening(interval.low), self.worsening(interval.high));
        Interval { low: one.min(other), high: one.max(other) }
    }

    /// The direction of a change as text: `slower`, `faster`, `more memory`.
    #[must_use]
    pub fn direction_words(self, ratio: f64) -> &'static str {
        let more = ratio > 1.0;
        match (self, more) {
            (TrendMetric::Throughput, true) => "faster",
            (TrendMetric::Throughput, false) => "slower",
            (TrendMetric::Goodput, true) => "more",
            (TrendMetric::Goodput, false) => "fewer",
            (TrendMetric::Memory, true) => "more memory",
            (TrendMetric::Memory, false) => "less memory",
            (TrendMetric::Energy, true) => "more energy",
            (TrendMetric::Energy, false) => "less energy",
            (_, true) => "slower",
            (_, false) => "faster",
        }
    }
}

impl fmt::Display for TrendMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TrendMetric {
    type Err = ParseTrendMetricError;

    fn from_str(text: &str) -> Result<TrendMetric, ParseTrendMetricError> {
        let wanted = match text.to_ascii_lowercase().as_str() {
            "latency" | "median" | "p50" | "latency.median" => "latency.p50".to_owned(),
            "memory" => "memory.peak".to_owned(),
            short @ ("p90" | "p95" | "p99" | "mean") => format!("latency.{short}"),
            other => other.to_owned(),
        };
        let found = TrendMetric::ALL.into_iter().find(|metric| metric.name() == wanted);
        found.ok_or_else(|| ParseTrendMetricError(text.into()))
    }
}

/// What one point of a history represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrendBy {
    /// The runs of one session: begun within minutes of each other, at one commit.
    #[default]
    Date,
    /// All runs of one commit, whenever they were measured.
    Commit,
}

/// One point of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendPoint {
    /// The commit that was checked out, if known.
    pub commit: Option<String>,
    /// Its branch, if known.
    pub branch: Option<String>,
    /// When its first and its last run began, in microseconds since the epoch.
    pub began: (i64, i64),
    /// Its runs, oldest first.
    pub runs: Vec<RunId>,
    /// The number, in the metric's unit.
    pub value: Pooled,
    /// `false` if it has no valid run and runs that are not valid were requested.
    #[serde(default = "is_true")]
    pub valid: bool,
}

fn is_true() -> bool {
    true
}

/// A place where the level of a history changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendChange {
    /// Index of the first point after it.
    pub at: usize,
    /// The level before: the median of the points since the change before.
    pub before: f64,
    /// The level after: the median of the points until the next change.
    pub after: f64,
    /// After ÷ before, with an interval by resampling.
    pub ratio: Pooled,
    /// The chance that noise without a change looks as much like one, corrected for everything that was looked at.
    pub adjusted_p: f64,
    /// What else changed between the last run before and the first run after, as text.
    pub coincides: Vec<String>,
}

/// The newest points of a history deviate, but are too few to call it a change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendSuspicion {
    /// How many of the newest points deviate.
    pub points: u64,
    /// Their level ÷ the level before.
    pub ratio: f64,
    /// How many more such points are needed for a decision.
    pub needs: u64,
}

/// The history of one cell on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendSeries {
    /// Which cell.
    pub key: CellKey,
    /// Its points, oldest first.
    pub points: Vec<TrendPoint>,
    /// Where its level changed, oldest first.
    pub changes: Vec<TrendChange>,
    /// How far points scatter around their level, as a share; `None` if there are too few.
    pub noise: Option<f64>,
    /// Gradual change from the first points of the newest segment to its last, as a ratio; only if it drifts without a jump.
    pub drift: Option<f64>,
    /// How many points are missing before a change can be detected.
    pub needs: u64,
    /// The newest points, if they deviate but are too few.
    pub suspicion: Option<TrendSuspicion>,
}

impl TrendSeries {
    /// The first point of the newest segment.
    #[must_use]
    pub fn newest_from(&self) -> usize {
        self.changes.last().map_or(0, |change| change.at)
    }
}

/// Whether the newest segment of a history is worse than the previous one by more than requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum TrendStanding {
    /// It is not.
    Held,
    /// It is, for sure.
    Worse,
    /// The history does not say.
    CannotTell {
        /// Why.
        why: String,
    },
}

/// Histories of one metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trend {
    /// What is looked at.
    pub metric: TrendMetric,
    /// What a point represents.
    pub by: TrendBy,
    /// One history a cell, in the order of their keys.
    pub series: Vec<TrendSeries>,
    /// What machines are called, by their keys.
    pub machines: BTreeMap<String, String>,
    /// The share of false alarms that is accepted.
    pub level: f64,
    /// The smallest change that is called, as a share.
    pub smallest: f64,
    /// Runs that are not valid or lack the number, so not counted.
    pub left_out: u64,
    /// Of the runs that were looked at, those that are not valid, counted or not.
    #[serde(default)]
    pub invalid_reasons: InvalidRuns,
    /// Cells without a single valid run that has the number.
    #[serde(default)]
    pub without_valid: u64,
    /// The command that repeats the newest run that is not valid.
    #[serde(default)]
    pub again: Option<String>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}
