//! Raw timings; never thrown away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of one end-to-end inference.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// From pictures or recordings to the model's input tensors.
    Preprocess,
    /// Text to token ids.
    Tokenise,
    /// The inference alone, including the wait for the device.
    Inference,
    /// The part of the inference that the device itself timed, by its own events.
    Device,
    /// From the model's outputs to the answer (pooling, argmax).
    Postprocess,
    /// From the scores to the next token, where a model generates.
    Sample,
    /// From tokens to text.
    Detokenise,
    /// From a batch to the model's outputs, in training.
    Forward,
    /// From outputs and labels to the loss and its gradient.
    Loss,
    /// From the loss to a gradient for every weight.
    Backward,
    /// From gradients to new weights.
    Optimizer,
    /// All phases of one sample or one step together, timed as one span. Under load: from the schedule to the last event.
    Total,
    /// Under load: from the schedule to the first event with content.
    #[serde(rename = "ttft")]
    Ttft,
    /// Under load: from the sending to the first event with content.
    #[serde(rename = "ttft.service")]
    TtftService,
    /// Under load: from the schedule to the first text that is not reasoning.
    #[serde(rename = "ttft.visible")]
    TtftVisible,
    /// Under load: the mean time between tokens, one value a request.
    #[serde(rename = "itl")]
    Itl,
    /// Under load: between events with content.
    #[serde(rename = "gap")]
    Gap,
    /// Under load: from the sending to the last event.
    #[serde(rename = "e2e.service")]
    Service,
    /// Under load: from the schedule to the sending.
    #[serde(rename = "lag")]
    Lag,
}

impl Phase {
    /// Every phase in the order it happens.
    pub const ALL: [Phase; 19] = [
        Phase::Preprocess,
        Phase::Tokenise,
        Phase::Inference,
        Phase::Device,
        Phase::Postprocess,
        Phase::Sample,
        Phase::Detokenise,
        Phase::Forward,
        Phase::Loss,
        Phase::Backward,
        Phase::Optimizer,
        Phase::Total,
        Phase::Ttft,
        Phase::TtftService,
        Phase::TtftVisible,
        Phase::Itl,
        Phase::Gap,
        Phase::Service,
        Phase::Lag,
    ];

    /// The name used in tables, metric keys and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Preprocess => "preprocess",
            Phase::Tokenise => "tokenise",
            Phase::Inference => "inference",
            Phase::Device => "device",
            Phase::Postprocess => "postprocess",
            Phase::Sample => "sample",
            Phase::Detokenise => "detokenise",
            Phase::Forward => "forward",
            Phase::Loss => "loss",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
            Phase::Total => "total",
            Phase::Ttft => "ttft",
            Phase::TtftService => "ttft.service",
            Phase::TtftVisible => "ttft.visible",
            Phase::Itl => "itl",
            Phase::Gap => "gap",
            Phase::Service => "e2e.service",
            Phase::Lag => "lag",
        }
    }
}

/// All samples of one phase, in the order they were taken, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The phase that was timed.
    pub phase: Phase,
    /// One entry per sample, in nanoseconds.
    pub nanos: Vec<u64>,
}
