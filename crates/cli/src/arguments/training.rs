//! The arguments of a training.

use clap::{Args, ValueEnum};

/// How a model is trained.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct TrainingArguments {
    /// Training: optimiser [default: adamw]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) optimizer: Option<OptimizerArgument>,
    /// Training: loss function [default: cross-entropy if the model returns `logits`, else mse]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) loss: Option<LossArgument>,
    /// Training: learning rate [default: 0.0001, for sgd 0.01]
    #[arg(long, value_name = "RATE", value_parser = parse_positive, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// Training: batches per optimiser step [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) gradient_accumulation: Option<u32>,
    /// Training: recompute activations in the backward pass instead of storing them
    #[arg(long)]
    pub(crate) gradient_checkpointing: bool,
    /// Training: number of data-parallel processes (torch) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
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

/// The optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerArgument {
    /// Stochastic gradient descent
    Sgd,
    /// Adam
    Adam,
    /// Adam with decoupled weight decay
    Adamw,
}

/// The loss function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossArgument {
    /// Cross-entropy with the label
    CrossEntropy,
    /// Mean squared error
    Mse,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a number above 0 is needed".into()),
    }
}
