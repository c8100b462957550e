//! Which constants are parameters.

use modelmeter_graph::{
    Attribute, BUFFERS, DataType, GraphBuilder, Model, Tensor, TensorData, count_weights,
};

fn floats(name: &str, dims: &[usize]) -> Tensor {
    Tensor::from_f32s(name, dims, &vec![0.0; dims.iter().product()])
}

#[test]
fn weights_in_constant_nodes_and_subgraphs_count() {
    let mut inner = GraphBuilder::new("inner");
    inner.initializer(floats("inside", &[7]));
    let mut b = GraphBuilder::new("g");
    let flag = b.input("flag", DataType::Bool, &[]);
    b.node("Constant", &[], &[("value", Attribute::Tensor(floats("", &[3, 2])))]);
    let inner = Attribute::Graph(Box::new(inner.finish()));
    b.node("If", &[&flag], &[("then_branch", inner)]);
    let weights = count_weights(&b.finish_model());
    assert_eq!(weights.parameters, 6 + 7);
    assert_eq!(weights.bytes.0, 4 * 13);
}

#[test]
fn shapes_scalars_and_statistics_are_not_parameters() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[1.into(), 2.into(), 4.into(), 4.into()]);
    b.constant_i64(&[1, 2, 3]);
    b.scalar_f32(0.5);
    b.initializer(Tensor::from_bytes("mask", DataType::Bool, &[4], vec![1; 4]));
    b.initializer(Tensor::from_bytes("old_mask", DataType::Uint8, &[4], vec![1; 4]));
    let names = ["scale", "shift", "mean", "var"];
    for name in names {
        b.initializer(floats(name, &[2]));
    }
    let y = b.node("BatchNormalization", &[&x, "scale", "shift", "mean", "var"], &[]);
    b.initializer(floats("factors", &[4]));
    b.node("Resize", &[&y, "", "factors"], &[]);
    assert_eq!(count_weights(&b.finish_model()).parameters, 4);
}

#[test]
fn a_bias_of_one_element_is_a_parameter() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[1.into(), 3.into()]);
    b.initializer(floats("w", &[3, 1]));
    b.initializer(floats("c", &[1]));
    b.node("Gemm", &[&x, "w", "c"], &[]);
    b.initializer(floats("head.bias", &[1]));
    assert_eq!(count_weights(&b.finish_model()).parameters, 3 + 1 + 1);
}

#[test]
fn quantised_weights_count_and_their_scales_do_not() {
    let bytes = |name: &str, dtype, dims: &[usize]| {
        let size = dims.iter().product::<usize>();
        Tensor::from_bytes(name, dtype, dims, vec![0u8; size])
    };
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Uint8, &[2.into(), 3.into()]);
    b.initializer(bytes("w_quantized", DataType::Int8, &[3, 5]));
    b.initializer(floats("w_scale", &[5]));
    b.initializer(bytes("w_zero_point", DataType::Int8, &[5]));
    let y = b.node("MatMulInteger", &[&x, "w_quantized", "", "w_zero_point"], &[]);
    let y = b.node("Cast", &[&y], &[("to", 1.into())]);
    let y = b.node("Mul", &[&y, "w_scale"], &[]);
    b.initializer(bytes("q", DataType::Int8, &[5, 2]));
    b.initializer(floats("q_s", &[2]));
    let q = b.node("DequantizeLinear", &["q", "q_s"], &[("axis", 1.into())]);
    let y = b.node("MatMul", &[&y, &q], &[]);
    b.initializer(bytes("n", DataType::Uint8, &[8, 1, 16]));
    b.initializer(floats("n_s", &[8]));
    let bits = [("N", 8.into()), ("K", 32.into()), ("bits", 4.into()), ("block_size", 32.into())];
    b.add("com.microsoft", "MatMulNBits", &[&y, "n", "n_s"], &bits, 1);
    assert_eq!(count_weights(&b.finish_model()).parameters, 15 + 10 + 8 * 32);
}

#[test]
fn shared_weights_count_once_and_buffers_not_at_all() {
    let place = |name: &str, offset: u64| Tensor {
        name: name.to_string(),
        dtype: DataType::Float16,
        dims: vec![10, 2],
        data: TensorData::External { path: "model.safetensors".into(), offset, length: 40 },
    };
    let mut b = GraphBuilder::new("g");
    b.initializer(place("wte.weight", 0));
    b.initializer(place("lm_head.weight", 0));
    b.initializer(place("other.weight", 40));
    b.initializer(floats("positions", &[9]));
    let mut model: Model = b.finish_model();
    assert_eq!(count_weights(&model).parameters, 20 + 20 + 9);
    model.metadata.insert(BUFFERS.to_string(), "positions".to_string());
    let weights = count_weights(&model);
    assert_eq!((weights.parameters, weights.bytes.0), (40, 80 + 36));
}
