//! From what was asked to a job the meter can measure.
//!
//! Every step settles something that the next one needs: engine, model, precision, batch, inputs, work.

mod device;
mod drawn;
mod generation;
mod model;
mod precision;
mod prepared;
mod text;

pub(crate) use model::{event, resolve, resolve_changed};

use crate::{
    Engines, Error, Profiler,
    given::GivenInputs,
    training::{self, Trained},
    trial,
};
use device::{meant, settle_engine};
use drawn::Drawn;
use engine::{Engine, GenerationJob, Host, Places};
use model::{Settled, precision_of_file, settle_model};
use models::{Ask, Resolved, Settlement, Trial};
use precision::{own_precision, size_in};
use std::{
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};
pub(crate) use text::{ReadTexts, read_texts};
use text::{plan_text, used_text};
use types::{
    Bytes, Cell, Event, Feed, Fill, InputShape, InputSpec, LengthUnit, LimitedBy, MediaJob, Mode,
    Precision, Remark, RemarkCode, Stage, Work,
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
    generates: Option<GenerationJob>,
    unknown_shapes: Vec<String>,
    /// What the device that was asked for stands for, where it is another one.
    meant: Option<String>,
    /// Why it does not run in the precision of its checkpoint, where nobody asked for another.
    widened: Option<String>,
    /// What a run showed of them, once somebody asked.
    observed: OnceLock<Vec<(String, Vec<usize>)>>,
    took: Duration,
}

/// Inputs with their shapes, and what was assumed for them.
#[derive(Default)]
struct SettledInputs {
    inputs: Vec<InputSpec>,
    assumptions: Vec<String>,
    length: Option<(usize, LengthUnit)>,
    is_length_unused: bool,
}

impl From<Settlement> for SettledInputs {
    fn from(settlement: Settlement) -> SettledInputs {
        let Settlement { inputs, assumptions, length, is_length_unused, .. } = settlement;
        SettledInputs { inputs, assumptions, length, is_length_unused }
    }
}

/// What holds for every worker that is started for a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) memory: Option<Bytes>,
    pub(crate) by: Option<LimitedBy>,
    pub(crate) timeout: Duration,
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
    settle_engine(profiler, precision_of_file(profiler).unwrap_or(wish), &|_| true)?;
    let Settled { mut resolved, choice, precision, widened } = settle_model(profiler, sink)?;
    let given = GivenInputs::read(profiler, &resolved)?;
    let usual = match profiler.generation {
        Some(_) => profiler.batch_size.unwrap_or(1),
        None => settle_batch(profiler, &resolved, &given.shapes),
    };
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
    let generation = profiler
        .generation
        .map(|asked| generation::settled(asked, text.as_ref().map(|text| text.length)));
    let settlement = match generation {
        Some(generation) => SettledInputs {
            inputs: generation::inputs(&resolved, generation, batch_size)?,
            length: Some((generation.tokens_per_sample(), LengthUnit::Tokens)),
            ..SettledInputs::default()
        },
        None => SettledInputs::from(resolved.settlement(&ask)?),
    };
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
    check_memory(&inputs, if generation.is_some() { Mode::Generate } else { Mode::Inference })?;
    let own = own_precision(profiler, &resolved, choice.engine, precision);
    let known = match generation {
        Some(_) => generation::positions(&resolved.model, &inputs),
        None => Vec::new(),
    };
    let shapes = graph::infer_observed(&resolved.model, &dims_of(&inputs), &known).narrowed(own);
    resolved.info.size = size_in(&resolved, own);
    let analysis = graph::analyse_shapes(&resolved.model, &shapes);
    let trained = match &profiler.training {
        Some(_) if resolved.is_program() => {
            let why = match &resolved.no_graph {
                Some(why) => format!("no graph can be built of this model: {why}"),
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
    // A worker makes files ready in every sample, unless other inputs come from a file; ranks take what is ready.
    let is_program = matches!(choice.engine.host(), Host::Program(_));
    let ranks = trained.as_ref().map_or(1, |trained| trained.job.training.world_size);
    let is_timed = (is_program || given.tensors.is_empty()) && ranks <= 1;
    let cell = Cell {
        model: profiler.model.clone(),
        engine: choice.engine.id().to_owned(),
        device: choice.device,
        precision,
        batch_size,
        sequence_length,
        mode: match generation {
            Some(_) => Mode::Generate,
            None if trained.is_some() => Mode::Training,
            None => Mode::Inference,
        },
        generation,
        load: None,
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
        _ if generation.is_some() => None,
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
        generates: generation.zip(resolved.decoder.as_ref()).map(|(generation, decoder)| {
            let tokenizer = resolved.tokenizer.as_deref();
            generation::job(decoder, generation, batch_size, profiler.seed, tokenizer)
        }),
        trained,
        resolved,
        meant: meant(profiler.device, choice),
        own,
        widened,
        took: begin.elapsed(),
    })
}

fn settle_batch(profiler: &Profiler, resolved: &Resolved, given: &[InputShape]) -> usize {
    let lines = profiler.text.as_ref().map(|text| text.lines.len());
    profiler
        .batch_size
        .or_else(|| resolved.default_batch(given))
        .or_else(|| resolved.state_batch())
        .unwrap_or_else(|| lines.map_or(DEFAULT_BATCH, |lines| lines.clamp(1, DEFAULT_BATCH)))
}

/// Inputs that cannot fit are refused before anything tries to make them.
pub(crate) fn check_memory(inputs: &[InputSpec], mode: Mode) -> Result<(), Error> {
    let bytes = |input: &InputSpec| {
        let size = input.dtype.size() as u64;
        input.dims.iter().fold(size, |bytes, &dim| bytes.saturating_mul(dim as u64))
    };
    let needed = inputs.iter().map(bytes).fold(0, u64::saturating_add);
    let present = hardware::machine().memory.0;
    if needed > present { Err(Error::Memory { needed, present, mode }) } else { Ok(()) }
}

fn dims_of(inputs: &[InputSpec]) -> Vec<(String, Vec<usize>)> {
    inputs.iter().map(|input| (input.name.clone(), input.dims.clone())).collect()
}
