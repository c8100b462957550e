//! Over which of its inputs an operator writes.

use crate::{Node, count::is_view};

/// Which input becomes the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// None: it has a buffer of its own.
    Nothing,
    /// The first.
    First,
    /// The largest: the operands can be exchanged.
    Largest,
}

const LARGEST: [&str; 2] = ["Add", "Mul"];

const FIRST: [&str; 50] = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "Cast",
    "CastLike",
    "Ceil",
    "Clip",
    "Concat",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "Neg",
    "Not",
    "Pow",
    "Reciprocal",
    "Relu",
    "Resize",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Tanh",
    "Tile",
];

/// Which input this operator writes over, where nobody else needs it.
pub(super) fn over(node: &Node) -> Over {
    let is = |names: &[&str]| node.is_standard() && names.contains(&node.op_type.as_str());
    if is(&LARGEST) {
        Over::Largest
    } else if is_view(node) || is(&FIRST) {
        Over::First
    } else {
        Over::Nothing
    }
}

/// Whether the output may lie in a buffer whose dims are others: a view renames them, and a slice keeps the front.
pub(super) fn keeps_any_dims(node: &Node) -> bool {
    is_view(node) || (node.is_standard() && node.op_type == "Slice")
}
