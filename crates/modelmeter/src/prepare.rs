//! From what was asked to a job the meter can measure.
//!
//! It stays whole because every step settles something that the next one needs: engine, model, precision, batch, inputs, work.

mod device;
mod precision;

use crate::{
    Choice, EngineChoice, Engines, Error, Profiler,
    given::GivenInputs,
    observe, pickle,
    scratch::Scratch,
    training::{self, Trained},
    trial, worker,
};
use device::{meant, settle_engine, who_takes};
use engine::{Engine, Host, Places, Takes, TextJob, TrainingFiles};
use graph::{Model, Shapes};
use meter::{Counting, Job, Refine, measure_text};
use models::{Ask, Guess, ModelError, Progress, Resolved, Trial};
use precision::{of_one_precision, own_or_wider, own_precision, saved, size_in};
use std::{
    hash::{BuildHasher, Hasher},
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};
use types::{
    Bytes, Cell, Event, Feed, Fill, HostTensor, InputShape, InputSpec, LayerWork, LimitedBy,
    MediaJob, Mode, ModelInfo, Precision, Reason, ReasonCode, Remark, RemarkCode, RunId, Stage,
    Text, Work,
};

/// Samples in one inference where nobody says otherwise.
const DEFAULT_BATCH: usize = 4;

/// A cell with its model resolved, its inputs settled and its work counted.
pub(crate) struct Prepared {
    pub(crate) cell: Cell,
    pub(crate) engine: &'static dyn Engine,
    engines: Engines,
    places: Places,
    drawn: Option<Drawn>,
    resolved: Resolved,
    inputs: Vec<InputSpec>,
    /// What was assumed for sizes and values that nobody said.
    assumed: Vec<Remark>,
    is_guessed: bool,
    is_length_asked: bool,
    tokenizer: Option<PathBuf>,
    /// Real tokens of each text, where there is text.
    text_rows: Vec<usize>,
    /// What a worker beside the measurement is held to.
    limits: Limits,
    /// Files that become an input in every sample.
    media: Option<MediaJob>,
    /// Tokens of the text that did not fit.
    cut: usize,
    work: Work,
    /// What the engine turns the graph's 32-bit floats into by itself.
    own: Precision,
    trained: Option<Trained>,
    unknown_shapes: Vec<String>,
    /// What the device that was asked for stands for, where it is another one.
    meant: Option<String>,
    /// Why it does not run in the precision of its checkpoint, where nobody asked for another.
    widened: Option<String>,
    /// What a run showed of them, once somebody asked.
    observed: OnceLock<Vec<(String, Vec<usize>)>>,
    took: Duration,
}

/// What holds for every worker that is started for a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) memory: Option<Bytes>,
    pub(crate) by: Option<LimitedBy>,
    pub(crate) timeout: Duration,
}

/// Inputs drawn into a file for a worker that cannot draw them; gone with it.
struct Drawn {
    path: PathBuf,
    _folder: Scratch,
}

impl Drawn {
    fn write(tensors: &[HostTensor]) -> Result<Drawn, Error> {
        let views: Vec<_> = tensors.iter().map(engine::view_of).collect();
        let needed = tensors.iter().map(|tensor| byte_size(&tensor.elements)).sum();
        let folder = Scratch::make("the inputs", needed)?;
        let path = folder.path().join("inputs.safetensors");
        engine::write_tensors(&path, &views)
            .map_err(|error| folder.failed(std::io::Error::other(cause_of(&error))))?;
        Ok(Drawn { path, _folder: folder })
    }
}

fn byte_size(elements: &types::Elements) -> u64 {
    (elements.len() * elements.element_type().size()) as u64
}

/// The innermost reason, which names what the system refused.
fn cause_of(error: &engine::EngineError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Resolves the model, settles batch, length and inputs, and counts the work; sizes that were guessed are seen to run.
pub(crate) fn prepare(profiler: &Profiler, sink: &mut dyn FnMut(Event)) -> Result<Prepared, Error> {
    let prepared = prepare_with(profiler, None, sink)?;
    match prepared.is_guessed && prepared.is_file() && !prepared.is_trained() {
        true => trial::settle(profiler, prepared, sink),
        false => Ok(prepared),
    }
}

/// The same with these sizes in the place of guesses, which nobody tries.
pub(crate) fn prepare_with(
    profiler: &Profiler,
    trial: Option<Trial>,
    sink: &mut dyn FnMut(Event),
) -> Result<Prepared, Error> {
    let begin = Instant::now();
    sink(Event::stage(Stage::Prepare));
    // What cannot run here is said before anything is downloaded or written.
    let wish = profiler.precision.unwrap_or(Precision::Fp32);
    settle_engine(profiler, wish, &|_| true)?;
    let Settled { mut resolved, choice, precision, widened } = settle_model(profiler, sink)?;
    let given = GivenInputs::read(profiler, &resolved)?;
    let usual = settle_batch(profiler, &resolved, &given.shapes);
    let batch_size = trial.map_or(usual, |trial| trial.batch);
    let text = plan_text(profiler, &resolved, batch_size)?;
    let length = text.as_ref().map(|text| text.length).or(profiler.sequence_length);
    let ask = Ask {
        batch: batch_size,
        length,
        given: &given.shapes,
        values: &given.values,
        guess: trial.map(|trial| trial.guess).unwrap_or_default(),
    };
    let settlement = resolved.settlement(&ask)?;
    let is_guessed = !settlement.assumptions.is_empty();
    let assumed = settlement.assumptions.into_iter();
    let mut assumptions: Vec<Remark> =
        assumed.map(|text| Remark::new(RemarkCode::AssumedInput, text)).collect();
    if settlement.is_length_unused && text.is_none() {
        let text = format!(
            "`--sequence-length {}` has no effect: no input of `{}` has a length",
            length.unwrap_or_default(),
            resolved.info.name
        );
        assumptions.push(Remark::new(RemarkCode::LengthUnused, text));
    }
    let mut inputs = settlement.inputs;
    if let Some(media) = &given.media
        && let Some(input) = inputs.iter_mut().find(|input| input.name == media.job.input)
    {
        let name = media.source.path.file_name().unwrap_or_default().to_string_lossy();
        input.fill = Fill::Given { what: format!("from `{name}`") };
    }
    let (sequence_length, length_unit) = settlement.length.unzip();
    check_memory(&inputs)?;
    let own = own_precision(profiler, &resolved, choice.engine, precision);
    let shapes = graph::infer(&resolved.model, &dims_of(&inputs)).narrowed(own);
    resolved.info.size = size_in(&resolved, own);
    let analysis = graph::analyse_shapes(&resolved.model, &shapes);
    let trained = match &profiler.training {
        Some(_) if resolved.is_program() => {
            let why = match &resolved.no_graph {
                Some(why) => format!("there is {why}"),
                None => "a program's outputs are not known before it runs".into(),
            };
            let hint =
                "a preset, a folder of a supported architecture or an `.onnx` file can be trained";
            return Err(Error::Training { why, hint: Some(hint.into()) });
        }
        Some(request) => {
            let dims = dims_of(&inputs);
            Some(training::prepare(profiler, request, &resolved.model, &dims, choice.engine)?)
        }
        None => None,
    };
    // Our own worker makes files ready in every sample; a program and a training take what is ready.
    let is_timed = matches!(choice.engine.host(), Host::Worker(_))
        && given.tensors.is_empty()
        && trained.is_none();
    let cell = Cell {
        model: profiler.model.clone(),
        engine: choice.engine.id().to_owned(),
        device: choice.device,
        precision,
        batch_size,
        sequence_length,
        mode: if trained.is_some() { Mode::Training } else { Mode::Inference },
        training: trained.as_ref().map(|trained| trained.job.training),
        threads: profiler.threads.unwrap_or_else(hardware::default_threads),
        seed: profiler.seed,
        inputs: given.shapes.clone(),
        text: profiler.text.as_ref().map(|text| used_text(text, batch_size)),
        options: profiler.options.clone(),
        feed: Feed { length_unit: length_unit.unwrap_or_default(), ..given.feed(is_timed) },
    };
    if given.media.is_some() && !is_timed {
        let text = "the files are prepared once, before timing starts";
        assumptions.push(Remark::new(RemarkCode::FilesPreparedOnce, text));
    }
    let drawn = match choice.engine.host() {
        Host::Worker(_) if given.tensors.is_empty() && (is_timed || given.media.is_none()) => None,
        Host::Worker(_) | Host::Program(_) => {
            let labels = trained.as_ref().map(|trained| &trained.job.labels);
            let specs = inputs.iter().chain(labels);
            let tensors = specs.map(|spec| given.tensor(profiler, spec, &inputs));
            Some(Drawn::write(&tensors.collect::<Result<Vec<_>, _>>()?)?)
        }
    };
    Ok(Prepared {
        media: given.media.filter(|_| is_timed).map(|media| media.job),
        cell,
        engine: choice.engine,
        engines: profiler.engines,
        places: profiler.places.clone(),
        drawn,
        inputs,
        assumed: assumptions,
        is_guessed,
        is_length_asked: length.is_some(),
        cut: text.as_ref().map_or(0, |text| text.cut),
        text_rows: text.as_ref().map_or_else(Vec::new, |text| text.rows.clone()),
        limits: Limits {
            memory: profiler.memory_limit,
            by: profiler.limit_by,
            timeout: profiler.rule.timeout,
        },
        tokenizer: text.map(|text| text.tokenizer),
        work: trained.as_ref().map_or(analysis.work, |trained| trained.work),
        // A training is written for shapes that are all known.
        unknown_shapes: match &trained {
            Some(_) => Vec::new(),
            None => {
                let rounds = graph::with_round_counts(&resolved.model, &shapes).1;
                shapes.unknown().into_iter().map(str::to_owned).chain(rounds).collect()
            }
        },
        observed: OnceLock::new(),
        trained,
        resolved,
        meant: meant(profiler.device, choice),
        own,
        widened,
        took: begin.elapsed(),
    })
}

impl Prepared {
    /// The job for the meter; `refine` is [`Prepared::count_again`].
    pub(crate) fn job<'a>(&self, refine: Refine<'a>) -> Job<'a> {
        Job {
            cell: self.cell.clone(),
            id: new_id(),
            model: self.resolved.info.clone(),
            onnx: self.resolved.onnx.clone(),
            module: self.resolved.module.clone(),
            places: self.places.clone(),
            inputs_file: self.drawn.as_ref().map(|drawn| drawn.path.clone()),
            inputs: self.inputs.clone(),
            tokenizer: self.tokenizer.clone(),
            media: self.media.clone(),
            postprocess: self.resolved.postprocess,
            training: self.trained.as_ref().map(|trained| Box::new(trained.job.clone())),
            phase_flops: self.trained.as_ref().map_or_else(Vec::new, |t| t.flops.clone()),
            work: self.work,
            counting: self.counting(),
            unknown_shapes: self.unknown_shapes.clone(),
            refine,
            model_commit: self.resolved.commit.clone(),
            remarks: self.assumptions(),
            prepared_in: self.took,
        }
    }

    /// Who counts the work.
    fn counting(&self) -> Counting {
        match self.own {
            _ if self.resolved.is_program() => Counting::Program,
            Precision::Int8 if self.engine.takes() == Takes::Module => {
                Counting::Weights { held: graph::count_weights(&self.resolved.model).bytes }
            }
            _ => Counting::Graph,
        }
    }

    /// The only batch that is possible; `None` where it is free.
    pub(crate) fn fixed_batch(&self) -> Option<usize> {
        self.resolved.default_batch(&self.cell.inputs)
    }

    /// Whether it is a graph from a file, whose inputs we only guess at.
    pub(crate) fn is_file(&self) -> bool {
        self.resolved.module.is_none() && !self.resolved.is_program()
    }

    pub(crate) fn is_trained(&self) -> bool {
        self.trained.is_some()
    }

    /// Everything that was asked but the engine and what it is told.
    pub(crate) fn question(&self) -> String {
        let Cell { batch_size, sequence_length, inputs, .. } = &self.cell;
        let model = &self.resolved.info.fingerprint;
        format!("{model} {batch_size} {sequence_length:?} {inputs:?}")
    }

    /// Other sizes for what nobody said.
    pub(crate) fn trials(&self, is_batch_asked: bool) -> Result<Vec<Trial>, Error> {
        let ask = Ask {
            batch: self.cell.batch_size,
            length: self.cell.sequence_length.filter(|_| self.is_length_asked),
            given: &self.cell.inputs,
            values: &self.cell.feed.values,
            guess: Guess::default(),
        };
        Ok(self.resolved.trials(&ask, is_batch_asked)?)
    }

    /// An input whose shape may be given, with the shape that failed: `x=1x3x224x224`.
    pub(crate) fn free_input(&self) -> Option<String> {
        let is_given = |name: &str| self.cell.inputs.iter().any(|given| given.name == name);
        let input = self.inputs.iter().find(|input| !is_given(&input.name))?;
        let dims: Vec<String> = input.dims.iter().map(usize::to_string).collect();
        Some(format!("{}={}", input.name, dims.join("x")))
    }

    /// Says that other sizes failed before these.
    pub(crate) fn after_trials(mut self, taken: &Trial, failed: &[String]) -> Prepared {
        let engine = self.engine.id();
        let text = format!("{} ran, after {} failed on {engine}", taken.words(), failed.join("; "));
        self.assumed.push(Remark::new(RemarkCode::SizesTried, text));
        self
    }

    /// Weights that a training leaves alone.
    pub(crate) fn untrained(&self) -> Vec<String> {
        self.trained.as_ref().map_or_else(Vec::new, |trained| trained.untrained.clone())
    }

    /// The graphs of a training step; `None` where nothing is trained.
    pub(crate) fn step_files(&self) -> Option<&TrainingFiles> {
        self.trained.as_ref().and_then(|trained| trained.job.graphs.as_ref())
    }

    /// The work of every node of a training step; `None` where nothing is trained.
    pub(crate) fn step_work(&self) -> Option<&[LayerWork]> {
        self.trained.as_ref().map(|trained| trained.layers.as_slice())
    }

    /// The model's name as people use it.
    pub(crate) fn model_name(&self) -> String {
        self.resolved.info.name.clone()
    }

    pub(crate) fn model_info(&self) -> &ModelInfo {
        &self.resolved.info
    }

    /// Whether an engine of this kind can take the model.
    pub(crate) fn fits(&self, takes: Takes) -> bool {
        match takes {
            Takes::Onnx => !self.resolved.is_program(),
            Takes::Module => self.resolved.module.is_some(),
        }
    }

    /// Real tokens of each text, where there is text.
    pub(crate) fn text_rows(&self) -> &[usize] {
        &self.text_rows
    }

    /// What holds for a worker beside the measurement.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The work of one inference.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// The work of another graph with the same inputs.
    pub(crate) fn work_of(&self, model: &Model) -> Work {
        graph::analyse_shapes(model, &graph::infer(model, &dims_of(&self.inputs))).work
    }

    pub(crate) fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    pub(crate) fn graph(&self) -> &Model {
        &self.resolved.model
    }

    /// The shapes of every value, in the number formats that the engine computes in.
    pub(crate) fn shapes(&self) -> Shapes {
        graph::infer(&self.resolved.model, &dims_of(&self.inputs)).narrowed(self.own)
    }

    /// Bytes of the graph's weights in the number format that the engine keeps them in, as far as the graph can tell.
    pub(crate) fn weight_bytes(&self) -> Bytes {
        let bytes = graph::count_weights(&self.resolved.model).bytes;
        Bytes(bytes.0 - saved(&self.resolved.model, self.own).min(bytes.0))
    }

    /// What a reader of any result must know of the model and its inputs.
    ///
    /// What was assumed or left out; random weights are said by the model's own field.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let assumed = self.resolved.remarks.iter().chain(&self.assumed);
        let cut = (self.cut > 0).then(|| {
            let length = self.cell.sequence_length.unwrap_or_default();
            let text = format!(
                "{} tokens of the text were cut off to fit the length of {length}",
                self.cut
            );
            Remark::new(RemarkCode::TextCut, text)
        });
        let meant = self.meant.clone().map(|text| Remark::new(RemarkCode::DeviceMeaning, text));
        assumed.cloned().chain(self.widened()).chain(cut).chain(meant).collect()
    }

    /// Why it does not run in the precision of its checkpoint, where nobody asked for another.
    pub(crate) fn widened(&self) -> Option<Remark> {
        let text = self.widened.clone();
        text.map(|text| Remark::new(RemarkCode::CheckpointWidened, text))
    }

    /// Its remarks as reasons that do not invalidate a run.
    fn assumptions(&self) -> Vec<Reason> {
        let reason = |remark: Remark| Reason {
            code: ReasonCode::Assumption,
            invalidates: false,
            text: remark.text,
            hint: None,
        };
        self.remarks().into_iter().map(reason).collect()
    }

    /// The engines that may be chosen from.
    pub(crate) fn engines(&self) -> Engines {
        self.engines
    }

    /// Where engines are looked for.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Values whose shape only a run can show.
    pub(crate) fn unknown_shapes(&self) -> &[String] {
        &self.unknown_shapes
    }

    /// Counts the work again with shapes that a real run showed; given none, it looks for them once.
    pub(crate) fn count_again(&self, seen: &[(String, Vec<usize>)]) -> Work {
        let model = &self.resolved.model;
        let seen = match seen {
            [] => self.observed.get_or_init(|| observe::shapes(self)),
            _ => seen,
        };
        let shapes = graph::infer_observed(model, &dims_of(&self.inputs), seen).narrowed(self.own);
        graph::analyse_shapes(model, &shapes).work
    }
}

/// The model in the precision that it runs in, and the engine that runs it.
struct Settled {
    resolved: Resolved,
    choice: Choice,
    precision: Precision,
    /// Why it does not run in the precision of its checkpoint.
    widened: Option<String>,
}

fn settle_model(profiler: &Profiler, sink: &mut dyn FnMut(Event)) -> Result<Settled, Error> {
    let resolved = resolve_changed(profiler, sink)?;
    let native = graph::native_precision(&resolved.model);
    let wish = profiler.precision.unwrap_or(native);
    let fits = |takes: Takes| match takes {
        Takes::Onnx => !resolved.is_program(),
        Takes::Module => resolved.module.is_some(),
    };
    if let EngineChoice::Named(id) = &profiler.engine
        && let Some(engine) = profiler.engines.find(id)
        && !fits(engine.takes())
    {
        return Err(Error::NotForEngine {
            engine: engine.id().to_owned(),
            model: resolved.info.name.clone(),
            why: match &resolved.no_graph {
                Some(why) => format!("it runs ONNX graphs, and there is {why}"),
                None => engine.takes().refusal().to_owned(),
            },
            hint: who_takes(profiler, wish, &fits),
        });
    }
    let stored = resolved.stored.filter(|_| profiler.precision.is_none());
    let choice = match (settle_engine(profiler, wish, &fits), stored) {
        // A device that only computes in the checkpoint's own format.
        (Err(error), Some(stored)) => settle_engine(profiler, stored, &fits).map_err(|_| error),
        (choice, _) => choice,
    };
    let choice = choice.map_err(|error| of_one_precision(error, native))?;
    let (precision, widened) = match stored.filter(|stored| *stored != native) {
        Some(stored) => own_or_wider(profiler, choice, stored, native),
        None => (wish, None),
    };
    // A framework converts its own module; a graph is converted by us, once, and kept.
    let resolved = match choice.engine.takes() {
        Takes::Onnx if precision != native => resolve(profiler, Some(precision), sink)?,
        _ => resolved,
    };
    Ok(Settled { resolved, choice, precision, widened })
}

/// The model that was asked for, ready in this precision or as it is.
pub(crate) fn resolve(
    profiler: &Profiler,
    precision: Option<Precision>,
    sink: &mut dyn FnMut(Event),
) -> Result<Resolved, Error> {
    let mut request = request(profiler, precision)?;
    let mut progress = |progress: Progress| sink(event(&progress));
    match models::resolve(&request, &mut progress) {
        Err(ModelError::OnlyPickle { path, .. }) if profiler.options.allow_pickle => {
            let folder = pickle::converted(profiler, &path)?;
            request.name = folder.to_string_lossy().into_owned();
            Ok(models::resolve(&request, &mut progress)?)
        }
        resolved => Ok(resolved?),
    }
}

/// The model as it is, or as a change left it.
pub(crate) fn resolve_changed(
    profiler: &Profiler,
    sink: &mut dyn FnMut(Event),
) -> Result<Resolved, Error> {
    let mut resolved = resolve(profiler, None, sink)?;
    if let Some(onnx) = &profiler.changed {
        swap(&mut resolved, onnx)?;
    }
    Ok(resolved)
}

/// Puts a changed graph in the place of a model's own; what goes in stays.
fn swap(resolved: &mut Resolved, onnx: &std::path::Path) -> Result<(), Error> {
    resolved.model = Model::read(onnx)
        .map_err(|source| ModelError::Onnx { path: onnx.to_owned(), source: source.into() })?;
    resolved.onnx = onnx.to_owned();
    // The module would be the one before.
    resolved.module = None;
    resolved.info.name = format!("{} changed", resolved.info.name);
    resolved.info.parameters = graph::count_weights(&resolved.model).parameters;
    let written = std::fs::metadata(onnx).and_then(|data| data.modified());
    let written = written.map_or(0, clock::nanoseconds);
    resolved.info.fingerprint = format!("{}-changed-{written}", resolved.info.fingerprint);
    Ok(())
}

fn request(profiler: &Profiler, precision: Option<Precision>) -> Result<models::Request, Error> {
    let folders = profiler.folders_or_default()?;
    // For this user alone; where it cannot be made, whoever writes into it says so.
    let _ = store::make_private_folder(&folders.cache);
    Ok(models::Request {
        name: profiler.model.clone(),
        seed: profiler.seed,
        offline: profiler.offline,
        revision: profiler.revision.clone(),
        cache: folders.cache,
        hub_cache: folders.hub_cache,
        hub_endpoint: profiler.hub_endpoint.clone(),
        token: profiler.hub_token.clone(),
        precision,
        torch_module: profiler.torch_module.clone(),
    })
}

pub(crate) fn event(progress: &Progress) -> Event {
    let (done, total, note) = match progress {
        Progress::Asking { endpoint } => (0, None, format!("contacting {endpoint}")),
        Progress::Downloading { file, done, total } => {
            (*done, Some(*total), format!("downloading {file}"))
        }
        Progress::Preparing { done, total } => (*done, Some(*total), "writing weights".into()),
        Progress::Hashing { done, total } => (*done, Some(*total), "reading weights".into()),
    };
    Event::progress(Stage::Prepare, done, total, note)
}

fn settle_batch(profiler: &Profiler, resolved: &Resolved, given: &[InputShape]) -> usize {
    let lines = profiler.text.as_ref().map(|text| text.lines.len());
    profiler
        .batch_size
        .or_else(|| resolved.default_batch(given))
        .or_else(|| resolved.state_batch())
        .unwrap_or_else(|| lines.map_or(DEFAULT_BATCH, |lines| lines.clamp(1, DEFAULT_BATCH)))
}

/// What the text decides: the tokenizer, the length of every row, and how much did not fit.
struct TextPlan {
    tokenizer: PathBuf,
    length: usize,
    cut: usize,
    /// Real tokens of each text.
    rows: Vec<usize>,
}

/// Has a worker encode the text once: the longest row decides the length, unless one was asked for or the model takes no more.
fn plan_text(
    profiler: &Profiler,
    resolved: &Resolved,
    batch: usize,
) -> Result<Option<TextPlan>, Error> {
    let Some(text) = &profiler.text else { return Ok(None) };
    let tokenizer = resolved.tokenizer.clone().filter(|_| resolved.has_tokens());
    let tokenizer = tokenizer
        .ok_or_else(|| models::ModelError::NoTokenizer { model: resolved.info.name.clone() })?;
    if text.lines.is_empty() {
        return Err(ModelError::NoText.into());
    }
    // Texts repeat in turn: each is encoded once, however large the batch is.
    let lines: Vec<String> = text.lines.iter().take(batch).cloned().collect();
    let count = lines.len();
    let max_length = profiler.sequence_length;
    let job = TextJob { lines, tokenizer: tokenizer.clone(), max_length };
    let (launch, time) = (worker::launch_to_read(profiler), worker::time_to_read(profiler));
    let report = measure_text(&launch, time, job, resolved.max_length)?;
    resolved.check_ids(report.ids)?;
    let (rows, cuts): (Vec<usize>, Vec<usize>) = report.rows.into_iter().unzip();
    if count == 0 || rows.len() != count {
        return Err(ModelError::ZeroBatch.into());
    }
    let cut = |rows: &[usize]| rows.iter().sum::<usize>();
    let cut = cut(&cuts).saturating_mul(batch / count) + cut(&cuts[..batch % count]);
    Ok(Some(TextPlan { tokenizer, length: report.length, cut, rows }))
}

/// The lines that fill the batch; more would not be measured.
fn used_text(text: &Text, batch: usize) -> Text {
    Text { lines: text.lines.iter().cycle().take(batch).cloned().collect() }
}

/// Inputs that cannot fit are refused before anything tries to make them.
pub(crate) fn check_memory(inputs: &[InputSpec]) -> Result<(), Error> {
    let bytes = |input: &InputSpec| {
        let size = input.dtype.size() as u64;
        input.dims.iter().fold(size, |bytes, &dim| bytes.saturating_mul(dim as u64))
    };
    let needed = inputs.iter().map(bytes).fold(0, u64::saturating_add);
    let present = hardware::machine().memory.0;
    if needed > present { Err(Error::Memory { needed, present }) } else { Ok(()) }
}

fn dims_of(inputs: &[InputSpec]) -> Vec<(String, Vec<usize>)> {
    inputs.iter().map(|input| (input.name.clone(), input.dims.clone())).collect()
}

fn new_id() -> RunId {
    // The standard library seeds its hashers from the system's randomness.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    store::new_run_id(clock::now(), random)
}
