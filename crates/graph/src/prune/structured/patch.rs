//! Numbers in the shapes that nodes are given, where the size of a cut axis stands.

use super::flow::{Flow, Tag};
use crate::{DataType, Node, Tensor};
use std::collections::BTreeMap;

/// What a number must become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patch {
    /// The size of the axis.
    Size(Tag),
    /// The end of a part; one beyond the last stays.
    End(Tag),
}

/// New nodes and constants that replace one input of a node.
pub(super) struct Patched {
    pub(super) input: String,
    pub(super) tensors: Vec<Tensor>,
    /// A copy of the node that joined the numbers.
    pub(super) node: Option<Node>,
}

/// What takes the place of a list of numbers; `None` if it may stay.
///
/// `places` has the numbers to change; `name` makes names that nobody has yet.
pub(super) fn patch(
    flow: &Flow<'_>,
    operand: &str,
    places: &BTreeMap<usize, (Patch, usize, usize)>,
    name: &mut dyn FnMut(&str) -> String,
) -> Result<Option<Patched>, String> {
    let numbers = flow
        .shapes
        .integers(operand)
        .or_else(|| flow.weights.get(operand).and_then(|tensor| tensor.i64s()));
    if let Some(old) = numbers.as_ref().filter(|_| is_constant(flow, operand)) {
        let new = changed(old, 0, places)?;
        let made = |new: Vec<i64>| {
            let input = name(operand);
            let tensors = vec![Tensor::from_i64s(&input, &[new.len()], &new)];
            Patched { input, tensors, node: None }
        };
        return Ok(Some(new).filter(|new| new != old).map(made));
    }
    // A list that is joined out of single numbers, some of them computed from shapes.
    let joined = flow.makers.get(operand).map(|index| &flow.graph.nodes[*index]);
    let Some(joined) = joined.filter(|node| node.op_type == "Concat") else { return Ok(None) };
    let (mut node, mut tensors, mut start) = (joined.clone(), Vec::new(), 0);
    for input in &mut node.inputs {
        let length = flow.dims(input).map_or(1, |dims| dims.first().copied().unwrap_or(1));
        let inside = places.range(start..start + length).next().is_some();
        if inside && is_constant(flow, input) {
            let old = flow.shapes.integers(input).ok_or("a size in its shape is not known")?;
            let new = changed(&old, start, places)?;
            if new != old {
                *input = name(operand);
                tensors.push(Tensor::from_i64s(input.as_str(), &[new.len()], &new));
            }
        }
        start += length;
    }
    if tensors.is_empty() {
        return Ok(None);
    }
    let output = name(operand);
    node.name = format!("{}.smaller.{output}", node.name);
    node.outputs = vec![output.clone()];
    Ok(Some(Patched { input: output, tensors, node: Some(node) }))
}

/// The numbers with those at the places changed; `start` is where they begin in the whole list.
fn changed(
    old: &[i64],
    start: usize,
    places: &BTreeMap<usize, (Patch, usize, usize)>,
) -> Result<Vec<i64>, String> {
    let mut new = old.to_vec();
    for (place, number) in new.iter_mut().enumerate() {
        let Some((patch, before, after)) = places.get(&(start + place)) else { continue };
        let (Patch::Size(tag) | Patch::End(tag)) = patch;
        let (whole, smaller) = (tag.size(*before) as i64, tag.size(*after) as i64);
        match (patch, *number) {
            (_, found) if found == whole => *number = smaller,
            // Computed from the rest, copied, or repeated from one.
            (Patch::Size(_), -1..=1) => {}
            (Patch::End(_), found) if found > whole => {}
            (_, found) => return Err(format!("its shape has {found} where {whole} was expected")),
        }
    }
    Ok(new)
}

/// Whether a value follows from constants alone.
fn is_constant(flow: &Flow<'_>, name: &str) -> bool {
    if let Some(tensor) = flow.weights.get(name) {
        return tensor.dtype == DataType::Int64 || tensor.dtype == DataType::Int32;
    }
    let Some(index) = flow.makers.get(name) else { return false };
    let node = &flow.graph.nodes[*index];
    let plain =
        ["Unsqueeze", "Squeeze", "Identity", "Cast", "Concat", "Mul", "Div", "Reshape", "Gather"];
    match node.op_type.as_str() {
        "Constant" => true,
        op if plain.contains(&op) => node
            .inputs
            .iter()
            .filter(|input| !input.is_empty())
            .all(|input| is_constant(flow, input)),
        _ => false,
    }
}
