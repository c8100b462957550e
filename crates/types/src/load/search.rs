//! The search for the highest rate that keeps its limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a probe of one rate came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOutcome {
    /// Every limit was kept.
    Held,
    /// A limit was not kept.
    Broken,
    /// Too few requests to tell.
    Undecided,
}

/// One probe.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateProbe {
    /// Requests a second.
    pub rate: f64,
    /// What it came to.
    pub outcome: ProbeOutcome,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RateSearch {
    /// The highest rate that held; `None` if none did.
    pub passed: Option<f64>,
    /// The lowest rate that broke; `None` if none did.
    pub failed: Option<f64>,
    /// Every probe in the order of the search.
    pub probes: Vec<RateProbe>,
}
