//! The protocol for a model that generates: every sample is a prompt or a step.

use super::{
    graph_generator::GraphGenerator,
    writer::{Writer, encode, first},
};
use crate::{
    Engine, EngineError, EngineErrorKind, FirstReport, GenerationJob, Generator, LoadJob,
    LoadReport, LoadRequest, Loader, OpenTokeniser, Reply, Request, Signature,
    answering::{answer_all, take_window},
    protocol::write_message,
    reading,
    worker::{failed, find, guard, guard_file},
};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    time::Instant,
};
use types::DecoderShape;

/// Loads a model to generate and answers everything that follows; `false` where it could not be loaded, which is told.
pub(crate) fn serve(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    job: &LoadJob,
    generation: &GenerationJob,
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
        Request::Profile { count, detail } => guard(|| {
            let profiler = model.generator_mut().node_profiler();
            profiler.map(|profiler| profiler.profile(count.max(1), detail)).transpose()
        })
        .map(|profile| Reply::Profiled { profile }),
        Request::Memory { .. } => Ok(Reply::Remembered { record: None }),
        Request::Observe { .. } => Ok(Reply::Observed { shapes: Vec::new() }),
        _ => Err(failed("a worker that generates answers nothing else")),
    })?;
    Ok(true)
}

/// The engine's own generator, or one made of the graph that takes the past and gives the present.
pub(crate) fn open_generator(
    loader: &dyn Loader,
    request: &LoadRequest,
    shape: &DecoderShape,
    batch: usize,
    context: usize,
) -> Result<Box<dyn Generator>, EngineError> {
    match (loader.generator_loader(), loader.runner_loader()) {
        (Some(loader), _) => loader.generator(request, shape, batch, context),
        (None, Some(loader)) => {
            let runner = loader.runner(request)?;
            Ok(Box::new(GraphGenerator::new(runner, shape, batch, context)))
        }
        (None, None) => {
            let why = "this engine cannot generate";
            Err(EngineError::new(EngineErrorKind::Unsupported, why))
        }
    }
}

fn load<'j>(
    engines: &[&dyn Engine],
    open_tokeniser: OpenTokeniser<'_>,
    job: &'j LoadJob,
    generation: &'j GenerationJob,
) -> Result<(Writer<'j>, LoadReport), EngineError> {
    let (loader, version) = find(engines, job)?;
    let text = match &job.text {
        Some(text) => Some((reading::open(open_tokeniser, &text.tokenizer)?, text)),
        None => None,
    };
    let GenerationJob { shape, batch, context, .. } = generation;
    let started = Instant::now();
    let generator = open_generator(loader, &job.request, shape, *batch, *context)?;
    let report = LoadReport {
        load: started.elapsed(),
        version,
        placement: generator.placement(),
        signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
        real_tokens: None,
        remarks: generator.remarks(),
        versions: BTreeMap::new(),
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
