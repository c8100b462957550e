//! The memory of an engine that keeps a pool of buffers, as `rten` does: which nodes it runs as one step, in which order,
//! over which input a step writes, and which kept buffer a new value takes.
//!
//! All four are needed. The order decides who finds which buffer free: a mask of a few kilobytes that is made late sits
//! in a buffer of megabytes to the end, and what would have taken that one needs a new one.

mod fuse;
mod order;
mod place;
mod pool;

use crate::{Graph, shapes::Shapes};
use types::Bytes;

/// What a pool comes to hold that runs nodes as they become ready, works in place, keeps every buffer until the end, and
/// gives each new value the smallest kept one that is large enough, or a new one; `None` if a size is unknown.
#[must_use]
pub fn pooled_peak(graph: &Graph, shapes: &Shapes) -> Option<Bytes> {
    let steps = order::ready_order(graph, fuse::steps(graph, shapes));
    pool::peak(graph, shapes, &steps).map(Bytes)
}

/// Nodes that run as one.
pub(super) struct Step<'a> {
    /// The last of the nodes, which makes what comes out.
    node: usize,
    /// What it reads, constants left out; a value it reads twice is there twice.
    reads: Vec<&'a str>,
    /// Whether its operator can write over an input at all.
    works_in_place: bool,
    /// The inputs it may write over, of those that it reads.
    over: Vec<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, GraphBuilder, infer};

    /// One layer of attention under a mask, as our builders write it: the order is the one that `rten` 0.27 was seen to
    /// run, where products with their bias, their scale and their transposes are one step each.
    #[test]
    fn steps_run_in_the_order_of_the_engine() {
        let mut b = GraphBuilder::new("g");
        let x = b.input("x", DataType::Float, &[1.into(), 16.into(), 8.into()]);
        let mask = b.input("mask", DataType::Int64, &[1.into(), 16.into()]);
        let axis = b.constant_i64(&[1]);
        let wide = b.node("Unsqueeze", &[&mask, &axis], &[]);
        let wide = b.node("Unsqueeze", &[&wide, &axis], &[]);
        let wide = b.node("Cast", &[&wide], &[("to", 1.into())]);
        let one = b.constant_f32(&[1.0]);
        let least = b.constant_f32(&[-1e9]);
        let wide = b.node("Sub", &[&one, &wide], &[]);
        let wide = b.node("Mul", &[&wide, &least], &[]);
        let (gain, bias) = (b.constant_f32(&[1.0; 8]), b.constant_f32(&[0.0; 8]));
        let matrix = b.constant_f32(&[0.1; 64]);
        let square = b.constant_i64(&[8, 8]);
        let weight = b.node("Reshape", &[&matrix, &square], &[]);
        let h = b.node("LayerNormalization", &[&x, &gain, &bias], &[]);
        let heads = b.constant_i64(&[0, 0, 2, 4]);
        let mut head = |perm: Vec<i64>| {
            let product = b.node("MatMul", &[&h, &weight], &[]);
            let sum = b.node("Add", &[&product, &bias], &[]);
            let split = b.node("Reshape", &[&sum, &heads], &[]);
            b.node("Transpose", &[&split], &[("perm", perm.into())])
        };
        let (query, key) = (head(vec![0, 2, 1, 3]), head(vec![0, 2, 3, 1]));
        let value = head(vec![0, 2, 1, 3]);
        let scores = b.node("MatMul", &[&query, &key], &[]);
        let half = b.constant_f32(&[0.5]);
        let scores = b.node("Div", &[&scores, &half], &[]);
        let scores = b.node("Add", &[&scores, &wide], &[]);
        let shares = b.node("Softmax", &[&scores], &[("axis", (-1).into())]);
        let y = b.node("MatMul", &[&shares, &value], &[]);
        b.output("y", &y, DataType::Float, &[]);
        let model = b.finish_model();
        let shapes = infer(&model, &[]);
        let steps = order::ready_order(&model.graph, fuse::steps(&model.graph, &shapes));
        let ran: Vec<&str> =
            steps.iter().map(|step| model.graph.nodes[step.node].op_type.as_str()).collect();
        let expected = [
            "LayerNormalization",
            "Add", // query, key and value: products with their bias
            "Add",
            "Add",
            "Unsqueeze",
            "Reshape",
            "Reshape",
            "Div", // the scores with their transposes and scale
            "Reshape",
            "Unsqueeze",
            "Cast",
            "Sub",
            "Mul",
            "Softmax", // with the mask's sum
            "MatMul",
        ];
        assert_eq!(ran, expected);
    }

    #[test]
    fn an_activation_that_is_written_out_is_one_step_and_a_branch_that_leaves_is_none() {
        let steps = |leaves: bool| {
            let mut b = GraphBuilder::new("g");
            let x = b.input("x", DataType::Float, &[40.into()]);
            let twice = b.constant_i64(&[2]);
            let h = b.node("Tile", &[&x, &twice], &[]);
            let s = b.node("Sigmoid", &[&h], &[]);
            let y = b.node("Mul", &[&h, &s], &[]);
            b.output("y", &y, DataType::Float, &[]);
            if leaves {
                b.output("s", &s, DataType::Float, &[]);
            }
            let model = b.finish_model();
            let shapes = infer(&model, &[]);
            let steps = fuse::steps(&model.graph, &shapes);
            steps
                .iter()
                .map(|step| model.graph.nodes[step.node].op_type.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(steps(false), ["Tile", "Mul"]);
        assert_eq!(steps(true), ["Tile", "Sigmoid", "Mul"]);
    }
}
