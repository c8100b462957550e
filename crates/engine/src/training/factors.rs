//! What the optimiser multiplies with in a step. Formulas as in PyTorch.

use serde::Serialize;
use types::{Optimizer, Training};

/// PyTorch's defaults.
pub(super) const BETA_1: f32 = 0.9;
pub(super) const BETA_2: f32 = 0.999;
pub(super) const EPSILON: f32 = 1e-8;

/// What a step multiplies with, the same for every weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateFactors {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The learning rate.
    pub learning_rate: f32,
    /// What stays of a weight by itself.
    pub kept: f32,
    /// Learning rate ÷ (1 − β₁ᵗ).
    pub step: f32,
    /// √(1 − β₂ᵗ).
    pub root: f32,
    /// What gradients are multiplied with: they are sums over the batches of a step.
    pub scale: f32,
    /// What stays of the mean of the gradients.
    pub beta_1: f32,
    /// What stays of the mean of their squares.
    pub beta_2: f32,
    /// What is added to the deviation.
    pub epsilon: f32,
}

impl UpdateFactors {
    /// Of a step, counted from 1.
    #[must_use]
    pub fn of(training: &Training, step: u64) -> UpdateFactors {
        let rate = training.learning_rate.0;
        let corrected = |beta: f32| 1.0 - f64::from(beta).powf(step as f64);
        UpdateFactors {
            optimizer: training.optimizer,
            learning_rate: rate as f32,
            kept: (1.0 - rate * f64::from(training.optimizer.weight_decay())) as f32,
            step: (rate / corrected(BETA_1)) as f32,
            root: corrected(BETA_2).sqrt() as f32,
            scale: 1.0 / training.accumulation.max(1) as f32,
            beta_1: BETA_1,
            beta_2: BETA_2,
            epsilon: EPSILON,
        }
    }
}
