//! Finds the first layer whose output differs between two sides whose answers do.

use crate::{
    changed_graph::ChangedGraph, parity::is_same_computation, prepare::Prepared, rounding,
};
use analysis::{Floor, Ruling, Tolerance, difference};
use engine::Takes;
use graph::DataType;
use meter::{Depth, Launch, MeterError, outputs_of};
use std::{path::Path, time::Duration};
use types::HostTensor;

/// What a framework's worker writes in front of a module's path.
const MODULE: &str = "module:";

/// The path of the first module whose output differs; `None` if that cannot be seen.
///
/// The search must never hide what it explains: whatever goes wrong in it leaves the answer open. A copy is not blamed on
/// a layer: all its layers are the same. A module whose difference rounding explains is not where they part.
pub(crate) fn find(
    [reference, other]: [(&Prepared, &Launch); 2],
    timeout: Duration,
    folder: &Path,
) -> Option<String> {
    if is_same_computation(reference.0, other.0) {
        return None;
    }
    let tolerance = Tolerance::of(reference.0.cell.precision, other.0.cell.precision);
    let [left, right] =
        [reference, other].map(|(ready, launch)| look_inside(ready, launch, timeout, folder));
    let (left, right) = (left.ok()?.modules, right.ok()?.modules);
    let differing: Vec<_> = left
        .iter()
        .filter_map(|tensor| Some((tensor, right.iter().find(|t| t.name == tensor.name)?)))
        .filter(|(a, b)| a.dims == b.dims)
        .filter(|(a, b)| difference(a, b).rule(&tolerance, None) == Ruling::Different)
        .collect();
    if differing.is_empty() {
        return None;
    }
    // Where nobody can run with noise, nothing is explained by it.
    let share = rounding::share_of([reference.0, other.0]);
    let modules = [(reference, &left), (other, &right)];
    let (plain, noisy) = modules
        .into_iter()
        .filter(|((ready, _), _)| ready.engine.takes() == Takes::Onnx)
        .find_map(|((ready, launch), plain)| {
            let seen = look_with(ready, launch, timeout, folder, Some(share)).ok()?;
            Some((plain.as_slice(), seen.modules))
        })
        .unwrap_or_default();
    let floor = |name: &str| {
        let [plain, noisy] =
            [plain, &noisy].map(|all| all.iter().find(|tensor| tensor.name == name));
        Floor::seen(plain?, noisy?)
    };
    let is_real = |(a, b): &&(&HostTensor, &HostTensor)| {
        difference(a, b).rule(&tolerance, floor(&a.name).as_ref()) == Ruling::Different
    };
    differing.iter().find(is_real).map(|(tensor, _)| tensor.name.clone())
}

/// What a computation shows of itself.
pub(crate) struct Seen {
    /// What leaves the model.
    pub(crate) outputs: Vec<HostTensor>,
    /// What leaves every module, named by its path, in the order it is computed.
    pub(crate) modules: Vec<HostTensor>,
}

/// What leaves the model and every module of it.
pub(crate) fn look_inside(
    ready: &Prepared,
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
) -> Result<Seen, MeterError> {
    look_with(ready, launch, timeout, folder, None)
}

/// The same, where a graph runs also with noise of this size on every number.
fn look_with(
    ready: &Prepared,
    launch: &Launch,
    timeout: Duration,
    folder: &Path,
    noise: Option<f32>,
) -> Result<Seen, MeterError> {
    let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
    let mut job = ready.job(&refine);
    if ready.engine.takes() == Takes::Module {
        let tensors = outputs_of(&job, launch, timeout, folder, Depth::Modules)?;
        let (modules, outputs): (Vec<HostTensor>, Vec<HostTensor>) =
            tensors.into_iter().partition(|tensor| tensor.name.starts_with(MODULE));
        let modules = modules.into_iter().filter_map(|mut tensor| {
            tensor.name = tensor.name.strip_prefix(MODULE)?.to_owned();
            Some(tensor)
        });
        return Ok(Seen { outputs, modules: modules.collect() });
    }
    let shapes = ready.shapes();
    let is_float = |name: &str| shapes.dtype(name) == Some(DataType::Float);
    let (mut model, taps) = graph::tap(ready.graph(), &is_float);
    if let Some(noisy) = noise.and_then(|n| graph::with_rounding_noise(&model, &shapes, n, 0)) {
        model = noisy;
    }
    let Ok(file) = ChangedGraph::write(&model, &job.onnx) else {
        // A folder that cannot be written to: the difference stands, only its place stays unknown.
        let outputs = outputs_of(&job, launch, timeout, folder, Depth::Outputs)?;
        return Ok(Seen { outputs, modules: Vec::new() });
    };
    job.onnx = file.path().to_owned();
    let tensors = outputs_of(&job, launch, timeout, folder, Depth::Outputs)?;
    let named = taps.into_iter().filter_map(|tap| {
        let tensor = tensors.iter().find(|tensor| tensor.name == tap.value)?;
        Some(HostTensor { name: tap.module, ..tensor.clone() })
    });
    let modules = named.collect();
    let is_output = |tensor: &HostTensor| {
        ready.graph().graph.outputs.iter().any(|output| output.name == tensor.name)
    };
    let outputs = tensors.into_iter().filter(is_output).collect();
    Ok(Seen { outputs, modules })
}
