//! What a user may tell an engine beyond device, precision and threads; part of the cell, because it changes the numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// How far an engine may rewrite the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GraphOptimisation {
    /// Not at all.
    None,
    /// Optimisations that cannot change a result.
    Basic,
    /// Basic optimisations and operator fusions.
    Extended,
    /// All optimisations of the engine.
    All,
}

/// What an engine is tuned for, if it has such an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PerformanceHint {
    /// One inference as soon as possible.
    Latency,
    /// As much throughput as possible.
    Throughput,
}

/// A word that is no option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of {known}")]
pub struct ParseOptionError {
    /// The options that were set.
    pub word: String,
    /// What could be said.
    pub known: &'static str,
}

impl GraphOptimisation {
    /// The name used in arguments and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GraphOptimisation::None => "none",
            GraphOptimisation::Basic => "basic",
            GraphOptimisation::Extended => "extended",
            GraphOptimisation::All => "all",
        }
    }
}

impl FromStr for GraphOptimisation {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<GraphOptimisation, ParseOptionError> {
        match text.to_ascii_lowercase().as_str() {
            "none" | "disable" => Ok(GraphOptimisation::None),
            "basic" => Ok(GraphOptimisation::Basic),
            "extended" => Ok(GraphOptimisation::Extended),
            "all" => Ok(GraphOptimisation::All),
            _ => Err(ParseOptionError { word: text.into(), known: "none, basic, extended, all" }),
        }
    }
}

impl PerformanceHint {
    /// The name used in arguments and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PerformanceHint::Latency => "latency",
            PerformanceHint::Throughput => "throughput",
        }
    }
}

impl FromStr for PerformanceHint {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<PerformanceHint, ParseOptionError> {
        match text.to_ascii_lowercase().as_str() {
            "latency" => Ok(PerformanceHint::Latency),
            "throughput" => Ok(PerformanceHint::Throughput),
            _ => Err(ParseOptionError { word: text.into(), known: "latency, throughput" }),
        }
    }
}

/// Engine options set by the user; everything else is the engine's own default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EngineOptions {
    /// How far the graph may be rewritten (onnxruntime).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_optimisation: Option<GraphOptimisation>,
    /// Threads between operators (onnxruntime, torch).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inter_threads: Option<u32>,
    /// What to tune for (openvino).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<PerformanceHint>,
    /// Compile the module first (engine torch): `default`, `reduce-overhead`, `max-autotune`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile: Option<String>,
    /// Settings of the execution provider or plugin by their own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Allow a pickle file to run its code (engine torch).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_pickle: bool,
}

impl EngineOptions {
    /// Whether nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == EngineOptions::default()
    }
}

impl fmt::Display for EngineOptions {
    /// What was said, in a few words for a table: `compiled, graph none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        match self.compile.as_deref() {
            Some("default") => words.push("compiled".to_owned()),
            Some(mode) => words.push(format!("compiled {mode}")),
            None => {}
        }
        words.extend(self.graph_optimisation.map(|level| format!("graph {}", level.name())));
        words.extend(self.inter_threads.map(|threads| format!("{threads} between operators")));
        words.extend(self.hint.map(|hint| format!("for {}", hint.name())));
        words.extend(self.settings.iter().map(|(key, value)| format!("{key}={value}")));
        f.pad(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_nothing_stored() {
        assert_eq!(serde_json::to_string(&EngineOptions::default()).unwrap(), "{}");
        assert_eq!(EngineOptions::default().to_string(), "");
    }

    #[test]
    fn what_was_said_is_read_back_and_put_into_words() {
        let options = EngineOptions {
            graph_optimisation: Some("none".parse().unwrap()),
            compile: Some("default".into()),
            ..EngineOptions::default()
        };
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<EngineOptions>(&text).unwrap(), options);
        assert_eq!(options.to_string(), "compiled, graph none");
        assert!("fast".parse::<PerformanceHint>().unwrap_err().to_string().contains("`fast`"));
    }
}
