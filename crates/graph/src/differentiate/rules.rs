//! The list of rules: which function differentiates which operator.

use super::{
    attention, layout, normalise, pointwise, products, reduce,
    reverse::{Outcome, Reverse},
    select, softmax, window,
};
use crate::Node;

/// Differentiates one node: reads the gradient of its outputs and gives its inputs theirs.
pub(super) type Rule = fn(&mut Reverse<'_>, &Node) -> Outcome;

/// The families in the order they are asked, with the operators of theirs.
const FAMILIES: [fn(&str) -> Option<Rule>; 9] = [
    products::rule,
    pointwise::rule,
    softmax::rule,
    reduce::rule,
    layout::rule,
    select::rule,
    normalise::rule,
    window::rule,
    attention::rule,
];

/// The rule of a node; `None` if there is none.
pub(super) fn of(node: &Node) -> Option<Rule> {
    let known = node.is_standard() || node.domain == "com.microsoft";
    // The packed attention of this domain shares its name with the standard one and little else.
    let other = !node.is_standard() && node.op_type == "Attention";
    FAMILIES.iter().find_map(|family| (known && !other).then(|| family(&node.op_type))?)
}

/// Operators whose gradient is zero wherever it exists: nothing flows through them.
const FLAT: [&str; 18] = [
    "ArgMax",
    "ArgMin",
    "Ceil",
    "ConstantOfShape",
    "Equal",
    "EyeLike",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "OneHot",
    "Round",
    "Shape",
    "Sign",
    "Size",
];

/// Whether no gradient flows through a node.
pub(super) fn is_flat(node: &Node) -> bool {
    node.is_standard() && FLAT.contains(&node.op_type.as_str())
}

/// What to try where an operator has no rule.
pub(super) fn hint(node: &Node) -> String {
    match node.op_type.as_str() {
        "If" | "Loop" | "Scan" => "export the model without control flow".to_string(),
        "LSTM" | "GRU" | "RNN" => "no engine here trains recurrent layers".to_string(),
        op if op.contains("Quant") || op.contains("Integer") || op.starts_with("QLinear") => {
            "quantised models cannot be trained; take the float model".to_string()
        }
        _ => "export it with standard operators".to_string(),
    }
}
