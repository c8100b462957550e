//! Gradients of every family against PyTorch's, on the same tiny weights and batch, on ONNX Runtime and on `rten`.
//!
//! The graphs of a training step are written here, a Python process differentiates the same model with autograd (in
//! 64-bit floats, so that only our own rounding is measured), runs our files on ONNX Runtime after ONNX's checker has
//! read them, and leaves what it found for `rten`.

mod convolution;
mod engine;

use crate::parity::{blueprint, checkpoints, fill, models, python};
use engine::Step;
use graph::{GradientForm, Loss, Model, TrainingGraphs, TrainingPlan, analyse, differentiate};
use modelmeter_models::{Layout, Weight};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::path::Path;

/// The largest relative difference between a gradient of ours and PyTorch's.
const TOLERANCE: f64 = 1e-4;

/// A gradient that is zero but for rounding (the bias of attention's keys) is compared with the whole gradient.
const ROUNDING: f64 = 1e-6;

/// The dims of the inputs of one case.
fn case_dims(folder: &Path, case: &str) -> Vec<(String, Vec<usize>)> {
    let bytes = std::fs::read(folder.join("cases.safetensors")).unwrap();
    let beginning = format!("{case}.in.");
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let inputs = tensors.tensors().into_iter().filter_map(|(key, view)| {
        Some((key.strip_prefix(&beginning)?.to_owned(), view.shape().to_vec()))
    });
    inputs.collect()
}

/// The forms that engines run: as ONNX Runtime does, and with checkpointing as rten does.
fn as_it_runs(loss: Loss, checkpointing: bool) -> TrainingPlan {
    let turned_first = !checkpointing;
    TrainingPlan { loss, checkpointing, turned_first, prepared: true, ..TrainingPlan::default() }
}

/// Writes the four graphs of a model of ours beside it.
fn write_step(folder: &Path, target: &str, checkpointing: bool) -> TrainingGraphs {
    let weights = blueprint(folder).weights;
    let model = fill(blueprint(folder), &folder.join("model.safetensors")).model;
    // Mean squares where all of an output counts, else cross-entropy, which can leave places out.
    let padded = model.graph.inputs.iter().any(|input| input.name == "attention_mask");
    let loss = if padded { Loss::CrossEntropy } else { Loss::MeanSquares };
    let plan = as_it_runs(loss, checkpointing);
    let graphs = write_graphs(&model, &weights, &plan, folder, target);
    let trained = weights.iter().filter(|weight| !weight.is_statistic());
    let names: Vec<&str> = trained.map(|weight| weight.name.as_str()).collect();
    for parameter in &graphs.parameters {
        assert!(names.contains(&parameter.name.as_str()), "`{}` is no weight", parameter.name);
    }
    assert_eq!(graphs.parameters.len() + graphs.untrained.len(), names.len(), "{folder:?}");
    graphs
}

/// Writes the four graphs of any model, with what Python must know about them.
fn write_graphs(
    model: &Model,
    weights: &[Weight],
    plan: &TrainingPlan,
    folder: &Path,
    target: &str,
) -> TrainingGraphs {
    let graphs = differentiate(model, &case_dims(folder, "1"), plan).unwrap();
    let target = folder.join(target);
    std::fs::create_dir_all(&target).unwrap();
    for (name, graph) in [
        ("forward", &graphs.forward),
        ("loss", &graphs.loss),
        ("backward", &graphs.backward),
        ("optimizer", &graphs.optimizer),
    ] {
        graph.write(target.join(format!("{name}.onnx"))).unwrap();
        let analysis = analyse(graph, &[]);
        assert_eq!(analysis.uncovered.len(), 0, "{folder:?}: {name}: {:?}", analysis.uncovered);
    }
    let text = serde_json::to_string_pretty(&description(&graphs, weights)).unwrap();
    std::fs::write(target.join("step.json"), text).unwrap();
    graphs
}

fn description(graphs: &TrainingGraphs, weights: &[Weight]) -> Value {
    let parameters: Vec<Value> = graphs
        .parameters
        .iter()
        .map(|parameter| {
            let weight = weights.iter().find(|weight| weight.name == parameter.name).unwrap();
            let (dense, indices, values) = match &parameter.gradient {
                GradientForm::Dense { gradient } => (Some(gradient), None, None),
                GradientForm::Rows { indices, values, .. } => (None, Some(indices), Some(values)),
                GradientForm::DenseAndRows { dense, indices, values, .. } => {
                    (Some(dense), Some(indices), Some(values))
                }
            };
            json!({
                "name": parameter.name,
                "checkpoint": weight.checkpoint,
                "transposed": weight.layout == Layout::Transposed,
                "dense": dense, "indices": indices, "values": values,
                "updated": parameter.updated,
                "states": parameter.states.iter().map(|s| (&s.name, &s.updated)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let untrained = graphs.untrained.iter().map(|name| {
        let weight = weights.iter().find(|weight| weight.name == *name);
        weight.map_or_else(|| vec![name.clone()], |weight| weight.checkpoint.clone())
    });
    json!({
        "parameters": parameters,
        "untrained": untrained.collect::<Vec<_>>(),
        "output": graphs.output.name,
        "output_gradient": graphs.output_gradient,
        "labels": graphs.labels.name,
        "classes": graphs.labels.classes,
        "loss": graphs.loss_value,
        "loss_scale": graphs.loss_scale,
        "saved": graphs.saved.iter().map(|value| &value.name).collect::<Vec<_>>(),
        "prepared": graphs.prepared.iter().map(|value| json!({
            "name": value.name, "of": value.of, "dims": value.dims, "turned": value.turned,
        })).collect::<Vec<_>>(),
    })
}

/// All gradients of all models, plain and with checkpointing, on both engines.
#[test]
fn gradients_of_every_family_equal_pytorchs() {
    let folders: Vec<_> =
        models(&[""]).into_iter().filter(|folder| !folder.ends_with("minilm")).collect();
    assert!(folders.len() >= 43, "{}", folders.len());
    let mut written = Vec::new();
    for folder in &folders {
        let plain = write_step(folder, "training", false);
        let sparing = write_step(folder, "training-checkpointed", true);
        let bytes = |graphs: &TrainingGraphs| -> usize {
            let sizes = graphs.saved.iter().map(|v| v.dims.iter().product::<usize>());
            sizes.sum()
        };
        if folder.join("modules.json").exists() && !folder.ends_with("feed-forward") {
            assert!(bytes(&sparing) < bytes(&plain), "{folder:?}");
        }
        written.push((folder, plain, sparing));
    }
    python("check_gradients.py", checkpoints());
    for (folder, plain, sparing) in written {
        for (target, graphs) in [("training", plain), ("training-checkpointed", sparing)] {
            let step = Step::read(folder, target);
            let found = step.run(&graphs, &folder.join(target));
            step.compare(&found, &format!("{} {target}", folder.display()));
        }
    }
}
