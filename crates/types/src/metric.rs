//! A number derived from a run, with where it came from.

pub mod key;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of a stored number; SI base units only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Floating point operations.
    Flops,
    /// Floating point operations per second.
    FlopsPerSecond,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
    /// Hertz.
    Hertz,
    /// Degrees Celsius.
    Celsius,
    /// A share; 1.0 is 100 %.
    Ratio,
    /// A bare count.
    Count,
    /// A rate per second: samples, tokens, images.
    PerSecond,
}

/// The better direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither direction is better.
    Neutral,
}

/// The source of a number. Simulated numbers have no entry here, so they cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Observed here.
    #[default]
    Measured,
    /// Computed by a performance model, not measured.
    Predicted,
    /// Read from another tool's result.
    Imported,
}

/// A number with a key, a unit and a direction; a missing value is `None` with a reason, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// A path: `infer.latency`, `memory.peak`, `gpu.energy`.
    pub key: String,
    /// The unit of `value`.
    pub unit: Unit,
    /// The better direction.
    pub direction: Direction,
    /// The value, or null.
    pub value: Option<f64>,
    /// Why there is no number; set exactly if `value` is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where the number comes from.
    #[serde(default)]
    pub provenance: Provenance,
}

impl Metric {
    /// A measured number.
    #[must_use]
    pub fn measured(
        key: impl Into<String>,
        unit: Unit,
        direction: Direction,
        value: f64,
    ) -> Metric {
        Metric {
            key: key.into(),
            unit,
            direction,
            value: Some(value),
            why: None,
            provenance: Provenance::Measured,
        }
    }

    /// A number out of another tool's result.
    #[must_use]
    pub fn imported(
        key: impl Into<String>,
        unit: Unit,
        direction: Direction,
        value: f64,
    ) -> Metric {
        let provenance = Provenance::Imported;
        Metric { provenance, ..Metric::measured(key, unit, direction, value) }
    }

    /// A number that could not be had, and why.
    #[must_use]
    pub fn missing(
        key: impl Into<String>,
        unit: Unit,
        direction: Direction,
        why: impl Into<String>,
    ) -> Metric {
        Metric {
            key: key.into(),
            unit,
            direction,
            value: None,
            why: Some(why.into()),
            provenance: Provenance::Measured,
        }
    }
}
