//! What a graph inside a node sees of the graph around it, constants where weights are looked for, and copies that must
//! not be counted.

use crate::{Attribute, BUFFERS, Graph, Model, Node, Tensor, TensorData};
use std::collections::{HashMap, HashSet};

/// The values around that a graph inside a node uses.
pub(super) fn captured(graph: &Graph) -> HashSet<String> {
    let mut used = HashSet::new();
    for node in &graph.nodes {
        used.extend(node.inputs.iter().filter(|name| !name.is_empty()).cloned());
        for (_, inner) in node.subgraphs() {
            used.extend(captured(inner));
        }
    }
    used.extend(graph.outputs.iter().map(|output| output.name.clone()));
    for name in own(graph) {
        used.remove(name);
    }
    used
}

/// The values that a graph makes itself.
fn own(graph: &Graph) -> impl Iterator<Item = &str> {
    let fed = graph.inputs.iter().map(|input| input.name.as_str());
    let constant = graph.initializers.iter().map(|tensor| tensor.name.as_str());
    let made = graph.nodes.iter().flat_map(|node| node.outputs.iter().map(String::as_str));
    fed.chain(constant).chain(made)
}

/// The values that a node uses: its inputs, and what the graphs inside it see of the graph around.
pub(super) fn uses(node: &Node) -> HashSet<String> {
    let mut used: HashSet<String> =
        node.inputs.iter().filter(|name| !name.is_empty()).cloned().collect();
    for (_, inner) in node.subgraphs() {
        used.extend(captured(inner));
    }
    used
}

/// Gives values of the graph around another name in a graph inside a node.
pub(super) fn rename(graph: &mut Graph, names: &HashMap<String, String>) {
    let mut names = names.clone();
    let own: Vec<String> = own(graph).map(str::to_owned).collect();
    for name in own {
        names.remove(&name);
    }
    if names.is_empty() {
        return;
    }
    for node in &mut graph.nodes {
        for input in &mut node.inputs {
            if let Some(name) = names.get(input) {
                input.clone_from(name);
            }
        }
        for attribute in node.attributes.values_mut() {
            if let Attribute::Graph(inner) = attribute {
                rename(inner, &names);
            }
        }
    }
    for output in &mut graph.outputs {
        if let Some(name) = names.get(&output.name) {
            output.name.clone_from(name);
        }
    }
}

/// Lists tensors in the metadata as copies, so that they do not count as parameters a second time.
pub(super) fn list_copies(model: &mut Model, copies: &[String]) {
    if copies.is_empty() {
        return;
    }
    let buffers = model.metadata.entry(BUFFERS.to_owned()).or_default();
    if !buffers.is_empty() {
        buffers.push('\n');
    }
    buffers.push_str(&copies.join("\n"));
}

/// A copy of the model with its float constants as initialisers, which is where weights are looked for.
///
/// `Constant` nodes that are an output of the graph stay.
pub(crate) fn with_constants_as_weights(model: &Model) -> Model {
    let outputs: HashSet<&str> =
        model.graph.outputs.iter().map(|output| output.name.as_str()).collect();
    let mut graph = Graph { nodes: Vec::new(), ..model.graph.clone() };
    for node in &model.graph.nodes {
        let name = node.outputs.first().map(String::as_str).unwrap_or_default();
        match constant_tensor(node) {
            Some(tensor) if !name.is_empty() && !outputs.contains(name) => {
                graph.initializers.push(Tensor { name: name.to_owned(), ..tensor });
            }
            _ => graph.nodes.push(node.clone()),
        }
    }
    // Before version 4 of the format every initialiser had to be an input too.
    Model { graph, ir_version: model.ir_version.max(4), ..model.clone() }
}

/// The tensor of a `Constant` node of 32-bit floats.
fn constant_tensor(node: &Node) -> Option<Tensor> {
    if node.op_type != "Constant" || !node.is_standard() {
        return None;
    }
    let (name, attribute) = node.attributes.first_key_value()?;
    let tensor = match (name.as_str(), attribute) {
        ("value", Attribute::Tensor(tensor)) => tensor.clone(),
        ("value_float", Attribute::Float(value)) => Tensor::from_f32s("", &[], &[*value]),
        ("value_floats", Attribute::Floats(values)) => {
            Tensor::from_f32s("", &[values.len()], values)
        }
        _ => return None,
    };
    let is_float = tensor.dtype == crate::DataType::Float;
    (is_float && !matches!(tensor.data, TensorData::Strings(_))).then_some(tensor)
}
