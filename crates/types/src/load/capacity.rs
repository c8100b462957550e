//! How many replicas a rate takes.

use super::{Arrivals, LoadLimit};
use crate::{Device, Precision, Ratio, RunId, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many replicas a rate takes, for every way in which the model was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// The model.
    pub model: String,
    /// Requests a second.
    pub rate: f64,
    /// How their gaps are drawn.
    pub arrivals: Arrivals,
    /// The limit that has to be kept.
    pub limit: LoadLimit,
    /// Who gets a request: `one-queue`, `round-robin`, `random`, `least-loaded`.
    pub routing: String,
    /// The most requests in one batch; null if the best of those that were measured was looked for.
    pub batch_max: Option<u64>,
    /// The longest that a free replica waits for more requests.
    pub batch_wait: Seconds,
    /// Tokens of a prompt, where the model is a language model: `512±128`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Tokens of an answer, where the model is a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_tokens: Option<String>,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// Ways to serve the model, the fewest replicas first.
    pub options: Vec<CapacityOption>,
    /// Ways that cannot keep the limit.
    pub left_out: Vec<CapacityLeftOut>,
    /// What scripted replicas of the first option did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<CapacityProof>,
}

/// One way to serve the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityOption {
    /// The engine.
    pub engine: String,
    /// The device; `auto` if the server does not tell it.
    pub device: Device,
    /// The number format; not known of a served model.
    pub precision: Option<Precision>,
    /// Threads of one replica; not known of a served model.
    pub threads: Option<u32>,
    /// Tokens of a sample, where it has a length.
    pub sequence_length: Option<usize>,
    /// Batch sizes that were measured.
    pub batches: Vec<u64>,
    /// The most requests in one batch.
    pub batch_max: u64,
    /// The runs it rests on.
    pub runs: Vec<RunId>,
    /// The fewest replicas that keep the limit.
    pub replicas: u64,
    /// The lower end of the 95 % interval.
    pub low: u64,
    /// Its upper end.
    pub high: u64,
    /// The share of the time in which replicas work.
    pub utilisation: Ratio,
    /// The percentile that is limited, with so many replicas.
    pub percentile: Seconds,
    /// The same with one less; `None` if one is enough.
    pub one_less: Option<Seconds>,
    /// Requests in a batch, on average.
    pub mean_batch: f64,
    /// What all replicas cost in an hour, where the cost of one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_hour: Option<f64>,
    /// What a million requests cost at this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_million: Option<f64>,
}

/// What replicas did that were started to check the simulation: they take the measured times, and everything else is real.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityProof {
    /// How many.
    pub replicas: u64,
    /// Requests that counted.
    pub requests: u64,
    /// The limited percentile as simulated for the schedule that was sent.
    pub simulated: Seconds,
    /// The same as measured.
    pub measured: Seconds,
    /// 99 % of requests were sent within this time after their moment.
    pub lag: Seconds,
    /// Whether the two differ by at most 10 %; null if the load was not valid.
    pub agrees: Option<bool>,
    /// Why the load was not valid.
    pub reasons: Vec<String>,
}

/// A way to serve the model that cannot keep the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLeftOut {
    /// The engine.
    pub engine: String,
    /// The number format; not known of a served model.
    pub precision: Option<Precision>,
    /// Why.
    pub why: String,
}
