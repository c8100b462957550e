//! The search for the highest rate that keeps its limits.

use crate::Interval;
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
    /// The highest rate that held, where it held again when it was measured a second time; null if it was not confirmed.
    pub confirmed: Option<f64>,
    /// Every probe in the order of the search.
    pub probes: Vec<RateProbe>,
}

impl RateSearch {
    /// Whether the lowest rate that was tried broke a limit: then no rate that was tried keeps them. Where the lowest one was not
    /// decided, a rate below the lowest broken one may keep them.
    #[must_use]
    pub fn lowest_broke(&self) -> bool {
        let lowest = self.probes.iter().min_by(|one, other| one.rate.total_cmp(&other.rate));
        lowest.is_some_and(|probe| probe.outcome == ProbeOutcome::Broken)
    }
}

/// Two targets under the same load by turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadComparison {
    /// The address of the first, or its engine.
    pub first: String,
    /// The address of the second, or its engine.
    pub second: String,
    /// How often both were loaded.
    pub rounds: u64,
    /// What was compared.
    pub ratios: Vec<LoadRatio>,
}

/// One number of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRatio {
    /// The number: `e2e.p50`, in seconds; `rate.completed`, a second.
    pub key: String,
    /// The mean over the rounds of the first.
    pub first: f64,
    /// The same of the second.
    pub second: f64,
    /// How many times better the second is.
    pub ratio: f64,
    /// The 95 % interval of that over the rounds; null with one round.
    pub interval: Option<Interval>,
    /// Whether the second is better; null if the interval contains 1.
    pub second_is_better: Option<bool>,
}
