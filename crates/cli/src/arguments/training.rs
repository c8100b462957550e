//! The arguments of a training.

use clap::{Args, ValueEnum};

/// How a model is trained.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrainingArguments {
    /// How the weights move [default: adamw]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Training")]
    pub(crate) optimizer: Option<OptimizerArgument>,
    /// What is made small; cross-entropy where the model gives `logits`, else mse
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Training")]
    pub(crate) loss: Option<LossArgument>,
    /// The size of a step [default: 0.0001, for sgd 0.01]
    #[arg(long, value_name = "RATE", value_parser = parse_positive, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) learning_rate: Option<f64>,
    /// Batches whose gradients are added up before the weights move [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Training")]
    pub(crate) gradient_accumulation: Option<u32>,
    /// Compute activations again in the backward pass instead of keeping them
    #[arg(long, help_heading = "Training")]
    pub(crate) gradient_checkpointing: bool,
    /// Processes that train together, each on a batch of its own (torch) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Training")]
    pub(crate) world_size: Option<u32>,
}

impl TrainingArguments {
    /// The first flag that was given, for somebody who does not train.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.optimizer.is_some(), "--optimizer"),
            (self.loss.is_some(), "--loss"),
            (self.learning_rate.is_some(), "--learning-rate"),
            (self.gradient_accumulation.is_some(), "--gradient-accumulation"),
            (self.gradient_checkpointing, "--gradient-checkpointing"),
            (self.world_size.is_some(), "--world-size"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }
}

/// How the weights move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerArgument {
    /// Against the gradient
    Sgd,
    /// With running means of the gradient and its square
    Adam,
    /// As adam, and the weights shrink by themselves
    Adamw,
}

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossArgument {
    /// Minus the logarithm of the softmax at the label
    CrossEntropy,
    /// The mean square of the differences
    Mse,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a number above 0 is needed".into()),
    }
}
