//! The protocol for a model that generates: every sample is a prompt or a step.

use super::{
    checked::Checked,
    graph_generator::GraphGenerator,
    writer::{Writer, encode, first},
};
use crate::{
    AllocationTracker, Engine, EngineError, EngineErrorKind, FirstReport, GenerationJob, Generator,
    GeneratorRequest, LoadJob, LoadReport, Loader, MemoryRecord, OpenTokeniser, ProfiledRunner,
    Reply, Request, Signature,
    answering::{answer_all, take_window},
    protocol::write_message,
    reading,
    worker::{failed, find, guard, guard_file},
    write_allocations,
};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    path::Path,
    time::Instant,
};

/// Loads a model to generate and answers everything that follows; `false` where it could not be loaded, which is told.
pub(crate) fn serve(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    job: &LoadJob,
    generation: &GenerationJob,
    tracker: &dyn AllocationTracker,
    reader: &mut impl BufRead,
    writer: &mut impl Write,
) -> io::Result<bool> {
    let load = || load(engines, open_tokeniser, job, generation);
    let (mut model, report) = match guard_file(&job.engine, load) {
        Ok(loaded) => loaded,
        Err(failure) => {
            write_message(writer, &Reply::Failed(failure))?;
            return Ok(false);
        }
    };
    write_message(writer, &Reply::Loaded(Box::new(report)))?;
    answer_all(reader, writer, |request| match request {
        Request::First => guard(|| {
            let inference = first(&mut model)?;
            let (rows, vocabulary) = (generation.batch, generation.shape.vocabulary);
            let outputs = vec![("logits".to_owned(), vec![rows, vocabulary])];
            let scores = model.generator().scores()?;
            let is_finite = scores.iter().all(|score| score.is_finite());
            let non_finite = if is_finite { Vec::new() } else { vec!["logits".to_owned()] };
            Ok(Reply::First(Box::new(FirstReport { inference, outputs, non_finite })))
        }),
        Request::Run { count, budget } => {
            guard(|| take_window(count, budget, |recorder| model.sample(recorder)))
                .map(Reply::Window)
        }
        Request::Generated => Ok(Reply::Generated { report: Box::new(model.report()) }),
        Request::Outputs { path, .. } => {
            guard(|| model.write_outputs(&path)).map(|()| Reply::Written)
        }
        Request::Profile { count, detail } => {
            let open = || profiled(engines, job);
            guard(|| model.profile(count, detail, &open)).map(|profile| Reply::Profiled { profile })
        }
        Request::Memory { count, events } => {
            guard(|| remember(&mut model, count, tracker, &events))
                .map(|record| Reply::Remembered { record })
        }
        Request::Observe { .. } => Ok(Reply::Observed { shapes: Vec::new() }),
        _ => Err(failed("a worker that generates answers nothing else")),
    })?;
    Ok(true)
}

/// The engine's own generator, or one made of the graph that takes the past and gives the present.
pub(crate) fn open_generator(
    loader: &dyn Loader,
    request: &GeneratorRequest<'_>,
) -> Result<Checked, EngineError> {
    let GeneratorRequest { load, shape, batch, context, dialect } = *request;
    let own = match loader.generator_loader() {
        Some(loader) => loader.generator(request)?,
        None => None,
    };
    let generator: Box<dyn Generator> = match (own, loader.runner_loader()) {
        (Some(generator), _) => generator,
        (None, Some(loader)) => Box::new(GraphGenerator::new(loader.runner(load)?, shape, batch)),
        (None, None) => {
            let why = "this engine cannot generate";
            return Err(EngineError::new(EngineErrorKind::Unsupported, why));
        }
    };
    Ok(Checked::new(generator, dialect, batch, context))
}

fn load<'j>(
    engines: &[&'j dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    job: &'j LoadJob,
    generation: &'j GenerationJob,
) -> Result<(Writer<'j>, LoadReport), EngineError> {
    let (loader, version) = find(engines, job)?;
    let text = match &job.text {
        Some(text) => Some((reading::open(open_tokeniser, &text.tokenizer)?, text)),
        None => None,
    };
    let GenerationJob { shape, batch, context, dialect, .. } = generation;
    let request = GeneratorRequest {
        load: &job.request,
        shape,
        batch: *batch,
        context: *context,
        dialect: *dialect,
    };
    let started = Instant::now();
    let generator = open_generator(loader, &request)?;
    let report = LoadReport {
        load: started.elapsed(),
        version,
        placement: generator.placement(),
        signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
        real_tokens: None,
        remarks: generator.remarks(),
        versions: BTreeMap::new(),
        steps: Vec::new(),
        machine: None,
    };
    // A tokenizer that cannot be read costs nothing but the better comparison.
    let opening = generation.opening.as_ref().and_then(|opening| {
        let tokeniser = reading::open(open_tokeniser, &opening.tokenizer).ok()?;
        let tokens = encode(&*tokeniser, opening, 1).ok()?;
        (tokens.len() + generation.greedy <= *context).then_some(tokens)
    });
    let opening = opening.unwrap_or_default();
    Ok((Writer::new(generator, generation, text, opening, job.seed), report))
}

/// The same graph with instruments, on an engine that runs graphs.
fn profiled(
    engines: &[&dyn Engine],
    job: &LoadJob,
) -> Result<Box<dyn ProfiledRunner>, EngineError> {
    let (loader, _) = find(engines, job)?;
    match loader.runner_loader() {
        Some(loader) => loader.profiled_runner(&job.request),
        None => {
            let why = "this engine has no instruments";
            Err(EngineError::new(EngineErrorKind::Unsupported, why))
        }
    }
}

fn remember(
    model: &mut Writer<'_>,
    count: u64,
    tracker: &dyn AllocationTracker,
    events: &Path,
) -> Result<Option<Box<MemoryRecord>>, EngineError> {
    let Some(mut record) = model.remember(count.max(1), tracker)? else { return Ok(None) };
    if let Some(allocations) = &mut record.allocations.value {
        write_allocations(events, allocations)?;
        allocations.clear_columns();
    }
    Ok(Some(Box::new(record)))
}
