//! How much the values of a run held at once, from what the engine says of every node.

use crate::node_log::LoggedNode;
use std::collections::HashMap;

/// Operators that this version of the engine runs over an input that nobody needs afterwards.
const IN_PLACE: [&str; 20] = [
    "Add",
    "AddSoftmax",
    "BatchNormalization",
    "Cast",
    "CastLike",
    "Div",
    "Flatten",
    "Identity",
    "InstanceNormalization",
    "LogSoftmax",
    "LpNormalization",
    "Mul",
    "Not",
    "Pow",
    "Reshape",
    "Slice",
    "Softmax",
    "Squeeze",
    "Sub",
    "Unsqueeze",
];

/// Operators of one input, element by element; all of them run in place.
const UNARY: [&str; 37] = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Clip",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "QuickGelu",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Silu",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tanh",
];

/// The most bytes that values held at once, over all runs of a log. Inputs of the model and weights do not count.
///
/// While a node runs, what it reads and what it makes live together, less an input that it works on in place.
pub(crate) fn peak(nodes: &[LoggedNode<'_>]) -> u64 {
    let begins = nodes.iter().enumerate().filter(|(_, node)| node.step == 0).map(|(at, _)| at);
    let mut begins: Vec<usize> = begins.collect();
    begins.push(nodes.len());
    begins.windows(2).map(|ends| of_run(&nodes[ends[0]..ends[1]])).max().unwrap_or(0)
}

fn of_run(nodes: &[LoggedNode<'_>]) -> u64 {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut sizes: HashMap<&str, u64> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for (name, bytes) in &node.inputs {
            last.insert(name, index);
            sizes.insert(name, *bytes);
        }
    }
    let (mut live, mut highest) = (0u64, 0u64);
    let mut made: HashMap<&str, u64> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let mut dying: Vec<(&str, u64)> = node
            .inputs
            .iter()
            .filter(|(name, _)| last.get(name) == Some(&index))
            .filter_map(|(name, _)| made.remove(name).map(|bytes| (*name, bytes)))
            .collect();
        let mut outputs = 0;
        for (name, elements) in &node.outputs {
            // The type is told where a value is read; what nobody reads leaves the model.
            let bytes = sizes.get(name).copied().unwrap_or(elements * 4);
            made.insert(name, bytes);
            outputs += bytes;
        }
        let is_in_place = IN_PLACE.contains(&node.operator) || UNARY.contains(&node.operator);
        let over = dying.iter().position(|(_, bytes)| is_in_place && *bytes == outputs);
        if let Some(over) = over {
            live -= dying.swap_remove(over).1;
        }
        live += outputs;
        highest = highest.max(live);
        live -= dying.iter().map(|(_, bytes)| bytes).sum::<u64>();
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<'a>(
        step: usize,
        operator: &'a str,
        inputs: &[(&'a str, u64)],
        output: (&'a str, u64),
    ) -> LoggedNode<'a> {
        let (begin, end, name) = (0, 0, "");
        let (inputs, outputs) = (inputs.to_vec(), vec![output]);
        LoggedNode { begin, end, step, operator, name, inputs, outputs }
    }

    #[test]
    fn a_value_counts_from_its_making_to_its_last_reading() {
        let nodes = [
            node(0, "MatMul", &[("x", 400), ("w", 4000)], ("a", 100)),
            // Not in place: `a` is read once more.
            node(1, "Relu", &[("a", 400)], ("b", 100)),
            node(2, "Add", &[("a", 400), ("b", 400)], ("c", 100)),
            node(3, "MatMul", &[("c", 400), ("v", 4000)], ("y", 25)),
            // Another run, with less.
            node(0, "Relu", &[("x", 40)], ("y", 10)),
        ];
        assert_eq!(peak(&nodes), 800);
    }
}
