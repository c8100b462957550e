//! Which nodes compute in 16 bits, and why the others do not.
//!
//! As in PyTorch's `.half()`, norms, softmax and activations are 16-bit like all else. In 32 bits stay:
//! - operators that ONNX does not define for the format in the model's operator set;
//! - operators of other domains but for a few that are known, functions, and nodes that hold graphs;
//! - squares on their way to a norm: they leave fp16's range where their roots do not, and the small number that is
//!   added under the root would be 0;
//! - positions and sizes computed from integers: 16 bits count to 2048 (fp16) or 256 (bf16).

use super::{ConvertOptions, WhyLeft, recast::Half, scope::uses};
use crate::{DataType, Model, Node, module_path};
use std::collections::{HashMap, HashSet};

/// The operator set that first allows a format, for operators that had it later than the others (1 for fp16, 13 for
/// bf16); `i64::MAX` where none does. From the type constraints of ONNX 1.23's schemas, but for `BatchNormalization`:
/// it has fp16 from the start, and from 14 on with statistics in fp32, whose squares leave the range of 16 bits.
const LATER: [(&str, i64, i64); 78] = [
    ("Acos", 7, 22),
    ("Acosh", 9, 22),
    ("AffineGrid", 20, 20),
    ("Asin", 7, 22),
    ("Asinh", 9, 22),
    ("Atan", 7, 22),
    ("Atanh", 9, 22),
    ("AveragePool", 1, 22),
    ("BatchNormalization", 14, 14),
    ("Bernoulli", 15, 22),
    ("Celu", 28, 28),
    ("Compress", 9, 28),
    ("ConstantOfShape", 9, 20),
    ("Conv", 1, 22),
    ("ConvTranspose", 1, 22),
    ("Cos", 7, 22),
    ("Cosh", 9, 22),
    ("CumSum", 14, 14),
    ("DeformConv", 19, 22),
    ("Det", 11, 22),
    ("Dropout", 1, 22),
    ("DynamicQuantizeLinear", i64::MAX, i64::MAX),
    ("Einsum", 12, 28),
    ("Elu", 1, 22),
    ("Equal", 11, 13),
    ("Erf", 9, 13),
    ("EyeLike", 9, 22),
    ("GRU", 1, 22),
    ("GlobalAveragePool", 1, 22),
    ("GlobalLpPool", 1, 22),
    ("GlobalMaxPool", 1, 22),
    ("GreaterOrEqual", 12, 16),
    ("GridSample", 16, 22),
    ("HardSigmoid", 1, 22),
    ("HardSwish", 14, 22),
    ("InstanceNormalization", 1, 22),
    ("IsInf", 20, 20),
    ("LSTM", 1, 22),
    ("LayerNormalization", 17, 17),
    ("LeakyRelu", 1, 16),
    ("LessOrEqual", 12, 16),
    ("LpNormalization", 1, 22),
    ("LpPool", 1, 22),
    ("MaxPool", 1, 22),
    ("MaxRoiPool", 1, 22),
    ("MaxUnpool", 9, 22),
    ("Mish", 18, 22),
    ("Multinomial", 7, 22),
    ("NegativeLogLikelihoodLoss", 12, 22),
    ("NonMaxSuppression", i64::MAX, i64::MAX),
    ("OneHot", 9, i64::MAX),
    ("PRelu", 1, 16),
    ("Pow", 1, 15),
    ("RNN", 1, 22),
    ("RandomNormal", 1, 22),
    ("RandomNormalLike", 1, 22),
    ("RandomUniform", 1, 22),
    ("RandomUniformLike", 1, 22),
    ("Range", 27, 27),
    ("Resize", 10, 13),
    ("ReverseSequence", 10, 28),
    ("RoiAlign", 10, 22),
    ("Round", 11, 22),
    ("Scatter", 9, i64::MAX),
    ("Selu", 1, 22),
    ("Shrink", 9, i64::MAX),
    ("Sin", 7, 22),
    ("Sinh", 9, 22),
    ("Softplus", 1, 22),
    ("Softsign", 1, 22),
    ("Tan", 7, 22),
    ("TfIdfVectorizer", i64::MAX, i64::MAX),
    ("ThresholdedRelu", 10, 22),
    ("TopK", 1, 24),
    ("Trilu", 14, 14),
    ("Unique", 11, 28),
    ("Upsample", 1, 13),
    ("Where", 9, 16),
];

/// Operators of ONNX Runtime's own domain that are defined for fp16.
const MICROSOFT_FP16: [&str; 12] = [
    "Attention",
    "BiasGelu",
    "EmbedLayerNormalization",
    "FastGelu",
    "FusedMatMul",
    "Gelu",
    "GroupQueryAttention",
    "MultiHeadAttention",
    "QuickGelu",
    "RotaryEmbedding",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
];

/// In which form a node takes an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Wide,
    Narrow,
}

/// What of a model computes in 16 bits.
pub(super) struct Policy {
    /// By node: why it stays in 32 bits.
    pub(super) wide: Vec<Option<WhyLeft>>,
}

impl Policy {
    pub(super) fn of(
        model: &Model,
        types: &HashMap<String, DataType>,
        half: Half,
        options: &ConvertOptions,
    ) -> Policy {
        let nodes = &model.graph.nodes;
        let opset = model.opsets.get("").or_else(|| model.opsets.get("ai.onnx"));
        let opset = opset.copied().unwrap_or(1);
        let own = |node: &Node| {
            let excluded = options.excludes(&node.name, &module_path(&node.name, &node.op_type));
            let is_unknown = |name: &String| !name.is_empty() && !types.contains_key(name);
            match refusal(node, half, opset) {
                _ if excluded => Some(WhyLeft::Excluded),
                // Nobody knows whether it would be cast, and both sides of an operator must agree.
                None if !takes_any(node) && node.inputs.iter().any(is_unknown) => {
                    Some(WhyLeft::UnknownInputs)
                }
                refusal => refusal,
            }
        };
        let mut policy = Policy { wide: nodes.iter().map(own).collect() };
        let wiring = Wiring::of(model, types);
        policy.keep_squares(model, &wiring);
        policy.keep_positions(model, &wiring);
        policy
    }

    /// Keeps `mean(x²)` with all that follows up to the product with what is normalised.
    fn keep_squares(&mut self, model: &Model, wiring: &Wiring<'_>) {
        let nodes = &model.graph.nodes;
        for (index, node) in nodes.iter().enumerate() {
            if node.op_type == "ReduceSumSquare" {
                self.keep(index, WhyLeft::Squares);
            }
            if !matches!(node.op_type.as_str(), "ReduceMean" | "ReduceSum") {
                continue;
            }
            let made = node.input(0).and_then(|name| wiring.producer.get(name)).copied();
            let Some(square) = made.filter(|made| wiring.is_square(&nodes[*made])) else {
                continue;
            };
            self.keep(square, WhyLeft::Squares);
            let (mut next, mut seen) = (vec![index], HashSet::new());
            while let Some(index) = next.pop() {
                // Paths meet again, and in a damaged file they may run in a circle.
                if !seen.insert(index) {
                    continue;
                }
                self.keep(index, WhyLeft::Squares);
                let varying = |name: &&String| wiring.is_float(name) && !wiring.is_constant(name);
                let meets = nodes[index].inputs.iter().filter(varying).count() > 1;
                // Where it meets another value the norm is done.
                if !meets {
                    let goes_on = |index: &usize| {
                        let op = nodes[*index].op_type.as_str();
                        matches!(op, "Add" | "Sqrt" | "Reciprocal" | "Div" | "Mul" | "Max" | "Pow")
                    };
                    next.extend(wiring.consumers(&nodes[index]).filter(goes_on));
                }
            }
        }
    }

    /// Keeps what is computed from integers where it ends in something that needs all digits.
    fn keep_positions(&mut self, model: &Model, wiring: &Wiring<'_>) {
        let nodes = &model.graph.nodes;
        let mut counted: HashSet<&str> = HashSet::new();
        for node in nodes {
            let floats: Vec<&String> =
                node.inputs.iter().filter(|name| wiring.is_float(name)).collect();
            let from_integers = node.op_type == "Cast" && floats.is_empty();
            let varying: Vec<&&String> =
                floats.iter().filter(|name| !wiring.is_constant(name)).collect();
            let follows =
                !varying.is_empty() && varying.iter().all(|name| counted.contains(name.as_str()));
            if from_integers || follows {
                counted.extend(node.outputs.iter().map(String::as_str));
            }
        }
        for (index, node) in nodes.iter().enumerate().rev() {
            let made = node.outputs.iter().filter(|name| wiring.is_float(name));
            let mut used = node.inputs.iter().filter(|name| wiring.is_float(name));
            let ends_here = needs_digits(node) && used.any(|name| counted.contains(name.as_str()));
            let leads_there = made.clone().any(|name| counted.contains(name.as_str()))
                && made.flat_map(|name| wiring.readers(name)).any(|(reader, place)| {
                    self.wide[reader].is_some()
                        || needs_digits(&nodes[reader])
                        || stays_wide(&nodes[reader], place)
                });
            if ends_here || leads_there {
                self.keep(index, WhyLeft::Positions);
            }
        }
    }

    fn keep(&mut self, index: usize, why: WhyLeft) {
        self.wide[index].get_or_insert(why);
    }
}

/// Why a node must stay in 32 bits whatever is around it.
fn refusal(node: &Node, half: Half, opset: i64) -> Option<WhyLeft> {
    let op = &node.op_type;
    let (named, format) = (|| op.clone(), half.name());
    if node.subgraphs().next().is_some() {
        return Some(WhyLeft::HoldsGraphs { op: named() });
    }
    if !node.is_standard() {
        let known = node.domain == "com.microsoft"
            && half == Half::Fp16
            && MICROSOFT_FP16.contains(&op.as_str());
        return (!known).then(|| WhyLeft::Foreign { op: named() });
    }
    if op.contains("Sequence") && op != "ReverseSequence" || op.starts_with("Optional") {
        return Some(WhyLeft::Lists { op: named() });
    }
    let (_, fp16, bf16) = LATER.iter().find(|(name, ..)| name == op)?;
    let since = if half == Half::Fp16 { *fp16 } else { *bf16 };
    match since {
        i64::MAX => Some(WhyLeft::NotDefined { op: named(), format }),
        since if since > opset && op == "BatchNormalization" => {
            Some(WhyLeft::LaterStatistics { op: named(), since })
        }
        since if since > opset => Some(WhyLeft::Later { op: named(), format, since }),
        _ => None,
    }
}

/// Inputs that are 32-bit floats by definition although the operator's data may be narrower.
pub(super) fn stays_wide(node: &Node, place: usize) -> bool {
    match node.op_type.as_str() {
        // Region and scales; before operator set 11 the scales came second.
        "Resize" => place == 1 || place == 2,
        "Upsample" => place == 1,
        // Mean and variance.
        "BatchNormalization" => place == 3 || place == 4,
        _ => false,
    }
}

/// Outputs that are 32-bit floats by definition.
pub(super) fn makes_wide(node: &Node, place: usize) -> bool {
    match node.op_type.as_str() {
        // The statistics, in the type that `stash_type` says.
        "LayerNormalization" => place > 0,
        // One that is an output of the graph; all others are weights by now.
        "Constant" => true,
        _ => false,
    }
}

/// Whether an input is taken in whatever form it has.
pub(super) fn takes_any(node: &Node) -> bool {
    node.is_standard() && matches!(node.op_type.as_str(), "Cast" | "Shape" | "Size")
}

/// Whether an operator gives something else for an angle, a count or a size that is off by a little.
fn needs_digits(node: &Node) -> bool {
    let to_integer = || {
        let to = node.int("to").and_then(|to| i32::try_from(to).ok());
        let to = to.and_then(|to| DataType::try_from(to).ok());
        to.is_some_and(|to| !to.is_float() && to != DataType::Bool)
    };
    match node.op_type.as_str() {
        "Sin" | "Cos" | "Floor" | "Ceil" | "Round" | "Range" => true,
        "Cast" => to_integer(),
        _ => false,
    }
}

/// Who makes and who reads what.
struct Wiring<'a> {
    types: &'a HashMap<String, DataType>,
    constants: HashSet<&'a str>,
    numbers: HashMap<&'a str, f32>,
    producer: HashMap<&'a str, usize>,
    readers: HashMap<String, Vec<(usize, usize)>>,
}

impl<'a> Wiring<'a> {
    fn of(model: &'a Model, types: &'a HashMap<String, DataType>) -> Wiring<'a> {
        let graph = &model.graph;
        let mut wiring = Wiring {
            types,
            constants: graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect(),
            numbers: HashMap::new(),
            producer: HashMap::new(),
            readers: HashMap::new(),
        };
        let scalars = graph.initializers.iter().filter(|tensor| tensor.elements() == 1);
        for tensor in scalars {
            let bytes = model.bytes(tensor).ok();
            let numbers = bytes.and_then(|bytes| crate::tensor::numbers(tensor.dtype, &bytes, 1));
            wiring.numbers.extend(numbers.map(|list| (tensor.name.as_str(), list[0] as f32)));
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            wiring.producer.extend(node.outputs.iter().map(|name| (name.as_str(), index)));
            for name in uses(node) {
                let place = node.inputs.iter().position(|input| *input == name);
                let readers = wiring.readers.entry(name).or_default();
                readers.push((index, place.unwrap_or(usize::MAX)));
            }
        }
        wiring
    }

    fn is_float(&self, name: &str) -> bool {
        self.types.get(name) == Some(&DataType::Float)
    }

    fn is_constant(&self, name: &str) -> bool {
        self.constants.contains(name)
    }

    fn readers(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        self.readers.get(name).into_iter().flatten().copied()
    }

    fn consumers(&self, node: &Node) -> impl Iterator<Item = usize> {
        node.outputs.iter().flat_map(|name| self.readers(name)).map(|(index, _)| index)
    }

    fn is_square(&self, node: &Node) -> bool {
        match node.op_type.as_str() {
            "Pow" => node.input(1).and_then(|name| self.numbers.get(name)) == Some(&2.0),
            "Mul" => node.inputs.len() == 2 && node.inputs[0] == node.inputs[1],
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_each_operator_once() {
        assert!(LATER.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
