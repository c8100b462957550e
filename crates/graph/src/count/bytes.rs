//! What a node reads and writes.
//!
//! Each distinct input is read once, each output written once, weights included. Views (`Reshape`, `Squeeze`, …) move
//! nothing. An operator that picks elements reads what it picks, not the whole table. A `Constant` costs its readers.

use super::Operation;
use crate::Node;
use types::Bytes;

/// Whether an operator gives its input's buffer another shape without touching it.
pub(crate) fn is_view(node: &Node) -> bool {
    let op = node.op_type.as_str();
    node.is_standard()
        && matches!(op, "Reshape" | "Identity" | "Squeeze" | "Unsqueeze" | "Flatten" | "Dropout")
}

/// Bytes read and written by a node; `None` if a shape is unknown.
pub(crate) fn traffic(operation: &Operation<'_>) -> (Option<Bytes>, Option<Bytes>) {
    let node = operation.call.node;
    if is_view(node) || node.op_type == "Constant" {
        return (Some(Bytes(0)), Some(Bytes(0)));
    }
    let outputs = node.outputs.iter().zip(&operation.outputs);
    let wanted = outputs.filter(|(name, _)| !name.is_empty());
    let written = total(wanted.map(|(_, value)| value.and_then(|value| value.bytes())));
    let read = match node.op_type.as_str() {
        "Shape" | "Size" => Some(0),
        "Gather" | "GatherElements" | "GatherND" => {
            total([written, input_bytes(operation, 1)].into_iter())
        }
        "Slice" => written,
        _ => total(
            (0..node.inputs.len())
                .filter(|index| !node.inputs[..*index].contains(&node.inputs[*index]))
                .filter(|index| operation.call.has(*index))
                .map(|index| input_bytes(operation, index)),
        ),
    };
    (read.map(Bytes), written.map(Bytes))
}

fn input_bytes(operation: &Operation<'_>, index: usize) -> Option<u64> {
    operation.call.inputs.get(index).copied().flatten()?.bytes()
}

/// The sum, held at the largest number; `None` if a part is unknown.
fn total(mut parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.try_fold(0u64, |sum, part| Some(sum.saturating_add(part?)))
}
