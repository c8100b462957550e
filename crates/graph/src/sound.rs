//! Whether a graph can be what it says. What changes a graph takes its nodes as ONNX defines them; a damaged file may
//! hold any others.

use crate::{
    DataType, Model, Node, Shapes,
    shapes::{Call, infer_node},
};
use std::collections::HashSet;

/// No value has more elements: four terabytes of floats. Below it sizes can be multiplied with each other.
const MOST_ELEMENTS: usize = 1 << 40;

/// What a sound graph never has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// A node is not what ONNX defines: the file is damaged, or its exporter has a fault.
    #[error("node `{node}` is broken: {why}")]
    Node {
        /// The node's name, or its first output's where it has none.
        node: String,
        /// What is wrong with it.
        why: String,
    },
    /// A value is larger than any machine's memory.
    #[error("`{value}` of shape {dims:?} is larger than any memory")]
    Large {
        /// The value.
        value: String,
        /// Its dims.
        dims: Vec<usize>,
    },
}

/// Refuses a graph whose nodes do not follow from each other; those that `must_fit` have dims that follow from their inputs.
pub(crate) fn check(
    model: &Model,
    shapes: &Shapes,
    must_fit: &dyn Fn(&Node) -> bool,
) -> Result<(), Unsound> {
    let graph = &model.graph;
    let mut made: HashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
    made.extend(graph.initializers.iter().map(|tensor| tensor.name.as_str()));
    for node in &graph.nodes {
        let refuse = |why: String| Unsound::Node { node: label(node), why };
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            if !made.contains(name.as_str()) {
                return Err(refuse(format!("it reads `{name}`, which nothing before it makes")));
            }
        }
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if !made.insert(name) {
                return Err(refuse(format!("it makes `{name}`, which is there already")));
            }
        }
        if must_fit(node) && !fits(node, shapes) {
            return Err(refuse(format!("`{}` does not fit its inputs", node.op_type)));
        }
    }
    let is_large = |dims: &[usize]| {
        let all = dims.iter().try_fold(1_usize, |all, size| all.checked_mul((*size).max(1)));
        all.is_none_or(|all| all > MOST_ELEMENTS)
    };
    let dims = |name: &str| shapes.dims(name).filter(|dims| is_large(dims));
    let large = shapes.values.keys().filter_map(|name| Some((name, dims(name)?)));
    // The first by name, so that the same model is refused in the same words.
    match large.min() {
        Some((name, dims)) => Err(Unsound::Large { value: name.clone(), dims: dims.to_vec() }),
        None => Ok(()),
    }
}

/// Whether the dims of what a node makes follow from its inputs, as far as that can be known before a run.
fn fits(node: &Node, shapes: &Shapes) -> bool {
    if node.input(0).is_none() || node.outputs.first().is_none_or(String::is_empty) {
        return false;
    }
    let inputs = node.inputs.iter().map(|name| shapes.values.get(name)).collect();
    let call = Call { node, inputs };
    let mut given = node.inputs.iter().zip(&call.inputs).filter(|(name, _)| !name.is_empty());
    let unknown = given.any(|(_, value)| {
        // Whole numbers that only a run shows may be sizes.
        value.is_none_or(|value| {
            let whole = matches!(value.dtype, DataType::Int64 | DataType::Int32);
            value.dims.is_none() || (whole && value.numbers.is_none())
        })
    });
    let follows = || {
        let first = infer_node(&call)?.into_iter().next()?.dims?;
        Some(shapes.dims(&node.outputs[0]) == Some(&first[..]))
    };
    unknown || follows() == Some(true)
}

fn label(node: &Node) -> String {
    let other = || node.outputs.first().unwrap_or(&node.op_type);
    if node.name.is_empty() { other().clone() } else { node.name.clone() }
}
