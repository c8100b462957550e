//! How a model was trained, for programs.

use serde::Serialize;
use std::collections::BTreeMap;
use types::{BrokenLoss, Loss, Optimizer, Run, TrainingMemory, TrainingWorld};

/// How a model was trained and how that went.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TrainingDocument<'a> {
    optimizer: Optimizer,
    loss: Loss,
    learning_rate: f64,
    gradient_accumulation: u32,
    gradient_checkpointing: bool,
    world_size: u32,
    output: &'a str,
    untrained: &'a [String],
    losses: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'a BrokenLoss>,
    memory_bytes: &'a TrainingMemory,
    flops: BTreeMap<&'static str, u64>,
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
