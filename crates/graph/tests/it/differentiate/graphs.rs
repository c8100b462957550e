//! Whole steps: the loss, the optimisers, checkpointing, dropout.

use super::trial::{Engine, Numbers::Around, Run, Source, Trial, fixed, floats};
use modelmeter_graph::{
    Attribute, DataType, GraphBuilder, Loss, OptimizerKind, OptimizerScalar, Tensor as Weight,
    TrainingPlan, differentiate,
};
use proptest::prelude::*;
use rten::Value;
use rten_tensor::Tensor;
use std::collections::HashMap;

proptest! {
    #![proptest_config(super::few())]

    /// The gradient of the scores themselves, and the loss, against the formulas in 64 bits.
    #[test]
    fn cross_entropy_leaves_ignored_places_out(rows in 1usize..6, classes in 1usize..6, ignored: u8, scale in 0.5f32..4.0, seed: u64) {
        let mut trial = Trial::new(seed);
        let w = trial.weight(&[rows, classes], Around);
        let y = trial.op("Identity", &[&w], &[]);
        trial.graph.output("y", &y, DataType::Float, &[]);
        let graphs = differentiate(&trial.graph.finish_model(), &[], &TrainingPlan::default()).unwrap();
        let mut source = trial.source;
        let scores: Vec<f32> = (0..rows * classes).map(|_| source.next() * 6.0 - 3.0).collect();
        // The first place always counts: a mean over nothing is not a number, here as in PyTorch.
        let labels: Vec<i32> = (0..rows)
            .map(|row| if row > 0 && ignored >> row & 1 == 1 { -100 } else { source.below(classes) as i32 })
            .collect();
        let counted = labels.iter().filter(|label| **label >= 0).count() as f64;
        let (mut loss, mut slope) = (0.0, Vec::new());
        for (row, label) in scores.chunks(classes).zip(&labels) {
            let exponentials: Vec<f64> = row.iter().map(|x| f64::from(*x).exp()).collect();
            let sum: f64 = exponentials.iter().sum();
            for (class, exponential) in exponentials.iter().enumerate() {
                let hit = class as i32 == *label;
                if hit {
                    loss -= (exponential / sum).ln() / counted;
                }
                let share = exponential / sum - f64::from(u8::from(hit));
                slope.push(if *label < 0 { 0.0 } else { share / counted * f64::from(scale) });
            }
        }
        let mut values = HashMap::from([
            (graphs.output.name.clone(), Value::from(Tensor::from_data(&[rows, classes], scores))),
            (graphs.labels.name.clone(), Value::from(Tensor::from_data(&[rows], labels))),
            (graphs.loss_scale.clone(), Value::from(Tensor::from(scale))),
        ]);
        Engine::load(&graphs.loss).run(&mut values);
        let found = f64::from(floats(&values[&graphs.loss_value])[0]);
        prop_assert!((found - loss).abs() < 1e-5 * (1.0 + loss), "{found} instead of {loss}");
        for (found, told) in floats(&values[&graphs.output_gradient]).iter().zip(&slope) {
            prop_assert!((f64::from(*found) - told).abs() < 1e-6 * f64::from(scale) + 1e-6, "{found} instead of {told}");
        }
    }
}

/// PyTorch's formulas, one number at a time.
fn step(
    kind: OptimizerKind,
    scalars: &HashMap<OptimizerScalar, f64>,
    state: &mut [f64; 3],
    gradient: f64,
) {
    use OptimizerScalar::{
        Beta1, Beta2, Correction1, Correction2, Epsilon, LearningRate, Momentum, WeightDecay,
    };
    let [parameter, first, second] = state;
    let of = |scalar| scalars[&scalar];
    match kind {
        OptimizerKind::Sgd => *parameter -= of(LearningRate) * gradient,
        OptimizerKind::Momentum => {
            *first = of(Momentum) * *first + gradient;
            *parameter -= of(LearningRate) * *first;
        }
        OptimizerKind::Adam | OptimizerKind::AdamW => {
            if kind == OptimizerKind::AdamW {
                *parameter *= 1.0 - of(LearningRate) * of(WeightDecay);
            }
            *first = of(Beta1) * *first + (1.0 - of(Beta1)) * gradient;
            *second = of(Beta2) * *second + (1.0 - of(Beta2)) * gradient * gradient;
            let deviation = second.sqrt() / of(Correction2).sqrt() + of(Epsilon);
            *parameter -= of(LearningRate) / of(Correction1) * *first / deviation;
        }
    }
}

#[test]
fn optimisers_move_weights_as_their_formulas_say() {
    for kind in
        [OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam, OptimizerKind::AdamW]
    {
        let mut builder = GraphBuilder::new("g");
        let ids = builder.input("ids", DataType::Int64, &fixed(&[3]));
        let table = builder.initializer(Weight::from_f32s("table.weight", &[6, 2], &[0.1; 12]));
        let head = builder.initializer(Weight::from_f32s("head.weight", &[2, 2], &[0.1; 4]));
        let x = builder.node("Gather", &[&table, &ids], &[]);
        let y = builder.node("MatMul", &[&x, &head], &[]);
        builder.output("y", &y, DataType::Float, &fixed(&[3, 2]));
        let plan =
            TrainingPlan { optimizer: kind, loss: Loss::MeanSquares, ..TrainingPlan::default() };
        let graphs = differentiate(&builder.finish_model(), &[], &plan).unwrap();
        let optimizer = Engine::load(&graphs.optimizer);
        let mut source = Source::from(9);
        let mut values: HashMap<String, Value> = HashMap::new();
        let mut told: HashMap<String, Vec<[f64; 3]>> = HashMap::new();
        for parameter in &graphs.parameters {
            let count: usize = parameter.dims.iter().product();
            let start: Vec<f32> = (0..count).map(|_| source.next()).collect();
            told.insert(
                parameter.name.clone(),
                start.iter().map(|x| [f64::from(*x), 0.0, 0.0]).collect(),
            );
            values.insert(
                parameter.name.clone(),
                Value::from(Tensor::from_data(&parameter.dims[..], start)),
            );
            for state in &parameter.states {
                values
                    .insert(state.name.clone(), Value::from(Tensor::<f32>::zeros(&parameter.dims)));
            }
        }
        for round in 1..=3 {
            let scalars: HashMap<OptimizerScalar, f64> = [
                (OptimizerScalar::LearningRate, 0.01),
                (OptimizerScalar::Momentum, 0.9),
                (OptimizerScalar::Beta1, 0.9),
                (OptimizerScalar::Beta2, 0.999),
                (OptimizerScalar::Epsilon, 1e-8),
                (OptimizerScalar::WeightDecay, 0.1),
                (OptimizerScalar::Correction1, 1.0 - 0.9f64.powi(round)),
                (OptimizerScalar::Correction2, 1.0 - 0.999f64.powi(round)),
            ]
            .into();
            for scalar in &graphs.optimizer_scalars {
                values.insert(
                    scalar.name().to_string(),
                    Value::from(Tensor::from(scalars[scalar] as f32)),
                );
            }
            // The same row twice: its gradients add up before anything else happens.
            let (rows, parts) = ([4i32, 1, 4], [0.5f32, -0.25, 1.0, 0.75, -0.125, 0.5]);
            values.insert(
                "table.weight_grad_indices".into(),
                Value::from(Tensor::from_data(&[3], rows.to_vec())),
            );
            values.insert(
                "table.weight_grad_values".into(),
                Value::from(Tensor::from_data(&[3, 2], parts.to_vec())),
            );
            let mut table = [0.0; 12];
            for (row, part) in rows.iter().zip(parts.chunks(2)) {
                table[*row as usize * 2] += f64::from(part[0]);
                table[*row as usize * 2 + 1] += f64::from(part[1]);
            }
            let head: Vec<f32> = (0..4).map(|_| source.next() - 0.5).collect();
            values.insert(
                "head.weight_grad".into(),
                Value::from(Tensor::from_data(&[2, 2], head.clone())),
            );
            let head: Vec<f64> = head.iter().map(|x| f64::from(*x)).collect();
            optimizer.run(&mut values);
            for parameter in &graphs.parameters {
                let gradient = if parameter.name == "head.weight" { &head[..] } else { &table[..] };
                let states = told.get_mut(&parameter.name).unwrap();
                for (state, gradient) in states.iter_mut().zip(gradient) {
                    step(kind, &scalars, state, *gradient);
                }
                let updated = values[&parameter.updated].clone();
                for (found, told) in floats(&updated).iter().zip(states.iter()) {
                    assert!(
                        (f64::from(*found) - told[0]).abs() < 1e-5,
                        "{kind:?}: {found} instead of {}",
                        told[0]
                    );
                }
                values.insert(parameter.name.clone(), updated);
                for state in &parameter.states {
                    let updated = values[&state.updated].clone();
                    values.insert(state.name.clone(), updated);
                }
            }
        }
    }
}

/// Three blocks with a residual, a norm, an activation in several nodes and dropout.
fn blocks(trial: &mut Trial) -> String {
    let ids = trial.indices(&[2, 3], 9, false);
    let table = trial.weight(&[9, 4], Around);
    let mut x = trial.op("Gather", &[&table, &ids], &[]);
    for block in 0..3 {
        trial.graph.push_scope(&format!("encoder.layer.{block}"));
        let (scale, bias) = (trial.weight(&[4], Around), trial.weight(&[4], Around));
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", 0.05f32.into())];
        let normal = trial.op("LayerNormalization", &[&x, &scale, &bias], &attributes);
        let (up, down) = (trial.weight(&[4, 8], Around), trial.weight(&[8, 4], Around));
        let wide = trial.op("MatMul", &[&normal, &up], &[]);
        let wide = super::pointwise::spelled(trial, "erf", &wide);
        let narrow = trial.op("MatMul", &[&wide, &down], &[]);
        let ratio = trial.graph.scalar_f32(0.3);
        let dropped = trial.op("Dropout", &[&narrow, &ratio], &[]);
        x = trial.op("Add", &[&x, &dropped], &[]);
        trial.graph.pop_scope();
    }
    x
}

#[test]
fn blocks_have_the_slopes_of_their_loss_with_and_without_checkpointing() {
    for (checkpointing, prepared) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut trial = Trial::new(3);
        let y = blocks(&mut trial);
        let plan = TrainingPlan {
            loss: Loss::MeanSquares,
            checkpointing,
            turned_first: prepared,
            prepared,
            ..TrainingPlan::default()
        };
        trial.check_with(&y, &plan);
    }
}

#[test]
fn training_makes_the_loss_small() {
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", DataType::Float, &fixed(&[8, 3]));
    let w = builder.initializer(Weight::from_f32s("w.weight", &[3, 4], &[0.1; 12]));
    let b = builder.initializer(Weight::from_f32s("w.bias", &[4], &[0.0; 4]));
    let product = builder.node("MatMul", &[&x, &w], &[]);
    let y = builder.node("Add", &[&product, &b], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[8, 4]));
    let plan = TrainingPlan { optimizer: OptimizerKind::Sgd, ..TrainingPlan::default() };
    let graphs = differentiate(&builder.finish_model(), &[], &plan).unwrap();
    let optimizer = Engine::load(&graphs.optimizer);
    let mut run = Run::new(graphs);
    let mut source = Source::from(4);
    let x: Vec<f32> = (0..24).map(|_| source.next() * 4.0 - 2.0).collect();
    // The class is the largest of the three numbers: linear layers can learn it.
    run.labels = x.chunks(3).map(|row| if row[0] > row[1] { 0.0 } else { 1.0 }).collect();
    run.set("x", &[8, 3], &x);
    run.set("w.weight", &[3, 4], &[0.1; 12]);
    run.set("w.bias", &[4], &[0.0; 4]);
    run.set("learning_rate", &[], &[0.5]);
    let mut losses = Vec::new();
    for _ in 0..60 {
        run.gradients();
        losses.push(run.loss_value());
        optimizer.run(&mut run.values);
        for name in ["w.weight", "w.bias"] {
            let updated = run.values[&format!("{name}.updated")].clone();
            run.values.insert(name.to_string(), updated);
        }
    }
    // With equal weights every class is as likely: ln 4.
    assert!((losses[0] - 4f32.ln()).abs() < 1e-5, "{}", losses[0]);
    assert!(losses[59] < 0.2, "{losses:?}");
}
