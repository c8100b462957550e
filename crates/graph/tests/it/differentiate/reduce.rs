//! Reductions over some or all axes.

use super::{
    dims, few,
    trial::{
        Numbers::{Apart, Around, OffZero, Positive},
        Trial,
    },
};
use modelmeter_graph::Attribute;
use proptest::prelude::*;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn reductions(dims in dims(), chosen: u8, keep in 0i64..2, seed: u64) {
        let axes: Vec<i64> = (0..dims.len() as i64).filter(|at| chosen >> at & 1 == 1).collect();
        for (op, numbers) in [
            ("ReduceMean", Around), ("ReduceSum", Around), ("ReduceSumSquare", Around),
            ("ReduceL1", OffZero), ("ReduceL2", Positive), ("ReduceLogSumExp", Around),
            ("ReduceMax", Apart), ("ReduceMin", Apart),
        ] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&dims, numbers);
            let mut attributes = vec![("keepdims", Attribute::Int(keep))];
            let y = if op == "ReduceSum" {
                let axes = trial.graph.constant_i64(&axes);
                let inputs = [x.as_str(), axes.as_str()];
                trial.op(op, &inputs[..if axes.is_empty() { 1 } else { 2 }], &attributes)
            } else {
                if !axes.is_empty() {
                    attributes.push(("axes", axes.clone().into()));
                }
                trial.op(op, &[&x], &attributes)
            };
            trial.check(&y);
        }
    }
}
