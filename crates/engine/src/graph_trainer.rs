//! Training by an engine whose memory is not ours: it keeps the weights, runs the graphs of a step and moves the weights.

use crate::{EngineError, LoadRequest, LoadStep, TrainingFiles, UpdateFactors};
use std::{collections::BTreeMap, time::Duration};
use types::{Bytes, HostTensor, Machine, Phase, Remark};

/// Loads the graphs of a step for an engine that keeps the weights itself.
pub trait TrainerLoader {
    /// Brings graphs and first values of the weights to where they run. `request` names no model: the files do.
    ///
    /// # Errors
    /// As [`Loader::load`](crate::Loader::load).
    fn trainer(
        &self,
        request: &LoadRequest,
        files: &TrainingFiles,
    ) -> Result<Box<dyn GraphTrainer>, EngineError>;
}

/// What a step is taken on, beside the inputs that are bound.
#[derive(Debug)]
pub struct StepInputs {
    /// The dropout masks of each batch.
    pub masks: Vec<Vec<HostTensor>>,
    /// What the optimiser multiplies with.
    pub factors: UpdateFactors,
}

/// What a step gave.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTaken {
    /// The time of each phase and of all together, by the clock of the place where it ran.
    pub times: Vec<(Phase, Duration)>,
    /// The mean of the losses of its batches.
    pub loss: f64,
    /// The weight, or else the value, that is not finite first, where the loss is not.
    pub broken: Option<String>,
    /// What the forward graph kept for the backward graph.
    pub kept: Bytes,
    /// The gradients of a batch.
    pub gradients: Bytes,
}

/// A model in training where the engine keeps it.
pub trait GraphTrainer {
    /// Where it really runs.
    fn placement(&self) -> String;

    /// What a reader of the results must know.
    fn remarks(&self) -> Vec<Remark>;

    /// Versions of what stands behind the engine.
    fn versions(&self) -> BTreeMap<String, String>;

    /// What loading consisted of.
    fn steps(&self) -> Vec<LoadStep>;

    /// The machine, where it is another than that of the worker.
    fn machine(&self) -> Option<Machine>;

    /// Brings the model's inputs, the labels and the scale of the loss to where they are read; they replace earlier ones.
    ///
    /// # Errors
    /// When they cannot be brought there.
    fn bind(&mut self, values: &[HostTensor]) -> Result<(), EngineError>;

    /// Takes a step; returns only when the device has finished.
    ///
    /// # Errors
    /// When a graph fails.
    fn step(&mut self, inputs: StepInputs) -> Result<StepTaken, EngineError>;

    /// Takes a step, and gives the sum of its gradients over the batches for each weight, in the dims of the graphs.
    ///
    /// # Errors
    /// When a graph fails.
    fn step_with_gradients(
        &mut self,
        inputs: StepInputs,
    ) -> Result<(StepTaken, Vec<HostTensor>), EngineError>;

    /// What the forward graph gives under this name with the weights as they are now.
    ///
    /// # Errors
    /// When the graph fails.
    fn output(&mut self, masks: Vec<HostTensor>, name: &str) -> Result<HostTensor, EngineError>;
}
