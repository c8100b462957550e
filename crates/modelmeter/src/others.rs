//! Who else could run a model that one engine refuses.

use crate::{ENGINES, Profiler, choose::refusal, prepare::Prepared, worker};
use engine::{Engine, EngineErrorKind};
use meter::{Job, MeterError, can_load};
use std::time::Duration;

/// How long another engine may take to show that it can load the model; the answer is only a hint.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds to an error of an engine that lacks something which other engines here have it, found by trying them.
pub(crate) fn mend(
    error: MeterError,
    profiler: &Profiler,
    prepared: &Prepared,
    job: &Job<'_>,
) -> MeterError {
    let MeterError::Engine(mut failure) = error else { return error };
    if failure.kind == EngineErrorKind::Unsupported {
        let able: Vec<String> = ENGINES
            .iter()
            .filter(|engine| engine.id() != prepared.engine.id())
            .filter(|engine| runs(**engine, profiler, prepared, job))
            .map(|engine| format!("`--engine {}`", engine.id()))
            .collect();
        if !able.is_empty() {
            failure.hint = Some(format!("{} can run it here", able.join(", ")));
        }
    }
    MeterError::Engine(failure)
}

fn runs(
    engine: &'static dyn Engine,
    profiler: &Profiler,
    prepared: &Prepared,
    job: &Job<'_>,
) -> bool {
    let cell = &prepared.cell;
    if engine.takes() != prepared.engine.takes()
        || refusal(engine, cell.device, cell.precision, &profiler.places).is_some()
    {
        return false;
    }
    let Ok(launch) = worker::launch(profiler.isolation, engine, &profiler.places) else {
        return false;
    };
    can_load(job, engine.id(), &launch, PATIENCE)
}
