//! Graphs that are not what ONNX defines, as damaged files have them: refused by name, or counted without harm.

use modelmeter_graph::{
    Attribute, DataType, GraphBuilder, Model, PruneError, PruneMethod, PruneOptions, Tensor,
    TrainingPlan, Unsound, analyse, differentiate, infer, plan_pruning, pooled_peak,
};

/// Two products with a function between them, over inputs of this width.
fn network(width: usize) -> Model {
    let mut builder = GraphBuilder::new("network");
    let x = builder.input("x", DataType::Float, &[2.into(), width.into()]);
    let a = builder.initializer(Tensor::from_f32s("a.weight", &[4, 8], &[0.5; 32]));
    let b = builder.initializer(Tensor::from_f32s("b.weight", &[8, 4], &[0.5; 32]));
    let wide = builder.scope("a", |b| b.node("MatMul", &[&x, &a], &[]));
    let shown = builder.scope("act", |b| b.node("Relu", &[&wide], &[]));
    let back = builder.scope("b", |builder| builder.node("MatMul", &[&shown, &b], &[]));
    builder.output("y", &back, DataType::Float, &[2.into(), 4.into()]);
    let mut model = builder.finish_model();
    // Declared, so that dims are known even where they do not follow.
    model.graph.value_infos = ["a/MatMul_output_0", "act/Relu_output_0"]
        .map(|name| modelmeter_graph::ValueInfo {
            name: name.into(),
            dtype: DataType::Float,
            shape: Some(vec![2.into(), 8.into()]),
        })
        .into();
    model
}

fn refusals(model: &Model) -> [String; 2] {
    let training = match differentiate(model, &[], &TrainingPlan::default()) {
        Err(error) => error,
        Ok(_) => panic!("it was differentiated"),
    };
    let options = PruneOptions::new(PruneMethod::Structured, 0.5);
    let pruning = match plan_pruning(model, &options) {
        Err(error) => error,
        Ok(_) => panic!("it was pruned"),
    };
    assert!(matches!(pruning, PruneError::Unsound(_)), "{pruning}");
    [training.to_string(), pruning.to_string()]
}

#[test]
fn a_whole_graph_is_taken() {
    let model = network(4);
    assert!(differentiate(&model, &[], &TrainingPlan::default()).is_ok());
    let pruned = plan_pruning(&model, &PruneOptions::new(PruneMethod::Structured, 0.5));
    assert!(!matches!(pruned, Err(PruneError::Unsound(_))), "{pruned:?}");
}

#[test]
fn a_node_that_does_not_fit_its_inputs_is_named() {
    for refusal in refusals(&network(5)) {
        assert_eq!(refusal, "node `a.MatMul` is broken: `MatMul` does not fit its inputs");
    }
}

#[test]
fn values_are_made_once_and_before_they_are_read() {
    let mut model = network(4);
    model.graph.nodes[0].inputs[0] = "act/Relu_output_0".into();
    for refusal in refusals(&model) {
        assert!(refusal.contains("which nothing before it makes"), "{refusal}");
    }
    let mut model = network(4);
    model.graph.nodes[1].outputs[0] = "a/MatMul_output_0".into();
    model.graph.nodes[2].inputs[0] = "a/MatMul_output_0".into();
    for refusal in refusals(&model) {
        assert!(refusal.contains("which is there already"), "{refusal}");
    }
    // Nobody counts less than nothing on it.
    assert!(analyse(&model, &[]).work.coverage.0 <= 1.0);
    let _ = pooled_peak(&model.graph, &infer(&model, &[]));
}

#[test]
fn values_beyond_all_memory_are_refused_before_they_are_multiplied() {
    let mut builder = GraphBuilder::new("large");
    let half = 1_usize << 33;
    let x = builder.input("x", DataType::Float, &[half.into(), half.into()]);
    let scale = builder.initializer(Tensor::from_f32s("scale", &[1], &[0.5]));
    let y = builder.node("Mul", &[&x, &scale], &[]);
    let all = builder.node("ReduceMean", &[&y], &[("keepdims", Attribute::Int(1))]);
    builder.output("y", &all, DataType::Float, &[1.into(), 1.into()]);
    let plan = TrainingPlan { loss: modelmeter_graph::Loss::MeanSquares, ..Default::default() };
    let error = differentiate(&builder.finish_model(), &[], &plan).unwrap_err();
    let unsound = modelmeter_graph::DifferentiateError::Unsound(Unsound::Large {
        value: "/Mul_output_0".into(),
        dims: vec![half, half],
    });
    assert_eq!(error, unsound);
}
