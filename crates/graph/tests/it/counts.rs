//! Operations, bytes and lifetimes, with numbers worked out by hand.

use crate::models::{One, everything};
use modelmeter_graph::{DataType, GraphBuilder, Tensor, activation_peak, analyse, infer};
use types::{Bytes, Flops, LayerKind};

#[test]
fn products_count_two_for_each_multiply_add() {
    assert_eq!(
        One::new().input(&[5, 2, 3]).input(&[3, 4]).flops("MatMul"),
        Some(2 * 5 * 2 * 3 * 4)
    );
    let gemm = One::new().input(&[3, 2]).input(&[4, 3]).input(&[4]);
    let gemm = gemm.with("transA", 1).with("transB", 1);
    assert_eq!(gemm.flops("Gemm"), Some(2 * 2 * 3 * 4 + 2 * 4));
    let fused = One::microsoft().input(&[2, 8, 16]).input(&[2, 8, 4]).with("transA", 1);
    assert_eq!(fused.flops("FusedMatMul"), Some(2 * 2 * 16 * 8 * 4));
    let bits = One::microsoft().input(&[7, 64]).typed(DataType::Uint8, &[32, 2, 16]);
    assert_eq!(bits.with("N", 32).with("K", 64).flops("MatMulNBits"), Some(2 * 7 * 64 * 32));
    let summed = One::new().input(&[2, 3, 4]).input(&[2, 5, 4]).with("equation", "bid,bjd->bij");
    assert_eq!(summed.flops("Einsum"), Some(2 * 2 * 3 * 5 * 4));
    let outer = One::new().input(&[3]).input(&[4]).with("equation", "i,j->ij");
    assert_eq!(outer.flops("Einsum"), Some(12));
}

#[test]
fn windows_count_each_tap() {
    let conv = One::new().input(&[1, 4, 8, 8]).input(&[6, 2, 3, 3]).input(&[6]);
    let conv = conv.with("group", 2).with("pads", vec![1, 1, 1, 1]);
    assert_eq!(conv.flops("Conv"), Some(6 * 64 * (2 * 2 * 9 + 1)));
    let transposed = One::new().input(&[1, 8, 5, 5]).input(&[8, 4, 2, 2]);
    assert_eq!(transposed.flops("ConvTranspose"), Some(8 * 25 * 2 * 4 * 4));
    let pool = One::new().input(&[1, 2, 4, 4]).with("kernel_shape", vec![2, 2]);
    assert_eq!(pool.flops("AveragePool"), Some(2 * 9 * 4));
    assert_eq!(One::new().input(&[1, 2, 4, 4]).flops("GlobalAveragePool"), Some(32));
    let scales = || Tensor::from_f32s("s", &[4], &[1.0, 1.0, 2.0, 2.0]);
    let resize = |mode: &str| {
        One::new().input(&[1, 1, 4, 4]).omitted().constant(scales()).with("mode", mode)
    };
    assert_eq!(resize("linear").flops("Resize"), Some(64 * 2 * 4));
    assert_eq!(resize("nearest").flops("Resize"), Some(0));
}

#[test]
fn attention_counts_scores_softmax_and_sum() {
    let core = |batch: u64, heads: u64, queries: u64, keys: u64, size: u64| {
        batch * heads * queries * keys * (4 * size + 6)
    };
    let four = |keys: usize| {
        One::new().input(&[2, 4, 7, 16]).input(&[2, 4, keys, 16]).input(&[2, 4, keys, 16])
    };
    assert_eq!(four(9).flops("Attention"), Some(core(2, 4, 7, 9, 16)));
    let packed = One::microsoft().input(&[2, 7, 64]).input(&[64, 192]).input(&[192]);
    let projections = 2 * 7 * 192 * (2 * 64 + 1);
    assert_eq!(
        packed.with("num_heads", 4).flops("Attention"),
        Some(core(2, 4, 7, 7, 16) + projections)
    );
}

#[test]
fn recurrent_layers_count_gates() {
    let lstm = One::new().input(&[5, 2, 3]).input(&[1, 16, 3]).input(&[1, 16, 4]).input(&[1, 32]);
    let unit = 4 * (2 * (3 + 4) + 2) + 9;
    assert_eq!(lstm.with("hidden_size", 4).flops("LSTM"), Some(5 * 2 * 4 * unit));
}

#[test]
fn functions_count_by_the_element() {
    assert_eq!(One::new().input(&[2, 3]).input(&[3]).flops("Add"), Some(6));
    assert_eq!(One::new().input(&[2, 3]).flops("Erf"), Some(6));
    assert_eq!(One::new().input(&[2, 3]).flops("Softmax"), Some(30));
    assert_eq!(One::new().input(&[2, 3]).input(&[3]).flops("LayerNormalization"), Some(42));
    assert_eq!(One::microsoft().input(&[2, 3]).flops("Gelu"), Some(30));
    assert_eq!(One::new().input(&[2, 3]).with("keepdims", 0).flops("ReduceMean"), Some(6));
    assert_eq!(One::new().input(&[2, 3]).flops("Transpose"), Some(0));
}

#[test]
fn what_nobody_counts_lowers_coverage_and_is_named() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[2.into(), 3.into()]);
    let a = b.node("Relu", &[&x], &[]);
    let t = b.node("Transpose", &[&a], &[]);
    let s = b.add("strange.domain", "Riddle", &[&t], &[], 1).swap_remove(0);
    let r = b.node("Relu", &[&s], &[]);
    b.output("y", &r, DataType::Float, &["n".into()]);
    let analysis = analyse(&b.finish_model(), &[]);
    assert_eq!(analysis.work.flops, Flops(6));
    // Of three nodes that could cost something one is counted; the Transpose is in neither number.
    assert!((analysis.work.coverage.0 - 1.0 / 3.0).abs() < 1e-12);
    let uncovered: Vec<(&str, usize)> =
        analysis.uncovered.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    assert_eq!(uncovered, [("Relu", 1), ("Riddle", 1)]);
    assert_eq!(analysis.work.activation_peak, None);
    assert_eq!(analysis.nodes[3].bytes_read, None);
}

#[test]
fn bytes_are_what_a_node_touches() {
    let mut b = GraphBuilder::new("g");
    let ids = b.input("ids", DataType::Int64, &[2.into(), 3.into()]);
    let table = b.initializer(Tensor::from_f32s("t", &[100, 4], &[0.0; 400]));
    let x = b.node("Gather", &[&table, &ids], &[]);
    let target = b.constant_i64(&[6, 4]);
    let flat = b.node("Reshape", &[&x, &target], &[]);
    let square = b.node("Mul", &[&flat, &flat], &[]);
    b.output("y", &square, DataType::Float, &[6.into(), 4.into()]);
    let analysis = analyse(&b.finish_model(), &[]);
    let traffic: Vec<(u64, u64)> = analysis
        .nodes
        .iter()
        .map(|node| (node.bytes_read.unwrap().0, node.bytes_written.unwrap().0))
        .collect();
    // The picked rows and the indices, not the table; a view moves nothing; an input used twice is read once.
    assert_eq!(traffic, [(96 + 48, 96), (0, 0), (96, 96)]);
    assert_eq!(analysis.work.bytes_read, Bytes(96 + 48 + 96));
}

#[test]
fn the_peak_is_the_worst_moment() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[10.into()]);
    let a = b.node("Relu", &[&x], &[]); // 40 + 40 = 80
    let target = b.constant_i64(&[2, 5]);
    let view = b.node("Reshape", &[&a, &target], &[]); // the same buffer
    let twice = b.constant_i64(&[4, 1]);
    let wide = b.node("Tile", &[&view, &twice], &[]); // 40 + 40 + 160 = 240, then the first 40 go
    let sum = b.node("ReduceSum", &[&wide], &[("keepdims", 0.into())]); // 40 + 160 + 4
    b.output("y", &sum, DataType::Float, &[]);
    let model = b.finish_model();
    let shapes = infer(&model, &[]);
    assert_eq!(activation_peak(&model.graph, &shapes), Some(Bytes(240)));
}

#[test]
fn a_whole_model_is_analysed() {
    let analysis = analyse(&everything(), &[("ids".to_string(), vec![2, 3])]);
    // The product, bias and GELU, and one branch of the If.
    assert_eq!(analysis.work.flops, Flops(2 * 6 * 4 * 4 + 6 * 24 + 24));
    assert_eq!(analysis.work.coverage.0, 1.0);
    assert_eq!(analysis.parameters, 20 + 16 + 4);
    assert_eq!(analysis.nodes[0].kind, LayerKind::Embedding);
    assert_eq!(analysis.nodes[2].path, "encoder.layer.0");
    let inner = analysis.nodes.last().unwrap();
    assert_eq!((inner.depth, inner.index), (1, 4));
}

#[test]
fn a_transformer_layer_has_the_textbook_number() {
    // 12 · d² multiply-adds a token for the six products, 2 · length · d for attention.
    let (batch, length, width, heads) = (2usize, 8usize, 16usize, 4usize);
    let mut b = GraphBuilder::new("layer");
    let x = b.input("x", DataType::Float, &[batch.into(), length.into(), width.into()]);
    let linear = |b: &mut GraphBuilder, name: &str, x: &str, from: usize, to: usize| {
        let zeros = vec![0.0; from * to];
        b.scope(name, |b| {
            let weight =
                b.initializer(Tensor::from_f32s(format!("{name}.weight"), &[from, to], &zeros));
            b.node("MatMul", &[x, &weight], &[])
        })
    };
    let [query, key, value] =
        ["query", "key", "value"].map(|name| linear(&mut b, name, &x, width, width));
    let target = b.constant_i64(&[0, 0, heads as i64, (width / heads) as i64]);
    let split = |b: &mut GraphBuilder, value: &str, order: Vec<i64>| {
        let shaped = b.node("Reshape", &[value, &target], &[]);
        b.node("Transpose", &[&shaped], &[("perm", order.into())])
    };
    let query = split(&mut b, &query, vec![0, 2, 1, 3]);
    let key = split(&mut b, &key, vec![0, 2, 3, 1]);
    let value = split(&mut b, &value, vec![0, 2, 1, 3]);
    let scores = b.node("MatMul", &[&query, &key], &[]);
    let mixed = b.node("MatMul", &[&scores, &value], &[]);
    let mixed = b.node("Transpose", &[&mixed], &[("perm", vec![0, 2, 1, 3].into())]);
    let flat = b.constant_i64(&[0, 0, -1]);
    let mixed = b.node("Reshape", &[&mixed, &flat], &[]);
    let out = linear(&mut b, "out", &mixed, width, width);
    let up = linear(&mut b, "up", &out, width, 4 * width);
    let down = linear(&mut b, "down", &up, 4 * width, width);
    b.output("y", &down, DataType::Float, &[batch.into(), length.into(), width.into()]);
    let analysis = analyse(&b.finish_model(), &[]);
    let expected = 2 * batch * length * (12 * width * width + 2 * length * width);
    assert_eq!(analysis.work.flops, Flops(expected as u64));
    assert_eq!(analysis.parameters, 12 * 16 * 16);
    assert_eq!(analysis.work.coverage.0, 1.0);
}

#[test]
fn sizes_beyond_all_numbers_are_held_and_never_wrap() {
    let huge = [1 << 40, 1 << 40];
    let most = usize::MAX;
    let large = [1 << 31, 1 << 31];
    assert_eq!(One::new().input(&large).input(&large).flops("MatMul"), Some(u64::MAX));
    assert_eq!(One::new().input(&huge).input(&huge).flops("MatMul"), None);
    assert_eq!(One::new().input(&huge).dims("Flatten"), Some(huge.to_vec()));
    assert_eq!(One::new().input(&[most, most]).with("axis", 0).dims("Flatten"), None);
    assert_eq!(One::new().input(&[most]).input(&[most]).with("axis", 0).dims("Concat"), None);
    for op in ["Relu", "Softmax", "Shape", "Transpose", "Split", "ReduceMean", "Size", "Identity"] {
        let model = One::new().input(&[most, 3]).model(op, 2);
        let work = modelmeter_graph::analyse(&model, &[]).work;
        assert_eq!((work.flops.0, work.activation_peak), (0, None), "{op}: {work:?}");
    }
}
