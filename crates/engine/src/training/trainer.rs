//! One training step after another, phase by phase.

use super::{
    factors::UpdateFactors,
    mask,
    memory::Weighed,
    prepare::Prepared,
    state::Weight,
    update::{self, Task},
};
use crate::{
    ElementsView, EngineError, EngineErrorKind, GraphRunner, LoadJob, LoadRequest, Media,
    OutputView, RunOutputs, RunnerLoader, TrainingFiles, TrainingJob, draw, tensors::write_tensors,
    view_of,
};
use std::{
    collections::HashMap,
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};
use types::{BrokenLoss, Bytes, Elements, HostTensor, Loss, Phase, TrainingMemory, TrainingReport};

/// A model in training.
pub(crate) struct Trainer<'e> {
    job: TrainingJob,
    files: TrainingFiles,
    loader: &'e dyn RunnerLoader,
    request: LoadRequest,
    runners: Rc<[Box<dyn GraphRunner>; 3]>,
    weights: Vec<Weight>,
    prepared: Prepared,
    inputs: Vec<HostTensor>,
    media: Option<Media>,
    labels: HostTensor,
    scale: HostTensor,
    threads: usize,
    seed: u64,
    steps: u64,
    losses: Vec<f64>,
    broken: Option<BrokenLoss>,
    /// Bytes that the last forward pass kept, and that the last gradients took.
    kept: u64,
    gradients: u64,
    /// The same by value.
    weighed: Weighed,
}

/// How long the phases of a step took.
pub(crate) type Times = Vec<(Phase, Duration)>;

/// The graphs of a step, forward, loss and backward, on runners with or without instruments.
pub(super) type Trio<'a> = [&'a dyn GraphRunner; 3];

/// When the parts of a step began and ended.
pub(super) struct Taken {
    pub(super) begin: Instant,
    pub(super) passes: Vec<PassMarks>,
    pub(super) before_optimiser: Instant,
    pub(super) after_optimiser: Instant,
    pub(super) end: Instant,
}

/// When the parts of one batch began and ended.
#[derive(Clone, Copy)]
pub(super) struct PassMarks {
    pub(super) begin: Instant,
    /// When each graph was asked to run and when it had.
    pub(super) runs: [(Instant, Instant); 3],
    /// The ends of forward, loss and backward.
    pub(super) ends: [Instant; 3],
    /// When values were brought into the form that the backward graph takes, and for how long.
    pub(super) preparing: (Instant, Duration),
    /// Adding the gradients to those of earlier batches, behind the backward pass.
    pub(super) adding: Duration,
}

impl Taken {
    fn times(&self) -> Times {
        let mut spent = [Duration::ZERO; 3];
        for pass in &self.passes {
            let begins = [pass.begin, pass.ends[0], pass.ends[1]];
            for (at, spent) in spent.iter_mut().enumerate() {
                *spent += pass.ends[at] - begins[at];
            }
        }
        let times = [Phase::Forward, Phase::Loss, Phase::Backward].into_iter().zip(spent);
        let mut times: Times = times.collect();
        times.push((Phase::Optimizer, self.after_optimiser - self.before_optimiser));
        times.push((Phase::Total, self.end - self.begin));
        times
    }
}

impl<'e> Trainer<'e> {
    /// Reads graphs and weights.
    pub(crate) fn new(
        loader: &'e dyn RunnerLoader,
        job: &LoadJob,
        training: &TrainingJob,
        inputs: Vec<HostTensor>,
        media: Option<Media>,
    ) -> Result<Trainer<'e>, EngineError> {
        let request = &job.request;
        let Some(files) = training.graphs.clone() else {
            let why = format!("engine `{}` trains graphs only", job.engine);
            return Err(EngineError::new(EngineErrorKind::Unsupported, why));
        };
        let labels = draw(&training.labels, job.seed);
        check_labels(training, &labels)?;
        let open =
            |path: &Path| loader.runner(&LoadRequest { onnx: path.into(), ..request.clone() });
        let optimizer = training.training.optimizer;
        let mut trainer = Trainer {
            runners: Rc::new([open(&files.forward)?, open(&files.loss)?, open(&files.backward)?]),
            loader,
            request: request.clone(),
            weights: files
                .parameters
                .iter()
                .map(|parameter| Weight::read(parameter, optimizer))
                .collect::<Result<_, _>>()?,
            prepared: Prepared::default(),
            inputs,
            media,
            labels,
            scale: HostTensor {
                name: files.loss_scale.clone(),
                dims: Vec::new(),
                elements: Elements::F32(vec![1.0]),
            },
            threads: request.threads.max(1) as usize,
            seed: job.seed,
            steps: 0,
            losses: Vec::new(),
            broken: None,
            kept: 0,
            gradients: 0,
            weighed: Weighed::default(),
            job: training.clone(),
            files,
        };
        trainer.prepare_media()?;
        Ok(trainer)
    }

    /// One step: every batch forward and backward, then the weights move.
    ///
    /// Files are made ready before it, in a phase of its own: who trains has that done ahead, by other processes.
    pub(crate) fn step(&mut self) -> Result<Times, EngineError> {
        let mut times = Times::new();
        let begin = Instant::now();
        for _ in 0..self.job.training.accumulation.max(1) {
            if self.prepare_media()? {
                times = vec![(Phase::Preprocess, begin.elapsed())];
            }
        }
        let runners = Rc::clone(&self.runners);
        let trio = [0, 1, 2].map(|at: usize| &*runners[at]);
        times.extend(self.step_on(trio, &mut |_| {})?.times());
        Ok(times)
    }

    /// Makes pictures or recordings ready and puts them in; whether there are any.
    fn prepare_media(&mut self) -> Result<bool, EngineError> {
        let Some(media) = &self.media else { return Ok(false) };
        media.put_into(&mut self.inputs)?;
        Ok(true)
    }

    /// A step on these runners; `hear` is told which part begins.
    pub(super) fn step_on(
        &mut self,
        trio: Trio<'_>,
        hear: &mut dyn FnMut(Phase),
    ) -> Result<Taken, EngineError> {
        let begin = Instant::now();
        let mut passes = Vec::new();
        let batches = self.job.training.accumulation.max(1);
        let (mut sum, mut last) = (0.0, None);
        for batch in 0..batches {
            let mut pass = self.pass(trio, u64::from(batch), hear)?;
            sum += pass.loss;
            // The gradients of a step of one batch are read where the engine left them.
            match batches {
                1 => last = Some(pass.gradients),
                _ => {
                    let before = Instant::now();
                    self.add_up(&*pass.gradients)?;
                    pass.marks.adding = before.elapsed();
                }
            }
            passes.push(pass.marks);
        }
        self.note(sum / f64::from(batches));
        hear(Phase::Optimizer);
        let before_optimiser = Instant::now();
        self.optimise(last.as_deref())?;
        let after_optimiser = Instant::now();
        drop(last);
        let end = Instant::now();
        Ok(Taken { begin, passes, before_optimiser, after_optimiser, end })
    }

    /// Forward, loss and backward of one batch.
    fn pass(
        &mut self,
        trio: Trio<'_>,
        batch: u64,
        hear: &mut dyn FnMut(Phase),
    ) -> Result<Pass, EngineError> {
        let [first, second, third] = trio;
        hear(Phase::Forward);
        let begin = Instant::now();
        let mut broken = None;
        let step = self.steps * u64::from(self.job.training.accumulation.max(1)) + batch;
        let drawn = self.files.masks.iter().enumerate();
        let masks: Vec<HostTensor> =
            drawn.map(|(at, spec)| mask::draw(spec, self.seed, step, at)).collect();
        let mut known = Known::default();
        known.add(self.inputs.iter().chain(&masks).map(view_of));
        known.add(self.weights.iter().map(weight_view));
        let (forward, forward_run) = timed(first, &known)?;
        let after_forward = Instant::now();
        hear(Phase::Loss);
        known.add(forward.views()?);
        known.add([view_of(&self.labels), view_of(&self.scale)]);
        let (found, loss_run) = timed(second, &known)?;
        let loss = scalar(&*found, &self.files.loss_value)?;
        if !loss.is_finite() && self.broken.is_none() {
            broken = Some(self.first_broken(&forward.views()?));
        }
        let after_loss = Instant::now();
        hear(Phase::Backward);
        known.add(found.views()?);
        let wanted = &self.files.prepared;
        let before = Instant::now();
        known.add(self.prepared.make(wanted, |name| known.find(name), self.threads)?);
        let preparing = (before, before.elapsed());
        let (gradients, backward_run) = timed(third, &known)?;
        let marks = PassMarks {
            begin,
            runs: [forward_run, loss_run, backward_run],
            ends: [after_forward, after_loss, Instant::now()],
            preparing,
            adding: Duration::ZERO,
        };
        let is_saved = |view: &&OutputView<'_>| self.files.saved.iter().any(|s| s == view.name);
        let kept: Vec<OutputView<'_>> =
            forward.views()?.into_iter().filter(|v| is_saved(&v)).collect();
        let taken = gradients.views()?;
        let sum = |views: &[OutputView<'_>]| views.iter().map(bytes).sum::<u64>();
        let found = (sum(&kept) + self.prepared.bytes(), sum(&taken));
        // Names are written down once: they are the same in every step.
        let weighed = self.weighed.kept.is_empty().then(|| Weighed::of(&kept, &taken));
        (self.kept, self.gradients) = found;
        if let Some(weighed) = weighed {
            self.weighed = weighed;
        }
        if let Some(place) = broken {
            self.broken = Some(BrokenLoss { step: self.steps + 1, place });
        }
        Ok(Pass { gradients, loss, marks })
    }

    /// Adds the gradients of a batch to those of earlier ones.
    fn add_up(&mut self, gradients: &dyn RunOutputs) -> Result<(), EngineError> {
        let views = gradients.views()?;
        for weight in &mut self.weights {
            if let Some(name) = &weight.plan.gradient {
                let gradient = floats(&views, name)?;
                if weight.sum.is_empty() {
                    weight.sum = gradient.to_vec();
                } else {
                    weight.sum.iter_mut().zip(gradient).for_each(|(sum, one)| *sum += one);
                }
            }
            collect_rows(weight, &views)?;
        }
        Ok(())
    }

    /// Moves the weights by the gradients of one batch, or by those that were added up.
    fn optimise(&mut self, gradients: Option<&dyn RunOutputs>) -> Result<(), EngineError> {
        self.steps += 1;
        let factors = UpdateFactors::of(&self.job.training, self.steps);
        let views = gradients.map(RunOutputs::views).transpose()?.unwrap_or_default();
        let mut tasks = Vec::with_capacity(self.weights.len());
        for weight in &mut self.weights {
            let mut gradient = None;
            if !views.is_empty() {
                if let Some(name) = &weight.plan.gradient {
                    gradient = Some(floats(&views, name)?);
                }
                collect_rows(weight, &views)?;
                // A table that is used whole and by rows has both parts added up first.
                if let (Some(whole), false) = (gradient, weight.rows.is_empty()) {
                    weight.sum = whole.to_vec();
                }
            }
            if !weight.sum.is_empty() {
                weight.add_rows();
            }
            tasks.push(Task { weight, gradient });
        }
        update::update(tasks, factors, self.threads);
        for weight in &mut self.weights {
            weight.sum = Vec::new();
            weight.rows.clear();
        }
        Ok(())
    }

    /// Writes what the model gives with the weights as they are now, nothing dropped.
    pub(crate) fn write_outputs(&mut self, path: &Path) -> Result<(), EngineError> {
        let masks: Vec<HostTensor> = self.files.masks.iter().map(mask::keep_all).collect();
        let mut known = Known::default();
        known.add(self.inputs.iter().chain(&masks).map(view_of));
        known.add(self.weights.iter().map(weight_view));
        let forward = &self.runners[0];
        let found = forward.run(&known.take(forward.inputs())?)?;
        let mut views = found.views()?;
        views.retain(|view| view.name == self.job.output);
        write_tensors(path, &views)
    }

    /// Takes one more step and writes the gradients that led to it.
    pub(crate) fn write_gradients(&mut self, path: &Path) -> Result<(), EngineError> {
        let batches = self.job.training.accumulation.max(1);
        let mut loss = 0.0;
        let runners = Rc::clone(&self.runners);
        let trio = [0, 1, 2].map(|at: usize| &*runners[at]);
        for batch in 0..batches {
            let pass = self.pass(trio, u64::from(batch), &mut |_| {})?;
            self.add_up(&*pass.gradients)?;
            loss += pass.loss / f64::from(batches);
        }
        let mut whole = vec![HostTensor {
            name: "loss".into(),
            dims: Vec::new(),
            elements: Elements::F32(vec![loss as f32]),
        }];
        for weight in &mut self.weights {
            weight.add_rows();
            whole.push(HostTensor {
                name: weight.plan.name.clone(),
                dims: weight.plan.own_dims.clone(),
                elements: Elements::F32(weight.own(&weight.sum)),
            });
        }
        self.note(loss);
        self.optimise(None)?;
        let views: Vec<OutputView<'_>> = whole.iter().map(view_of).collect();
        write_tensors(path, &views)
    }

    /// Opens the graphs of a step in the order they run.
    pub(super) fn open<T: ?Sized>(
        &self,
        open: impl Fn(&dyn RunnerLoader, &LoadRequest) -> Result<Box<T>, EngineError>,
    ) -> Result<[Box<T>; 3], EngineError> {
        let one = |path: &Path| {
            let request = LoadRequest { onnx: path.into(), ..self.request.clone() };
            open(self.loader, &request)
        };
        let TrainingFiles { forward, loss, backward, .. } = &self.files;
        Ok([one(forward)?, one(loss)?, one(backward)?])
    }

    pub(super) fn runners(&self) -> Rc<[Box<dyn GraphRunner>; 3]> {
        Rc::clone(&self.runners)
    }

    pub(super) fn files(&self) -> &TrainingFiles {
        &self.files
    }

    pub(super) fn weights(&self) -> &[Weight] {
        &self.weights
    }

    pub(super) fn weighed(&self) -> &Weighed {
        &self.weighed
    }

    /// The module of a parameter or of a value that the forward graph keeps; empty if it lies in none.
    pub(super) fn module_of(&self, name: &str) -> &str {
        self.files.modules.get(name).map_or("", String::as_str)
    }

    /// Batches in a step.
    pub(super) fn batches(&self) -> usize {
        self.job.training.accumulation.max(1) as usize
    }

    /// How it went so far.
    pub(crate) fn report(&self) -> TrainingReport {
        let (weights, states): (Vec<Bytes>, Vec<Bytes>) =
            self.weights.iter().map(Weight::bytes).unzip();
        let sum = |all: Vec<Bytes>| Bytes(all.iter().map(|bytes| bytes.0).sum());
        TrainingReport {
            losses: self.losses.clone(),
            broken: self.broken.clone(),
            memory: TrainingMemory {
                weights: sum(weights),
                gradients: Bytes(self.gradients),
                optimizer: sum(states),
                activations: Bytes(self.kept),
            },
            output: self.job.output.clone(),
            ..TrainingReport::default()
        }
    }

    /// Where it runs.
    pub(crate) fn placement(&self) -> String {
        self.runners[0].placement()
    }

    /// The output that the loss reads: its name and shape.
    pub(crate) fn output(&self) -> (String, Vec<usize>) {
        output_of(&self.job, &self.labels)
    }

    /// Keeps a loss, while they are numbers.
    fn note(&mut self, loss: f64) {
        if self.broken.is_none() {
            self.losses.push(loss);
        }
    }

    /// The weight, or else the value of the forward pass, that is not finite first.
    fn first_broken(&self, forward: &[OutputView<'_>]) -> String {
        let is_broken = |weight: &&Weight| weight.values.iter().any(|value| !value.is_finite());
        let weight = self.weights.iter().find(is_broken).map(|weight| &weight.plan.name);
        let value = || forward.iter().find(|view| view.elements.has_non_finite()).map(|v| v.name);
        let name = weight.map(String::as_str).or_else(value);
        name.unwrap_or(&self.files.loss_value).to_owned()
    }
}

/// What one batch gave.
struct Pass {
    gradients: Box<dyn RunOutputs>,
    loss: f64,
    marks: PassMarks,
}

/// What a graph gave, when it was asked to run and when it had.
type TimedRun = (Box<dyn RunOutputs>, (Instant, Instant));

/// Runs a graph on what is known; tells when.
fn timed(runner: &dyn GraphRunner, known: &Known<'_>) -> Result<TimedRun, EngineError> {
    let inputs = known.take(runner.inputs())?;
    let begin = Instant::now();
    let outputs = runner.run(&inputs)?;
    Ok((outputs, (begin, Instant::now())))
}

/// Values by name, where they lie.
#[derive(Default)]
struct Known<'a> {
    values: HashMap<&'a str, OutputView<'a>>,
}

impl<'a> Known<'a> {
    fn add(&mut self, views: impl IntoIterator<Item = OutputView<'a>>) {
        self.values.extend(views.into_iter().map(|view| (view.name, view)));
    }

    fn find(&self, name: &str) -> Result<OutputView<'a>, EngineError> {
        self.values.get(name).cloned().ok_or_else(|| {
            let message = format!("a graph of the training takes `{name}`, which nothing makes");
            EngineError::new(EngineErrorKind::BadModel, message)
        })
    }

    fn take(&self, names: &[String]) -> Result<Vec<OutputView<'a>>, EngineError> {
        names.iter().map(|name| self.find(name)).collect()
    }
}

fn weight_view(weight: &Weight) -> OutputView<'_> {
    OutputView {
        name: &weight.plan.name,
        dims: weight.plan.dims.clone(),
        elements: ElementsView::F32(&weight.values),
    }
}

pub(super) fn bytes(view: &OutputView<'_>) -> u64 {
    (view.elements.len() * view.elements.element_type().size()) as u64
}

fn missing(name: &str) -> EngineError {
    let message = format!("the backward graph gave no `{name}`");
    EngineError::new(EngineErrorKind::BadModel, message)
}

fn floats<'a>(views: &[OutputView<'a>], name: &str) -> Result<&'a [f32], EngineError> {
    match views.iter().find(|view| view.name == name).map(|view| view.elements) {
        Some(ElementsView::F32(values)) => Ok(values),
        _ => Err(missing(name)),
    }
}

fn scalar(outputs: &dyn RunOutputs, name: &str) -> Result<f64, EngineError> {
    let views = outputs.views()?;
    floats(&views, name)?.first().map(|value| f64::from(*value)).ok_or_else(|| missing(name))
}

/// Adds up the gradients of rows that were looked up.
fn collect_rows(weight: &mut Weight, views: &[OutputView<'_>]) -> Result<(), EngineError> {
    let Some((indices, values)) = weight.plan.rows.clone() else { return Ok(()) };
    let values = floats(views, &values)?;
    let indices: Vec<i64> = match views.iter().find(|v| v.name == indices).map(|v| v.elements) {
        Some(ElementsView::I64(found)) => found.to_vec(),
        // An engine may keep integers in 32 bits.
        Some(ElementsView::I32(found)) => found.iter().map(|index| i64::from(*index)).collect(),
        _ => return Err(missing(&indices)),
    };
    let (width, count) = (weight.width(), weight.values.len() / weight.width());
    for (index, gradient) in indices.iter().zip(values.chunks_exact(width)) {
        let row = usize::try_from(*index).ok().filter(|row| *row < count).ok_or_else(|| {
            let message = format!("row {index} of `{}` does not exist", weight.plan.name);
            EngineError::new(EngineErrorKind::BadInput, message)
        })?;
        weight.add_row(row, gradient);
    }
    Ok(())
}

/// How many classes the labels may name.
fn classes(training: &TrainingJob) -> Option<usize> {
    match training.labels.fill {
        types::Fill::Integers { high, .. } => usize::try_from(high).ok(),
        _ => None,
    }
}

/// The output that the loss reads: its name and shape.
pub(super) fn output_of(training: &TrainingJob, labels: &HostTensor) -> (String, Vec<usize>) {
    let mut dims = labels.dims.clone();
    if training.training.loss == Loss::CrossEntropy {
        dims.extend(classes(training));
    }
    (training.output.clone(), dims)
}

/// Labels must name a class.
pub(super) fn check_labels(training: &TrainingJob, labels: &HostTensor) -> Result<(), EngineError> {
    let (Elements::I64(found), Some(classes)) = (&labels.elements, classes(training)) else {
        return Ok(());
    };
    let is_fine = |label: &&i64| **label == -100 || (0..classes as i64).contains(label);
    match found.iter().find(|label| !is_fine(label)) {
        Some(label) => {
            let message = format!("label {label} is none of the {classes} classes");
            Err(EngineError::new(EngineErrorKind::BadInput, message))
        }
        None => Ok(()),
    }
}
