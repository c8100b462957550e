//! Who else could run a model that one engine refuses.

use crate::{Profiler, choose::refusal, prepare::Prepared, worker};
use engine::{Engine, EngineErrorKind};
use meter::{Job, MeterError, can_load};
use std::time::{Duration, Instant};

/// How long all other engines together may take to show that they can load the model; the answer is only a hint.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds to an error of an engine that lacks something which other engines here have it, found by trying them.
pub(crate) fn add_hint(
    error: MeterError,
    profiler: &Profiler,
    prepared: &Prepared,
    job: &Job<'_>,
) -> MeterError {
    let MeterError::Engine(mut failure) = error else { return error };
    if failure.kind == EngineErrorKind::Unsupported {
        let begin = Instant::now();
        let time = PATIENCE.min(profiler.rule.timeout);
        let able: Vec<String> = profiler
            .engines
            .iter()
            .filter(|engine| engine.id() != prepared.engine.id())
            .filter(|engine| {
                let left = time.saturating_sub(begin.elapsed());
                !left.is_zero() && runs(*engine, profiler, prepared, job, left)
            })
            .map(|engine| format!("`--engine {}`", engine.id()))
            .collect();
        if !able.is_empty() {
            failure.hint = Some(format!("{} can run it here", able.join(", ")));
        }
    }
    MeterError::Engine(failure)
}

/// Whether an engine runs the model in so much time, under the limits of the measurement.
fn runs(
    engine: &'static dyn Engine,
    profiler: &Profiler,
    prepared: &Prepared,
    job: &Job<'_>,
    time: Duration,
) -> bool {
    let cell = &prepared.cell;
    if engine.takes() != prepared.engine.takes()
        || refusal(engine, cell.device, cell.precision, &profiler.places).is_some()
    {
        return false;
    }
    let Ok(launch) = worker::launch_beside(profiler, engine, cell.device) else { return false };
    can_load(job, engine.id(), &launch, time)
}
