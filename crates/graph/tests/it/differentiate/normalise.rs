//! Norms: over rows, over channels, over the batch.

use super::{
    few,
    trial::{
        Numbers::{Around, Positive},
        Trial,
    },
};
use modelmeter_graph::{Attribute, DataType, Loss, TrainingPlan, differentiate};
use proptest::prelude::*;

/// Larger than usual, so that the slope stays moderate where a row is nearly constant.
const EPSILON: f32 = 0.05;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn layer_normalisation(dims in prop::collection::vec(1usize..5, 2..4), at in 0usize..3, has_bias: bool, seed: u64) {
        let at = 1 + at % (dims.len() - 1);
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let mut inputs = vec![x, trial.weight(&dims[at..], Positive)];
        if has_bias {
            inputs.push(trial.weight(&dims[at..], Around));
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let attributes = [("axis", Attribute::Int(at as i64)), ("epsilon", EPSILON.into())];
        let y = trial.op("LayerNormalization", &inputs, &attributes);
        trial.check(&y);
    }

    #[test]
    fn layer_normalisation_written_as_several_nodes(rows in 1usize..4, width in 1usize..6, seed: u64) {
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, rows, width], Around);
        let y = spelled(&mut trial, &x, width);
        trial.check(&y);
    }

    #[test]
    fn root_mean_square(rows in 1usize..4, width in 1usize..6, scaled: bool, divided: bool, seed: u64) {
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, rows, width], Around);
        let (two, epsilon) = (trial.graph.scalar_f32(2.0), trial.graph.scalar_f32(EPSILON));
        let square = trial.op("Pow", &[&x, &two], &[]);
        let attributes = [("axes", Attribute::Ints(vec![-1])), ("keepdims", 1.into())];
        let mean = trial.op("ReduceMean", &[&square], &attributes);
        let shifted = trial.op("Add", &[&mean, &epsilon], &[]);
        let root = trial.op("Sqrt", &[&shifted], &[]);
        let mut y = if divided {
            trial.op("Div", &[&x, &root], &[])
        } else {
            let inverse = trial.op("Reciprocal", &[&root], &[]);
            trial.op("Mul", &[&x, &inverse], &[])
        };
        if scaled {
            let scale = trial.weight(&[width], Positive);
            y = trial.op("Mul", &[&y, &scale], &[]);
        }
        trial.check(&y);
    }

    #[test]
    fn root_mean_square_as_one_operator(rows in 1usize..4, width in 1usize..6, seed: u64) {
        let mut trial = Trial::new(seed);
        trial.graph.set_opset("", 23);
        let (x, scale) = (trial.weight(&[rows, width], Around), trial.weight(&[width], Positive));
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", EPSILON.into())];
        let y = trial.op("RMSNormalization", &[&x, &scale], &attributes);
        trial.check(&y);
    }

    #[test]
    fn a_sum_with_its_norm(rows in 1usize..4, width in 1usize..6, has_bias: bool, seed: u64) {
        let mut trial = Trial::new(seed);
        let dims = [2, rows, width];
        let mut inputs = vec![
            trial.weight(&dims, Around), trial.weight(&dims, Around), trial.weight(&[width], Positive),
            trial.weight(&[width], Around),
        ];
        if has_bias {
            inputs.push(trial.weight(&[width], Around));
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let epsilon = [("epsilon", EPSILON.into())];
        let y = trial.graph.add("com.microsoft", "SkipLayerNormalization", &inputs, &epsilon, 1).swap_remove(0);
        trial.check(&y);
    }

    #[test]
    fn norms_of_channels(batch in 2usize..4, channels in 1usize..4, size in 2usize..4, seed: u64) {
        for op in ["InstanceNormalization", "BatchNormalization"] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[batch, channels, size, size], Around);
            let (scale, bias) = (trial.weight(&[channels], Positive), trial.weight(&[channels], Around));
            let epsilon = [("epsilon", EPSILON.into())];
            let y = if op == "BatchNormalization" {
                let (mean, variance) = (trial.input(&[channels], Around), trial.input(&[channels], Positive));
                trial.op(op, &[&x, &scale, &bias, &mean, &variance], &epsilon)
            } else {
                trial.op(op, &[&x, &scale, &bias], &epsilon)
            };
            trial.check(&y);
        }
    }

    #[test]
    fn vectors_of_length_one(rows in 1usize..4, width in 1usize..5, seed: u64) {
        for axis in [0i64, -1] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[rows, width], Positive);
            let y = trial.op("LpNormalization", &[&x], &[("axis", axis.into()), ("p", 2.into())]);
            trial.check(&y);
        }
    }
}

/// A layer normalisation as exporters wrote it before there was an operator.
fn spelled(trial: &mut Trial, x: &str, width: usize) -> String {
    let (two, epsilon) = (trial.graph.scalar_f32(2.0), trial.graph.scalar_f32(EPSILON));
    let attributes = [("axes", Attribute::Ints(vec![-1])), ("keepdims", 1.into())];
    let mean = trial.op("ReduceMean", &[x], &attributes);
    let centered = trial.op("Sub", &[x, &mean], &[]);
    let square = trial.op("Pow", &[&centered, &two], &[]);
    let variance = trial.op("ReduceMean", &[&square], &attributes);
    let shifted = trial.op("Add", &[&variance, &epsilon], &[]);
    let root = trial.op("Sqrt", &[&shifted], &[]);
    let normal = trial.op("Div", &[&centered, &root], &[]);
    let (scale, bias) = (trial.weight(&[width], Positive), trial.weight(&[width], Around));
    let scaled = trial.op("Mul", &[&normal, &scale], &[]);
    trial.op("Add", &[&scaled, &bias], &[])
}

#[test]
fn nothing_inside_a_norm_of_several_nodes_is_kept() {
    let mut trial = Trial::new(1);
    let w = trial.weight(&[2, 3], Around);
    let x = trial.op("Exp", &[&w], &[]);
    let y = spelled(&mut trial, &x, 3);
    trial.graph.output("y", &y, DataType::Float, &[]);
    let plan = TrainingPlan { loss: Loss::MeanSquares, ..TrainingPlan::default() };
    let graphs = differentiate(&trial.graph.finish_model(), &[], &plan).unwrap();
    let saved: Vec<&str> = graphs.saved.iter().map(|value| value.name.as_str()).collect();
    assert_eq!(saved, [x.as_str()]);
}
