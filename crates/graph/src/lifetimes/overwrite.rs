//! Which operators go element by element, and which can write over an input.

use crate::Node;

/// Operators whose output element depends on the same element of each input and on nothing else of it.
const ELEMENTWISE: [&str; 49] = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sqrt",
    "Sub",
    "Swish",
    "Tanh",
    "Where",
    "Xor",
];

/// Operators that finish with a row of their first input before they write it.
const ROWWISE: [&str; 3] = ["BatchNormalization", "LogSoftmax", "Softmax"];

/// Operators that read matrices through strides.
const PRODUCTS: [&str; 3] = ["Einsum", "Gemm", "MatMul"];

pub(super) fn is_elementwise(node: &Node) -> bool {
    node.is_standard() && ELEMENTWISE.contains(&node.op_type.as_str())
}

pub(super) fn is_product(node: &Node) -> bool {
    node.is_standard() && PRODUCTS.contains(&node.op_type.as_str())
}

/// Whether a node can write its output over this input, where nobody else needs it and the sizes are equal.
pub(super) fn may_overwrite(node: &Node, input: usize) -> bool {
    let is_rowwise = node.is_standard() && ROWWISE.contains(&node.op_type.as_str());
    is_elementwise(node) || (input == 0 && is_rowwise)
}
