//! The model that was asked for: found, changed or converted, with the engine that runs it.

use super::{
    device::{settle_engine, who_takes},
    generation,
    precision::{of_one_precision, own_or_wider},
};
use crate::{Choice, EngineChoice, Error, Profiler, pickle};
use engine::Takes;
use graph::Model;
use models::{ModelError, Progress, Resolved};
use types::{DecoderDialect, Event, Precision, RemarkCode, Stage};

/// The model in the precision that it runs in, and the engine that runs it.
pub(super) struct Settled {
    pub(super) resolved: Resolved,
    pub(super) choice: Choice,
    pub(super) precision: Precision,
    /// Why it does not run in the precision of its checkpoint.
    pub(super) widened: Option<String>,
}

pub(super) fn settle_model(
    profiler: &Profiler,
    sink: &mut dyn FnMut(Event),
) -> Result<Settled, Error> {
    let resolved = resolve_changed(profiler, sink)?;
    let native = graph::native_precision(&resolved.model);
    let wish = precision_of_file(profiler).or(profiler.precision).unwrap_or(native);
    let fits = |takes: Takes| match takes {
        Takes::Onnx => !resolved.is_program(),
        Takes::Module => resolved.module.is_some(),
        Takes::Gguf => resolved.gguf.is_some() && profiler.generation.is_some(),
    };
    if let EngineChoice::Named(id) = &profiler.engine
        && let Some(engine) = profiler.engines.find(id)
        && !fits(engine.takes())
    {
        return Err(Error::NotForEngine {
            engine: engine.id().to_owned(),
            model: resolved.info.name.clone(),
            why: match &resolved.no_graph {
                Some(why) => {
                    format!("it runs ONNX graphs, and none can be built of this model: {why}")
                }
                None => engine.takes().refusal().to_owned(),
            },
            hint: match engine.takes() {
                Takes::Gguf => Some("`modelmeter generate FILE.gguf` measures it".into()),
                _ => who_takes(profiler, wish, &fits),
            },
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
    if choice.engine.takes() == Takes::Gguf {
        let precision = Precision::Stored;
        let mut resolved = resolved;
        // It runs the file as it is.
        resolved.remarks.retain(|remark| remark.code != RemarkCode::QuantisedWeights);
        return Ok(Settled { resolved, choice, precision, widened: None });
    }
    // A framework converts its own module; a graph is converted by us, once, and kept.
    let converted = Some(precision).filter(|precision| *precision != native);
    let fused = generation::dialect(profiler, choice, precision) == DecoderDialect::Fused;
    let rows = generation::filled_rows(profiler, choice);
    let standard = (DecoderDialect::Standard, rows);
    let resolved = match choice.engine.takes() {
        Takes::Onnx if fused => {
            let found = resolve_in(profiler, converted, (DecoderDialect::Fused, rows), sink)?;
            match generation::reaches(profiler, &found) {
                true => found,
                false => resolve_in(profiler, converted, standard, sink)?,
            }
        }
        Takes::Onnx if converted.is_some() => resolve_in(profiler, converted, standard, sink)?,
        _ => resolved,
    };
    Ok(Settled { resolved, choice, precision, widened })
}

/// The precision of an engine that runs a file's weights as they are, where such an engine was asked for and no other
/// precision.
pub(super) fn precision_of_file(profiler: &Profiler) -> Option<Precision> {
    let EngineChoice::Named(id) = &profiler.engine else { return None };
    let engine = profiler.engines.find(id)?;
    (engine.takes() == Takes::Gguf && profiler.precision.is_none()).then_some(Precision::Stored)
}

/// The model that was asked for, ready in this precision or as it is.
pub(crate) fn resolve(
    profiler: &Profiler,
    precision: Option<Precision>,
    sink: &mut dyn FnMut(Event),
) -> Result<Resolved, Error> {
    resolve_in(profiler, precision, (DecoderDialect::Standard, 1), sink)
}

/// As [`resolve`], generating in this dialect, with so many rows in weights in blocks.
fn resolve_in(
    profiler: &Profiler,
    precision: Option<Precision>,
    (dialect, filled_rows): (DecoderDialect, usize),
    sink: &mut dyn FnMut(Event),
) -> Result<Resolved, Error> {
    let mut request = models::Request { dialect, filled_rows, ..request(profiler, precision)? };
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
        generates: profiler.generation.is_some(),
        dialect: DecoderDialect::Standard,
        filled_rows: 1,
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
