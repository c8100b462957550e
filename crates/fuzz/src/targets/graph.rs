//! ONNX graphs: read, inferred, counted, changed, differentiated.

mod seeds;

use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use graph::{
    Attribute, ConvertOptions, Dim, Int8, Loss, Model, OptimizerKind, PruneMethod, PruneOptions,
    Reuse, TrainingPlan,
};
use std::{collections::HashMap, fs};
use tempfile::TempDir;
use types::Precision;

pub(crate) use seeds::seeds;

/// Reading and counting.
pub(crate) const READ: Target = Target {
    name: "graph",
    what: "ONNX files: read, shapes, work, lifetimes, written again",
    one_of: 1,
    room: ROOM,
    seeds,
    mutate: mutate::onnx,
    open: || -> Reader {
        let folder = scene();
        Box::new(move |bytes| {
            let Some(model) = read(bytes, &folder) else { return Outcome::Refused };
            count(&model);
            for opset in [13, 17, 21, 23] {
                let _ = model.with_opset(opset);
            }
            write(&model, &folder);
            Outcome::Accepted
        })
    },
    expected: &[],
};

/// Other number formats and fewer weights.
pub(crate) const TRANSFORM: Target = Target {
    name: "transform",
    what: "ONNX files: converted, quantised, pruned",
    one_of: 1,
    room: ROOM,
    seeds,
    mutate: mutate::onnx,
    open: || -> Reader {
        let folder = scene();
        Box::new(move |bytes| {
            let Some(model) = read(bytes, &folder) else { return Outcome::Refused };
            match super::choice(bytes, 2) {
                0 => convert(&model, super::choice(bytes, 5)),
                _ => prune(&model, super::choice(bytes, 6)),
            }
        })
    },
    expected: &[],
};

/// The graphs of a training step.
pub(crate) const DIFFERENTIATE: Target = Target {
    name: "differentiate",
    what: "ONNX files: the graphs of a training step",
    one_of: 1,
    room: ROOM,
    seeds,
    mutate: mutate::onnx,
    open: || -> Reader {
        let folder = scene();
        Box::new(move |bytes| {
            let Some(model) = read(bytes, &folder) else { return Outcome::Refused };
            let choice = super::choice(bytes, 32);
            let is = |bit: usize| choice & bit != 0;
            let plan = TrainingPlan {
                loss: if is(1) { Loss::MeanSquares } else { Loss::CrossEntropy },
                optimizer: if is(2) { OptimizerKind::Sgd } else { OptimizerKind::AdamW },
                output: None,
                checkpointing: is(4),
                turned_first: is(8),
                prepared: is(8),
                spare_columns: is(16),
            };
            let made = graph::differentiate(&model, &inputs_of(&model), &plan);
            if let Ok(graphs) = &made {
                assert!(!graphs.parameters.is_empty(), "nothing is trained");
                let _ = graph::analyse(&graphs.backward, &[]);
            }
            Outcome::from(&made)
        })
    },
    expected: &[],
};

/// A folder with a file of weights for models that name one.
fn scene() -> TempDir {
    let folder = super::folder();
    super::put(&folder, "model.data", &[1; 4096]);
    folder
}

fn read(bytes: &[u8], folder: &TempDir) -> Option<Model> {
    let mut model = Model::from_bytes(bytes.to_vec().into()).ok()?;
    model.folder = Some(folder.path().to_owned());
    Some(model)
}

/// Dims for every input: what is declared, and 2 for what is free.
pub(crate) fn inputs_of(model: &Model) -> Vec<(String, Vec<usize>)> {
    let size = |dim: &Dim| match dim {
        Dim::Fixed(size) => *size,
        Dim::Symbol(_) | Dim::Unknown => 2,
    };
    let dims =
        |shape: &Option<Vec<Dim>>| shape.as_ref().map(|dims| dims.iter().map(size).collect());
    let inputs = model.graph.inputs.iter();
    inputs.filter_map(|input| Some((input.name.clone(), dims(&input.shape)?))).collect()
}

fn count(model: &Model) {
    let inputs = inputs_of(model);
    let shapes = graph::infer(model, &inputs);
    let counted = graph::analyse_shapes(model, &shapes);
    let coverage = counted.work.coverage.0;
    assert!((0.0..=1.0).contains(&coverage), "coverage {coverage}");
    assert!(counted.nodes.len() >= model.graph.nodes.len(), "nodes are missing");
    let observed: Vec<(String, Vec<usize>)> =
        shapes.unknown().iter().map(|name| ((*name).to_owned(), vec![2, 3])).collect();
    let _ = graph::infer_observed(model, &inputs, &observed);
    for reuse in [Reuse::Apart, Reuse::InPlace] {
        let _ = graph::find_peak(&model.graph, &shapes, reuse);
    }
    let _ = graph::pooled_peak(&model.graph, &shapes);
    let _ = graph::random_outputs(model);
    let _ = graph::nonzero_weights(model);
    let _ = graph::product_inputs(model);
    let _ = graph::tap(model, &|_| true);
    let _ = graph::with_round_counts(model, &shapes);
    let _ = graph::with_rounding_noise(model, &shapes, 0.5, 1);
    let _ = graph::native_precision(model);
}

/// What is written is read again, and written the same.
fn write(model: &Model, folder: &TempDir) {
    let path = |name: &str| folder.path().join(name);
    if model.write(path("a.onnx")).is_err() {
        return;
    }
    let bytes = fs::read(path("a.onnx")).expect("it was just written");
    let mut again = Model::from_bytes(bytes.clone().into()).expect("what we write can be read");
    again.folder.clone_from(&model.folder);
    if again.write(path("b.onnx")).is_ok() {
        let second = fs::read(path("b.onnx")).expect("it was just written");
        // A float that is not a number is the same by its bytes alone.
        assert!(bytes == second, "what is read and written again differs");
    }
}

fn convert(model: &Model, choice: usize) -> Outcome {
    let (to, int8) = match choice {
        0 => (Precision::Fp16, Int8::Dynamic),
        1 => (Precision::Bf16, Int8::Dynamic),
        2 => (Precision::Int8, Int8::Dynamic),
        3 => (Precision::Int8, Int8::WeightsOnly),
        _ => {
            let ranges: HashMap<String, (f32, f32)> =
                graph::product_inputs(model).into_iter().map(|name| (name, (-1.0, 2.0))).collect();
            (Precision::Int8, Int8::Static(ranges))
        }
    };
    let options = ConvertOptions {
        smallest_weight: 4,
        per_channel: choice != 3,
        int8,
        ..ConvertOptions::default()
    };
    let made = graph::convert(model, to, &options);
    if let Ok(converted) = &made {
        for tensor in &converted.model.graph.initializers {
            let has = matches!(&tensor.data, graph::TensorData::Inline(bytes) if bytes.len() as u64 != tensor.size());
            assert!(!has, "`{}` has not the bytes of {:?}", tensor.name, tensor.dims);
        }
        let _ = graph::analyse(&converted.model, &inputs_of(&converted.model));
        let _ = converted.nonzero_parameters();
    }
    Outcome::from(&made)
}

fn prune(model: &Model, choice: usize) -> Outcome {
    let method = match choice {
        0 => PruneMethod::Magnitude,
        1 => PruneMethod::GlobalMagnitude,
        2 => PruneMethod::Random,
        3 => PruneMethod::Groups { keep: 2, of: 4 },
        _ => PruneMethod::Structured,
    };
    let options = PruneOptions { inputs: inputs_of(model), ..PruneOptions::new(method, 0.5) };
    let planned = graph::plan_pruning(model, &options);
    let outcome = Outcome::from(&planned);
    if let Ok(pruning) = planned {
        for index in 0..pruning.plan.weights().len() {
            let size = pruning.plan.weights()[index].size();
            let mut written = 0;
            let made = pruning.plan.write(index, &mut |piece| {
                written += piece.len() as u64;
                Ok(())
            });
            assert!(made.is_err() || written == size, "{written} bytes of {size}");
        }
    }
    outcome
}

/// A graph as an argument.
fn body(graph: graph::Graph) -> Attribute {
    Attribute::Graph(Box::new(graph))
}
