//! Values that several documents hold: times with their unit, intervals, moments.

use crate::timestamp::rfc3339;
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use types::{Interval, Weights};

/// A document as a JSON value; keys keep the order of its fields.
///
/// # Panics
/// Where it holds what JSON cannot say, such as a path that is not Unicode.
#[must_use]
pub fn to_json(document: &impl Serialize) -> Value {
    serde_json::to_value(document)
        .expect("a document is strings, numbers, lists and maps with string keys")
}

/// The number, unless JSON cannot say it.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A time span with its unit.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Milliseconds {
    #[schemars(range(min = 0))]
    value: f64,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

impl From<Duration> for Milliseconds {
    fn from(duration: Duration) -> Milliseconds {
        // Whole nanoseconds over a power of ten: the nearest number to what was measured.
        Milliseconds { value: duration.as_nanos() as f64 / 1e6, unit: "ms" }
    }
}

/// A time span with its unit; null if it was not measured.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct MaybeMilliseconds {
    #[schemars(range(min = 0))]
    value: Option<f64>,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

impl MaybeMilliseconds {
    pub(crate) fn of(seconds: Option<f64>) -> MaybeMilliseconds {
        MaybeMilliseconds { value: seconds.and_then(finite).map(milliseconds), unit: "ms" }
    }
}

/// A 95 % interval in the unit of its value; an end that is not finite is null.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Ends {
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for Ends {
    fn from(interval: Interval) -> Ends {
        Ends { low: finite(interval.low), high: finite(interval.high) }
    }
}

impl Ends {
    /// Of an interval in seconds.
    pub(crate) fn in_milliseconds(interval: Interval) -> Ends {
        let ms = |seconds: f64| finite(milliseconds(seconds));
        Ends { low: ms(interval.low), high: ms(interval.high) }
    }
}

/// A largest memory with its unit.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct PeakMemory {
    /// Null if it was not measured.
    pub(crate) peak: Option<u64>,
    #[schemars(extend("const" = "bytes"))]
    pub(crate) unit: &'static str,
}

impl PeakMemory {
    pub(crate) fn of(peak: Option<types::Bytes>) -> PeakMemory {
        PeakMemory { peak: peak.map(|peak| peak.0), unit: "bytes" }
    }
}

/// A moment: RFC 3339, UTC.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("format" = "date-time"))]
pub struct Timestamp(
    #[schemars(regex(
        pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
    ))]
    String,
);

impl From<i64> for Timestamp {
    fn from(microseconds: i64) -> Timestamp {
        Timestamp(rfc3339(microseconds))
    }
}

/// When the first and the last of several began.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FirstAndLast {
    first: Timestamp,
    last: Timestamp,
}

impl From<(i64, i64)> for FirstAndLast {
    fn from((first, last): (i64, i64)) -> FirstAndLast {
        FirstAndLast { first: first.into(), last: last.into() }
    }
}

/// Whether the weights are the trained ones.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeightsKind {
    /// The model's own.
    Real,
    /// Random values from a seed.
    Random,
}

impl WeightsKind {
    pub(crate) fn of(is_random: bool) -> WeightsKind {
        if is_random { WeightsKind::Random } else { WeightsKind::Real }
    }

    /// The kind, and the seed of random weights.
    pub(crate) fn with_seed(weights: Weights) -> (WeightsKind, Option<u64>) {
        match weights {
            Weights::Real => (WeightsKind::Real, None),
            Weights::Random { seed } => (WeightsKind::Random, Some(seed)),
        }
    }
}
