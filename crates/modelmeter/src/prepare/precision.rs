//! Which precision a model runs in, and what an engine makes of its weights.

use crate::{Choice, Error, Instead, Profiler, choose::refusal};
use engine::{Engine, Takes};
use graph::{DataType, Model};
use models::Resolved;
use types::{Bytes, Precision};

/// The checkpoint's own precision where the engine computes in it; else the graph's, and why.
pub(super) fn own_or_wider(
    profiler: &Profiler,
    choice: Choice,
    stored: Precision,
    native: Precision,
) -> (Precision, Option<String>) {
    let Choice { engine, device } = choice;
    let ran = format!("the checkpoint is {stored} and ran as {native}");
    if profiler.training.is_some() {
        return (native, Some(format!("{ran}: trained weights are kept in {native}")));
    }
    match refusal(engine, device, stored, &profiler.places) {
        None => (stored, None),
        Some(_) => {
            let id = engine.id();
            let why = format!("engine `{id}` does not compute in {stored} on {device}");
            (native, Some(format!("{ran}: {why}")))
        }
    }
}

/// A graph that is not in fp32 cannot be had in another precision, so none is recommended.
pub(super) fn of_one_precision(error: Error, native: Precision) -> Error {
    match error {
        Error::NoEngine { device, precision, why, instead } if native != Precision::Fp32 => {
            let instead = instead.filter(|instead| !matches!(instead, Instead::Precision(_)));
            Error::NoEngine { device, precision, why, instead }
        }
        error => error,
    }
}

/// What an engine turns 32-bit floats into by itself: a framework converts its own module, where it only infers; a graph
/// comes to its engine converted.
pub(super) fn own_precision(
    profiler: &Profiler,
    resolved: &Resolved,
    engine: &dyn Engine,
    precision: Precision,
) -> Precision {
    match engine.takes() {
        Takes::Module if profiler.training.is_none() && !resolved.is_program() => precision,
        _ => Precision::Fp32,
    }
}

/// Bytes of graph and weights once the engine has converted them.
pub(super) fn size_in(resolved: &Resolved, own: Precision) -> Bytes {
    Bytes(resolved.info.size.0 - saved(&resolved.model, own).min(resolved.info.size.0))
}

/// Bytes that a graph's 32-bit weights lose in another precision; what dynamic int8 makes of them only it knows.
pub(super) fn saved(model: &Model, own: Precision) -> u64 {
    if !matches!(own, Precision::Fp16 | Precision::Bf16) {
        return 0;
    }
    let floats = model.graph.initializers.iter().filter(|tensor| tensor.dtype == DataType::Float);
    floats.map(|tensor| tensor.elements() as u64 * 2).sum()
}
