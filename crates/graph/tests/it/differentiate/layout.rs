//! Shapes, orders, cuts and joins.

use super::{
    dims, few,
    trial::{Numbers::Around, Trial},
};
use modelmeter_graph::{Attribute, Tensor};
use proptest::prelude::*;

/// A random order of axes.
fn order(rank: usize, mut seed: u64) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rank as i64).collect();
    for at in (1..rank).rev() {
        order.swap(at, (seed % (at as u64 + 1)) as usize);
        seed /= 7;
    }
    order
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn shapes_and_orders(dims in dims(), seed: u64) {
        let rank = dims.len();
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let flat = trial.graph.constant_i64(&[-1]);
        let x = trial.op("Reshape", &[&x, &flat], &[]);
        let shape: Vec<i64> = dims.iter().map(|dim| *dim as i64).collect();
        let shape = trial.graph.constant_i64(&shape);
        let x = trial.op("Reshape", &[&x, &shape], &[]);
        let x = trial.op("Transpose", &[&x], &[("perm", order(rank, seed).into())]);
        let axes = trial.graph.constant_i64(&[0, -1]);
        let x = trial.op("Unsqueeze", &[&x, &axes], &[]);
        let x = trial.op("Squeeze", &[&x, &axes], &[]);
        let x = trial.op("Flatten", &[&x], &[("axis", 1.into())]);
        let y = trial.op("Exp", &[&x], &[]);
        trial.check(&y);
    }

    #[test]
    fn repeated_elements(dims in dims(), times in prop::collection::vec(1usize..4, 4), seed: u64) {
        let mut trial = Trial::new(seed);
        let narrow: Vec<usize> = dims.iter().zip(&times).map(|(d, t)| if *t == 1 { *d } else { 1 }).collect();
        let x = trial.weight(&narrow, Around);
        let target: Vec<i64> = [2i64].into_iter().chain(dims.iter().map(|dim| *dim as i64)).collect();
        let target = trial.graph.constant_i64(&target);
        let y = trial.op("Expand", &[&x, &target], &[]);
        trial.check(&y);
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let repeats: Vec<i64> = times[..dims.len()].iter().map(|times| *times as i64).collect();
        let repeats = trial.graph.constant_i64(&repeats);
        let y = trial.op("Tile", &[&x, &repeats], &[]);
        trial.check(&y);
    }

    #[test]
    fn joins_and_splits(dims in dims(), at in 0usize..4, sizes in prop::collection::vec(1usize..4, 3), seed: u64) {
        let at = at % dims.len();
        let part = |size: usize| { let mut dims = dims.clone(); dims[at] = size; dims };
        let mut trial = Trial::new(seed);
        let parts: Vec<String> = sizes.iter().map(|size| trial.weight(&part(*size), Around)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let y = trial.op("Concat", &parts, &[("axis", (at as i64).into())]);
        trial.check(&y);
        // All parts are used, or the middle one is not.
        for all in [true, false] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&part(sizes.iter().sum()), Around);
            let split: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
            let split = trial.graph.constant_i64(&split);
            let axis = [("axis", Attribute::Int(at as i64))];
            let parts = trial.graph.node_multi("Split", &[&x, &split], &axis, 3);
            let sums: Vec<String> = parts.iter().map(|part| {
                let square = trial.op("Mul", &[part, part], &[]);
                let axes = trial.graph.constant_i64(&[at as i64]);
                trial.op("ReduceSum", &[&square, &axes], &[])
            }).collect();
            let mut y = trial.op("Sub", &[&sums[0], &sums[2]], &[]);
            if all {
                y = trial.op("Mul", &[&y, &sums[1]], &[]);
            }
            trial.check(&y);
        }
    }

    #[test]
    fn slices_with_steps_both_ways(size in 2usize..9, start in -9i64..9, end in -9i64..9, step in prop::sample::select(vec![-3i64, -2, -1, 1, 2, 3]), seed: u64) {
        // The engine of these trials cannot begin before the first element and go backwards.
        let start = if step < 0 { start.max(-(size as i64)) } else { start };
        for (first, second) in [(1, None), (0, Some(2i64))] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[size, size, 3], Around);
            let mut lists = [vec![start], vec![end], vec![first], vec![step]];
            if let Some(axis) = second {
                // A second axis is cut as well.
                lists = [vec![start, 1], vec![end, 3], vec![first, axis], vec![step, 1]];
            }
            let lists = lists.map(|list| trial.graph.constant_i64(&list));
            let y = trial.op("Slice", &[&x, &lists[0], &lists[1], &lists[2], &lists[3]], &[]);
            // What is left may be nothing; something else keeps the output from being empty.
            let sum = trial.op("ReduceSum", &[&y], &[("keepdims", 0.into())]);
            let y = trial.op("Mul", &[&x, &sum], &[]);
            trial.check(&y);
        }
    }

    #[test]
    fn several_slices_of_one_value(sizes in prop::collection::vec(1i64..4, 3), overlap in 0i64..2, seed: u64) {
        let mut trial = Trial::new(seed);
        let all: i64 = sizes.iter().sum();
        let x = trial.weight(&[2, all as usize], Around);
        let squared = trial.op("Mul", &[&x, &x], &[]);
        let axis = trial.graph.constant_i64(&[1]);
        let mut parts = Vec::new();
        let mut start = 0;
        for size in &sizes {
            let ends = [(start - overlap).max(0), start + size];
            let ends = ends.map(|end| trial.graph.constant_i64(&[end]));
            let part = trial.op("Slice", &[&squared, &ends[0], &ends[1], &axis], &[]);
            parts.push(trial.op("ReduceSum", &[&part, &axis], &[]));
            start += size;
        }
        let y = trial.op("Mul", &[&parts[0], &parts[1]], &[]);
        let y = trial.op("Sub", &[&y, &parts[2]], &[]);
        trial.check(&y);
    }

    #[test]
    fn padding_and_triangles(dims in dims(), before in prop::collection::vec(0i64..3, 4), behind in prop::collection::vec(0i64..3, 4), seed: u64) {
        let rank = dims.len();
        let mut trial = Trial::new(seed);
        let x = trial.weight(&dims, Around);
        let pads = trial.graph.constant_i64(&[&before[..rank], &behind[..rank]].concat());
        let y = trial.op("Pad", &[&x, &pads], &[]);
        trial.check(&y);
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, dims[0], dims[rank - 1]], Around);
        let diagonal = trial.graph.scalar_i64(before[0] - 1);
        let lower = trial.op("Trilu", &[&x, &diagonal], &[("upper", 0.into())]);
        let upper = trial.op("Trilu", &[&x], &[]);
        let y = trial.op("Sub", &[&lower, &upper], &[]);
        trial.check(&y);
        for (exclusive, reverse) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, Around);
            let axis = trial.graph.constant(Tensor::from_i64s("", &[], &[rank as i64 - 1]));
            let attributes = [("exclusive", Attribute::Int(exclusive)), ("reverse", Attribute::Int(reverse))];
            let y = trial.op("CumSum", &[&x, &axis], &attributes);
            let y = trial.op("Add", &[&y, &x], &[]);
            trial.check(&y);
        }
    }

    #[test]
    fn channels_become_pixels(channels in 1usize..3, height in 1usize..4, width in 1usize..4, seed: u64) {
        for mode in ["DCR", "CRD"] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[2, channels * 4, height, width], Around);
            let factor = trial.input(&[2, channels, height * 2, width * 2], Around);
            let attributes = [("blocksize", Attribute::Int(2)), ("mode", mode.into())];
            let y = trial.op("DepthToSpace", &[&x], &attributes);
            let y = trial.op("Mul", &[&y, &factor], &[]);
            trial.check(&y);
        }
    }
}
