//! A small convolution network with batch normalisation in training form, drawn node by node, against PyTorch's.

use super::{Step, as_it_runs, write_graphs};
use crate::parity::python;
use graph::{Attribute, DataType, GraphBuilder, Loss, Model, Tensor};
use modelmeter_models::{Init, Layout, Weight};
use safetensors::{Dtype, serialize_to_file, tensor::TensorView};
use std::{collections::BTreeMap, path::Path};

/// Random numbers that are the same everywhere.
struct Source(u64);

impl Source {
    fn numbers(&mut self, count: usize) -> Vec<f32> {
        let mut next = || {
            // Constants of Knuth's generator.
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32) / (1u64 << 24) as f32
        };
        (0..count).map(|_| next() * 2.0 - 1.0).collect()
    }
}

/// The network being drawn, with its weights.
struct Drawing {
    graph: GraphBuilder,
    source: Source,
    weights: Vec<(Weight, Vec<f32>)>,
}

impl Drawing {
    fn weight(&mut self, name: &str, dims: &[usize], around: f32) -> String {
        let numbers = self.source.numbers(dims.iter().product());
        let numbers: Vec<f32> = numbers.iter().map(|x| x * 0.4 + around).collect();
        self.graph.initializer(Tensor::from_f32s(name, dims, &numbers));
        let weight = Weight {
            name: name.to_owned(),
            checkpoint: vec![name.to_owned()],
            dims: dims.to_vec(),
            layout: Layout::AsStored,
            init: Init::Constant(0.0),
        };
        self.weights.push((weight, numbers));
        name.to_owned()
    }

    fn op(
        &mut self,
        module: &str,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.graph.scope(module, |graph| graph.node(op, inputs, attributes))
    }

    fn conv(
        &mut self,
        module: &str,
        x: &str,
        dims: &[usize],
        bias: bool,
        rest: &[(&str, Vec<i64>)],
    ) -> String {
        let mut inputs = vec![x.to_owned(), self.weight(&format!("{module}.weight"), dims, 0.0)];
        if bias {
            inputs.push(self.weight(&format!("{module}.bias"), &dims[..1], 0.0));
        }
        let kernel = dims[2..].iter().map(|size| *size as i64).collect::<Vec<_>>();
        let mut attributes = vec![("kernel_shape", Attribute::Ints(kernel))];
        for (name, values) in rest {
            let value = match (*name, &values[..]) {
                ("group", [group]) => Attribute::Int(*group),
                _ => Attribute::Ints(values.clone()),
            };
            attributes.push((name, value));
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.op(module, "Conv", &inputs, &attributes)
    }

    fn norm(&mut self, module: &str, x: &str, channels: usize) -> String {
        let scale = self.weight(&format!("{module}.weight"), &[channels], 1.0);
        let bias = self.weight(&format!("{module}.bias"), &[channels], 0.0);
        // Running statistics that training does not look at.
        let statistics = ["running_mean", "running_var"].map(|kind| {
            let name = format!("{module}.{kind}");
            self.graph.initializer(Tensor::from_f32s(&name, &[channels], &vec![7.0; channels]))
        });
        let inputs = [x, &scale, &bias, &statistics[0], &statistics[1]];
        self.op(module, "BatchNormalization", &inputs, &[("epsilon", 1e-5f32.into())])
    }
}

fn draw() -> (Model, Vec<(Weight, Vec<f32>)>) {
    let mut d =
        Drawing { graph: GraphBuilder::new("net"), source: Source(11), weights: Vec::new() };
    let dims = [2, 3, 12, 12].map(graph::Dim::from);
    let x = d.graph.input("x", DataType::Float, &dims);
    let x = d.conv("stem.0", &x, &[8, 3, 3, 3], false, &[("pads", vec![1; 4])]);
    let x = d.norm("stem.1", &x, 8);
    let x = d.op("stem.2", "Relu", &[&x], &[]);
    let pool = [
        ("kernel_shape", vec![3, 3].into()),
        ("strides", vec![2, 2].into()),
        ("pads", vec![1; 4].into()),
    ];
    let x = d.op("pool", "MaxPool", &[&x], &pool);
    let rest = [("pads", vec![1; 4]), ("strides", vec![2, 2]), ("group", vec![8])];
    let x = d.conv("depthwise.0", &x, &[8, 1, 3, 3], true, &rest);
    let x = d.norm("depthwise.1", &x, 8);
    let x = d.op("depthwise.2", "HardSwish", &[&x], &[]);
    let x = d.conv("pointwise.0", &x, &[12, 8, 1, 1], true, &[]);
    let x = d.norm("pointwise.1", &x, 12);
    let gate = d.op("pointwise.2", "Sigmoid", &[&x], &[]);
    let x = d.op("pointwise.2", "Mul", &[&x, &gate], &[]);
    let pool = [
        ("kernel_shape", vec![2, 2].into()),
        ("strides", vec![1, 1].into()),
        ("pads", vec![1; 4].into()),
    ];
    let x = d.op("average", "AveragePool", &[&x], &pool);
    let x = d.conv("dilated", &x, &[6, 12, 2, 2], true, &[("dilations", vec![2, 2])]);
    let x = d.op("", "GlobalAveragePool", &[&x], &[]);
    let x = d.op("", "Flatten", &[&x], &[]);
    let (w, b) =
        (d.weight("classifier.weight", &[5, 6], 0.0), d.weight("classifier.bias", &[5], 0.0));
    let y = d.op("classifier", "Gemm", &[&x, &w, &b], &[("transB", 1.into())]);
    d.graph.output("logits", &y, DataType::Float, &[2, 5].map(graph::Dim::from));
    (d.graph.finish_model(), d.weights)
}

fn save(path: &Path, tensors: &[(String, Vec<usize>, Vec<f32>)]) {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, numbers)| numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
    let views: BTreeMap<&str, TensorView> = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, dims, _), bytes)| {
            (name.as_str(), TensorView::new(Dtype::F32, dims.clone(), bytes).unwrap())
        })
        .collect();
    serialize_to_file(views, None, path).unwrap();
}

#[test]
fn gradients_of_a_convolution_network_equal_pytorchs() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("convolution");
    let folder = root.join("net");
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&folder).unwrap();
    let (model, weights) = draw();
    std::fs::write(folder.join("config.json"), r#"{"model_type": "convolution"}"#).unwrap();
    let stored: Vec<_> = weights
        .iter()
        .map(|(w, numbers)| (w.name.clone(), w.dims.clone(), numbers.clone()))
        .collect();
    save(&folder.join("model.safetensors"), &stored);
    let pixels = Source(5).numbers(2 * 3 * 12 * 12);
    save(&folder.join("cases.safetensors"), &[("1.in.x".to_owned(), vec![2, 3, 12, 12], pixels)]);
    let weights: Vec<Weight> = weights.into_iter().map(|(weight, _)| weight).collect();
    let mut written = Vec::new();
    for (target, checkpointing) in [("training", false), ("training-checkpointed", true)] {
        let plan = as_it_runs(Loss::CrossEntropy, checkpointing);
        let graphs = write_graphs(&model, &weights, &plan, &folder, target);
        // The running statistics are no weights: everything else is trained.
        assert_eq!((graphs.parameters.len(), graphs.untrained.len()), (weights.len(), 0));
        written.push((target, graphs));
    }
    python("check_gradients.py", &root);
    for (target, graphs) in written {
        let step = Step::read(&folder, target);
        step.compare(&step.run(&graphs, &folder.join(target)), target);
    }
}
