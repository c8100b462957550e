//! Guessed sizes that fail: others are tried before giving up, and what was tried is said.

use crate::{
    Error, Profiler,
    prepare::{Prepared, prepare_with},
};
use engine::EngineErrorKind;
use meter::MeterError;
use models::Trial;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use types::Event;

/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most sizes that are tried.
const MOST: usize = 12;

/// What ran before, by everything that was asked but the engine: all sides of a comparison get the same sizes.
static KNOWN: Mutex<Option<HashMap<String, Option<Trial>>>> = Mutex::new(None);

fn known(key: &str) -> Option<Option<Trial>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(key).copied()
}

fn remember(key: String, trial: Option<Trial>) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(key, trial);
}

/// Makes sure that sizes which we guessed run; the measurement with those that do.
pub(crate) fn settle(
    profiler: &Profiler,
    prepared: Prepared,
    sink: &mut dyn FnMut(Event),
) -> Result<Prepared, Error> {
    let key = prepared.question();
    match known(&key) {
        Some(None) => return Ok(prepared),
        Some(Some(trial)) => return prepare_with(profiler, Some(trial), sink),
        None => {}
    }
    match attempt(profiler, &prepared)? {
        // A failure that has nothing to do with sizes is the measurement's own.
        Some(failed) if is_of_sizes(&failed) => search(profiler, &prepared, failed, sink),
        failed => {
            if failed.is_none() {
                remember(key, None);
            }
            Ok(prepared)
        }
    }
}

/// Tries other sizes after this failure; where all fail, the failure says so and hints at what runs.
pub(crate) fn search(
    profiler: &Profiler,
    prepared: &Prepared,
    failed: MeterError,
    sink: &mut dyn FnMut(Event),
) -> Result<Prepared, Error> {
    let is_batch_asked = profiler.batch_size.is_some();
    let usual = prepared.cell.batch_size;
    let mut tried = vec![format!("batch {usual}")];
    for trial in prepared.trials(is_batch_asked)?.into_iter().take(MOST) {
        let Ok(other) = prepare_with(profiler, Some(trial), sink) else { continue };
        if attempt(profiler, &other)?.is_some() {
            tried.push(trial.words());
            continue;
        }
        // The batch may have been innocent.
        let whole = Trial { batch: usual, ..trial };
        if whole != trial
            && trial.guess != models::Guess::default()
            && let Ok(larger) = prepare_with(profiler, Some(whole), sink)
            && attempt(profiler, &larger)?.is_none()
        {
            remember(prepared.question(), Some(whole));
            return Ok(larger.after_trials(&whole, &tried));
        }
        remember(prepared.question(), Some(trial));
        return Ok(other.after_trials(&trial, &tried));
    }
    Err(explain(profiler, prepared, failed, &tried, sink).into())
}

/// The failure with what was tried, and a hint that was seen to work where there is one.
fn explain(
    profiler: &Profiler,
    prepared: &Prepared,
    failed: MeterError,
    tried: &[String],
    sink: &mut dyn FnMut(Event),
) -> MeterError {
    let MeterError::Engine(mut failure) = failed else { return failed };
    if tried.len() > 1 {
        failure.causes.push(format!("tried: {}", tried.join("; ")));
    }
    let free = profiler.batch_size.is_some_and(|batch| batch > 1).then(|| {
        let mut free = profiler.clone();
        free.batch_size = Some(1);
        free
    });
    let runs = free.as_ref().and_then(|free| {
        let one = prepare_with(free, None, sink).ok()?;
        let runs = attempt(free, &one).ok()?.is_none();
        runs.then_some("`--batch-size 1` runs here".to_owned())
    });
    let given = || {
        let input = prepared.free_input()?;
        Some(format!("give the shape that the model expects instead of `--input {input}`"))
    };
    failure.hint = runs.or_else(given).or(failure.hint.take());
    MeterError::Engine(failure)
}

/// Whether a failure may come from shapes or values that do not fit.
pub(crate) fn is_of_sizes(error: &MeterError) -> bool {
    matches!(error.engine_kind(), Some(EngineErrorKind::Failed | EngineErrorKind::BadInput))
}

/// Loads the model and infers once in a fresh worker; why that failed.
fn attempt(profiler: &Profiler, prepared: &Prepared) -> Result<Option<MeterError>, Error> {
    let launch = profiler.launch(prepared)?;
    let refine = |seen: &[(String, Vec<usize>)]| prepared.count_again(seen);
    let patience = PATIENCE.min(profiler.rule.timeout);
    Ok(meter::try_once(&prepared.job(&refine), &launch, patience).err())
}
