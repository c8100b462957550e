//! How a model was trained, for programs.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use types::{BrokenLoss, Loss, Optimizer, Run, TrainingMemory, TrainingWorld};

/// How a model was trained, with the results.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct TrainingDocument<'a> {
    optimizer: Optimizer,
    loss: Loss,
    #[schemars(extend("exclusiveMinimum" = 0))]
    learning_rate: f64,
    #[schemars(range(min = 1))]
    gradient_accumulation: u32,
    gradient_checkpointing: bool,
    #[schemars(range(min = 1))]
    world_size: u32,
    /// The output that the loss reads.
    output: &'a str,
    /// Weights that the loss does not depend on.
    untrained: &'a [String],
    /// The loss of every step, warm-up included.
    losses: &'a [f64],
    /// The first step whose loss was not a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'a BrokenLoss>,
    memory_bytes: &'a TrainingMemory,
    /// Operations of one step by phase.
    flops: BTreeMap<&'static str, u64>,
    /// The processes that trained together; times in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<&'a TrainingWorld>,
}

impl<'a> TrainingDocument<'a> {
    pub(super) fn of(run: &'a Run) -> Option<TrainingDocument<'a>> {
        let (training, report) = (run.cell.training?, run.training.as_ref()?);
        Some(TrainingDocument {
            optimizer: training.optimizer,
            loss: training.loss,
            learning_rate: training.learning_rate.0,
            gradient_accumulation: training.accumulation,
            gradient_checkpointing: training.checkpointing,
            world_size: training.world_size,
            output: &report.output,
            untrained: &report.untrained,
            losses: &report.losses,
            broken: report.broken.as_ref(),
            memory_bytes: &report.memory,
            world: report.world.as_ref(),
            flops: report.flops.iter().map(|(phase, flops)| (phase.name(), *flops)).collect(),
        })
    }
}
