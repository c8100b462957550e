//! Picking and putting elements, rows and slices.

use super::{
    few,
    trial::{Numbers::Around, Trial},
};
use modelmeter_graph::Attribute;
use proptest::prelude::*;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn rows_of_a_table(rows in 1usize..40, width in 1usize..5, picks in prop::collection::vec(1usize..5, 0..3), seed: u64) {
        let mut trial = Trial::new(seed);
        let table = trial.weight(&[rows, width], Around);
        let ids = trial.indices(&picks, rows, true);
        let y = trial.op("Gather", &[&table, &ids], &[("axis", 0.into())]);
        let y = trial.op("Mul", &[&y, &y], &[]);
        trial.check(&y);
    }

    #[test]
    fn a_table_that_is_looked_up_twice_and_multiplied(rows in 3usize..20, width in 1usize..5, seed: u64) {
        let mut trial = Trial::new(seed);
        let table = trial.weight(&[rows, width], Around);
        let (first, second) = (trial.indices(&[2], rows, false), trial.indices(&[2], rows, false));
        let first = trial.op("Gather", &[&table, &first], &[]);
        let second = trial.op("Gather", &[&table, &second], &[]);
        let x = trial.op("Mul", &[&first, &second], &[]);
        let y = trial.op("Gemm", &[&x, &table], &[("transB", 1.into())]);
        trial.check(&y);
    }

    #[test]
    fn places_of_an_axis(dims in prop::collection::vec(1usize..5, 2..5), at in 0usize..4, picks in prop::collection::vec(1usize..4, 0..3), seed: u64) {
        let at = at % dims.len();
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let x = trial.op("Exp", &[&x], &[]);
        let ids = trial.indices(&picks, dims[at], true);
        let y = trial.op("Gather", &[&x, &ids], &[("axis", (at as i64).into())]);
        trial.check(&y);
        // Places that are constants.
        for place in [0, -1] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, Around);
            let place = trial.graph.scalar_i64(place);
            let y = trial.op("Gather", &[&x, &place], &[("axis", (at as i64).into())]);
            trial.check(&y);
        }
    }

    #[test]
    fn single_elements(rows in 1usize..5, columns in 1usize..5, picks in 1usize..5, seed: u64) {
        for axis in [0i64, 1] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[rows, columns], Around);
            let (limit, dims) = if axis == 0 { (rows, [picks, columns]) } else { (columns, [rows, picks]) };
            let ids = trial.indices(&dims, limit, false);
            let y = trial.op("GatherElements", &[&x, &ids], &[("axis", axis.into())]);
            trial.check(&y);
            let mut trial = Trial::new(seed);
            let (x, updates) = (trial.weight(&[rows, columns], Around), trial.weight(&dims, Around));
            let ids = trial.indices(&dims, limit, false);
            let attributes = [("axis", Attribute::Int(axis)), ("reduction", "add".into())];
            let y = trial.op("ScatterElements", &[&x, &ids, &updates], &attributes);
            trial.check(&y);
        }
    }

    #[test]
    fn slices_by_tuples(a in 1usize..4, b in 1usize..4, c in 1usize..4, n in 1usize..4, batch in 0i64..2, seed: u64) {
        for depth in 1usize..3 {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[a, b, b, c], Around);
            let (picks, limit) = if batch == 1 { (vec![a, n, depth], b) } else { (vec![n, depth], a.min(b)) };
            let ids = trial.indices(&picks, limit, false);
            let y = trial.op("GatherND", &[&x, &ids], &[("batch_dims", batch.into())]);
            trial.check(&y);
        }
        let mut trial = Trial::new(seed);
        let (x, updates) = (trial.weight(&[a, c], Around), trial.weight(&[n, c], Around));
        let ids = trial.indices(&[n, 1], a, false);
        let y = trial.op("ScatterND", &[&x, &ids, &updates], &[("reduction", "add".into())]);
        trial.check(&y);
        // Different places, put in: what was there has no slope any more.
        let mut trial = Trial::new(seed);
        let (x, updates) = (trial.weight(&[4, c], Around), trial.weight(&[2, c], Around));
        let ids = trial.graph.constant(modelmeter_graph::Tensor::from_i64s("", &[2, 1], &[3, 1]));
        let y = trial.op("ScatterND", &[&x, &ids, &updates], &[]);
        trial.check(&y);
    }
}
