//! Spare columns change no number, and come only where they cannot.

use super::trial::{Run, Source, fixed, floats};
use modelmeter_graph::{
    Attribute, DataType, GraphBuilder, Loss, Model, Tensor, TrainingGraphs, TrainingPlan,
    differentiate,
};
use std::collections::HashMap;

const WIDTH: usize = 1024;

/// A model of one input of five rows of three.
fn model(write: impl FnOnce(&mut GraphBuilder, &str) -> String) -> Model {
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", DataType::Float, &fixed(&[5, 3]));
    let y = write(&mut builder, &x);
    builder.output("y", &y, DataType::Float, &[]);
    builder.finish_model()
}

fn weight(builder: &mut GraphBuilder, name: &str, dims: &[usize]) -> String {
    let mut source = Source::from(name.len() as u64 + dims[0] as u64);
    let values: Vec<f32> = (0..dims.iter().product()).map(|_| source.next() - 0.5).collect();
    builder.initializer(Tensor::from_f32s(name, dims, &values))
}

fn linear(b: &mut GraphBuilder, x: &str, name: &str, dims: [usize; 2]) -> String {
    let w = weight(b, &format!("{name}.weight"), &dims);
    let bias = weight(b, &format!("{name}.bias"), &dims[1..]);
    let product = b.node("MatMul", &[x, &w], &[]);
    b.node("Add", &[&product, &bias], &[])
}

fn trained(model: &Model, spare_columns: bool) -> TrainingGraphs {
    let plan = TrainingPlan {
        loss: Loss::MeanSquares,
        spare_columns,
        turned_first: spare_columns,
        prepared: spare_columns,
        ..TrainingPlan::default()
    };
    differentiate(model, &[], &plan).unwrap_or_else(|error| panic!("{error}"))
}

/// Dims in the graphs, of weights that have others there than in the model.
fn changed(graphs: &TrainingGraphs) -> Vec<(&str, Vec<usize>)> {
    let wide = graphs.parameters.iter().filter(|p| p.dims != p.initializer.dims);
    wide.map(|p| (p.name.as_str(), p.dims.clone())).collect()
}

fn spread(values: &[f32], own: &[usize], dims: &[usize]) -> Vec<f32> {
    let (from, to) = (own[own.len() - 1], dims[dims.len() - 1]);
    let mut wide = vec![0.0; dims.iter().product()];
    for (to, from) in wide.chunks_mut(to).zip(values.chunks(from)) {
        to[..from.len()].copy_from_slice(from);
    }
    wide
}

/// Output, loss and gradients, all in the dims of the graphs.
fn results(graphs: TrainingGraphs) -> (Vec<f32>, HashMap<String, Vec<f32>>) {
    let mut run = Run::new(graphs);
    let mut source = Source::from(9);
    let x: Vec<f32> = (0..15).map(|_| source.next() * 2.0 - 1.0).collect();
    run.set("x", &[5, 3], &x);
    for parameter in run.graphs.parameters.clone() {
        let own = &parameter.initializer;
        let values = spread(&own.f32s().expect("floats"), &own.dims, &parameter.dims);
        run.set(&parameter.name, &parameter.dims, &values);
    }
    let out: usize = run.graphs.output.dims.iter().product();
    run.labels = (0..out).map(|at| at as f32 * 0.1).collect();
    let gradients = run.gradients();
    (floats(&run.values["y"]), gradients)
}

/// With spare columns everything is as without them, and what is spare gets no gradient.
fn same_numbers(model: &Model, expected: &[(&str, &[usize])]) {
    let (plain, wide) = (trained(model, false), trained(model, true));
    assert!(changed(&plain).is_empty());
    let expected: Vec<_> = expected.iter().map(|(name, dims)| (*name, dims.to_vec())).collect();
    assert_eq!(changed(&wide), expected);
    let dims: Vec<_> = wide
        .parameters
        .iter()
        .map(|p| (p.name.clone(), p.initializer.dims.clone(), p.dims.clone()))
        .collect();
    let ((y, gradients), (wide_y, wide_gradients)) = (results(plain), results(wide));
    let close = |a: &[f32], b: &[f32]| {
        assert_eq!(a.len(), b.len());
        let largest = a.iter().fold(0.0f32, |most, one| most.max(one.abs()));
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * largest + 1e-9)
    };
    assert!(close(&y, &wide_y));
    for (name, own, dims) in dims {
        let expected = spread(&gradients[&name], &own, &dims);
        let found = &wide_gradients[&name];
        assert!(close(&expected, found), "{name}");
        let spare = spread(&vec![1.0; own.iter().product()], &own, &dims);
        let is_zero = found.iter().zip(&spare).all(|(found, own)| *own == 1.0 || *found == 0.0);
        assert!(is_zero, "{name} has a gradient where it is spare");
    }
}

const UP: (&str, &[usize]) = ("up.weight", &[3, WIDTH + 16]);
const UP_BIAS: (&str, &[usize]) = ("up.bias", &[WIDTH + 16]);
const DOWN: (&str, &[usize]) = ("down.weight", &[WIDTH + 16, 2]);

#[test]
fn a_feed_forward_part_with_a_function_that_keeps_zero() {
    for op in ["Gelu", "Relu", "Tanh", "Elu", "HardSwish"] {
        let model = model(|b, x| {
            let up = linear(b, x, "up", [3, WIDTH]);
            let h = b.node(op, &[&up], &[]);
            linear(b, &h, "down", [WIDTH, 2])
        });
        same_numbers(&model, &[UP, UP_BIAS, DOWN]);
    }
}

#[test]
fn functions_written_as_several_nodes_and_gates() {
    let erf = model(|b, x| {
        let up = linear(b, x, "up", [3, WIDTH]);
        let [root, one, half] = [2f32.sqrt(), 1.0, 0.5].map(|number| b.scalar_f32(number));
        let scaled = b.node("Div", &[&up, &root], &[]);
        let erf = b.node("Erf", &[&scaled], &[]);
        let shifted = b.node("Add", &[&erf, &one], &[]);
        let product = b.node("Mul", &[&up, &shifted], &[]);
        let h = b.node("Mul", &[&product, &half], &[]);
        linear(b, &h, "down", [WIDTH, 2])
    });
    same_numbers(&erf, &[UP, UP_BIAS, DOWN]);
    let gated = model(|b, x| {
        let [gate, up] = ["gate.weight", "up.weight"].map(|name| {
            let w = weight(b, name, &[3, WIDTH]);
            b.node("MatMul", &[x, &w], &[])
        });
        let sigmoid = b.node("Sigmoid", &[&gate], &[]);
        let swish = b.node("Mul", &[&gate, &sigmoid], &[]);
        let h = b.node("Mul", &[&swish, &up], &[]);
        linear(b, &h, "down", [WIDTH, 2])
    });
    same_numbers(&gated, &[("gate.weight", &[3, WIDTH + 16]), UP, DOWN]);
}

#[test]
fn a_layer_between_two_wide_ones_grows_both_ways() {
    let model = model(|b, x| {
        let up = linear(b, x, "up", [3, WIDTH]);
        let h = b.node("Relu", &[&up], &[]);
        let on = linear(b, &h, "on", [WIDTH, 2 * WIDTH]);
        let h = b.node("Relu", &[&on], &[]);
        linear(b, &h, "down", [2 * WIDTH, 2])
    });
    let on: [(&str, &[usize]); 3] = [
        ("on.weight", &[WIDTH + 16, 2 * WIDTH + 16]),
        ("on.bias", &[2 * WIDTH + 16]),
        ("down.weight", &[2 * WIDTH + 16, 2]),
    ];
    same_numbers(&model, &[UP, UP_BIAS, on[0], on[1], on[2]]);
}

#[test]
fn where_columns_would_be_seen_there_are_none() {
    let down = |b: &mut GraphBuilder, h: &str| linear(b, h, "down", [WIDTH, 2]);
    let seen: [(&str, Model); 7] = [
        (
            "another width",
            model(|b, x| {
                let up = linear(b, x, "up", [3, 1000]);
                let h = b.node("Relu", &[&up], &[]);
                linear(b, &h, "down", [1000, 2])
            }),
        ),
        (
            "an output",
            model(|b, x| {
                let up = linear(b, x, "up", [3, WIDTH]);
                b.node("Relu", &[&up], &[])
            }),
        ),
        (
            "a norm",
            model(|b, x| {
                let up = linear(b, x, "up", [3, WIDTH]);
                let scale = weight(b, "norm.weight", &[WIDTH]);
                let h = b.node("LayerNormalization", &[&up, &scale], &[("axis", (-1i64).into())]);
                down(b, &h)
            }),
        ),
        (
            "a function that moves zero",
            model(|b, x| {
                let up = linear(b, x, "up", [3, WIDTH]);
                let h = b.node("Sigmoid", &[&up], &[]);
                down(b, &h)
            }),
        ),
        (
            "something added from elsewhere",
            model(|b, x| {
                let up = linear(b, x, "up", [3, WIDTH]);
                let table = weight(b, "table.weight", &[5, WIDTH]);
                let h = b.node("Add", &[&up, &table], &[]);
                down(b, &h)
            }),
        ),
        (
            "a weight that is used twice",
            model(|b, x| {
                let w = weight(b, "up.weight", &[3, WIDTH]);
                let [left, right] = [(); 2].map(|()| b.node("MatMul", &[x, &w], &[]));
                let h = b.node("Mul", &[&left, &right], &[]);
                down(b, &h)
            }),
        ),
        (
            "other dims",
            model(|b, x| {
                let up = linear(b, x, "up", [3, WIDTH]);
                let shape = b.constant_i64(&[5, 2, 512]);
                let parts = b.node("Reshape", &[&up, &shape], &[]);
                let sum = b.node(
                    "ReduceMean",
                    &[&parts],
                    &[("axes", Attribute::Ints(vec![1])), ("keepdims", 0.into())],
                );
                linear(b, &sum, "down", [512, 2])
            }),
        ),
    ];
    for (why, model) in seen {
        assert!(changed(&trained(&model, true)).is_empty(), "{why}");
    }
}
