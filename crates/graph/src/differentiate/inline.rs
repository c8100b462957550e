//! Puts the branch of an `If` that is known to run in the place of the `If`, so that its weights can be trained.
//!
//! Which branch runs is known where the condition follows from shapes and constants.

use crate::{Attribute, Graph, Model, Node, Shapes, infer};
use std::collections::{BTreeMap, HashMap};

/// The model without the `If`s whose branch is known; `None` if there are none.
pub(super) fn known_branches(model: &Model, inputs: &[(String, Vec<usize>)]) -> Option<Model> {
    if model.graph.nodes.iter().all(|node| node.op_type != "If") {
        return None;
    }
    let shapes = infer(model, inputs);
    let mut flat = Flat { graph: Graph { nodes: Vec::new(), ..model.graph.clone() }, found: false };
    flat.nodes(&model.graph, &shapes, &HashMap::new());
    flat.found.then(|| Model { graph: flat.graph, ..model.clone() })
}

struct Flat {
    graph: Graph,
    found: bool,
}

impl Flat {
    /// Takes the nodes of a graph over; `names` says what values of it are called outside.
    fn nodes(&mut self, graph: &Graph, shapes: &Shapes, names: &HashMap<String, String>) {
        for (at, node) in graph.nodes.iter().enumerate() {
            let taken = shapes.bodies.get(&at).filter(|_| node.op_type == "If");
            let taken = taken.and_then(|bodies| bodies.iter().find(|body| body.times == Some(1)));
            let branch = taken.and_then(|body| Some((body.graph(node)?, &body.shapes)));
            match branch {
                Some((branch, shapes)) => self.branch(node, branch, shapes, names),
                None => self.graph.nodes.push(renamed(node, names)),
            }
        }
    }

    fn branch(
        &mut self,
        node: &Node,
        branch: &Graph,
        shapes: &Shapes,
        names: &HashMap<String, String>,
    ) {
        self.found = true;
        let outer = |name: &String| names.get(name).cloned().unwrap_or_else(|| name.clone());
        let place = node.outputs.iter().find(|name| !name.is_empty()).map(outer);
        let place = place.unwrap_or_else(|| node.name.clone());
        let mut inner = names.clone();
        // Two branches may use the same names inside.
        let made = branch.nodes.iter().flat_map(|node| &node.outputs);
        let own = branch.initializers.iter().map(|tensor| &tensor.name).chain(made);
        inner.extend(own.map(|name| (name.clone(), format!("{place}/{name}"))));
        for tensor in &branch.initializers {
            let mut tensor = tensor.clone();
            tensor.name.clone_from(&inner[&tensor.name]);
            self.graph.initializers.push(tensor);
        }
        self.nodes(branch, shapes, &inner);
        for (output, from) in node.outputs.iter().zip(&branch.outputs) {
            if output.is_empty() {
                continue;
            }
            let from = inner.get(&from.name).unwrap_or(&from.name).clone();
            self.graph.nodes.push(Node {
                name: format!("{place}/{output}/Identity"),
                op_type: "Identity".into(),
                domain: String::new(),
                inputs: vec![from],
                outputs: vec![outer(output)],
                attributes: BTreeMap::new(),
            });
        }
    }
}

/// A node with other names for what it reads and makes, in its bodies too.
fn renamed(node: &Node, names: &HashMap<String, String>) -> Node {
    let mut node = node.clone();
    if names.is_empty() {
        return node;
    }
    for name in node.inputs.iter_mut().chain(&mut node.outputs) {
        if let Some(other) = names.get(name) {
            name.clone_from(other);
        }
    }
    for attribute in node.attributes.values_mut() {
        if let Attribute::Graph(body) = attribute {
            body.nodes = body.nodes.iter().map(|inner| renamed(inner, names)).collect();
            for output in &mut body.outputs {
                if let Some(other) = names.get(&output.name) {
                    output.name.clone_from(other);
                }
            }
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DataType, DifferentiateError, Dim, GraphBuilder, Loss, Tensor, TrainingPlan, differentiate,
    };

    const ROWS: [Dim; 2] = [Dim::Fixed(2), Dim::Fixed(3)];

    fn branch(factor: f32) -> Attribute {
        let mut body = GraphBuilder::new("branch");
        let weight = body.initializer(Tensor::from_f32s("weight", &[3, 3], &[factor; 9]));
        let y = body.node("MatMul", &["x", &weight], &[]);
        body.output("y", &y, DataType::Float, &ROWS);
        Attribute::Graph(Box::new(body.finish()))
    }

    fn model(condition: Option<bool>) -> Model {
        let mut builder = GraphBuilder::new("g");
        builder.input("x", DataType::Float, &ROWS);
        let flag = match condition {
            Some(on) => {
                let flag = Tensor::from_bytes("flag", DataType::Bool, &[], vec![u8::from(on)]);
                builder.initializer(flag)
            }
            None => builder.input("flag", DataType::Bool, &[]),
        };
        let branches = [("then_branch", branch(1.0)), ("else_branch", branch(2.0))];
        let y = builder.node("If", &[&flag], &branches);
        builder.output("y", &y, DataType::Float, &ROWS);
        builder.finish_model()
    }

    fn plan() -> TrainingPlan {
        TrainingPlan { loss: Loss::MeanSquares, ..TrainingPlan::default() }
    }

    #[test]
    fn the_weights_of_a_branch_that_is_known_are_trained() {
        for (condition, first) in [(true, 1.0), (false, 2.0)] {
            let graphs = differentiate(&model(Some(condition)), &[], &plan()).unwrap();
            assert_eq!(graphs.parameters.len(), 1);
            let weight = &graphs.parameters[0].initializer;
            assert_eq!(weight.f32s().unwrap()[0], first);
        }
    }

    #[test]
    fn weights_inside_a_branch_that_may_not_run_are_refused_by_name() {
        let wrong = differentiate(&model(None), &[], &plan()).unwrap_err();
        assert!(matches!(wrong, DifferentiateError::NoGradient(_)), "{wrong}");
        let text = wrong.to_string();
        for part in ["`If`", "weights inside it (`weight`)", "without control flow"] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
    }

    #[test]
    fn weights_of_all_branches_count_as_parameters() {
        assert_eq!(crate::count_weights(&model(None)).parameters, 18);
    }
}
