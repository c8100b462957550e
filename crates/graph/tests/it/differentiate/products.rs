//! Matrix products in all their forms.

use super::{
    few,
    trial::{Numbers::Around, Trial},
};
use modelmeter_graph::{Attribute, Loss, TrainingPlan};
use proptest::prelude::*;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn products_of_matrices_and_vectors(batch in prop::collection::vec(1usize..4, 0..3), n in 1usize..4, k in 1usize..5, m in 1usize..4, seed: u64) {
        let with = |last: &[usize]| [&batch[..], last].concat();
        let spread = |last: &[usize]| [&vec![1; batch.len()][..], last].concat();
        for (a, b) in [
            (with(&[n, k]), vec![k, m]),
            (with(&[n, k]), with(&[k, m])),
            (with(&[n, k]), spread(&[k, m])),
            (vec![n, k], with(&[k, m])),
            // `rten` 0.27 gives one axis too many where a batch meets a vector.
            (vec![n, k], vec![k]),
            (vec![k], with(&[k, m])),
            (vec![k], vec![k]),
        ] {
            let mut trial = Trial::new(seed);
            let (a, b) = (trial.weight(&a, Around), trial.weight(&b, Around));
            let y = trial.op("MatMul", &[&a, &b], &[]);
            trial.check(&y);
        }
    }

    #[test]
    fn products_with_turned_arguments_and_a_bias(n in 1usize..4, k in 1usize..5, m in 1usize..4, seed: u64) {
        for (turn_a, turn_b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for bias in [vec![m], vec![n, m], vec![n, 1], vec![1]] {
                let mut trial = Trial::new(seed);
                let a = trial.weight(&if turn_a == 1 { [k, n] } else { [n, k] }, Around);
                let b = trial.weight(&if turn_b == 1 { [m, k] } else { [k, m] }, Around);
                let c = trial.weight(&bias, Around);
                let attributes = [
                    ("transA", Attribute::Int(turn_a)), ("transB", Attribute::Int(turn_b)),
                    ("alpha", 0.7f32.into()), ("beta", 1.3f32.into()),
                ];
                let y = trial.op("Gemm", &[&a, &b, &c], &attributes);
                trial.check(&y);
            }
        }
    }

    #[test]
    fn a_left_matrix_that_is_turned_once_for_all_its_products(n in 1usize..4, k in 1usize..5, m in 1usize..4, seed: u64) {
        for (turned_first, prepared) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut trial = Trial::new(seed);
            let a = trial.weight(&[2, n, k], Around);
            let [b, c] = [0, 1].map(|_| trial.weight(&[k, m], Around));
            let a = trial.op("Tanh", &[&a], &[]);
            let [left, right] = [&b, &c].map(|b| trial.op("MatMul", &[&a, b], &[]));
            let y = trial.op("Mul", &[&left, &right], &[]);
            let plan = TrainingPlan {
                loss: Loss::MeanSquares, turned_first, prepared, ..TrainingPlan::default()
            };
            trial.check_with(&y, &plan);
        }
    }

    #[test]
    fn sums_over_labels(b in 1usize..3, n in 1usize..4, k in 1usize..4, m in 1usize..4, seed: u64) {
        for (equation, left, right) in [
            ("bnk,bkm->bnm", vec![b, n, k], vec![b, k, m]),
            ("bnk, bmk -> bmn", vec![b, n, k], vec![b, m, k]),
            ("nk,m->nkm", vec![n, k], vec![m]),
        ] {
            let mut trial = Trial::new(seed);
            let (left, right) = (trial.weight(&left, Around), trial.weight(&right, Around));
            let y = trial.op("Einsum", &[&left, &right], &[("equation", equation.into())]);
            trial.check(&y);
        }
    }

    #[test]
    fn softmax_and_its_logarithm(dims in super::dims(), seed: u64) {
        for axis in -(dims.len() as i64)..dims.len() as i64 {
            for op in ["Softmax", "LogSoftmax"] {
                let mut trial = Trial::new(seed);
                let x = trial.weight(&dims, Around);
                let y = trial.op(op, &[&x], &[("axis", axis.into())]);
                trial.check(&y);
            }
        }
    }
}
