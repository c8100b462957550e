//! Small models.

use graph::{Attribute, DataType, Dim, Graph, GraphBuilder, Model, Tensor};
use std::path::{Path, PathBuf};
use types::{Elements, HostTensor};

/// Writes a model and gives its file.
pub(crate) fn write(folder: &Path, model: &Model) -> PathBuf {
    let path = folder.join("model.onnx");
    model.write(&path).unwrap();
    path
}

fn rows(columns: usize) -> [Dim; 2] {
    ["batch".into(), columns.into()]
}

/// `y = relu(first(x) · w)` with a 2 × 2 weight.
pub(crate) fn dense(first: &str) -> Model {
    let mut builder = GraphBuilder::new("dense");
    let x = builder.input("x", DataType::Float, &rows(2));
    let y = builder.scope("encoder.dense", |b| {
        let x = b.node(first, &[&x], &[]);
        let weight = b.initializer(Tensor::from_f32s("w", &[2, 2], &[1.0, 2.0, 3.0, -4.0]));
        let product = b.node("MatMul", &[&x, &weight], &[]);
        b.node("Relu", &[&product], &[])
    });
    builder.output("y", &y, DataType::Float, &rows(2));
    builder.finish_model()
}

/// An input of [`dense`] and what comes out of it.
pub(crate) fn dense_input() -> Vec<HostTensor> {
    vec![crate::tensor("x", &[2, 2], Elements::F32(vec![1.0, 1.0, 0.0, 1.0]))]
}

/// What [`dense`] makes of [`dense_input`].
pub(crate) const DENSE_OUTPUT: [f32; 4] = [4.0, 0.0, 3.0, 0.0];

/// `y = x · w` in another type, with the weights 1, 2, 3, 4 given as their bytes.
pub(crate) fn product(dtype: DataType, weight: Vec<u8>) -> Model {
    let mut builder = GraphBuilder::new("product");
    let x = builder.input("x", dtype, &rows(2));
    let weight = builder.initializer(Tensor::from_bytes("w", dtype, &[2, 2], weight));
    let y = builder.node("MatMul", &[&x, &weight], &[]);
    builder.output("y", &y, dtype, &rows(2));
    builder.finish_model()
}

/// A product with dynamically quantised input and an int8 weight, as quantisers write it.
pub(crate) fn quantised() -> Model {
    let mut builder = GraphBuilder::new("quantised");
    let x = builder.input("x", DataType::Float, &rows(2));
    let parts = builder.node_multi("DynamicQuantizeLinear", &[&x], &[], 3);
    let [q, scale, zero] = parts.as_slice() else { panic!("{parts:?}") };
    // 10 · [[1, 2], [3, -4]] in int8, with a scale of 0.1.
    let bytes = [10i8, 20, 30, -40].map(|x| x as u8).to_vec();
    let weight = builder.initializer(Tensor::from_bytes("w", DataType::Int8, &[2, 2], bytes));
    let sum = builder.node("MatMulInteger", &[q, &weight, zero], &[]);
    let sum = builder.node("Cast", &[&sum], &[("to", Attribute::Int(1))]);
    let tenth = builder.scalar_f32(0.1);
    let scale = builder.node("Mul", &[scale, &tenth], &[]);
    let y = builder.node("Mul", &[&sum, &scale], &[]);
    builder.output("y", &y, DataType::Float, &rows(2));
    builder.finish_model()
}

/// Hands every input on as it is.
pub(crate) fn echo(dtype: DataType) -> Model {
    let mut builder = GraphBuilder::new("echo");
    builder.input("x", dtype, &rows(2));
    builder.output("x", "x", dtype, &rows(2));
    builder.output("y", "x", dtype, &rows(2));
    builder.finish_model()
}

/// Positions of random numbers above a half: each run has another number of them.
pub(crate) fn changing() -> Model {
    let mut builder = GraphBuilder::new("changing");
    let shape = Attribute::Ints(vec![1000]);
    let drawn = builder.node("RandomUniform", &[], &[("shape", shape)]);
    let half = builder.scalar_f32(0.5);
    let above = builder.node("Greater", &[&drawn, &half], &[]);
    let y = builder.node("NonZero", &[&above], &[]);
    builder.output("y", &y, DataType::Int64, &[1.into(), "found".into()]);
    builder.finish_model()
}

/// Adds `x` to itself in a loop of ten rounds.
pub(crate) fn looping() -> Model {
    let mut body = GraphBuilder::new("body");
    body.input("round", DataType::Int64, &[]);
    let go_on = body.input("go_on", DataType::Bool, &[]);
    let sum = body.input("sum", DataType::Float, &[64.into(), 64.into()]);
    let next = body.scope("body", |b| b.node("MatMul", &[&sum, "x"], &[]));
    body.output("go_on_out", &go_on, DataType::Bool, &[]);
    body.output("sum_out", &next, DataType::Float, &[64.into(), 64.into()]);
    let body: Graph = body.finish();
    let mut builder = GraphBuilder::new("looping");
    let x = builder.input("x", DataType::Float, &[64.into(), 64.into()]);
    let rounds = builder.scalar_i64(10);
    let y = builder.scope("repeat", |b| {
        b.node("Loop", &[&rounds, "", &x], &[("body", Attribute::Graph(Box::new(body)))])
    });
    builder.output("y", &y, DataType::Float, &[64.into(), 64.into()]);
    builder.finish_model()
}

/// A transformer encoder of two layers, as `models` builds it, and inputs for it.
pub(crate) fn encoder(folder: &Path) -> (PathBuf, Vec<HostTensor>) {
    let description = folder.join("encoder.toml");
    let text = "vocab_size = 60\nd_model = 128\nnum_heads = 4\nnum_layers = 2\nd_ff = 256\n";
    std::fs::write(&description, text).unwrap();
    let name = description.to_str().unwrap();
    let request =
        ::models::Request { offline: true, ..::models::Request::new(name, folder.join("cache")) };
    let resolved = ::models::resolve(&request, &mut |_| {}).unwrap();
    let specs = resolved.inputs(2, Some(32), &[]).unwrap();
    (resolved.onnx, specs.iter().map(|spec| engine::draw(spec, 7)).collect())
}
