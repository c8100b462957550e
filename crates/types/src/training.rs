//! How a model is trained, and what a training holds in memory.

use crate::{Bytes, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// How a model is trained; a part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Training {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// What is minimised.
    pub loss: Loss,
    /// The learning rate.
    pub learning_rate: Rate,
    /// Batches whose gradients are accumulated before the weights are updated.
    pub accumulation: u32,
    /// Gradient checkpointing: activations are recomputed in the backward pass.
    pub checkpointing: bool,
    /// Processes that train together, each on a batch of its own.
    pub world_size: u32,
}

/// The optimiser, with PyTorch's formulas and defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// Adam: with running means of the gradient and of its square.
    Adam,
    /// AdamW: Adam with decoupled weight decay.
    #[default]
    AdamW,
}

impl Optimizer {
    /// Every optimiser.
    pub const ALL: [Optimizer; 3] = [Optimizer::Sgd, Optimizer::Adam, Optimizer::AdamW];

    /// The name used in flags, tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Optimizer::Sgd => "sgd",
            Optimizer::Adam => "adam",
            Optimizer::AdamW => "adamw",
        }
    }

    /// How many numbers it remembers for every weight.
    #[must_use]
    pub fn states(self) -> u64 {
        match self {
            Optimizer::Sgd => 0,
            Optimizer::Adam | Optimizer::AdamW => 2,
        }
    }

    /// How much of a weight it takes away in every step, times the learning rate.
    #[must_use]
    pub fn weight_decay(self) -> f32 {
        if self == Optimizer::AdamW { 0.01 } else { 0.0 }
    }
}

impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Cross-entropy: the mean of −log softmax at the label.
    #[default]
    CrossEntropy,
    /// The mean square of the differences.
    Mse,
}

impl Loss {
    /// Every loss.
    pub const ALL: [Loss; 2] = [Loss::CrossEntropy, Loss::Mse];

    /// The name used in flags, tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Loss::CrossEntropy => "cross-entropy",
            Loss::Mse => "mse",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A positive number that can be compared and hashed: two rates are equal where their bits are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Rate(pub f64);

impl PartialEq for Rate {
    fn eq(&self, other: &Rate) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Rate {}

impl Hash for Rate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Memory of a training, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrainingMemory {
    /// The weights.
    pub weights: Bytes,
    /// Gradients: one value for each weight, or one row for each lookup.
    pub gradients: Bytes,
    /// The state of the optimiser.
    pub optimizer: Bytes,
    /// Activations that the forward pass keeps for the backward pass.
    pub activations: Bytes,
}

impl TrainingMemory {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: TrainingMemory) -> TrainingMemory {
        TrainingMemory {
            weights: self.weights.saturating_add(other.weights),
            gradients: self.gradients.saturating_add(other.gradients),
            optimizer: self.optimizer.saturating_add(other.optimizer),
            activations: self.activations.saturating_add(other.activations),
        }
    }

    /// All of it.
    #[must_use]
    pub fn all(self) -> Bytes {
        let TrainingMemory { weights, gradients, optimizer, activations } = self;
        weights.saturating_add(gradients).saturating_add(optimizer).saturating_add(activations)
    }
}

/// A loss that is not a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLoss {
    /// The step, counted from 1.
    #[schemars(range(min = 1))]
    pub step: u64,
    /// The first weight or value that was not finite.
    pub place: String,
}

/// Processes that trained together, and the cost of exchanging gradients.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrainingWorld {
    /// The backend that exchanged the gradients: `gloo`, `nccl`.
    pub backend: String,
    /// The median step of every rank, in the order of their numbers.
    #[schemars(inner(range(min = 0)))]
    pub steps: Vec<Seconds>,
    /// The median step of one process that shares nothing, on the same share of the processors or on one device.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub step_alone: Seconds,
    /// Median time per step for exchanging gradients, including the wait for slower ranks.
    #[schemars(range(min = 0))]
    pub all_reduce: Seconds,
    /// Median time for exchanging the same gradients without any other work.
    #[schemars(range(min = 0))]
    pub all_reduce_alone: Seconds,
    /// The share of `all_reduce` that was hidden behind the backward pass.
    pub overlap: Ratio,
    /// Bytes that every rank exchanges in one step.
    pub bytes: Bytes,
}

impl TrainingWorld {
    /// How much of what so many processes could do they did together: a step alone ÷ the slowest rank's step.
    #[must_use]
    pub fn efficiency(&self) -> Option<Ratio> {
        let slowest = self.steps.iter().map(|step| step.0).fold(0.0, f64::max);
        (slowest > 0.0 && self.step_alone.0 > 0.0).then(|| Ratio(self.step_alone.0 / slowest))
    }
}

/// The results of a training.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrainingReport {
    /// The loss of every step, the first one and warm-up included.
    pub losses: Vec<f64>,
    /// The first step whose loss was not a number, if there was one; the losses end before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenLoss>,
    /// A kind of memory content.
    pub memory: TrainingMemory,
    /// The output that the loss reads.
    pub output: String,
    /// Weights that the loss does not depend on.
    #[serde(default)]
    pub untrained: Vec<String>,
    /// Operations of one step in each phase, counted on the graphs; empty if there is no graph.
    #[serde(default)]
    pub flops: Vec<(crate::Phase, u64)>,
    /// The processes that trained together, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<TrainingWorld>,
}
