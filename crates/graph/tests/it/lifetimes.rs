//! How much memory activations need, under each of the rules, with numbers worked out by hand.

use modelmeter_graph::{
    DataType, GraphBuilder, Model, Reuse, activation_peak, find_peak, infer, pooled_peak,
};
use types::Bytes;

/// A value of so many floats that the graph itself makes from its input.
fn own(b: &mut GraphBuilder, x: &str, times: i64) -> String {
    let times = b.constant_i64(&[times]);
    b.node("Tile", &[x, &times], &[])
}

fn sum(b: &mut GraphBuilder, x: &str) -> String {
    b.node("ReduceSum", &[x], &[("keepdims", 0.into())])
}

fn builder() -> (GraphBuilder, String) {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[10.into()]);
    (b, x)
}

fn finish(mut b: GraphBuilder, outputs: &[&str]) -> Model {
    for (place, output) in outputs.iter().enumerate() {
        b.output(&format!("y{place}"), output, DataType::Float, &[]);
    }
    b.finish_model()
}

fn peaks(model: &Model) -> [u64; 3] {
    let shapes = infer(model, &[]);
    let in_place = find_peak(&model.graph, &shapes, Reuse::InPlace).expect("every size is known");
    [
        activation_peak(&model.graph, &shapes).expect("every size is known").0,
        in_place.bytes.0,
        pooled_peak(&model.graph, &shapes).expect("every size is known").0,
    ]
}

#[test]
fn a_node_writes_over_what_nobody_reads_afterwards() {
    let (mut b, x) = builder();
    let a = own(&mut b, &x, 2);
    let r = b.node("Softmax", &[&a], &[]);
    let y = sum(&mut b, &r);
    // Apart: the input, both values. In place: one buffer and the sum; the input was there before.
    assert_eq!(peaks(&finish(b, &[&y])), [40 + 80 + 80, 80 + 4, 80 + 4]);

    let (mut b, x) = builder();
    let a = own(&mut b, &x, 2);
    let r = b.node("Softmax", &[&a], &[]);
    let (y, z) = (sum(&mut b, &r), sum(&mut b, &a));
    // What is read once more is not written over: not by the softmax, and the first sum lives meanwhile.
    assert_eq!(peaks(&finish(b, &[&y, &z]))[1], 80 + 80 + 4);
}

#[test]
fn the_graphs_inputs_are_never_written_over() {
    let (mut b, x) = builder();
    let r = b.node("Relu", &[&x], &[]);
    let y = sum(&mut b, &r);
    assert_eq!(peaks(&finish(b, &[&y])), [40 + 40 + 4, 40 + 4, 40 + 4]);
}

#[test]
fn what_passes_between_elementwise_nodes_has_no_buffer() {
    let (mut b, x) = builder();
    let h = own(&mut b, &x, 3);
    let one = b.constant_f32(&[1.0]);
    let d = b.node("Div", &[&h, &one], &[]);
    let e = b.node("Erf", &[&d], &[]);
    let p = b.node("Add", &[&e, &one], &[]);
    let m = b.node("Mul", &[&h, &p], &[]);
    let g = b.node("Mul", &[&m, &one], &[]);
    let y = sum(&mut b, &g);
    let model = finish(b, &[&y]);
    // One buffer for the whole activation, written over what went in.
    assert_eq!(peaks(&model), [40 + 3 * 120, 120 + 4, 120 + 4]);
    let shapes = infer(&model, &[]);
    let peak = find_peak(&model.graph, &shapes, Reuse::InPlace).unwrap();
    let live: Vec<(&str, Bytes)> = peak.live.iter().map(|t| (t.name.as_str(), t.bytes)).collect();
    assert_eq!(live.len(), 2, "{live:?}");
    assert_eq!(live[0].1, Bytes(120));
    assert!(peak.node.contains("ReduceSum"), "{}", peak.node);
}

#[test]
fn a_matrix_product_reads_a_transpose_where_it_lies() {
    let transposed = |reader: &str| {
        let mut b = GraphBuilder::new("g");
        let x = b.input("x", DataType::Float, &[4.into(), 5.into()]);
        let a = b.node("Neg", &[&x], &[]); // 80
        let t = b.node("Transpose", &[&a], &[("perm", vec![1, 0].into())]); // 80
        let y = match reader {
            "MatMul" => b.node("MatMul", &[&t, &x], &[]), // 5 × 5: 100
            other => b.node(other, &[&t], &[]),
        };
        b.output("y", &y, DataType::Float, &[]);
        peaks(&b.finish_model())[1]
    };
    assert_eq!(transposed("MatMul"), 80 + 100);
    // A softmax goes through it row by row and needs it laid out.
    assert_eq!(transposed("Softmax"), 80 + 80);
}

#[test]
fn a_pool_gives_the_smallest_buffer_that_is_large_enough_and_keeps_all() {
    let (mut b, x) = builder();
    let large = own(&mut b, &x, 8); // 320
    let picked: Vec<i64> = (0..40).collect();
    let picked = b.constant_i64(&picked);
    let small = b.node("Gather", &[&large, &picked], &[]); // 160
    // 160 beside the 320; the next 200 take the 320 that are free by then.
    let joined = b.node("Concat", &[&small, &x], &[("axis", 0.into())]);
    // 640 fit into none that is kept.
    let wide = b.node("Concat", &[&joined, &joined, &joined, &x], &[("axis", 0.into())]);
    let y = sum(&mut b, &wide);
    let model = finish(b, &[&y]);
    let [_, in_place, pooled] = peaks(&model);
    assert_eq!(in_place, 200 + 640);
    assert_eq!(pooled, 320 + 160 + 640 + 4);
}

#[test]
fn a_small_value_that_comes_late_sits_in_a_large_buffer() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[40.into()]);
    // Listed first, it could write over an input if that were not the caller's: it waits for those that cannot.
    let small = b.node("Neg", &[&x], &[]);
    let large = own(&mut b, &x, 8); // 1280, free again behind the sum
    let sum = b.node("ReduceSum", &[&large], &[("keepdims", 1.into())]); // 4, which no pool is asked for
    // Ready behind the small one, which by then has taken the 1280 and keeps them.
    let sum = b.node("Tanh", &[&sum], &[]);
    let again = own(&mut b, &sum, 320); // 1280 anew
    let y = b.node("Concat", &[&again, &small], &[("axis", 0.into())]); // 1440
    assert_eq!(peaks(&finish(b, &[&y]))[2], 1280 + 1280 + 1440);
}

#[test]
fn a_pool_writes_over_the_first_operand_only_where_they_cannot_be_exchanged() {
    let pooled = |operator: &str, first: bool| {
        let mut b = GraphBuilder::new("g");
        let x = b.input("x", DataType::Float, &[40.into()]);
        let one = b.constant_f32(&[1.0]);
        let own = own(&mut b, &x, 2); // 320
        let (left, right) = if first { (&own, &one) } else { (&one, &own) };
        let y = b.node(operator, &[left, right], &[]);
        peaks(&finish(b, &[&y]))[2]
    };
    assert_eq!(pooled("Sub", true), 320);
    assert_eq!(pooled("Sub", false), 320 + 320);
    assert_eq!(pooled("Mul", false), 320);
}

#[test]
fn a_pool_copies_a_view_of_what_somebody_still_reads() {
    let (mut b, x) = builder();
    let own = own(&mut b, &x, 8); // 320
    let shape = b.constant_i64(&[8, 10]);
    let view = b.node("Reshape", &[&own, &shape], &[]);
    let y = sum(&mut b, &view);
    // Read once more when the view was: before that, the view cannot have its memory.
    let later = b.node("Add", &[&own, &y], &[]);
    let z = sum(&mut b, &later);
    let [_, in_place, pooled] = peaks(&finish(b, &[&y, &z]));
    assert_eq!(in_place, 320 + 4 + 4);
    assert_eq!(pooled, 320 + 320 + 4 + 4);
}

#[test]
fn a_pool_has_no_buffers_between_the_nodes_of_one_step() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[8.into(), 8.into()]);
    let a = b.node("Neg", &[&x], &[]); // 256
    let turned = b.node("Transpose", &[&a], &[("perm", vec![1, 0].into())]);
    let product = b.node("MatMul", &[&turned, &x], &[]); // 256
    let scale = b.constant_f32(&[0.5]);
    let y = b.node("Div", &[&product, &scale], &[]);
    assert_eq!(peaks(&finish(b, &[&y]))[2], 256 + 256);
}
