//! Finds the shapes that only a run can show, in a worker of its own, so that work is counted alike for every engine.

use crate::{Isolation, changed_graph::ChangedGraph, prepare::Prepared, worker};
use engine::{Engine, Takes};
use graph::{DataType, Model, ValueInfo};
use meter::{Launch, Limit, observe_shapes};
use std::time::Duration;
use types::{Device, EngineOptions};

/// How long a worker may stay silent.
const PATIENCE: Duration = Duration::from_secs(300);

/// The dims of every value that inference left open, and the rounds of every loop; the embedded engine tells, and where
/// it cannot run the model, the engine that is measured.
pub(crate) fn shapes(ready: &Prepared) -> Vec<(String, Vec<usize>)> {
    let known = ready.shapes();
    let (counting, rounds) = graph::with_round_counts(ready.graph(), &known);
    let found =
        ready.engines().embedded().map(|engine| look(ready, engine, &counting, !rounds.is_empty()));
    if let Some(found) = found.filter(|found| !found.is_empty()) {
        return found;
    }
    if ready.engine.is_embedded() || ready.engine.takes() != Takes::Onnx {
        return Vec::new();
    }
    // An engine that shows only outputs is given every value as one.
    let mut shown = counting;
    for name in ready.unknown_shapes().iter().filter(|name| !rounds.contains(name)) {
        let is_output = shown.graph.outputs.iter().any(|output| output.name == *name);
        if let Some(dtype) = known.dtype(name).filter(|dtype| *dtype != DataType::Undefined)
            && !is_output
        {
            let info = ValueInfo { name: name.clone(), dtype, shape: None };
            shown.graph.outputs.push(info);
        }
    }
    look(ready, ready.engine, &shown, true)
}

/// What an engine shows of a graph; `is_changed` says that the graph is not the one in the model's file.
fn look(
    ready: &Prepared,
    engine: &dyn Engine,
    model: &Model,
    is_changed: bool,
) -> Vec<(String, Vec<usize>)> {
    let Some(launch) = launch(ready, engine) else { return Vec::new() };
    let refine = |_: &[(String, Vec<usize>)]| ready.work();
    let mut job = ready.job(&refine);
    if engine.id() != ready.engine.id() {
        job.cell.device = Device::Cpu;
        job.cell.options = EngineOptions::default();
        job.cell.precision = graph::native_precision(ready.graph());
    }
    let file = is_changed.then(|| ChangedGraph::write(model, &job.onnx)).transpose();
    let Ok(file) = file else { return Vec::new() };
    if let Some(file) = &file {
        job.onnx = file.path().to_owned();
    }
    let time = PATIENCE.min(ready.limits().timeout);
    observe_shapes(&job, engine.id(), &launch, time, ready.unknown_shapes())
}

/// A worker under the measurement's own limit of memory.
fn launch(ready: &Prepared, engine: &dyn Engine) -> Option<Launch> {
    let launch = |isolation| worker::launch(isolation, ready.engines(), engine, ready.places());
    let launch = launch(Isolation::Process).or_else(|_| launch(Isolation::None)).ok()?;
    let limits = ready.limits();
    // A limit on a GPU's memory says nothing of the machine's.
    let on_processors = ready.cell.device.bounded_by() == Some(Device::Cpu);
    Some(match (limits.memory.filter(|_| on_processors), launch) {
        (Some(bytes), launch @ Launch::Process { .. }) => {
            Launch::Limited { launch: Box::new(launch), limit: Limit { bytes, by: limits.by } }
        }
        (_, launch) => launch,
    })
}
