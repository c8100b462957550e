//! Where a run comes from that another tool measured, and what its file does and does not say.

use crate::{LayerProfile, Phase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a tool reports about a phase without samples; times in seconds, `None` if it reports nothing.
///
/// A [`crate::Summary`] is always derived from samples; this never is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// The number that represents the phase: the median, or the mean if no median is reported.
    #[must_use]
    pub fn typical(&self) -> Option<f64> {
        self.median.or(self.mean)
    }
}

/// A number of another tool that is known to be wrong, and the value that was stored instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correction {
    /// What was corrected: a metric's key or a field's path.
    pub what: String,
    /// The value in the file, in its own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// The value that was stored; `None` if the right number cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<f64>,
    /// What is wrong with it.
    pub why: String,
}

/// The source of an imported run, what was corrected in it, and what its file does not contain.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Import {
    /// The tool that measured: `optimum-benchmark`.
    pub tool: String,
    /// The tool's version, if the file contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file's name, without its folder.
    pub file: String,
    /// What the file reports about a phase without samples.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<Phase, Stated>,
    /// Numbers of the file that are known to be wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Paths of fields of the run for which the file has no data, such as `cold.load`; their values have no meaning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
    /// Time by layer, if the file contains it.
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
