//! The order of nodes: whoever makes a value comes before whoever reads it.
//!
//! ONNX asks for this order and some exporters forget it. Everything behind the reader relies on it, so a graph out of
//! order is sorted once, and a graph that has no order at all is refused.

use crate::{Attribute, Graph, Node};
use std::collections::{HashMap, HashSet};

/// Puts nodes after those whose values they read, in bodies too; graphs in order stay as they are.
///
/// # Errors
/// The name of a node that reads what follows from its own output.
pub(crate) fn sort(graph: &mut Graph) -> Result<(), String> {
    for node in &mut graph.nodes {
        for attribute in node.attributes.values_mut() {
            if let Attribute::Graph(body) = attribute {
                sort(body)?;
            }
        }
    }
    let Some(before) = waits(graph) else { return Ok(()) };
    let order = ordered(&before).map_err(|place| node_label(&graph.nodes[place]))?;
    let mut nodes: Vec<Option<Node>> = graph.nodes.drain(..).map(Some).collect();
    graph.nodes.extend(order.into_iter().filter_map(|place| nodes[place].take()));
    Ok(())
}

fn node_label(node: &Node) -> String {
    let first = node.outputs.iter().find(|name| !name.is_empty());
    match node.name.is_empty() {
        true => first.unwrap_or(&node.op_type).clone(),
        false => node.name.clone(),
    }
}

/// By node: the nodes that must come before it; `None` if all of them do.
fn waits(graph: &Graph) -> Option<Vec<Vec<usize>>> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (place, node) in graph.nodes.iter().enumerate() {
        last.extend(made(node).map(|name| (name, place)));
    }
    let given = graph.inputs.iter().map(|input| input.name.as_str());
    let given = given.chain(graph.initializers.iter().map(|tensor| tensor.name.as_str()));
    let mut known: HashSet<&str> = given.collect();
    let mut earlier: HashMap<&str, usize> = HashMap::new();
    let mut is_out_of_order = false;
    let mut before = Vec::with_capacity(graph.nodes.len());
    for (place, node) in graph.nodes.iter().enumerate() {
        let mut own = Vec::new();
        for name in read(node) {
            if let Some(maker) = earlier.get(name) {
                own.push(*maker);
            } else if let Some(maker) = last.get(name).filter(|_| !known.contains(name)) {
                is_out_of_order = true;
                own.push(*maker);
            }
        }
        before.push(own);
        earlier.extend(made(node).map(|name| (name, place)));
        known.extend(made(node));
    }
    is_out_of_order.then_some(before)
}

/// The places of all nodes in an order that keeps what can be kept; a node that nothing can come before otherwise.
fn ordered(before: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Untouched,
        Open,
        Done,
    }
    let mut states = vec![State::Untouched; before.len()];
    let mut order = Vec::with_capacity(before.len());
    for first in 0..before.len() {
        // A stack of our own: a chain of nodes may be longer than a thread's.
        let mut stack = vec![(first, 0)];
        while let Some((place, next)) = stack.pop() {
            if next == 0 {
                if states[place] == State::Done {
                    continue;
                }
                states[place] = State::Open;
            }
            match before[place].get(next) {
                Some(&needed) => {
                    stack.push((place, next + 1));
                    match states[needed] {
                        State::Open => return Err(needed),
                        State::Untouched => stack.push((needed, 0)),
                        State::Done => {}
                    }
                }
                None => {
                    states[place] = State::Done;
                    order.push(place);
                }
            }
        }
    }
    Ok(order)
}

fn made(node: &Node) -> impl Iterator<Item = &str> {
    node.outputs.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// What a node reads from its graph: its inputs, and what its bodies take from outside.
fn read(node: &Node) -> Vec<&str> {
    let mut names: Vec<&str> = node.inputs.iter().map(String::as_str).collect();
    for (_, body) in node.subgraphs() {
        let inputs = body.inputs.iter().map(|input| input.name.as_str());
        let constants = body.initializers.iter().map(|tensor| tensor.name.as_str());
        let own: HashSet<&str> =
            inputs.chain(constants).chain(body.nodes.iter().flat_map(made)).collect();
        let outputs = body.outputs.iter().map(|output| output.name.as_str());
        let inner = body.nodes.iter().flat_map(read).chain(outputs);
        names.extend(inner.filter(|name| !own.contains(name)));
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, GraphBuilder};

    fn node(from: &str, to: &str) -> Node {
        Node {
            name: format!("make {to}"),
            op_type: "Relu".into(),
            domain: String::new(),
            inputs: vec![from.into()],
            outputs: vec![to.into()],
            attributes: Default::default(),
        }
    }

    fn graph(nodes: Vec<Node>) -> Graph {
        let mut builder = GraphBuilder::new("g");
        builder.input("x", DataType::Float, &[2.into()]);
        let mut graph = builder.finish();
        graph.nodes = nodes;
        graph
    }

    fn makes(graph: &Graph) -> Vec<&str> {
        graph.nodes.iter().flat_map(made).collect()
    }

    #[test]
    fn nodes_out_of_order_are_put_in_order_and_others_stay() {
        let mut mixed = graph(vec![node("b", "c"), node("x", "a"), node("a", "b")]);
        sort(&mut mixed).unwrap();
        assert_eq!(makes(&mixed), ["a", "b", "c"]);
        let mut right = graph(vec![node("x", "b"), node("x", "a"), node("a", "c")]);
        sort(&mut right).unwrap();
        assert_eq!(makes(&right), ["b", "a", "c"]);
    }

    #[test]
    fn nodes_that_wait_for_each_other_are_refused_by_name() {
        let mut pair = graph(vec![node("b", "a"), node("a", "b")]);
        assert!(sort(&mut pair).unwrap_err().starts_with("make "));
        let mut own = graph(vec![node("a", "a")]);
        assert_eq!(sort(&mut own).unwrap_err(), "make a");
    }

    #[test]
    fn a_body_that_reads_its_own_nodes_output_is_a_cycle() {
        let body = |from: &str| Attribute::Graph(Box::new(graph(vec![node(from, "inner")])));
        let with = |from: &str| {
            let mut outer = node("x", "y");
            outer.attributes.insert("body".into(), body(from));
            graph(vec![outer, node("y", "z")])
        };
        sort(&mut with("x")).unwrap();
        sort(&mut with("inner_only")).unwrap();
        assert_eq!(sort(&mut with("z")).unwrap_err(), "make y");
    }

    #[test]
    fn a_long_chain_in_reverse_does_not_need_a_deep_stack() {
        let count = 200_000;
        let nodes = (0..count).rev().map(|i| node(&format!("v{i}"), &format!("v{}", i + 1)));
        let mut chain = graph(nodes.collect());
        chain.inputs[0].name = "v0".into();
        sort(&mut chain).unwrap();
        assert_eq!(chain.nodes[0].inputs, ["v0"]);
    }
}
