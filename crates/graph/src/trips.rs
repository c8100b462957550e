//! Lets a run tell how often each `Loop` went round: the rounds become one more output of the loop.

use crate::{Attribute, DataType, Model, Node, Shapes, ValueInfo};
use std::collections::BTreeMap;

/// What the output of a loop is called whose first dimension is its number of rounds.
pub(crate) fn trips_name(node: &Node) -> Option<String> {
    let output = node.outputs.iter().find(|name| !name.is_empty())?;
    Some(format!("{output}/rounds"))
}

/// The same model with one more output for every `Loop` of the main graph whose rounds only a run can tell, and the
/// names of these outputs. Their first dimension is the number of rounds; [`infer_observed`](crate::infer_observed)
/// takes it from there.
#[must_use]
pub fn with_round_counts(model: &Model, shapes: &Shapes) -> (Model, Vec<String>) {
    let mut counting = model.clone();
    let mut names = Vec::new();
    for (at, node) in counting.graph.nodes.iter_mut().enumerate() {
        let bodies = shapes.bodies.get(&at).filter(|_| node.op_type == "Loop");
        if bodies.is_none_or(|bodies| bodies.iter().all(|body| body.times.is_some())) {
            continue;
        }
        let Some(name) = trips_name(node) else { continue };
        if add_count(node, &name) {
            let info = ValueInfo { name: name.clone(), dtype: DataType::Int64, shape: None };
            counting.graph.outputs.push(info);
            names.push(name);
        }
    }
    (counting, names)
}

/// Every round hands its number out; the loop makes a row of each.
fn add_count(node: &mut Node, name: &str) -> bool {
    let Some(Attribute::Graph(body)) = node.attributes.get_mut("body") else { return false };
    let Some(round) = body.inputs.first().map(|input| input.name.clone()) else { return false };
    let inner = format!("{name}/round");
    body.nodes.push(Node {
        name: inner.clone(),
        op_type: "Identity".into(),
        domain: String::new(),
        inputs: vec![round],
        outputs: vec![inner.clone()],
        attributes: BTreeMap::new(),
    });
    // Outputs that nobody wanted are named, so that this one stands in its place behind them.
    for at in node.outputs.len()..body.outputs.len().saturating_sub(1) {
        node.outputs.push(format!("{name}/unused_{at}"));
    }
    let info = ValueInfo { name: inner, dtype: DataType::Int64, shape: Some(Vec::new()) };
    body.outputs.push(info);
    node.outputs.push(name.to_owned());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, GraphBuilder, Tensor, analyse_shapes, infer, infer_observed};

    /// A loop of element-wise negations that ends when its carried value says so.
    fn looping() -> Model {
        let mut body = GraphBuilder::new("body");
        let round = body.input("round", DataType::Int64, &[]);
        body.input("go_on", DataType::Bool, &[]);
        let carried = body.input("carried", DataType::Float, &[Dim::Fixed(8)]);
        let next = body.node("Neg", &[&carried], &[]);
        let most = body.initializer(Tensor::from_i64s("most", &[], &[3]));
        let again = body.node("Less", &[&round, &most], &[]);
        body.output("again", &again, DataType::Bool, &[]);
        body.output("next", &next, DataType::Float, &[Dim::Fixed(8)]);
        let body = Attribute::Graph(Box::new(body.finish()));
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[Dim::Fixed(8)]);
        let y = builder.node("Loop", &["", "", &x], &[("body", body)]);
        builder.output("y", &y, DataType::Float, &[Dim::Fixed(8)]);
        builder.finish_model()
    }

    #[test]
    fn the_rounds_that_a_run_showed_are_counted() {
        let model = looping();
        let shapes = infer(&model, &[]);
        let before = analyse_shapes(&model, &shapes).work;
        assert!(before.coverage.0 < 1.0, "nobody knows how often: at least");
        let (counting, names) = with_round_counts(&model, &shapes);
        assert_eq!(names.len(), 1);
        assert_eq!(counting.graph.outputs.len(), 2);
        let node = counting.graph.nodes.iter().find(|node| node.op_type == "Loop").unwrap();
        assert_eq!(node.outputs.len(), 2);
        let seen = [(names[0].clone(), vec![5])];
        let after = analyse_shapes(&model, &infer_observed(&model, &[], &seen)).work;
        assert_eq!(after.coverage.0, 1.0);
        assert_eq!(after.flops.0, 5 * (8 + 1), "five rounds of eight negations and a comparison");
    }

    #[test]
    fn a_model_without_such_a_loop_stays_as_it_is() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[Dim::Fixed(8)]);
        let y = builder.node("Relu", &[&x], &[]);
        builder.output("y", &y, DataType::Float, &[Dim::Fixed(8)]);
        let model = builder.finish_model();
        let (same, names) = with_round_counts(&model, &infer(&model, &[]));
        assert!(names.is_empty());
        assert_eq!(same, model);
    }
}
