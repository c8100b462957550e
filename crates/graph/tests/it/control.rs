//! Control flow.

use crate::models::{dims, subgraph};
use modelmeter_graph::{Attribute, DataType, GraphBuilder, analyse, infer};
use types::Flops;

/// A branch that captures `x`, cuts it to `rows` rows and applies `op` to them.
fn branch(op: &str, rows: i64) -> Attribute {
    let mut inner = GraphBuilder::new(op);
    let start = inner.constant_i64(&[0]);
    let end = inner.constant_i64(&[rows]);
    let cut = inner.node("Slice", &["x", &start, &end], &[]);
    let made = inner.node(op, &[&cut], &[]);
    inner.output("out", &made, DataType::Float, &[]);
    let mut graph = inner.finish();
    graph.outputs[0].shape = None;
    subgraph(graph)
}

fn choice(condition: Option<bool>, rows: (i64, i64)) -> modelmeter_graph::Model {
    let mut b = GraphBuilder::new("g");
    b.input("x", DataType::Float, &dims(&[4, 5]));
    let condition = match condition {
        Some(value) => b.constant(modelmeter_graph::Tensor::from_bytes(
            "",
            DataType::Bool,
            &[],
            vec![u8::from(value)],
        )),
        None => b.input("condition", DataType::Bool, &[]),
    };
    let branches =
        [("then_branch", branch("Relu", rows.0)), ("else_branch", branch("Softmax", rows.1))];
    b.node("If", &[&condition], &branches);
    b.finish_model()
}

#[test]
fn branches_that_agree_give_a_known_output() {
    let model = choice(None, (3, 3));
    assert_eq!(infer(&model, &[]).dims("/If_output_0"), Some(&[3, 5][..]));
    let analysis = analyse(&model, &[]);
    // Nobody knows which branch runs: the heavier one counts.
    assert_eq!(analysis.work.flops, Flops(5 * 15));
    assert_eq!(analysis.work.coverage.0, 1.0);
    // The input and the condition, and inside the branch the cut and its result.
    assert_eq!(analysis.work.activation_peak.map(|bytes| bytes.0), Some(80 + 1 + 60 + 60));
}

#[test]
fn branches_that_differ_leave_it_open_unless_the_condition_is_known() {
    let dims_of = |condition| {
        let shapes = infer(&choice(condition, (3, 2)), &[]);
        shapes.dims("/If_output_0").map(<[usize]>::to_vec)
    };
    assert_eq!(dims_of(None), None);
    assert_eq!(dims_of(Some(true)), Some(vec![3, 5]));
    assert_eq!(dims_of(Some(false)), Some(vec![2, 5]));
    assert_eq!(analyse(&choice(Some(true), (3, 2)), &[]).work.flops, Flops(15));
}

fn repeat(trips: Option<i64>) -> modelmeter_graph::Model {
    let mut body = GraphBuilder::new("body");
    body.input("i", DataType::Int64, &[]);
    let go_on = body.input("go_on", DataType::Bool, &[]);
    let state = body.input("state", DataType::Float, &[]);
    let next = body.node("Add", &[&state, "x"], &[]);
    let still = body.node("Identity", &[&go_on], &[]);
    let row = body.node("Relu", &[&next], &[]);
    body.output("still", &still, DataType::Bool, &[]);
    body.output("next", &next, DataType::Float, &[]);
    body.output("row", &row, DataType::Float, &[]);
    let mut body = body.finish();
    for output in &mut body.outputs {
        output.shape = None;
    }
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &dims(&[2, 3]));
    let trips = match trips {
        Some(trips) => b.scalar_i64(trips),
        None => b.input("trips", DataType::Int64, &[]),
    };
    b.node_multi("Loop", &[&trips, "", &x], &[("body", subgraph(body))], 2);
    b.finish_model()
}

#[test]
fn a_loop_with_a_known_count_counts_every_round() {
    let model = repeat(Some(4));
    let shapes = infer(&model, &[]);
    assert_eq!(shapes.dims("/Loop_output_0"), Some(&[2, 3][..]));
    assert_eq!(shapes.dims("/Loop_output_1"), Some(&[4, 2, 3][..]));
    let analysis = analyse(&model, &[]);
    assert_eq!(analysis.work.flops, Flops(4 * (6 + 6)));
    assert_eq!(analysis.work.coverage.0, 1.0);
}

#[test]
fn a_loop_without_a_known_count_is_a_lower_bound() {
    let model = repeat(None);
    let shapes = infer(&model, &[]);
    assert_eq!(shapes.dims("/Loop_output_0"), Some(&[2, 3][..]));
    assert_eq!(shapes.dims("/Loop_output_1"), None);
    let analysis = analyse(&model, &[]);
    assert_eq!(analysis.work.flops, Flops(12));
    assert_eq!(analysis.uncovered["Loop"], 1);
    assert!((analysis.work.coverage.0 - 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn a_state_that_grows_is_not_taken_for_constant() {
    let mut body = GraphBuilder::new("body");
    body.input("i", DataType::Int64, &[]);
    let go_on = body.input("go_on", DataType::Bool, &[]);
    let state = body.input("state", DataType::Float, &[]);
    let longer = body.node("Concat", &[&state, &state], &[("axis", 0.into())]);
    let still = body.node("Identity", &[&go_on], &[]);
    body.output("still", &still, DataType::Bool, &[]);
    body.output("longer", &longer, DataType::Float, &[]);
    let mut body = body.finish();
    body.outputs[1].shape = None;
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &dims(&[2]));
    let trips = b.scalar_i64(3);
    b.node_multi("Loop", &[&trips, "", &x], &[("body", subgraph(body))], 1);
    assert_eq!(infer(&b.finish_model(), &[]).dims("/Loop_output_0"), None);
}

#[test]
fn a_scan_runs_once_for_each_step() {
    let mut body = GraphBuilder::new("body");
    let state = body.input("state", DataType::Float, &[]);
    let step = body.input("step", DataType::Float, &[]);
    let next = body.node("Add", &[&state, &step], &[]);
    let row = body.node("Relu", &[&next], &[]);
    body.output("next", &next, DataType::Float, &[]);
    body.output("row", &row, DataType::Float, &[]);
    let mut body = body.finish();
    for output in &mut body.outputs {
        output.shape = None;
    }
    let mut b = GraphBuilder::new("g");
    let start = b.input("start", DataType::Float, &dims(&[3]));
    let steps = b.input("steps", DataType::Float, &dims(&[7, 3]));
    let arguments = [("body", subgraph(body)), ("num_scan_inputs", 1.into())];
    b.node_multi("Scan", &[&start, &steps], &arguments, 2);
    let model = b.finish_model();
    let shapes = infer(&model, &[]);
    assert_eq!(shapes.dims("/Scan_output_0"), Some(&[3][..]));
    assert_eq!(shapes.dims("/Scan_output_1"), Some(&[7, 3][..]));
    assert_eq!(analyse(&model, &[]).work.flops, Flops(7 * 6));
}
