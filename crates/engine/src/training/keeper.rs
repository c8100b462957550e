//! Training where the engine keeps the weights: what is drawn here, counted here, and asked of it.

use super::{
    factors::UpdateFactors,
    mask,
    state::own_part,
    trainer::{Times, check_labels, output_of},
};
use crate::{
    EngineError, EngineErrorKind, GraphTrainer, LoadJob, LoadReport, Media, OutputView, Signature,
    StepInputs, StepTaken, TrainerLoader, TrainingFiles, TrainingJob, draw, tensors::write_tensors,
    view_of,
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use types::{BrokenLoss, Bytes, Elements, HostTensor, Phase, TrainingMemory, TrainingReport};

/// A model in training whose weights the engine keeps.
pub(super) struct Keeper {
    job: TrainingJob,
    files: TrainingFiles,
    trainer: Box<dyn GraphTrainer>,
    inputs: Vec<HostTensor>,
    media: Option<Media>,
    labels: HostTensor,
    seed: u64,
    steps: u64,
    losses: Vec<f64>,
    broken: Option<BrokenLoss>,
    kept: Bytes,
    gradients: Bytes,
}

impl Keeper {
    /// Brings graphs, weights and inputs to the engine.
    pub(super) fn new(
        loader: &dyn TrainerLoader,
        job: &LoadJob,
        training: &TrainingJob,
        inputs: Vec<HostTensor>,
        media: Option<Media>,
    ) -> Result<Keeper, EngineError> {
        let Some(files) = training.graphs.clone() else {
            let why = format!("engine `{}` trains graphs only", job.engine);
            return Err(EngineError::new(EngineErrorKind::Unsupported, why));
        };
        let labels = draw(&training.labels, job.seed);
        check_labels(training, &labels)?;
        let mut keeper = Keeper {
            trainer: loader.trainer(&job.request, &files)?,
            job: training.clone(),
            files,
            inputs,
            media,
            labels,
            seed: job.seed,
            steps: 0,
            losses: Vec::new(),
            broken: None,
            kept: Bytes(0),
            gradients: Bytes(0),
        };
        keeper.prepare_media()?;
        keeper.bind()?;
        Ok(keeper)
    }

    /// One step; files are made ready before it, in a phase of its own.
    pub(super) fn step(&mut self) -> Result<Times, EngineError> {
        let mut times = Times::new();
        let begin = Instant::now();
        for _ in 0..self.batches() {
            if self.prepare_media()? {
                times = vec![(Phase::Preprocess, begin.elapsed())];
            }
        }
        if !times.is_empty() {
            self.bind()?;
        }
        let inputs = self.step_inputs();
        let taken = self.trainer.step(inputs)?;
        times.extend(taken.times.iter().copied());
        self.note(taken);
        Ok(times)
    }

    /// Takes one more step and writes the gradients that led to it.
    pub(super) fn write_gradients(&mut self, path: &Path) -> Result<(), EngineError> {
        let inputs = self.step_inputs();
        let (taken, gradients) = self.trainer.step_with_gradients(inputs)?;
        let elements = Elements::F32(vec![taken.loss as f32]);
        let mut whole = vec![HostTensor { name: "loss".into(), dims: Vec::new(), elements }];
        for parameter in &self.files.parameters {
            let found = gradients.iter().find(|gradient| gradient.name == parameter.name);
            let Some(Elements::F32(values)) = found.map(|gradient| &gradient.elements) else {
                let message = format!("the engine gave no gradient of `{}`", parameter.name);
                return Err(EngineError::new(EngineErrorKind::Failed, message));
            };
            whole.push(HostTensor {
                name: parameter.name.clone(),
                dims: parameter.own_dims.clone(),
                elements: Elements::F32(own_part(parameter, values)),
            });
        }
        self.note(taken);
        let views: Vec<OutputView<'_>> = whole.iter().map(view_of).collect();
        write_tensors(path, &views)
    }

    /// Writes what the model gives with the weights as they are now, nothing dropped.
    pub(super) fn write_outputs(&mut self, path: &Path) -> Result<(), EngineError> {
        let masks = self.files.masks.iter().map(mask::keep_all).collect();
        let output = self.trainer.output(masks, &self.job.output)?;
        write_tensors(path, &[view_of(&output)])
    }

    /// How it went so far.
    pub(super) fn report(&self) -> TrainingReport {
        let elements = |dims: &[usize]| dims.iter().product::<usize>() as u64;
        let weights: u64 = self.files.parameters.iter().map(|p| 4 * elements(&p.dims)).sum();
        TrainingReport {
            losses: self.losses.clone(),
            broken: self.broken.clone(),
            memory: TrainingMemory {
                weights: Bytes(weights),
                gradients: self.gradients,
                optimizer: Bytes(weights * self.job.training.optimizer.states()),
                activations: self.kept,
            },
            output: self.job.output.clone(),
            ..TrainingReport::default()
        }
    }

    /// The output that the loss reads: its name and shape.
    pub(super) fn output(&self) -> (String, Vec<usize>) {
        output_of(&self.job, &self.labels)
    }

    /// What is said of it once it is loaded.
    pub(super) fn load_report(&self, load: Duration, version: String) -> LoadReport {
        LoadReport {
            load,
            version,
            placement: self.trainer.placement(),
            signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
            real_tokens: None,
            remarks: self.trainer.remarks(),
            versions: self.trainer.versions(),
            steps: self.trainer.steps(),
            machine: self.trainer.machine(),
        }
    }

    fn batches(&self) -> u32 {
        self.job.training.accumulation.max(1)
    }

    /// Makes pictures or recordings ready and puts them in; whether there are any.
    fn prepare_media(&mut self) -> Result<bool, EngineError> {
        let Some(media) = &self.media else { return Ok(false) };
        media.put_into(&mut self.inputs)?;
        Ok(true)
    }

    fn bind(&mut self) -> Result<(), EngineError> {
        let scale = HostTensor {
            name: self.files.loss_scale.clone(),
            dims: Vec::new(),
            elements: Elements::F32(vec![1.0]),
        };
        let values: Vec<HostTensor> =
            self.inputs.iter().chain([&self.labels, &scale]).cloned().collect();
        self.trainer.bind(&values)
    }

    /// The masks of the next step, as every engine draws them, and its factors.
    fn step_inputs(&self) -> StepInputs {
        let batches = u64::from(self.batches());
        let of_batch = |batch: u64| -> Vec<HostTensor> {
            let step = self.steps * batches + batch;
            let drawn = self.files.masks.iter().enumerate();
            drawn.map(|(at, spec)| mask::draw(spec, self.seed, step, at)).collect()
        };
        StepInputs {
            masks: (0..batches).map(of_batch).collect(),
            factors: UpdateFactors::of(&self.job.training, self.steps + 1),
        }
    }

    /// Keeps what a step told; losses while they are numbers.
    fn note(&mut self, taken: StepTaken) {
        self.steps += 1;
        (self.kept, self.gradients) = (taken.kept, taken.gradients);
        if self.broken.is_none() {
            match taken.loss.is_finite() {
                true => self.losses.push(taken.loss),
                false => {
                    let place = taken.broken.unwrap_or_else(|| self.files.loss_value.clone());
                    self.broken = Some(BrokenLoss { step: self.steps, place });
                }
            }
        }
    }
}
