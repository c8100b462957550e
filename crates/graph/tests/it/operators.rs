//! Shapes of operators, a family at a time, with dims worked out by hand.

use crate::models::{One, everything};
use modelmeter_graph::{
    Attribute, DataType, Dim, GraphBuilder, Tensor, ValueInfo, infer, infer_observed,
};

#[test]
fn convolutions_and_pools_follow_pads_strides_and_dilations() {
    let conv = || One::new().input(&[1, 3, 224, 224]).input(&[64, 3, 7, 7]);
    let strided = conv().with("strides", vec![2, 2]).with("pads", vec![3, 3, 3, 3]);
    assert_eq!(strided.dims("Conv"), Some(vec![1, 64, 112, 112]));
    assert_eq!(conv().with("dilations", vec![2, 2]).dims("Conv"), Some(vec![1, 64, 212, 212]));
    let same = conv().with("strides", vec![2, 2]).with("auto_pad", "SAME_UPPER");
    assert_eq!(same.dims("Conv"), Some(vec![1, 64, 112, 112]));
    let pool = || {
        One::new().input(&[1, 8, 6, 6]).with("kernel_shape", vec![3, 3]).with("strides", vec![2, 2])
    };
    assert_eq!(pool().dims("MaxPool"), Some(vec![1, 8, 2, 2]));
    assert_eq!(pool().with("ceil_mode", 1).dims("MaxPool"), Some(vec![1, 8, 3, 3]));
    let transposed = One::new().input(&[1, 8, 5, 5]).input(&[8, 4, 4, 4]);
    let transposed = transposed.with("strides", vec![2, 2]).with("pads", vec![1, 1, 1, 1]);
    assert_eq!(transposed.dims("ConvTranspose"), Some(vec![1, 4, 10, 10]));
    let resized = One::new().input(&[1, 3, 10, 10]).omitted().constant(Tensor::from_f32s(
        "scales",
        &[4],
        &[1.0, 1.0, 2.5, 0.5],
    ));
    assert_eq!(resized.dims("Resize"), Some(vec![1, 3, 25, 5]));
}

#[test]
fn layout_operators_follow_their_arguments() {
    let shaped = |list: &[i64]| One::new().input(&[2, 3, 4]).integers(list);
    assert_eq!(shaped(&[0, -1]).dims("Reshape"), Some(vec![2, 12]));
    assert_eq!(shaped(&[5, -1]).dims("Reshape"), None);
    assert_eq!(shaped(&[5, 1, 1]).dims("Expand"), None);
    assert_eq!(shaped(&[7, 2, 3, 4]).dims("Expand"), Some(vec![7, 2, 3, 4]));
    assert_eq!(shaped(&[1, 2, 3]).dims("Tile"), Some(vec![2, 6, 12]));
    assert_eq!(shaped(&[0, 1, 0, 0, 0, 2]).dims("Pad"), Some(vec![2, 4, 6]));
    assert_eq!(shaped(&[0, -1]).dims("Unsqueeze"), Some(vec![1, 2, 3, 4, 1]));
    assert_eq!(One::new().input(&[1, 3, 1]).dims("Squeeze"), Some(vec![3]));
    assert_eq!(One::new().input(&[2, 3, 4]).with("axis", -1).dims("Flatten"), Some(vec![6, 4]));
    assert_eq!(One::new().input(&[2, 3, 4]).dims("Transpose"), Some(vec![4, 3, 2]));
}

#[test]
fn slices_clamp_and_step_backwards() {
    let slice = |start: i64, end: i64, step: i64| {
        let data = One::new().input(&[10, 4]);
        data.integers(&[start]).integers(&[end]).integers(&[0]).integers(&[step]).dims("Slice")
    };
    assert_eq!(slice(2, i64::MAX, 3), Some(vec![3, 4]));
    assert_eq!(slice(-1, i64::MIN, -1), Some(vec![10, 4]));
    assert_eq!(slice(5, 2, 1), Some(vec![0, 4]));
    let empty =
        One::new().input(&[0]).integers(&[-1]).integers(&[-9]).integers(&[0]).integers(&[-1]);
    assert_eq!(empty.dims("Slice"), Some(vec![0]));
}

#[test]
fn joins_picks_and_splits_add_up() {
    let joined = One::new().input(&[2, 3]).input(&[2, 5]).with("axis", -1);
    assert_eq!(joined.dims("Concat"), Some(vec![2, 8]));
    let picked = One::new().input(&[9, 4]).typed(DataType::Int64, &[2, 3]);
    assert_eq!(picked.dims("Gather"), Some(vec![2, 3, 4]));
    let top = One::new().input(&[2, 9]).integers(&[4]);
    assert_eq!(top.dims("TopK"), Some(vec![2, 4]));
    let split = One::new().input(&[7, 2]).model("Split", 2);
    let shapes = infer(&split, &[]);
    assert_eq!((shapes.dims("y0"), shapes.dims("y1")), (Some(&[4, 2][..]), Some(&[3, 2][..])));
}

#[test]
fn einsum_understands_letters_and_ellipsis() {
    let product = |equation: &str| {
        let inputs = One::new().input(&[2, 5, 3, 4]).input(&[2, 5, 6, 4]);
        inputs.with("equation", equation).dims("Einsum")
    };
    assert_eq!(product("bhid,bhjd->bhij"), Some(vec![2, 5, 3, 6]));
    assert_eq!(product("...id,...jd->...ij"), Some(vec![2, 5, 3, 6]));
    assert_eq!(product("bhid,bhjd"), Some(vec![3, 6]));
    assert_eq!(product("bhid,bhdj->bhij"), None);
}

#[test]
fn microsofts_operators_are_known() {
    let fused = One::microsoft().input(&[2, 8, 16]).input(&[2, 8, 4]).with("transA", 1);
    assert_eq!(fused.dims("FusedMatMul"), Some(vec![2, 16, 4]));
    let bits = One::microsoft().input(&[2, 7, 64]).typed(DataType::Uint8, &[32, 2, 16]);
    let bits = bits.with("N", 32).with("K", 64);
    assert_eq!(bits.dims("MatMulNBits"), Some(vec![2, 7, 32]));
    let dynamic = One::microsoft().input(&[2, 7, 64]).typed(DataType::Int8, &[64, 32]);
    assert_eq!(dynamic.dims("DynamicQuantizeMatMul"), Some(vec![2, 7, 32]));
    let attention = One::microsoft().input(&[2, 7, 64]).input(&[64, 192]).input(&[192]);
    assert_eq!(attention.with("num_heads", 4).dims("Attention"), Some(vec![2, 7, 64]));
    let heads = One::microsoft().input(&[2, 7, 64]).input(&[2, 9, 64]).input(&[2, 9, 32]);
    assert_eq!(heads.with("num_heads", 4).dims("MultiHeadAttention"), Some(vec![2, 7, 32]));
    let skip = One::microsoft().input(&[2, 7, 64]).input(&[2, 7, 64]).input(&[64]);
    assert_eq!(skip.dims("SkipLayerNormalization"), Some(vec![2, 7, 64]));
}

#[test]
fn recurrent_layers_give_sequence_and_states() {
    let lstm = One::new().input(&[5, 2, 3]).input(&[2, 16, 3]).input(&[2, 16, 4]);
    let model = lstm.with("hidden_size", 4).with("direction", "bidirectional").model("LSTM", 3);
    let shapes = infer(&model, &[]);
    assert_eq!(shapes.dims("y0"), Some(&[5, 2, 2, 4][..]));
    assert_eq!(shapes.dims("y2"), Some(&[2, 2, 4][..]));
}

#[test]
fn shape_arithmetic_reaches_a_reshape() {
    // What exporters write for `x.view(batch, length, heads, -1)`.
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &["batch".into(), "length".into(), 12.into()]);
    let shape = b.node("Shape", &[&x], &[]);
    let zero = b.scalar_i64(0);
    let one = b.scalar_i64(1);
    let front = b.constant_i64(&[0]);
    let batch = b.node("Gather", &[&shape, &zero], &[]);
    let length = b.node("Gather", &[&shape, &one], &[]);
    let batch = b.node("Unsqueeze", &[&batch, &front], &[]);
    let length = b.node("Unsqueeze", &[&length, &front], &[]);
    let rest = b.constant_i64(&[3, -1]);
    let target = b.node("Concat", &[&batch, &length, &rest], &[("axis", 0.into())]);
    let y = b.node("Reshape", &[&x, &target], &[]);
    // And a mask over positions: Range, Cast, Less.
    let number = b.node("Squeeze", &[&length, &front], &[]);
    let positions = b.node("Range", &[&zero, &number, &one], &[]);
    let floats = b.node("Cast", &[&positions], &[("to", 1.into())]);
    let half = b.scalar_f32(2.5);
    let mask = b.node("Less", &[&floats, &half], &[]);
    let count = b.node("NonZero", &[&mask], &[]);
    let model = b.finish_model();
    let shapes = infer(&model, &[("x".to_string(), vec![2, 5, 12])]);
    assert_eq!(shapes.integers(&target), Some(vec![2, 5, 3, -1]));
    assert_eq!(shapes.of(&y), Some((DataType::Float, &[2, 5, 3, 4][..])));
    assert_eq!(shapes.of(&mask), Some((DataType::Bool, &[5][..])));
    assert_eq!(shapes.dims(&count), Some(&[1, 3][..]));
}

#[test]
fn formulas_in_declared_shapes_fill_what_nobody_infers() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &["batch".into(), "length".into()]);
    let strange = b.add("strange.domain", "Riddle", &[&x], &[], 2);
    let y = b.node("Relu", &[&strange[0]], &[]);
    let mut model = b.finish_model();
    let declare = |name: &str, text: &str| ValueInfo {
        name: name.to_string(),
        dtype: DataType::Float,
        shape: Some(vec!["batch".into(), Dim::Symbol(text.to_string())]),
    };
    model.graph.value_infos =
        vec![declare(&strange[0], "2*length + 1"), declare(&strange[1], "2*heads")];
    let inputs = [("x".to_string(), vec![3, 4])];
    let shapes = infer(&model, &inputs);
    assert_eq!(shapes.dims(&y), Some(&[3, 9][..]));
    assert_eq!(shapes.unknown(), [strange[1].as_str()]);
}

#[test]
fn dims_seen_in_a_run_fill_the_rest() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", DataType::Float, &[4.into()]);
    let strange = b.add("strange.domain", "Riddle", &[&x], &[], 1);
    let y = b.node("Add", &[&strange[0], &x], &[]);
    let model = b.finish_model();
    let seen = [(strange[0].clone(), vec![2, 1]), ("x".to_string(), vec![99])];
    let mut filled = infer(&model, &[]);
    assert_eq!(filled.dims(&y), None);
    filled.fill(&seen);
    assert_eq!(filled.dims(&strange[0]), Some(&[2, 1][..]));
    assert_eq!(filled.dims("x"), Some(&[4][..]), "what was known stays");
    assert_eq!(infer_observed(&model, &[], &seen).dims(&y), Some(&[2, 4][..]));
}

#[test]
fn an_unknown_operator_does_not_stop_the_rest() {
    let mut model = everything();
    model.graph.nodes[0].op_type = "Nonsense".to_string();
    let shapes = infer(&model, &[("ids".to_string(), vec![2, 3])]);
    assert_eq!(shapes.dims("ids"), Some(&[2, 3][..]));
    assert_eq!(shapes.dims("y"), None);
}

#[test]
fn quantised_operators_keep_dims_and_change_types() {
    let quantised = One::new().input(&[2, 3]).model("DynamicQuantizeLinear", 3);
    let shapes = infer(&quantised, &[]);
    assert_eq!(shapes.of("y0"), Some((DataType::Uint8, &[2, 3][..])));
    assert_eq!(shapes.of("y1"), Some((DataType::Float, &[][..])));
    let integer = One::new().typed(DataType::Uint8, &[2, 3]).typed(DataType::Int8, &[3, 5]);
    let shapes = infer(&integer.model("MatMulInteger", 1), &[]);
    assert_eq!(shapes.of("y0"), Some((DataType::Int32, &[2, 5][..])));
    let scale = |name: &str| Tensor::from_f32s(name, &[], &[0.1]);
    let zero = |name: &str| Tensor::from_bytes(name, DataType::Uint8, &[], vec![0]);
    let product = One::new()
        .typed(DataType::Uint8, &[2, 3])
        .constant(scale("as"))
        .constant(zero("az"))
        .typed(DataType::Uint8, &[3, 5])
        .constant(scale("bs"))
        .constant(zero("bz"))
        .constant(scale("ys"))
        .constant(zero("yz"));
    let shapes = infer(&product.model("QLinearMatMul", 1), &[]);
    assert_eq!(shapes.of("y0"), Some((DataType::Uint8, &[2, 5][..])));
}

#[test]
fn constants_of_every_form_are_known() {
    let mut b = GraphBuilder::new("g");
    let ints = b.node("Constant", &[], &[("value_ints", vec![2, 3].into())]);
    let fill = Tensor::from_i64s("", &[1], &[7]);
    let filled = b.node("ConstantOfShape", &[&ints], &[("value", Attribute::Tensor(fill))]);
    let one = b.node("Constant", &[], &[("value_float", 1.5f32.into())]);
    let shapes = infer(&b.finish_model(), &[]);
    assert_eq!(shapes.of(&filled), Some((DataType::Int64, &[2, 3][..])));
    assert_eq!(shapes.integers(&filled), Some(vec![7; 6]));
    assert_eq!(shapes.of(&one), Some((DataType::Float, &[][..])));
}
