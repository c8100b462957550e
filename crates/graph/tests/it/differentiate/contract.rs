//! What is promised around the gradients: forms, names, what is kept, what is refused.

use super::trial::fixed;
use modelmeter_graph::{
    Attribute, DataType, DifferentiateError, GradientForm, GraphBuilder, Loss, Model,
    OptimizerKind, Tensor, TensorData, TrainingGraphs, TrainingPlan, differentiate, module_path,
};

fn plan(loss: Loss) -> TrainingPlan {
    TrainingPlan { loss, ..TrainingPlan::default() }
}

fn weight(builder: &mut GraphBuilder, name: &str, dims: &[usize]) -> String {
    let values = vec![0.5; dims.iter().product()];
    builder.initializer(Tensor::from_f32s(name, dims, &values))
}

/// An embedding, a linear layer in a module, and a head that shares the embedding's table.
fn language_model(tied: bool) -> Model {
    let mut builder = GraphBuilder::new("language");
    let ids = builder.input("ids", DataType::Int64, &["batch".into(), "length".into()]);
    let table = weight(&mut builder, "embed.weight", &[50, 4]);
    let mut x = builder.scope("embed", |b| b.node("Gather", &[&table, &ids], &[]));
    for layer in 0..2 {
        x = builder.scope(&format!("layers.{layer}.dense"), |b| {
            let w = weight(b, &format!("layers.{layer}.dense.weight"), &[4, 4]);
            let product = b.node("MatMul", &[&x, &w], &[]);
            let tanh = b.node("Tanh", &[&product], &[]);
            let square = b.node("Mul", &[&tanh, &tanh], &[]);
            b.node("Exp", &[&square], &[])
        });
    }
    let scores = builder.scope("head", |b| {
        let shape = b.constant_i64(&[-1, 4]);
        let flat = b.node("Reshape", &[&x, &shape], &[]);
        if tied {
            b.node("Gemm", &[&flat, &table], &[("transB", 1.into())])
        } else {
            let head = weight(b, "head.weight", &[4, 7]);
            b.node("MatMul", &[&flat, &head], &[])
        }
    });
    builder.output("scores", &scores, DataType::Float, &["rows".into(), "classes".into()]);
    builder.finish_model()
}

fn ids() -> Vec<(String, Vec<usize>)> {
    vec![("ids".to_string(), vec![2, 3])]
}

fn trained(model: &Model, checkpointing: bool) -> TrainingGraphs {
    differentiate(model, &ids(), &TrainingPlan { checkpointing, ..TrainingPlan::default() })
        .expect("the model can be trained")
}

fn form<'a>(graphs: &'a TrainingGraphs, name: &str) -> &'a GradientForm {
    &graphs.parameters.iter().find(|parameter| parameter.name == name).expect(name).gradient
}

#[test]
fn looked_up_rows_come_as_rows_and_never_as_a_table() {
    let graphs = trained(&language_model(false), false);
    let GradientForm::Rows { indices, values, count: 6 } = form(&graphs, "embed.weight") else {
        panic!("{:?}", form(&graphs, "embed.weight"));
    };
    let dims = |name: &str| {
        let outputs = &graphs.backward.graph.outputs;
        outputs.iter().find(|output| output.name == name).unwrap().shape.clone().unwrap()
    };
    assert_eq!(dims(indices), fixed(&[6]));
    assert_eq!(dims(values), fixed(&[6, 4]));
    let table = fixed(&[50, 4]);
    assert!(
        graphs.backward.graph.outputs.iter().all(|output| output.shape.as_ref() != Some(&table))
    );
}

#[test]
fn a_table_that_is_also_a_head_has_both_parts() {
    let graphs = trained(&language_model(true), false);
    assert!(matches!(form(&graphs, "embed.weight"), GradientForm::DenseAndRows { count: 6, .. }));
    assert!(matches!(form(&graphs, "layers.0.dense.weight"), GradientForm::Dense { .. }));
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |graph: &Model| {
        let path = folder.path().join("graph.onnx");
        graph.write(&path).unwrap();
        std::fs::read(&path).unwrap()
    };
    for checkpointing in [false, true] {
        let (first, second) = (
            trained(&language_model(true), checkpointing),
            trained(&language_model(true), checkpointing),
        );
        assert_eq!(first, second);
        assert_eq!(bytes(&first.forward), bytes(&second.forward));
        assert_eq!(bytes(&first.backward), bytes(&second.backward));
        assert_eq!(bytes(&first.optimizer), bytes(&second.optimizer));
    }
}

#[test]
fn backward_nodes_stay_in_their_modules() {
    for checkpointing in [false, true] {
        let graphs = trained(&language_model(false), checkpointing);
        let modules = ["embed", "layers.0.dense", "layers.1.dense", "head"];
        let mut names = std::collections::HashSet::new();
        for node in &graphs.backward.graph.nodes {
            let path = module_path(&node.name, &node.op_type);
            assert!(modules.contains(&path.as_str()), "`{}` lies in `{path}`", node.name);
            assert!(names.insert(&node.name), "`{}` comes twice", node.name);
        }
    }
}

#[test]
fn values_that_graphs_exchange_have_one_name() {
    for checkpointing in [false, true] {
        let graphs = trained(&language_model(true), checkpointing);
        let given: Vec<&str> =
            graphs.forward.graph.outputs.iter().map(|o| o.name.as_str()).collect();
        for saved in &graphs.saved {
            assert!(given.contains(&saved.name.as_str()), "{}", saved.name);
        }
        let known = |name: &str| {
            graphs.saved.iter().any(|value| value.name == name)
                || graphs.parameters.iter().any(|parameter| parameter.name == name)
                || name == "ids"
                || name == graphs.output_gradient
        };
        for input in &graphs.backward.graph.inputs {
            assert!(known(&input.name), "nobody gives `{}`", input.name);
        }
        for parameter in &graphs.parameters {
            let inputs = &graphs.forward.graph.inputs;
            assert!(inputs.iter().any(|input| input.name == parameter.name), "{}", parameter.name);
            let constants = &graphs.forward.graph.initializers;
            assert!(constants.iter().all(|tensor| tensor.name != parameter.name));
        }
    }
}

#[test]
fn checkpointing_keeps_what_lies_between_modules() {
    let model = language_model(false);
    let names = |graphs: &TrainingGraphs| -> Vec<String> {
        graphs.saved.iter().map(|value| value.name.clone()).collect()
    };
    let all = names(&trained(&model, false));
    let few = names(&trained(&model, true));
    // What goes into each layer and out of the last one.
    assert_eq!(
        few,
        ["layers.1.dense/Exp_output_0", "layers.0.dense/Exp_output_0", "embed/Gather_output_0"]
    );
    assert!(all.len() > few.len());
}

#[test]
fn labels_follow_the_output() {
    let graphs = trained(&language_model(false), false);
    assert_eq!(graphs.labels.dims, [6]);
    assert_eq!((graphs.labels.dtype, graphs.labels.classes), (DataType::Int64, Some(7)));
    assert_eq!(graphs.output.dims, [6, 7]);
    let graphs = differentiate(&language_model(false), &ids(), &plan(Loss::MeanSquares)).unwrap();
    assert_eq!(graphs.labels.dims, [6, 7]);
    assert_eq!((graphs.labels.dtype, graphs.labels.classes), (DataType::Float, None));
}

#[test]
fn states_belong_to_the_optimiser() {
    for (kind, states) in [
        (OptimizerKind::Sgd, 0),
        (OptimizerKind::Momentum, 1),
        (OptimizerKind::Adam, 2),
        (OptimizerKind::AdamW, 2),
    ] {
        let plan = TrainingPlan { optimizer: kind, ..TrainingPlan::default() };
        let graphs = differentiate(&language_model(false), &ids(), &plan).unwrap();
        assert!(graphs.parameters.iter().all(|parameter| parameter.states.len() == states));
        let outputs = graphs.optimizer.graph.outputs.len();
        assert_eq!(outputs, graphs.parameters.len() * (1 + states));
    }
}

/// A model of one weight and one operator.
fn one(op: &str, domain: &str, attributes: &[(&str, Attribute)]) -> Model {
    let mut builder = GraphBuilder::new("one");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let y = builder.scope("block", |b| b.add(domain, op, &[&w], attributes, 1).swap_remove(0));
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3]));
    builder.finish_model()
}

#[test]
fn every_operator_without_a_gradient_is_named_at_once() {
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let x = builder.scope("first", |b| b.node("Hardmax", &[&w], &[]));
    let x = builder.node("Exp", &[&x], &[]);
    let x = builder.scope("second", |b| b.add("acme", "Twist", &[&x], &[], 1).swap_remove(0));
    let v = weight(&mut builder, "v.weight", &[2, 3]);
    // Only on the way of the gradient does an operator need one.
    let beside = builder.input("beside", DataType::Float, &fixed(&[2, 3]));
    let beside = builder.node("Hardmax", &[&beside], &[]);
    let y = builder.node("Add", &[&x, &v], &[]);
    let y = builder.node("Mul", &[&y, &beside], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3]));
    let error = differentiate(&builder.finish_model(), &[], &plan(Loss::MeanSquares)).unwrap_err();
    let text = error.to_string();
    let DifferentiateError::NoGradient(operators) = error else { panic!("{text}") };
    let named: Vec<(&str, &str)> =
        operators.iter().map(|one| (one.operator.as_str(), one.node.as_str())).collect();
    assert_eq!(named, [("Hardmax", "first.Hardmax"), ("acme.Twist", "second.Twist")]);
    assert!(text.contains("`acme.Twist` (node `second.Twist`)"), "{text}");
    // PyTorch would differentiate the same graph first, so it is no way out.
    assert!(operators.iter().all(|one| !one.hint.is_empty() && !one.hint.contains("torch")));
}

#[test]
fn a_form_of_an_operator_that_has_no_gradient_says_what_would() {
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[1, 1, 4, 4]);
    let pads = builder.constant_i64(&[0, 0, 1, 1, 0, 0, 1, 1]);
    let y = builder.node("Pad", &[&w, &pads], &[("mode", "reflect".into())]);
    builder.output("y", &y, DataType::Float, &fixed(&[1, 1, 6, 6]));
    let error = differentiate(&builder.finish_model(), &[], &plan(Loss::MeanSquares)).unwrap_err();
    assert!(error.to_string().contains("only padding with a constant"), "{error}");
}

#[test]
fn steps_carry_no_gradient() {
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let v = weight(&mut builder, "v.weight", &[2, 3]);
    let floor = builder.node("Floor", &[&w], &[]);
    let y = builder.node("Mul", &[&floor, &v], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3]));
    let graphs = differentiate(&builder.finish_model(), &[], &plan(Loss::MeanSquares)).unwrap();
    assert_eq!(graphs.untrained, ["w.weight"]);
    // It is still needed, so it stays in the forward graph as a constant.
    assert_eq!(graphs.forward.graph.initializers[0].name, "w.weight");
    let error = differentiate(&one("Sign", "", &[]), &[], &plan(Loss::MeanSquares)).unwrap_err();
    assert!(matches!(error, DifferentiateError::NothingToTrain { .. }), "{error}");
}

#[test]
fn a_weight_that_the_loss_does_not_see_is_listed() {
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let pooler = weight(&mut builder, "pooler.weight", &[3, 3]);
    let y = builder.node("Exp", &[&w], &[]);
    let pooled = builder.node("MatMul", &[&y, &pooler], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3]));
    builder.output("pooled", &pooled, DataType::Float, &fixed(&[2, 3]));
    let model = builder.finish_model();
    let graphs = differentiate(&model, &[], &plan(Loss::MeanSquares)).unwrap();
    assert_eq!(graphs.untrained, ["pooler.weight"]);
    assert!(graphs.forward.graph.nodes.iter().all(|node| node.op_type != "MatMul"));
    let asked = TrainingPlan { output: Some("pooled".to_string()), ..plan(Loss::MeanSquares) };
    let graphs = differentiate(&model, &[], &asked).unwrap();
    assert_eq!((graphs.untrained.len(), graphs.parameters.len()), (0, 2));
}

#[test]
fn outputs_that_do_not_fit_are_refused() {
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let best = builder.node("ArgMax", &[&w], &[("axis", 1.into()), ("keepdims", 0.into())]);
    let sums =
        builder.node("ReduceMax", &[&w], &[("axes", vec![1].into()), ("keepdims", 0.into())]);
    builder.output("best", &best, DataType::Int64, &fixed(&[2]));
    let whole = builder.finish_model();
    let error = differentiate(&whole, &[], &plan(Loss::MeanSquares)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no output fits the loss: mean squares need floats; outputs are `best`"
    );
    let mut with_floats = whole.clone();
    with_floats.graph.outputs.push(modelmeter_graph::ValueInfo {
        name: sums,
        dtype: DataType::Float,
        shape: None,
    });
    let error = differentiate(&with_floats, &[], &plan(Loss::CrossEntropy)).unwrap_err();
    assert!(matches!(error, DifferentiateError::NoOutput { .. }), "{error}");
    assert!(differentiate(&with_floats, &[], &plan(Loss::MeanSquares)).is_ok());
    let asked = TrainingPlan { output: Some("none".to_string()), ..TrainingPlan::default() };
    let error = differentiate(&whole, &[], &asked).unwrap_err();
    assert_eq!(error.to_string(), "the model has no output `none`; it has `best`");
}

#[test]
fn dims_and_types_that_cannot_be_trained_are_named() {
    let error = differentiate(&language_model(false), &[], &TrainingPlan::default()).unwrap_err();
    assert_eq!(error, DifferentiateError::UnknownShape { value: "ids".to_string() });
    let mut builder = GraphBuilder::new("g");
    let w = weight(&mut builder, "w.weight", &[2, 3]);
    let half =
        builder.node("Cast", &[&w], &[("to", Attribute::Int(i64::from(DataType::Float16 as i32)))]);
    let y = builder.node("Exp", &[&half], &[]);
    builder.output("y", &y, DataType::Float16, &fixed(&[2, 3]));
    let error = differentiate(&builder.finish_model(), &[], &plan(Loss::MeanSquares)).unwrap_err();
    assert!(
        matches!(error, DifferentiateError::NotSingle { dtype: DataType::Float16, .. }),
        "{error}"
    );
}

#[test]
fn weights_are_not_read_and_one_place_is_one_weight() {
    let mut builder = GraphBuilder::new("g");
    let place = |name: &str, offset| Tensor {
        name: name.to_string(),
        dtype: DataType::Float,
        dims: vec![3, 3],
        data: TensorData::External { path: "nowhere.data".into(), offset, length: 36 },
    };
    for (name, offset) in [("a.weight", 0), ("b.weight", 36), ("copy.weight", 0)] {
        builder.initializer(place(name, offset));
    }
    let x = builder.input("x", DataType::Float, &fixed(&[2, 3]));
    let x = builder.node("MatMul", &[&x, "a.weight"], &[]);
    let x = builder.node("MatMul", &[&x, "b.weight"], &[]);
    // The exporter's way of sharing, and the file's.
    let again = builder.node("Identity", &["b.weight"], &[]);
    let x = builder.node("MatMul", &[&x, &again], &[]);
    let y = builder.node("MatMul", &[&x, "copy.weight"], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3]));
    let graphs = differentiate(&builder.finish_model(), &[], &TrainingPlan::default()).unwrap();
    let names: Vec<&str> = graphs.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a.weight", "b.weight"]);
    assert_eq!(graphs.parameters[1].initializer, place("b.weight", 36));
}

#[test]
fn weights_in_constant_nodes_are_trained_and_constants_of_ours_are_not() {
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", DataType::Float, &fixed(&[2, 3]));
    let value = Attribute::Tensor(Tensor::from_f32s("", &[3, 2], &[0.5; 6]));
    let w = builder.node("Constant", &[], &[("value", value)]);
    let y = builder.node("MatMul", &[&x, &w], &[]);
    let frequencies = builder.constant_f32(&[1.0, 2.0]);
    let y = builder.node("Mul", &[&y, &frequencies], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 2]));
    let graphs = differentiate(&builder.finish_model(), &[], &TrainingPlan::default()).unwrap();
    let names: Vec<&str> = graphs.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["/Constant_output_0"]);
    assert!(graphs.forward.graph.nodes.iter().all(|node| node.op_type != "Constant"));
}

#[test]
fn nothing_inside_a_fused_function_is_kept() {
    for (kind, written) in [("erf", 5), ("tanh", 8), ("silu", 2), ("quick", 3)] {
        let mut trial = super::trial::Trial::new(1);
        let w = trial.weight(&[2, 3], super::trial::Numbers::Around);
        let x = trial.op("Exp", &[&w], &[]);
        let y = super::pointwise::spelled(&mut trial, kind, &x);
        trial.graph.output("y", &y, DataType::Float, &fixed(&[2, 3]));
        let model = trial.graph.finish_model();
        let graphs = differentiate(&model, &[], &plan(Loss::MeanSquares)).unwrap();
        let saved: Vec<&str> = graphs.saved.iter().map(|value| value.name.as_str()).collect();
        assert_eq!(saved, [x.as_str()], "{kind}");
        // The forward graph is the model's own, node by node.
        assert_eq!(graphs.forward.graph.nodes.len(), 1 + written);
        assert_eq!(graphs.forward.graph.nodes, model.graph.nodes);
    }
}

#[test]
fn shapes_of_shapes_become_constants() {
    let mut builder = GraphBuilder::new("g");
    let x = builder.input("x", DataType::Float, &["batch".into(), 3.into()]);
    let w = weight(&mut builder, "w.weight", &[3, 4]);
    let y = builder.node("MatMul", &[&x, &w], &[]);
    let shape = builder.node("Shape", &[&x], &[]);
    let first = builder.scalar_i64(0);
    let batch = builder.node("Gather", &[&shape, &first], &[]);
    let axes = builder.constant_i64(&[0]);
    let batch = builder.node("Unsqueeze", &[&batch, &axes], &[]);
    let rest = builder.constant_i64(&[2, 2]);
    let target = builder.node("Concat", &[&batch, &rest], &[("axis", 0.into())]);
    let y = builder.node("Reshape", &[&y, &target], &[]);
    builder.output("y", &y, DataType::Float, &["batch".into(), 2.into(), 2.into()]);
    let dims = vec![("x".to_string(), vec![5, 3])];
    let graphs = differentiate(&builder.finish_model(), &dims, &TrainingPlan::default()).unwrap();
    let operators: Vec<&str> =
        graphs.forward.graph.nodes.iter().map(|node| node.op_type.as_str()).collect();
    assert_eq!(operators, ["MatMul", "Reshape"]);
    assert_eq!(graphs.output.dims, [5, 2, 2]);
}

#[test]
fn values_come_as_the_backward_graph_reads_them_if_that_is_asked_for() {
    let mut builder = GraphBuilder::new("two");
    let x = builder.input("x", DataType::Float, &fixed(&[2, 3, 4]));
    let [left, right] = ["a.weight", "b.weight"].map(|name| {
        let w = weight(&mut builder, name, &[4, 5]);
        builder.node("MatMul", &[&x, &w], &[])
    });
    let y = builder.node("Add", &[&left, &right], &[]);
    builder.output("y", &y, DataType::Float, &fixed(&[2, 3, 5]));
    let model = builder.finish_model();
    let asked = |turned_first, prepared| {
        let plan = TrainingPlan { turned_first, prepared, ..plan(Loss::MeanSquares) };
        differentiate(&model, &[], &plan).expect("the model can be trained")
    };
    let ops = |graphs: &TrainingGraphs, op: &str| {
        graphs.backward.graph.nodes.iter().filter(|node| node.op_type == op).count()
    };
    let plain = asked(true, false);
    assert!(plain.prepared.is_empty());
    assert!(ops(&plain, "Reshape") > 0 && ops(&plain, "Transpose") > 0);

    // Both products read one turned matrix, and the gradient of the output under one other shape.
    let turned = asked(true, true);
    assert_eq!((ops(&turned, "Reshape"), ops(&turned, "Transpose")), (0, 0));
    let forms: Vec<_> =
        turned.prepared.iter().map(|v| (v.of.as_str(), v.dims.clone(), v.turned)).collect();
    let gradient = turned.output_gradient.as_str();
    assert_eq!(forms, [(gradient, vec![6, 5], false), ("x", vec![4, 6], true)]);
    let taken: Vec<&str> =
        turned.backward.graph.inputs.iter().map(|input| input.name.as_str()).collect();
    let names: Vec<&str> = turned.prepared.iter().map(|value| value.name.as_str()).collect();
    assert_eq!(taken, names, "what is read in another form only is not taken as it was");

    // Who asks for less memory gets no turned copies.
    let sparing = TrainingPlan {
        turned_first: true,
        prepared: true,
        checkpointing: true,
        ..plan(Loss::MeanSquares)
    };
    let sparing = differentiate(&model, &[], &sparing).expect("the model can be trained");
    assert!(sparing.prepared.iter().all(|value| !value.turned));
    assert_eq!(ops(&sparing, "Transpose"), 2);

    // Where products turn by themselves, only the dims change.
    let flat = asked(false, true);
    assert_eq!((ops(&flat, "Reshape"), ops(&flat, "Gemm")), (0, 2));
    assert!(flat.prepared.iter().all(|value| !value.turned));
}
