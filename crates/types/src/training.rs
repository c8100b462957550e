//! How a model is trained, and what a training holds in memory.

use crate::{Bytes, Ratio, Seconds};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// How a model is trained; a part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Training {
    /// How the weights move.
    pub optimizer: Optimizer,
    /// What is made small.
    pub loss: Loss,
    /// The size of a step.
    pub learning_rate: Rate,
    /// Batches whose gradients are added up before the weights move.
    pub accumulation: u32,
    /// Whether activations are computed again in the backward pass instead of being kept.
    pub checkpointing: bool,
    /// Processes that train together, each on a batch of its own.
    pub world_size: u32,
}

/// How the weights move, with PyTorch's formulas and defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Against the gradient.
    Sgd,
    /// With running means of the gradient and of its square.
    Adam,
    /// As Adam, and the weights shrink by themselves.
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

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The mean of −log softmax at the label.
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
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
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

/// What a training holds in memory, by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrainingMemory {
    /// The weights.
    pub weights: Bytes,
    /// One gradient a weight, or a row a lookup.
    pub gradients: Bytes,
    /// What the optimiser remembers.
    pub optimizer: Bytes,
    /// What the forward pass keeps for the backward pass.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLoss {
    /// The step, counted from 1.
    pub step: u64,
    /// The weight or value that was not finite first.
    pub place: String,
}

/// Processes that trained together, and what it cost them to agree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingWorld {
    /// What carried their gradients: `gloo`, `nccl`.
    pub backend: String,
    /// The median step of every rank, in the order of their numbers.
    pub steps: Vec<Seconds>,
    /// The median step of one process that shares nothing, on the same share of the processors or on one device.
    #[serde(default)]
    pub step_alone: Seconds,
    /// How long gradients were under way in a step, the waiting for slower ranks included; the median.
    pub all_reduce: Seconds,
    /// The same gradients sent around with nothing else to do; the median.
    pub all_reduce_alone: Seconds,
    /// The share of `all_reduce` that was hidden behind the backward pass.
    pub overlap: Ratio,
    /// What every rank sends around in a step.
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

/// How a training went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrainingReport {
    /// The loss of every step, the first one and warm-up included.
    pub losses: Vec<f64>,
    /// Where the loss stopped being a number, if it did; the losses end before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenLoss>,
    /// What lies in memory.
    pub memory: TrainingMemory,
    /// The output that the loss reads.
    pub output: String,
    /// Weights that the loss does not depend on.
    #[serde(default)]
    pub untrained: Vec<String>,
    /// Operations of one step in each phase, counted on the graphs; empty where there is no graph.
    #[serde(default)]
    pub flops: Vec<(crate::Phase, u64)>,
    /// The processes that trained together, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<TrainingWorld>,
}
