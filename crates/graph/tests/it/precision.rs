//! Graphs in other number formats.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use modelmeter_graph::{
    Attribute, ConvertError, ConvertOptions, Converted, DataType, Dim, GraphBuilder, Model, Node,
    Tensor, TensorData, analyse, convert, count_weights, infer, module_path, native_precision,
    plan_conversion,
};
use types::Precision::{self, Bf16, Fp16, Fp32, Int8};

/// Converts whatever its size.
fn converted(model: &Model, to: Precision) -> Converted {
    let options = ConvertOptions { smallest_weight: 1, ..ConvertOptions::default() };
    convert(model, to, &options).unwrap()
}

fn refused(model: &Model, to: Precision) -> ConvertError {
    convert(model, to, &ConvertOptions::default()).unwrap_err()
}

fn nodes<'a>(model: &'a Model, op: &str) -> Vec<&'a Node> {
    model.graph.nodes.iter().filter(|node| node.op_type == op).collect()
}

fn node<'a>(model: &'a Model, op: &str) -> &'a Node {
    let found = nodes(model, op);
    assert_eq!(found.len(), 1, "`{op}`");
    found[0]
}

fn weight<'a>(model: &'a Model, name: &str) -> &'a Tensor {
    model.graph.initializers.iter().find(|tensor| tensor.name == name).unwrap()
}

/// The types by name that inference finds.
fn dtype(model: &Model, name: &str) -> DataType {
    infer(model, &[]).dtype(name).unwrap()
}

fn ramp(name: &str, dims: &[usize]) -> Tensor {
    let count = dims.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|n| (n % 17) as f32 / 8.0 - 1.0).collect();
    Tensor::from_f32s(name, dims, &values)
}

/// One output that is computed from `x`, a matrix of two rows.
fn model(columns: usize, build: impl FnOnce(&mut GraphBuilder, &str) -> String) -> Model {
    let mut builder = GraphBuilder::new("test");
    let x = builder.input("x", DataType::Float, &[2.into(), columns.into()]);
    let y = build(&mut builder, &x);
    builder.output("y", &y, DataType::Float, &[]);
    let mut model = builder.finish_model();
    model.graph.outputs[0].shape = None;
    model
}

fn linear(b: &mut GraphBuilder, module: &str, x: &str, dims: &[usize]) -> String {
    b.scope(module, |b| {
        let weight = b.initializer(ramp(&format!("{module}.weight"), dims));
        let bias = b.initializer(ramp(&format!("{module}.bias"), &dims[1..]));
        let product = b.node("MatMul", &[x, &weight], &[]);
        b.node("Add", &[&product, &bias], &[])
    })
}

fn texts(report: &modelmeter_graph::Report) -> Vec<String> {
    report.remarks().into_iter().map(String::from).collect()
}

#[test]
fn inside_all_is_16_bit_and_outside_nothing_changes() {
    let model = model(4, |b, x| {
        let h = linear(b, "first", x, &[4, 6]);
        let h = b.node("Relu", &[&h], &[]);
        linear(b, "second", &h, &[6, 3])
    });
    for (to, half) in [(Fp16, DataType::Float16), (Bf16, DataType::Bfloat16)] {
        let Converted { model: made, report, .. } = converted(&model, to);
        assert_eq!(made.graph.inputs, model.graph.inputs);
        assert_eq!(made.graph.outputs, model.graph.outputs);
        assert!(made.graph.initializers.iter().all(|tensor| tensor.dtype == half));
        let casts = nodes(&made, "Cast");
        assert_eq!((casts.len(), casts[1].outputs[0].as_str()), (2, "y"));
        assert_eq!(dtype(&made, "y"), DataType::Float);
        for inner in nodes(&made, "MatMul").into_iter().chain(nodes(&made, "Relu")) {
            assert_eq!(dtype(&made, &inner.outputs[0]), half);
        }
        assert_eq!((report.tensors, report.clamped, report.left.len()), (4, 0, 0));
        assert_eq!(report.bytes_after.0 * 2, report.bytes_before.0);
        assert_eq!(native_precision(&made), to);
        assert_eq!(count_weights(&made).parameters, count_weights(&model).parameters);
        assert_eq!(analyse(&made, &[]).work.flops, analyse(&model, &[]).work.flops);
    }
}

#[test]
fn a_mask_for_32_bits_becomes_one_for_16() {
    let model = model(4, |b, x| {
        let hidden = b.scalar_f32(f32::MIN);
        let epsilon = b.scalar_f32(1e-12);
        let scores = b.node("Add", &[x, &hidden], &[]);
        b.node("Add", &[&scores, &epsilon], &[])
    });
    let Converted { model: made, report, .. } = converted(&model, Fp16);
    let values: Vec<f32> = made.graph.initializers.iter().flat_map(|t| t.f32s().unwrap()).collect();
    assert_eq!(values, [-65504.0, 2f32.powi(-24)]);
    assert_eq!(report.clamped, 2);
    assert_eq!(texts(&report), ["2 values outside the range of fp16 were clamped"]);
    let Converted { model: made, report, .. } = converted(&model, Bf16);
    let values = made.graph.initializers[0].f32s().unwrap();
    assert!(values[0].is_finite() && values[0] < -3e38, "{values:?}");
    assert_eq!(report.clamped, 1);
}

#[test]
fn positions_and_squares_keep_their_digits() {
    let model = model(4, |b, x| {
        let square = b.scope("norm", |b| {
            let (two, epsilon) = (b.scalar_f32(2.0), b.scalar_f32(1e-6));
            let square = b.node("Pow", &[x, &two], &[]);
            let mean = b.node("ReduceMean", &[&square], &[("axes", vec![-1].into())]);
            let sum = b.node("Add", &[&mean, &epsilon], &[]);
            let root = b.node("Sqrt", &[&sum], &[]);
            let normal = b.node("Div", &[x, &root], &[]);
            let scale = b.initializer(ramp("norm.weight", &[4]));
            b.node("Mul", &[&normal, &scale], &[])
        });
        let places = b.constant_i64(&[1, 2, 3, 2049]);
        let places = b.node("Cast", &[&places], &[("to", 1.into())]);
        let frequency = b.constant_f32(&[0.1, 0.2, 0.3, 0.4]);
        // Needed in both forms: kept twice, counted once.
        let square = b.node("Mul", &[&square, &frequency], &[]);
        let angles = b.node("Mul", &[&places, &frequency], &[]);
        let sine = b.node("Sin", &[&angles], &[]);
        // A mask comes from integers too and may be narrow.
        let mask = b.constant_i64(&[1, 0, 1, 0]);
        let mask = b.node("Cast", &[&mask], &[("to", 1.into())]);
        let turned = b.node("Mul", &[&square, &sine], &[]);
        let masked = b.node("Add", &[&turned, &mask], &[]);
        linear(b, "dense", &masked, &[4, 4])
    });
    let Converted { model: made, report, .. } = converted(&model, Fp16);
    let is = |name: &str| dtype(&made, name);
    for name in ["norm/Pow_output_0", "norm/ReduceMean_output_0", "norm/Div_output_0"] {
        assert_eq!(is(name), DataType::Float, "{name}");
    }
    assert_eq!(is("norm/Mul_output_0"), DataType::Float16);
    assert_eq!(is("/Mul_output_0"), DataType::Float16);
    assert_eq!(is("/Mul_1_output_0"), DataType::Float);
    assert_eq!(is("/Sin_output_0"), DataType::Float);
    assert_eq!(is("/Cast_1_output_0"), DataType::Float16);
    let kept: Vec<f32> = made
        .graph
        .initializers
        .iter()
        .filter(|tensor| tensor.dtype == DataType::Float)
        .flat_map(|tensor| tensor.f32s().unwrap())
        .collect();
    assert_eq!(kept, [2.0, 1e-6, 0.1, 0.2, 0.3, 0.4]);
    assert_eq!(count_weights(&made).parameters, count_weights(&model).parameters);
    assert_eq!(report.left.len(), 5 + 3);
    assert_eq!(report.remarks().len(), 2);
}

#[test]
fn what_the_operator_set_does_not_allow_stays_between_casts() {
    let model = model(4, |b, x| {
        let image = b.constant_i64(&[1, 1, 2, 4]);
        let x = b.node("Reshape", &[x, &image], &[]);
        let kernel = b.initializer(ramp("conv.weight", &[2, 1, 1, 1]));
        let y = b.scope("conv", |b| b.node("Conv", &[&x, &kernel], &[]));
        let scales = b.constant_f32(&[1.0, 1.0, 2.0, 2.0]);
        let y = b.node("Resize", &[&y, "", &scales], &[]);
        let factors = b.initializer(ramp("factors", &[4, 8]));
        b.node("Mul", &[&y, &factors], &[])
    });
    let fp16 = converted(&model, Fp16);
    assert!(fp16.report.left.is_empty(), "{:?}", fp16.report.left);
    assert_eq!(dtype(&fp16.model, &node(&fp16.model, "Conv").outputs[0]), DataType::Float16);
    let scales = weight(&fp16.model, &node(&fp16.model, "Resize").inputs[2]);
    assert_eq!(scales.dtype, DataType::Float);
    let bf16 = converted(&model, Bf16);
    assert_eq!(dtype(&bf16.model, &node(&bf16.model, "Conv").outputs[0]), DataType::Float);
    assert_eq!(dtype(&bf16.model, &node(&bf16.model, "Resize").inputs[0]), DataType::Bfloat16);
    assert_eq!(
        texts(&bf16.report),
        ["1 node stays in fp32: `Conv` has bf16 only from operator set 22 on"]
    );
    let mut newer = model.clone();
    newer.opsets.insert(String::new(), 22);
    assert!(converted(&newer, Bf16).report.left.is_empty());
}

#[test]
fn graphs_inside_nodes_see_32_bit_values_under_their_new_names() {
    let branch = |name: &str, op: &str| {
        let mut inner = GraphBuilder::new(name);
        let y = inner.node(op, &["h"], &[]);
        inner.output(&format!("{name}_y"), &y, DataType::Float, &[]);
        let mut graph = inner.finish();
        graph.outputs[0].shape = None;
        Attribute::Graph(Box::new(graph))
    };
    let mut model = model(4, |b, x| {
        let flag = b.input("flag", DataType::Bool, &[]);
        let h = linear(b, "dense", x, &[4, 4]);
        let branches =
            [("then_branch", branch("then", "Relu")), ("else_branch", branch("else", "Neg"))];
        let y = b.node("If", &[&flag], &branches);
        let y = b.node("Relu", &[&y], &[]);
        b.node("Add", &[&y, &h], &[])
    });
    for node in &mut model.graph.nodes {
        for name in node.inputs.iter_mut().chain(&mut node.outputs) {
            if name == "dense/Add_output_0" {
                *name = "h".into();
            }
        }
    }
    let made = converted(&model, Fp16).model;
    let choice = node(&made, "If");
    let seen = choice.subgraph("then_branch").unwrap().nodes[0].inputs[0].as_str();
    assert_ne!(seen, "h");
    assert_eq!(dtype(&made, seen), DataType::Float);
    assert_eq!(dtype(&made, "h"), DataType::Float16);
    assert_eq!(dtype(&made, &node(&made, "Relu").inputs[0]), DataType::Float16);
}

#[test]
fn weights_that_all_stay_inside_a_branch_are_no_conversion() {
    let branch = |name: &str| {
        let mut inner = GraphBuilder::new(name);
        let weight = inner.initializer(ramp(&format!("{name}.weight"), &[4, 4]));
        let y = inner.node("MatMul", &["x", &weight], &[]);
        inner.output(&format!("{name}_y"), &y, DataType::Undefined, &[]);
        let mut graph = inner.finish();
        graph.outputs[0].shape = None;
        Attribute::Graph(Box::new(graph))
    };
    let model = model(4, |b, _| {
        let flag = b.input("flag", DataType::Bool, &[]);
        let y = b.node(
            "If",
            &[&flag],
            &[("then_branch", branch("then")), ("else_branch", branch("else"))],
        );
        let half = b.scalar_f32(0.5);
        b.node("Mul", &[&y, &half], &[])
    });
    let expected = "nothing in it can be converted to fp16: most of its weights stay as they are, because `If` holds \
                    graphs of its own";
    assert_eq!(refused(&model, Fp16).to_string(), expected);
    let expected = "nothing in it can be converted to int8: products inside `If` are kept";
    assert_eq!(refused(&model, Int8).to_string(), expected);
}

#[test]
fn the_statistics_of_a_batch_norm_keep_their_range() {
    let mut model = model(4, |b, x| {
        for name in ["scale", "shift", "mean"] {
            b.initializer(ramp(name, &[4]));
        }
        b.initializer(Tensor::from_f32s("variance", &[4], &[1e8; 4]));
        let y = b.node("BatchNormalization", &[x, "scale", "shift", "mean", "variance"], &[]);
        let factors = b.initializer(ramp("factors", &[4]));
        b.node("Mul", &[&y, &factors], &[])
    });
    let Converted { model: made, report, .. } = converted(&model, Fp16);
    assert_eq!(report.clamped, 0);
    assert_eq!(weight(&made, "variance").dtype, DataType::Float);
    assert_eq!(weight(&made, "scale").dtype, DataType::Float16);
    model.opsets.insert(String::new(), 13);
    assert!(matches!(refused(&model, Fp16), ConvertError::Nothing { .. }));
}

#[test]
fn constants_in_nodes_and_generators_follow() {
    let model = model(4, |b, x| {
        let value = Attribute::Tensor(ramp("", &[4, 4]));
        let weight = b.node("Constant", &[], &[("value", value)]);
        let factor = b.node("Constant", &[], &[("value_float", 0.5f32.into())]);
        let shape = b.constant_i64(&[2, 4]);
        let zeros = b.node("ConstantOfShape", &[&shape], &[]);
        let noise = b.node("RandomNormal", &[], &[("shape", vec![2, 4].into())]);
        let y = b.node("MatMul", &[x, &weight], &[]);
        let y = b.node("Mul", &[&y, &factor], &[]);
        let y = b.node("Add", &[&y, &noise], &[]);
        b.node("Add", &[&y, &zeros], &[])
    });
    let Converted { model: made, report, .. } = converted(&model, Fp16);
    assert!(nodes(&made, "Constant").is_empty());
    assert_eq!(report.tensors, 2);
    for op in ["MatMul", "Mul", "ConstantOfShape", "RandomNormal"] {
        assert_eq!(dtype(&made, &node(&made, op).outputs[0]), DataType::Float16, "{op}");
    }
}

#[test]
fn products_of_the_same_activations_round_them_once() {
    let model = model(8, |b, x| {
        let query = linear(b, "attention.query", x, &[8, 4]);
        let key = linear(b, "attention.key", x, &[8, 4]);
        let sum = b.node("Add", &[&query, &key], &[]);
        linear(b, "output", &sum, &[4, 4])
    });
    let Converted { model: made, report, .. } = converted(&model, Int8);
    assert_eq!(nodes(&made, "DynamicQuantizeLinear").len(), 2);
    let products = nodes(&made, "MatMulInteger");
    let paths: Vec<String> =
        products.iter().map(|node| module_path(&node.name, &node.op_type)).collect();
    assert_eq!(paths, ["attention.query", "attention.key", "output"]);
    assert!(nodes(&made, "MatMul").is_empty());
    assert_eq!((report.products, report.tensors, report.left.len()), (3, 3, 0));
    let rounded = weight(&made, "output.weight_quantized");
    assert_eq!((rounded.dtype, &rounded.dims[..]), (DataType::Int8, &[4, 4][..]));
    let scales = weight(&made, "output.weight_scale").f32s().unwrap();
    let (bytes, original) = (made.bytes(rounded).unwrap(), ramp("", &[4, 4]).f32s().unwrap());
    for (place, value) in original.iter().enumerate() {
        let scale = scales[place % 4];
        let back = f32::from(bytes[place] as i8) * scale;
        assert!((back - value).abs() <= scale * 0.50001, "{back} for {value}");
    }
    assert_eq!(native_precision(&made), Int8);
    assert_eq!(count_weights(&made).parameters, count_weights(&model).parameters);
    let operations = |model: &Model, op: &str| -> u64 {
        let works = analyse(model, &[]).nodes.into_iter().filter(|work| work.op_type == op);
        works.map(|work| work.flops.unwrap().0).sum()
    };
    assert_eq!(operations(&made, "MatMulInteger"), operations(&model, "MatMul"));
    assert_eq!(analyse(&made, &[]).work.coverage.0, 1.0);
}

#[test]
fn a_turned_and_shared_weight_is_rounded_beside_the_table() {
    let mut builder = GraphBuilder::new("tied");
    let ids = builder.input("ids", DataType::Int64, &[3.into()]);
    let table = builder.initializer(ramp("wte.weight", &[20, 4]));
    let bias = builder.initializer(ramp("bias", &[20]));
    let h = builder.node("Gather", &[&table, &ids], &[]);
    let arguments = [("transB", 1.into()), ("alpha", 2.0.into())];
    let y = builder.node("Gemm", &[&h, &table, &bias], &arguments);
    builder.output("y", &y, DataType::Float, &[3.into(), Dim::Fixed(20)]);
    let model = builder.finish_model();
    let made = converted(&model, Int8).model;
    assert_eq!(weight(&made, "wte.weight").dtype, DataType::Float);
    let rounded = weight(&made, "wte.weight_quantized");
    assert_eq!(rounded.dims, [4, 20]);
    let (bytes, scales) = (made.bytes(rounded).unwrap(), weight(&made, "wte.weight_scale"));
    let (scales, original) = (scales.f32s().unwrap(), ramp("", &[20, 4]).f32s().unwrap());
    for (row, column) in [(0, 0), (3, 7), (2, 19)] {
        let back = f32::from(bytes[row * 20 + column] as i8) * scales[column];
        let expected = 2.0 * original[column * 4 + row];
        assert!((back - expected).abs() <= scales[column], "{back} for {expected}");
    }
    assert_eq!(count_weights(&made).parameters, count_weights(&model).parameters);
    assert_eq!(node(&made, "Add").inputs[1], "bias");
    assert_eq!(dtype(&made, "y"), DataType::Float);
}

#[test]
fn what_is_not_worth_it_or_not_possible_is_said() {
    let model = model(64, |b, x| {
        let h = linear(b, "large", x, &[64, 32]);
        let h = linear(b, "excluded.inner", &h, &[32, 64]);
        let infinite = b.initializer(Tensor::from_f32s("inf", &[64, 64], &[f32::INFINITY; 4096]));
        let h = b.node("MatMul", &[&h, &infinite], &[]);
        linear(b, "small", &h, &[64, 3])
    });
    let options = ConvertOptions { exclude: vec!["excluded".into()], ..ConvertOptions::default() };
    let report = convert(&model, Int8, &options).unwrap().report;
    assert_eq!((report.products, report.left.len()), (1, 3));
    assert_eq!(
        texts(&report),
        [
            "1 node stays in fp32: it was excluded",
            "1 node stays in fp32: products with fewer than 1024 weights are not worth it",
            "1 node stays in fp32: weights that are not finite cannot be rounded",
        ]
    );
}

#[test]
fn what_cannot_be_converted_is_refused_with_the_reason() {
    let small = model(4, |b, x| linear(b, "small", x, &[4, 4]));
    let expected = "nothing in it can be converted to int8: products with fewer than 1024 weights are not worth it";
    assert_eq!(refused(&small, Int8).to_string(), expected);
    let none = model(4, |b, x| b.node("Relu", &[x], &[]));
    let expected =
        "nothing in it can be converted to int8: it has no matrix product with a constant weight";
    assert_eq!(refused(&none, Int8).to_string(), expected);
    let mut integers = GraphBuilder::new("integers");
    let x = integers.input("x", DataType::Int64, &[2.into()]);
    let y = integers.node("Neg", &[&x], &[]);
    integers.output("y", &y, DataType::Int64, &[2.into()]);
    let expected = "nothing in it can be converted to fp16: it has no weights of 32-bit floats";
    assert_eq!(refused(&integers.finish_model(), Fp16).to_string(), expected);
    let half = converted(&small, Fp16).model;
    for to in [Fp32, Bf16, Int8, Fp16] {
        let expected = format!("it computes in fp16 and cannot be converted to {to}");
        assert_eq!(refused(&half, to).to_string(), expected);
    }
    let mut old = small.clone();
    old.opsets.insert(String::new(), 10);
    let expected = "int8 needs operator set 11 or newer, it uses 10";
    assert_eq!(refused(&old, Int8).to_string(), expected);
    let expected = "bf16 needs operator set 13 or newer, it uses 10";
    assert_eq!(refused(&old, Bf16).to_string(), expected);
}

#[test]
fn a_weight_is_made_in_pieces_and_shared_ones_once() {
    let folder = tempfile::tempdir().unwrap();
    let size = 600_000;
    let bytes: Vec<u8> = (0..size).flat_map(|n| ((n % 1000) as f32).to_le_bytes()).collect();
    std::fs::write(folder.path().join("weights"), &bytes).unwrap();
    let place = |name: &str| Tensor {
        name: name.into(),
        dtype: DataType::Float,
        dims: vec![size],
        data: TensorData::External {
            path: "weights".into(),
            offset: 0,
            length: bytes.len() as u64,
        },
    };
    let mut builder = GraphBuilder::new("shared");
    let x = builder.input("x", DataType::Float, &[1.into()]);
    let (first, second) = (builder.initializer(place("a")), builder.initializer(place("b")));
    let y = builder.node("Add", &[&x, &first], &[]);
    let y = builder.node("Add", &[&y, &second], &[]);
    builder.output("y", &y, DataType::Float, &[size.into()]);
    let mut model = builder.finish_model();
    model.folder = Some(folder.path().to_owned());
    let plan = plan_conversion(&model, Fp16, &ConvertOptions::default()).unwrap();
    assert_eq!(plan.weights().len(), 1);
    let mut pieces = Vec::new();
    plan.write(0, &mut |piece| {
        pieces.push(piece.len());
        Ok(())
    })
    .unwrap();
    assert_eq!(pieces.iter().sum::<usize>() as u64, plan.weights()[0].size());
    assert!(pieces.len() > 1 && pieces.iter().all(|piece| *piece <= 1 << 20), "{pieces:?}");
    let failing = plan.write(0, &mut |_| Err(std::io::Error::other("the disk is full")));
    assert!(matches!(failing, Err(ConvertError::Write { .. })));
    let made = converted(&model, Fp16).model;
    assert_eq!(made.graph.initializers[0].data, made.graph.initializers[1].data);
}
