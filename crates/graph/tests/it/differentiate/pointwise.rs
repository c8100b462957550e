//! Functions of single elements, with broadcasting.

use super::{
    dims, few,
    trial::{
        Numbers::{self, Apart, Around, OffZero, Positive},
        Trial,
    },
};
use modelmeter_graph::{Attribute, DataType};
use proptest::prelude::*;

/// Functions of one argument: the operator, which numbers it takes, its arguments.
/// An operator, the numbers it takes, and its attributes.
type Function = (&'static str, Numbers, Vec<(&'static str, Attribute)>);

fn functions() -> Vec<Function> {
    vec![
        ("Neg", Around, vec![]),
        ("Identity", Around, vec![]),
        ("Sqrt", Positive, vec![]),
        ("Exp", Around, vec![]),
        ("Log", Positive, vec![]),
        ("Reciprocal", Positive, vec![]),
        ("Abs", OffZero, vec![]),
        ("Erf", Around, vec![]),
        ("Sin", Around, vec![]),
        ("Cos", Around, vec![]),
        ("Sinh", Around, vec![]),
        ("Cosh", Around, vec![]),
        ("Atan", Around, vec![]),
        ("Tanh", Around, vec![]),
        ("Sigmoid", Around, vec![]),
        ("Relu", OffZero, vec![]),
        ("Softplus", Around, vec![]),
        ("Softsign", OffZero, vec![]),
        ("LeakyRelu", OffZero, vec![("alpha", 0.3f32.into())]),
        ("Elu", OffZero, vec![("alpha", 0.7f32.into())]),
        // Steep enough that some elements lie on the flat parts, whose borders are ±0.1.
        ("HardSigmoid", OffZero, vec![("alpha", 5.0f32.into()), ("beta", 0.5f32.into())]),
        ("HardSigmoid", Around, vec![]),
        ("HardSwish", Around, vec![]),
        ("Cast", Around, vec![("to", Attribute::Int(i64::from(DataType::Float as i32)))]),
    ]
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn functions_of_one_argument(dims in dims(), seed: u64) {
        for (op, numbers, attributes) in functions() {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, numbers);
            let y = trial.op(op, &[&x], &attributes);
            trial.check(&y);
        }
    }

    #[test]
    fn functions_of_newer_operator_sets(dims in dims(), seed: u64) {
        for approximate in ["none", "tanh"] {
            let mut trial = Trial::new(seed);
            trial.graph.set_opset("", 20);
            let x = trial.weight(&dims, Around);
            let y = trial.op("Gelu", &[&x], &[("approximate", approximate.into())]);
            trial.check(&y);
        }
        let mut trial = Trial::new(seed);
        trial.graph.set_opset("", 24);
        let x = trial.weight(&dims, Around);
        let y = trial.op("Swish", &[&x], &[("alpha", 1.3f32.into())]);
        trial.check(&y);
    }

    #[test]
    fn arithmetic_with_every_way_of_broadcasting(dims in dims(), keep: u8, seed: u64) {
        // Some axes of the second argument are 1, and the leading ones may be missing.
        let mut small: Vec<usize> =
            dims.iter().enumerate().map(|(at, d)| if keep >> at & 1 == 1 { *d } else { 1 }).collect();
        // The engine gives `[1] + [1, 1]` the shape of its first argument: one element keeps its axes.
        if dims.iter().product::<usize>() > 1 {
            small.drain(..usize::from(keep >> 6).min(small.len() - 1));
        }
        for (op, second) in [("Add", Around), ("Sub", Around), ("Mul", Around), ("Div", Positive)] {
            for turned in [false, true] {
                let mut trial = Trial::new(seed);
                let (a, b) = if turned { (&small, &dims) } else { (&dims, &small) };
                let (a, b) = (trial.weight(a, Around), trial.weight(b, second));
                let y = trial.op(op, &[&a, &b], &[]);
                trial.check(&y);
            }
        }
        let mut trial = Trial::new(seed);
        let (x, e) = (trial.weight(&dims, Positive), trial.weight(&small, Positive));
        let y = trial.op("Pow", &[&x, &e], &[]);
        trial.check(&y);
        for op in ["Sum", "Mean"] {
            let mut trial = Trial::new(seed);
            let inputs = [&dims, &small, &dims].map(|dims| trial.weight(dims, Around));
            let y = trial.op(op, &[&inputs[0], &inputs[1], &inputs[2]], &[]);
            trial.check(&y);
        }
    }

    #[test]
    fn powers_by_constants(dims in dims(), seed: u64) {
        for exponent in [2.0, 3.0, 0.5, -1.0] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, Positive);
            let exponent = trial.graph.scalar_f32(exponent);
            let y = trial.op("Pow", &[&x, &exponent], &[]);
            trial.check(&y);
        }
    }

    #[test]
    fn choices_between_elements(dims in dims(), seed: u64) {
        for op in ["Max", "Min"] {
            let mut trial = Trial::new(seed);
            // The two are never near: one is a grid, the other lies between its lines.
            let a = trial.weight(&dims, Apart);
            let shift = trial.graph.scalar_f32(0.075);
            let b = trial.weight(&dims, Apart);
            let b = trial.op("Add", &[&b, &shift], &[]);
            let y = trial.op(op, &[&a, &b], &[]);
            trial.check(&y);
        }
        let mut trial = Trial::new(seed);
        let (a, b) = (trial.weight(&dims, Around), trial.weight(&dims, Around));
        let (mark, zero) = (trial.input(&dims, OffZero), trial.graph.scalar_f32(0.0));
        let condition = trial.op("Greater", &[&mark, &zero], &[]);
        let y = trial.op("Where", &[&condition, &a, &b], &[]);
        trial.check(&y);
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, OffZero);
        let (low, high) = (trial.graph.scalar_f32(-0.1), trial.graph.scalar_f32(0.1));
        let clipped = trial.op("Clip", &[&x, &low, ""], &[]);
        let other = trial.op("Clip", &[&x, "", &high], &[]);
        let y = trial.op("Sub", &[&clipped, &other], &[]);
        trial.check(&y);
    }

    #[test]
    fn learned_slopes(channels in 1usize..4, seed: u64) {
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, channels, 3], OffZero);
        let slope = trial.weight(&[channels, 1], Around);
        let y = trial.op("PRelu", &[&x, &slope], &[]);
        trial.check(&y);
    }

    #[test]
    fn dropout_multiplies_by_its_mask(dims in dims(), seed: u64) {
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let (ratio, training) = (trial.graph.scalar_f32(0.4), trial.graph.constant(
            modelmeter_graph::Tensor::from_bytes("", DataType::Bool, &[], vec![1u8]),
        ));
        let y = trial.op("Dropout", &[&x, &ratio, &training], &[]);
        trial.check(&y);
    }

    #[test]
    fn functions_written_as_several_nodes(dims in dims(), seed: u64) {
        for kind in ["erf", "tanh", "silu", "quick"] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, Around);
            let y = spelled(&mut trial, kind, &x);
            // Used twice, the gradients add up.
            let y = trial.op("Mul", &[&y, &x], &[]);
            trial.check(&y);
        }
    }
}

/// An activation as exporters write it.
pub(crate) fn spelled(trial: &mut Trial, kind: &str, x: &str) -> String {
    let number = |trial: &mut Trial, value: f32| trial.graph.scalar_f32(value);
    let (one, half) = (number(trial, 1.0), number(trial, 0.5));
    match kind {
        "erf" => {
            let root = number(trial, std::f32::consts::SQRT_2);
            let inner = trial.op("Div", &[x, &root], &[]);
            let erf = trial.op("Erf", &[&inner], &[]);
            let gate = trial.op("Add", &[&erf, &one], &[]);
            let product = trial.op("Mul", &[x, &gate], &[]);
            trial.op("Mul", &[&product, &half], &[])
        }
        "tanh" => {
            let (three, cubic) = (number(trial, 3.0), number(trial, 0.044_715));
            let root = number(trial, (2.0 / std::f32::consts::PI).sqrt());
            let halved = trial.op("Mul", &[x, &half], &[]);
            let cube = trial.op("Pow", &[x, &three], &[]);
            let cube = trial.op("Mul", &[&cube, &cubic], &[]);
            let sum = trial.op("Add", &[x, &cube], &[]);
            let inner = trial.op("Mul", &[&sum, &root], &[]);
            let tanh = trial.op("Tanh", &[&inner], &[]);
            let gate = trial.op("Add", &[&tanh, &one], &[]);
            trial.op("Mul", &[&halved, &gate], &[])
        }
        "silu" => {
            let gate = trial.op("Sigmoid", &[x], &[]);
            trial.op("Mul", &[x, &gate], &[])
        }
        _ => {
            let steep = number(trial, 1.702);
            let inner = trial.op("Mul", &[&steep, x], &[]);
            let gate = trial.op("Sigmoid", &[&inner], &[]);
            trial.op("Mul", &[x, &gate], &[])
        }
    }
}
