//! The element type of every value, by the operators' own rules: no shapes are needed for it.

use crate::{DataType, Graph, Model, Node};
use std::collections::HashMap;

/// The types of a model's values by name; what is not known is not there.
pub(super) fn value_types(model: &Model) -> HashMap<String, DataType> {
    let inferred = crate::infer(model, &[]);
    graph_types(&model.graph, HashMap::new(), &|name| inferred.dtype(name))
}

/// The types of a graph's values; `types` are those of the values around it.
fn graph_types(
    graph: &Graph,
    mut types: HashMap<String, DataType>,
    inferred: &dyn Fn(&str) -> Option<DataType>,
) -> HashMap<String, DataType> {
    for tensor in &graph.initializers {
        types.insert(tensor.name.clone(), tensor.dtype);
    }
    for value in graph.inputs.iter().chain(&graph.value_infos).chain(&graph.outputs) {
        if value.dtype != DataType::Undefined {
            types.insert(value.name.clone(), value.dtype);
        }
    }
    for node in &graph.nodes {
        for (place, name) in node.outputs.iter().enumerate() {
            if name.is_empty() || types.contains_key(name) {
                continue;
            }
            let by_rule = output_type(node, place, &types);
            if let Some(dtype) = by_rule.or_else(|| inferred(name)) {
                types.insert(name.clone(), dtype);
            }
        }
    }
    types
}

fn output_type(node: &Node, place: usize, types: &HashMap<String, DataType>) -> Option<DataType> {
    let input = |index: usize| types.get(node.input(index)?).copied();
    let argument = |name: &str| {
        let number = node.int(name).and_then(|number| i32::try_from(number).ok())?;
        DataType::try_from(number).ok()
    };
    if !node.is_standard() {
        return None;
    }
    Some(match (node.op_type.as_str(), place) {
        ("Cast", _) => argument("to")?,
        ("CastLike" | "Where", _) => input(1)?,
        ("Shape" | "Size" | "NonZero" | "ArgMax" | "ArgMin" | "NonMaxSuppression", _)
        | ("TopK" | "MaxPool", 1)
        | ("Unique", 1..) => DataType::Int64,
        ("Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual", _)
        | ("And" | "Or" | "Xor" | "Not" | "IsNaN" | "IsInf", _)
        | ("Dropout", 1) => DataType::Bool,
        ("Constant", _) => node.tensor("value").map(|tensor| tensor.dtype)?,
        ("ConstantOfShape", _) => node.tensor("value").map_or(DataType::Float, |t| t.dtype),
        ("RandomNormal" | "RandomUniform", _) => argument("dtype").unwrap_or(DataType::Float),
        ("RandomNormalLike" | "RandomUniformLike" | "EyeLike" | "Bernoulli", _) => {
            argument("dtype").or_else(|| input(0))?
        }
        ("Multinomial", _) => argument("dtype").unwrap_or(DataType::Int32),
        ("BlackmanWindow" | "HammingWindow" | "HannWindow" | "MelWeightMatrix", _) => {
            argument("output_datatype").unwrap_or(DataType::Float)
        }
        ("OneHot", _) => input(2)?,
        ("LayerNormalization", 1 | 2) | ("DynamicQuantizeLinear", 1) => DataType::Float,
        ("DynamicQuantizeLinear", _) => DataType::Uint8,
        ("DequantizeLinear", _) => input(1)?,
        ("QuantizeLinear", _) => input(2).unwrap_or(DataType::Uint8),
        ("MatMulInteger" | "ConvInteger", _) => DataType::Int32,
        ("QLinearMatMul" | "QLinearConv", _) => input(7)?,
        ("If", _) => body_type(node.subgraph("then_branch")?, place, types)?,
        // The body's first output says whether to go on.
        ("Loop", _) => body_type(node.subgraph("body")?, place + 1, types)?,
        ("Scan", _) => body_type(node.subgraph("body")?, place, types)?,
        _ => input(0)?,
    })
}

/// The type of a body's output; exporters leave it out in bodies inside bodies.
fn body_type(graph: &Graph, place: usize, types: &HashMap<String, DataType>) -> Option<DataType> {
    let output = graph.outputs.get(place)?;
    match output.dtype {
        DataType::Undefined => {
            graph_types(graph, types.clone(), &|_| None).get(&output.name).copied()
        }
        declared => Some(declared),
    }
}
