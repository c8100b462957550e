//! Puts the graphs together once the walk is done: which weights are trained, what each graph takes and gives.

use super::{
    DifferentiateError, GradientForm, SavedValue, State, TrainedParameter, TrainingGraphs,
    TrainingPlan,
    emitter::{Emitter, drop_dead, info},
    loss, optimiser,
    reverse::{LookedUp, Walked},
    tape::Tape,
};
use crate::{DataType, Graph, Model, Tensor};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// All four graphs.
pub(super) fn graphs(
    model: &Model,
    tape: &Tape,
    walked: Walked,
    plan: &TrainingPlan,
    seed: &str,
) -> Result<TrainingGraphs, DifferentiateError> {
    let Walked { mut out, dense, mut rows, saved, fed } = walked;
    let mut parameters = Vec::new();
    let mut untrained = Vec::new();
    for tensor in tape.parameters.all() {
        let dense = dense.get(&tensor.name).map(String::as_str);
        let looked_up = rows.remove(&tensor.name);
        let Some(gradient) = give(&mut out, &tensor.name, dense, looked_up) else {
            untrained.push(tensor.name.clone());
            continue;
        };
        parameters.push(TrainedParameter {
            name: tensor.name.clone(),
            dims: tensor.dims.clone(),
            initializer: tensor.clone(),
            gradient,
            states: states(plan, &tensor.name),
            updated: format!("{}.updated", tensor.name),
        });
    }
    if parameters.is_empty() {
        return Err(DifferentiateError::NothingToTrain { output: tape.output.clone() });
    }
    let trained: HashSet<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    let saved = saved.iter().map(|name| value(tape, name)).collect::<Result<Vec<_>, _>>()?;
    let output = value(tape, &tape.output)?;
    declare(tape, &mut out, &saved, &fed, &trained);
    // Who asks for less memory gets no second, turned copy of what is kept.
    let prepared = if plan.prepared { out.prepare(!plan.checkpointing) } else { Vec::new() };
    let mut backward = out.finish(model.ir_version.max(loss::IR_VERSION), &model.opsets);
    backward.folder.clone_from(&model.folder);
    let forward = forward(model, tape, &saved, &output, &trained);
    let loss = loss::write(plan.loss, &output.name, &output.dims, seed);
    let optimizer = optimiser::write(plan.optimizer, &parameters);
    Ok(TrainingGraphs {
        forward,
        loss: loss.model,
        backward,
        optimizer,
        parameters,
        untrained,
        saved,
        prepared,
        labels: loss.labels,
        output,
        output_gradient: loss.gradient,
        loss_value: loss.value,
        loss_scale: loss.scale,
        masks: tape.masks.clone(),
        optimizer_scalars: optimiser::scalars(plan.optimizer),
    })
}

fn states(plan: &TrainingPlan, parameter: &str) -> Vec<State> {
    let names = optimiser::state_names(plan.optimizer, parameter).into_iter();
    names.map(|name| State { updated: format!("{name}.updated"), name }).collect()
}

/// Declares a weight's gradient as outputs of the backward graph; `None` if it has none.
fn give(
    out: &mut Emitter,
    name: &str,
    dense: Option<&str>,
    rows: Option<Vec<LookedUp>>,
) -> Option<GradientForm> {
    let module = name.rsplit_once('.').map_or("", |(module, _)| module);
    out.enter(module);
    let rows = rows.map(|rows| {
        let (indices, values): (Vec<String>, Vec<String>) =
            rows.into_iter().map(|row| (row.indices, row.values)).unzip();
        let (indices, values) = (out.concat(&indices, 0), out.concat(&values, 0));
        let count = out.dims(&indices).first().copied().unwrap_or(0);
        let indices = out.output(&format!("{name}_grad_indices"), &indices);
        let values = out.output(&format!("{name}_grad_values"), &values);
        (indices, values, count)
    });
    let gradient = dense.map(|dense| out.output(&format!("{name}_grad"), dense));
    match (gradient, rows) {
        (Some(dense), Some((indices, values, count))) => {
            Some(GradientForm::DenseAndRows { dense, indices, values, count })
        }
        (Some(gradient), None) => Some(GradientForm::Dense { gradient }),
        (None, Some((indices, values, count))) => {
            Some(GradientForm::Rows { indices, values, count })
        }
        (None, None) => None,
    }
}

fn value(tape: &Tape, name: &str) -> Result<SavedValue, DifferentiateError> {
    let unknown = || DifferentiateError::UnknownShape { value: name.to_string() };
    let known = tape.values.get(name).ok_or_else(unknown)?;
    let dims = known.dims.clone().ok_or_else(unknown)?;
    Ok(SavedValue { name: name.to_string(), dtype: known.dtype, dims })
}

/// What the backward graph takes.
fn declare(
    tape: &Tape,
    out: &mut Emitter,
    saved: &[SavedValue],
    fed: &BTreeSet<String>,
    trained: &HashSet<&str>,
) {
    for value in saved {
        out.input(&value.name, value.dtype, &value.dims);
    }
    for name in fed {
        match tape.parameters.of(name) {
            // A weight that only stands beside the way of the gradient.
            Some(tensor) if !trained.contains(name.as_str()) => out.initializer(tensor.clone()),
            Some(tensor) => out.input(name, DataType::Float, &tensor.dims),
            None => {
                let known = tape.values.get(name);
                let dims = known.and_then(|value| value.dims.clone()).unwrap_or_default();
                let dtype = known.map_or(DataType::Float, |value| value.dtype);
                out.input(name, dtype, &dims);
            }
        }
    }
}

fn forward(
    model: &Model,
    tape: &Tape,
    saved: &[SavedValue],
    output: &SavedValue,
    trained: &HashSet<&str>,
) -> Model {
    let mut inputs = tape.inputs.clone();
    for tensor in tape.parameters.all() {
        if trained.contains(tensor.name.as_str()) {
            inputs.push(info(&tensor.name, tensor.dtype, &tensor.dims));
        }
    }
    inputs.extend(tape.masks.iter().map(|mask| info(&mask.name, DataType::Float, &mask.dims)));
    let mut outputs = vec![info(&output.name, output.dtype, &output.dims)];
    let kept = saved.iter().filter(|value| value.name != output.name);
    outputs.extend(kept.map(|value| info(&value.name, value.dtype, &value.dims)));
    let constants: BTreeMap<&String, &Tensor> = tape.constants.iter().collect();
    let mut initializers: Vec<Tensor> = constants
        .into_iter()
        .map(|(name, tensor)| Tensor { name: name.clone(), ..tensor.clone() })
        .collect();
    let others = tape.parameters.all().iter();
    initializers.extend(others.filter(|t| !trained.contains(t.name.as_str())).cloned());
    let mut graph = Graph {
        name: "forward".to_string(),
        inputs,
        outputs,
        nodes: tape.steps.iter().flat_map(|step| step.forward.clone()).collect(),
        initializers,
        value_infos: Vec::new(),
    };
    drop_dead(&mut graph);
    Model {
        graph,
        opsets: model.opsets.clone(),
        ir_version: model.ir_version,
        producer: model.producer.clone(),
        metadata: BTreeMap::new(),
        functions: model.functions.clone(),
        folder: model.folder.clone(),
    }
}
