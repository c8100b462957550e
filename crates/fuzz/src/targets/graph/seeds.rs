//! Whole models to begin with: a small one of every family, and what families do not have.

use super::body;
use crate::mutate::onnx_field as field;
use graph::{Attribute, DataType, Dim, GraphBuilder, Model, Tensor};

/// Every model as the bytes of its file.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let families = super::super::config::CONFIGS.iter().map(|config| family(config));
    let others = [flow(), windows(), lists(), integers(), calls()];
    let folder = super::super::folder();
    let path = folder.path().join("model.onnx");
    let bytes = |model: Model| {
        model.write(&path).expect("a whole model can be written");
        std::fs::read(&path).expect("it was just written")
    };
    families.chain(others).map(bytes).collect()
}

/// A model of a family with weights that count up.
pub(crate) fn family(config: &str) -> Model {
    let config = serde_json::from_str(config).expect("whole JSON");
    let blueprint = models::build(&config).expect("a whole configuration");
    let mut model = blueprint.model;
    for weight in &blueprint.weights {
        let count: usize = weight.dims.iter().product();
        let values: Vec<f32> = (0..count).map(|place| (place % 17) as f32 / 16.0 - 0.5).collect();
        model.graph.initializers.push(Tensor::from_f32s(&weight.name, &weight.dims, &values));
    }
    model
}

fn dims(sizes: &[usize]) -> Vec<Dim> {
    sizes.iter().map(|size| Dim::Fixed(*size)).collect()
}

/// Branches, loops and scans.
fn flow() -> Model {
    let mut builder = GraphBuilder::new("flow");
    let x = builder.input("x", DataType::Float, &["batch".into(), 4.into()]);
    let flag = builder.input("flag", DataType::Bool, &[]);
    let branch = |op: &str, name: &str| {
        let mut inner = GraphBuilder::new(name);
        let made = inner.node(op, &[&x], &[]);
        inner.output(name, &made, DataType::Float, &dims(&[2, 4]));
        body(inner.finish())
    };
    let chosen = [("then_branch", branch("Relu", "yes")), ("else_branch", branch("Neg", "no"))];
    let y = builder.node("If", &[&flag], &chosen);
    let mut round = GraphBuilder::new("round");
    round.input("i", DataType::Int64, &[]);
    round.input("go", DataType::Bool, &[]);
    round.input("carried", DataType::Float, &["batch".into(), 4.into()]);
    let go_on = round.node("Identity", &["go"], &[]);
    let next = round.node("Add", &["carried", &y], &[]);
    round.output("go_out", &go_on, DataType::Bool, &[]);
    round.output("carried_out", &next, DataType::Float, &dims(&[2, 4]));
    round.output("kept", "carried", DataType::Float, &dims(&[2, 4]));
    let times = builder.scalar_i64(3);
    let looped =
        builder.node_multi("Loop", &[&times, "", &y], &[("body", body(round.finish()))], 2);
    let mut step = GraphBuilder::new("step");
    step.input("state", DataType::Float, &dims(&[4]));
    step.input("row", DataType::Float, &dims(&[4]));
    let sum = step.node("Add", &["state", "row"], &[]);
    step.output("state_out", &sum, DataType::Float, &dims(&[4]));
    step.output("row_out", "row", DataType::Float, &dims(&[4]));
    let start = builder.initializer(Tensor::from_f32s("start", &[4], &[0.5; 4]));
    let scanned = builder.node_multi(
        "Scan",
        &[&start, &looped[0]],
        &[("body", body(step.finish())), ("num_scan_inputs", 1.into())],
        2,
    );
    builder.output("y", &scanned[1], DataType::Float, &["batch".into(), 4.into()]);
    builder.output("z", &looped[1], DataType::Float, &[Dim::Unknown, Dim::Unknown, 4.into()]);
    builder.finish_model()
}

/// Windows, norms and sizes of pictures.
fn windows() -> Model {
    let mut builder = GraphBuilder::new("windows");
    let x =
        builder.input("x", DataType::Float, &["batch".into(), 4.into(), 9.into(), "width".into()]);
    let kernel = builder.initializer(Tensor::from_f32s("conv.weight", &[8, 2, 3, 3], &[0.1; 144]));
    let bias = builder.initializer(Tensor::from_f32s("conv.bias", &[8], &[0.1; 8]));
    let pads = || Attribute::from(vec![1_i64, 1, 1, 1]);
    let x = builder.node(
        "Conv",
        &[&x, &kernel, &bias],
        &[
            ("kernel_shape", vec![3_i64, 3].into()),
            ("pads", pads()),
            ("strides", vec![2_i64, 1].into()),
            ("dilations", vec![1_i64, 1].into()),
            ("group", 2.into()),
        ],
    );
    let norm: Vec<String> = ["scale", "shift", "mean", "variance"]
        .map(|name| builder.initializer(Tensor::from_f32s(name, &[8], &[1.0; 8])))
        .into();
    let x = builder.node("BatchNormalization", &[&x, &norm[0], &norm[1], &norm[2], &norm[3]], &[]);
    let window = [
        ("kernel_shape", Attribute::from(vec![2_i64, 2])),
        ("pads", pads()),
        ("ceil_mode", 1.into()),
    ];
    let x = builder.node("MaxPool", &[&x], &window);
    let x = builder.node("AveragePool", &[&x], &window);
    let sizes = builder.constant_f32(&[1.0, 1.0, 2.0, 2.0]);
    let x = builder.node("Resize", &[&x, "", &sizes], &[("mode", "nearest".into())]);
    let edges = builder.constant_i64(&[0, 0, 1, 1, 0, 0, 1, 1]);
    let x = builder.node("Pad", &[&x, &edges], &[("mode", "constant".into())]);
    let back = builder.initializer(Tensor::from_f32s("back.weight", &[8, 2, 2, 2], &[0.2; 64]));
    let x = builder.node(
        "ConvTranspose",
        &[&x, &back],
        &[("strides", vec![2_i64, 2].into()), ("output_padding", vec![1_i64, 1].into())],
    );
    let x = builder.node("GlobalAveragePool", &[&x], &[]);
    let x = builder.node("Flatten", &[&x], &[("axis", 1.into())]);
    let head = builder.initializer(Tensor::from_f32s("head.weight", &[3, 2], &[0.3; 6]));
    let x = builder.node("Gemm", &[&x, &head], &[("transB", 1.into()), ("alpha", 0.5_f32.into())]);
    let x = builder.node("Softmax", &[&x], &[("axis", (-1).into())]);
    builder.output("y", &x, DataType::Float, &["batch".into(), 3.into()]);
    builder.finish_model()
}

/// What works on lists of numbers: shapes, slices, rows, sums.
fn lists() -> Model {
    let mut builder = GraphBuilder::new("lists");
    builder.set_opset("", 18);
    let x = builder.input("x", DataType::Float, &["batch".into(), "sequence".into(), 6.into()]);
    let shape = builder.node("Shape", &[&x], &[("start", 0.into()), ("end", 2.into())]);
    let tail = builder.constant_i64(&[2, 3]);
    let wanted = builder.node("Concat", &[&shape, &tail], &[("axis", 0.into())]);
    let split = builder.node("Reshape", &[&x, &wanted], &[("allowzero", 0.into())]);
    let turned = builder.node("Transpose", &[&split], &[("perm", vec![0_i64, 2, 1, 3].into())]);
    let (from, to) = (builder.constant_i64(&[0, -2]), builder.constant_i64(&[1, i64::MAX]));
    let (axes, steps) = (builder.constant_i64(&[1, 3]), builder.constant_i64(&[1, 1]));
    let cut = builder.node("Slice", &[&turned, &from, &to, &axes, &steps], &[]);
    let first = builder.constant_i64(&[1]);
    let squeezed = builder.node("Squeeze", &[&cut, &first], &[]);
    let sum = builder.node("ReduceSum", &[&squeezed, &first], &[("keepdims", 1.into())]);
    let both = builder.node("Einsum", &[&squeezed, &sum], &[("equation", "bij,bkj->bik".into())]);
    let halves =
        builder.node_multi("Split", &[&x], &[("axis", 2.into()), ("num_outputs", 2.into())], 2);
    let count = builder.constant_i64(&[2]);
    let best = builder.node_multi("TopK", &[&halves[0], &count], &[("axis", (-1).into())], 2);
    let rows = builder.node("GatherElements", &[&halves[1], &best[1]], &[("axis", 2.into())]);
    let wide = builder.constant_i64(&[1, 1, 2]);
    let tiled = builder.node("Tile", &[&rows, &wide], &[]);
    let zero = builder.scalar_i64(0);
    let ten = builder.scalar_i64(10);
    let one = builder.scalar_i64(1);
    let range = builder.node("Range", &[&zero, &ten, &one], &[]);
    let long = builder.node("Cast", &[&range], &[("to", 1.into())]);
    let many = builder.node("CumSum", &[&long, &zero], &[]);
    let empty = builder.node(
        "ConstantOfShape",
        &[&shape],
        &[("value", Attribute::Tensor(Tensor::from_f32s("", &[1], &[1.0])))],
    );
    let found = builder.node("NonZero", &[&empty], &[]);
    let hot = builder.node("Where", &["flag", &tiled, &tiled], &[]);
    builder.input("flag", DataType::Bool, &[1.into()]);
    builder.output("both", &both, DataType::Float, &[]);
    builder.output("hot", &hot, DataType::Float, &[]);
    builder.output("many", &many, DataType::Float, &[]);
    builder.output("found", &found, DataType::Int64, &[]);
    let mut model = builder.finish_model();
    model.graph.outputs.iter_mut().for_each(|output| output.shape = None);
    model
}

/// Whole numbers, recurrence, and operators of another domain.
fn integers() -> Model {
    let mut builder = GraphBuilder::new("integers");
    builder.set_opset("com.microsoft", 1);
    let x = builder.input("x", DataType::Float, &["length".into(), "batch".into(), 4.into()]);
    let kept = builder.node_multi("DynamicQuantizeLinear", &[&x], &[], 3);
    let weight = Tensor::from_bytes("q.weight", DataType::Int8, &[4, 4], vec![1; 16]);
    let weight = builder.initializer(weight);
    let product = builder.node("MatMulInteger", &[&kept[0], &weight, &kept[2]], &[]);
    let float = builder.node("Cast", &[&product], &[("to", 1.into())]);
    let scaled = builder.node("Mul", &[&float, &kept[1]], &[]);
    let input = builder.initializer(Tensor::from_f32s("W", &[2, 12, 4], &[0.1; 96]));
    let state = builder.initializer(Tensor::from_f32s("R", &[2, 12, 3], &[0.1; 72]));
    let hidden = [("hidden_size", Attribute::from(3)), ("direction", "bidirectional".into())];
    let lstm = builder.node_multi("LSTM", &[&scaled, &input, &state], &hidden, 3);
    let bias = builder.initializer(Tensor::from_f32s("bias", &[4], &[0.1; 4]));
    let fused = builder.add("com.microsoft", "BiasGelu", &[&scaled, &bias], &[], 1).swap_remove(0);
    let heads = [("num_heads", Attribute::from(2))];
    let attended = builder
        .add("com.microsoft", "MultiHeadAttention", &[&fused, &fused, &fused], &heads, 1)
        .swap_remove(0);
    let packed = builder.initializer(Tensor::from_bytes(
        "packed",
        DataType::Uint8,
        &[8, 1, 16],
        vec![7; 128],
    ));
    let scales = builder.initializer(Tensor::from_f32s("scales", &[8], &[0.1; 8]));
    let sizes = [("K", 4.into()), ("N", 8.into()), ("bits", 4.into()), ("block_size", 32.into())];
    let wide = builder
        .add("com.microsoft", "MatMulNBits", &[&attended, &packed, &scales], &sizes, 1)
        .swap_remove(0);
    builder.output("y", &wide, DataType::Float, &["length".into(), "batch".into(), 8.into()]);
    builder.output("states", &lstm[0], DataType::Float, &dims(&[2, 2, 2, 3]));
    builder.initializer(Tensor::from_bytes("spare", DataType::Int4, &[3], vec![0x21, 0x03]));
    builder.finish_model()
}

/// Functions of the model's own that call each other twice.
fn calls() -> Model {
    let mut builder = GraphBuilder::new("calls");
    let x = builder.input("x", DataType::Float, &["batch".into(), 4.into()]);
    let y = builder.add("local", "f", &[&x], &[], 1).swap_remove(0);
    builder.output("y", &y, DataType::Float, &["batch".into(), 4.into()]);
    let mut model = builder.finish_model();
    let node = |op: &str, domain: &str, input: &str, output: &str| {
        [
            field(1, input.as_bytes()),
            field(2, output.as_bytes()),
            field(4, op.as_bytes()),
            field(7, domain.as_bytes()),
        ]
        .concat()
    };
    let function = |name: &str, inner: [&str; 2], domain: &str| {
        [
            field(1, name.as_bytes()),
            field(4, b"a"),
            field(5, b"c"),
            field(7, &node(inner[0], domain, "a", "b")),
            field(7, &node(inner[1], domain, "b", "c")),
            field(10, b"local"),
        ]
        .concat()
    };
    model.functions = vec![
        function("f", ["g", "g"], "local").into(),
        function("g", ["h", "h"], "local").into(),
        function("h", ["Relu", "Neg"], "").into(),
    ];
    model
}
