//! Where a run comes from that another tool measured, and what its file does and does not say.

use crate::{LayerProfile, Phase};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a tool states of a phase without giving its samples; times in seconds, `None` where it says nothing.
///
/// A [`crate::Summary`] is always derived from samples; this never is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stated {
    /// How many samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Arithmetic mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Standard deviation, by the tool's own formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
}

impl Stated {
    /// The number that stands for the phase: the median, or the mean where only that is stated.
    #[must_use]
    pub fn typical(&self) -> Option<f64> {
        self.median.or(self.mean)
    }
}

/// A number of another tool that is known to be wrong, and what was stored instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// What was put right: a metric's key or a field's path.
    pub what: String,
    /// What the file says, in its own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// What was stored; `None` where the right number cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<f64>,
    /// What is wrong with it, in plain words.
    pub why: String,
}

/// Where an imported run comes from, what was put right in it, and what its file does not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Import {
    /// The tool that measured: `optimum-benchmark`.
    pub tool: String,
    /// The tool's version, where the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file's name, without its folder.
    pub file: String,
    /// What the file states of a phase without giving samples.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<Phase, Stated>,
    /// Numbers of the file that are known to be wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Paths of the run's fields that the file says nothing about; what stands in them is no fact: `cold.load`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
    /// Where the time went, where the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<LayerProfile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_stated_is_not_written() {
        let stated = Stated { mean: Some(0.5), ..Stated::default() };
        assert_eq!(serde_json::to_string(&stated).unwrap(), r#"{"mean":0.5}"#);
        assert_eq!(stated.typical(), Some(0.5));
        assert_eq!(Stated { median: Some(0.4), ..stated }.typical(), Some(0.4));
    }
}
