//! Who asks when.

use crate::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How gaps between arrivals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Arrivals {
    /// Independent of each other, as those of many users are: gaps of the exponential distribution.
    Poisson,
    /// One gap, always.
    Constant,
    /// Gaps of the gamma distribution.
    Gamma {
        /// Its shape: 1 is Poisson, less is in bursts, more is more even.
        burstiness: Rate,
    },
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arrivals::Poisson => f.write_str("poisson"),
            Arrivals::Constant => f.write_str("constant"),
            Arrivals::Gamma { burstiness } => write!(f, "gamma:{}", burstiness.0),
        }
    }
}

/// A word that names no scenario and no distribution of arrivals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseScenarioError(String);

impl FromStr for Arrivals {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Arrivals, ParseScenarioError> {
        let wrong = || {
            ParseScenarioError(format!(
                "`{text}` is not a distribution of arrivals; write poisson, constant, or gamma:SHAPE such as gamma:0.25"
            ))
        };
        let (name, shape) = match text.split_once(':') {
            Some((name, shape)) => (name, Some(shape)),
            None => (text, None),
        };
        match (name.to_ascii_lowercase().as_str(), shape) {
            ("poisson", None) => Ok(Arrivals::Poisson),
            ("constant", None) => Ok(Arrivals::Constant),
            ("gamma", Some(shape)) => {
                let shape: f64 = shape.parse().map_err(|_| wrong())?;
                // Beyond these ends every request comes at once, or none ever does in the time of a run.
                let usable = (0.01..=10_000.0).contains(&shape);
                usable.then_some(Arrivals::Gamma { burstiness: Rate(shape) }).ok_or_else(|| {
                    ParseScenarioError("the shape of gamma is from 0.01 to 10000".into())
                })
            }
            _ => Err(wrong()),
        }
    }
}

/// Who asks when.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Scenario {
    /// One request at a time: the next one is sent when the last one is answered.
    SingleStream,
    /// So many requests at once; the next ones when all of them are answered.
    MultiStream {
        /// How many.
        streams: u32,
    },
    /// Requests come by a schedule, whether the earlier ones are answered or not.
    Server {
        /// Requests a second.
        rate: Rate,
        /// How their gaps are drawn.
        arrivals: Arrivals,
        /// Requests a second at the end, where the rate changes evenly from one to the other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_to: Option<Rate>,
    },
    /// Every request is there from the start.
    Offline,
    /// So many users, each of whom asks again when the last answer has come.
    Concurrency {
        /// How many.
        users: u32,
    },
    /// The moments are those of a file.
    Replay {
        /// The hash over its content.
        trace: String,
    },
}

impl Scenario {
    /// Whether requests come by a schedule that does not wait for answers. Without one, a slow server slows the questions too,
    /// and what users would have waited cannot be known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Scenario::Server { .. } | Scenario::Replay { .. } | Scenario::Offline)
    }

    /// The name used in tables and the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Scenario::SingleStream => "single-stream",
            Scenario::MultiStream { .. } => "multi-stream",
            Scenario::Server { .. } => "server",
            Scenario::Offline => "offline",
            Scenario::Concurrency { .. } => "concurrency",
            Scenario::Replay { .. } => "replay",
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scenario::MultiStream { streams } => write!(f, "multi-stream {streams}"),
            Scenario::Server { rate, arrivals, ramp_to: None } => {
                write!(f, "server {}/s {arrivals}", rate.0)
            }
            Scenario::Server { rate, arrivals, ramp_to: Some(to) } => {
                write!(f, "server {}/s to {}/s {arrivals}", rate.0, to.0)
            }
            Scenario::Concurrency { users } => write!(f, "concurrency {users}"),
            Scenario::Replay { trace } => {
                write!(f, "replay ({})", trace.get(..8).unwrap_or(trace))
            }
            Scenario::SingleStream | Scenario::Offline => f.write_str(self.name()),
        }
    }
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Chat completions as OpenAI has them.
    OpenaiChat,
    /// Completions as OpenAI has them.
    OpenaiCompletions,
    /// KServe version 2 with tensors as JSON.
    KserveJson,
    /// KServe version 2 with tensors as bytes.
    KserveBinary,
    /// Any request with a body.
    Http,
    /// No server: the model answers in the worker that loaded it.
    InProcess,
}

impl Protocol {
    /// Every protocol that a server may speak.
    pub const ALL: [Protocol; 5] = [
        Protocol::OpenaiChat,
        Protocol::OpenaiCompletions,
        Protocol::KserveJson,
        Protocol::KserveBinary,
        Protocol::Http,
    ];

    /// The name used in arguments, tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::OpenaiChat => "openai-chat",
            Protocol::OpenaiCompletions => "openai-completions",
            Protocol::KserveJson => "kserve-json",
            Protocol::KserveBinary => "kserve-binary",
            Protocol::Http => "http",
            Protocol::InProcess => "in-process",
        }
    }

    /// Whether answers are text of a language model.
    #[must_use]
    pub fn generates(self) -> bool {
        matches!(self, Protocol::OpenaiChat | Protocol::OpenaiCompletions)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Protocol {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Protocol, ParseScenarioError> {
        Protocol::ALL.into_iter().find(|one| one.name() == text).ok_or_else(|| {
            let known = Protocol::ALL.map(Protocol::name).join(", ");
            ParseScenarioError(format!("`{text}` is not a protocol; known protocols: {known}"))
        })
    }
}

/// How requests to a model in a worker are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LoadBatching {
    /// The most requests in one batch.
    pub most: u32,
    /// The longest that a free engine waits for more requests, in microseconds.
    pub wait_micros: u64,
}

/// What is asked of a server; a part of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Who asks when.
    pub scenario: Scenario,
    /// How the server is spoken to.
    pub protocol: Protocol,
    /// Whether answers come in pieces.
    pub streaming: bool,
    /// The most requests in flight; more wait in the generator, and their wait counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// How requests are put together, where the model answers in a worker; a server has its own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batching: Option<LoadBatching>,
    /// What is sent, in words: `512±128 words, 128 tokens`.
    pub content: String,
    /// The texts of a file, where a model in a worker gets such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<LoadTexts>,
}

/// Texts of several lengths that requests bring to a model in a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LoadTexts {
    /// How many.
    pub count: u64,
    /// Tokens of the shortest.
    pub shortest: u64,
    /// Tokens of the longest.
    pub longest: u64,
    /// A hash of all of them.
    pub hash: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_back_from_their_words() {
        for text in ["poisson", "constant", "gamma:0.25"] {
            assert_eq!(text.parse::<Arrivals>().unwrap().to_string(), text);
        }
        for text in ["gamma", "gamma:0", "gamma:x", "poisson:2", "uniform"] {
            assert!(text.parse::<Arrivals>().is_err(), "{text}");
        }
    }

    #[test]
    fn protocols_come_back_from_their_names() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.name().parse::<Protocol>().unwrap(), protocol);
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.name());
        }
        let told = "grpc".parse::<Protocol>().unwrap_err().to_string();
        assert!(told.contains("openai-chat"), "{told}");
    }

    #[test]
    fn only_what_does_not_wait_for_answers_is_open() {
        let rate =
            Scenario::Server { rate: Rate(40.0), arrivals: Arrivals::Poisson, ramp_to: None };
        assert!(rate.is_open() && Scenario::Offline.is_open());
        assert!(!Scenario::Concurrency { users: 8 }.is_open());
        assert!(!Scenario::SingleStream.is_open());
        assert_eq!(rate.to_string(), "server 40/s poisson");
    }
}
