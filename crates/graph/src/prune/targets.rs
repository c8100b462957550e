//! Which weights a pruning looks at, what they are called, and along which axis they are summed.

use super::{Also, PruneError, PruneOptions, glob::matches};
use crate::{
    DataType, Model, Node, Tensor, TensorData, module_path, precision::with_constants_as_weights,
};
use std::collections::{HashMap, HashSet};
use types::{Remark, RemarkCode};

/// A weight that loses numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The initialiser's name.
    pub tensor: String,
    /// What people call it: its name where that is a path, else the module that uses it.
    pub label: String,
    /// How many numbers it has.
    pub numbers: u64,
    /// How many of them were zero before.
    pub zeros: u64,
    /// How many shall be zero.
    pub wanted: u64,
}

/// A weight that may be chosen.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) tensor: Tensor,
    pub(super) label: String,
    /// The axis that is summed over; `None` if nothing is.
    pub(super) summed: Option<usize>,
    /// The activation that it is multiplied with.
    pub(super) activation: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Embedding,
    Norm,
}

/// The activations that are multiplied with constant weights, each once, in the graph's order.
#[must_use]
pub fn product_inputs(model: &Model) -> Vec<String> {
    let all = candidates(&with_constants_as_weights(model));
    let mut seen = HashSet::new();
    let activations = all.into_iter().filter_map(|(candidate, _)| candidate.activation);
    activations.filter(|name| seen.insert(name.clone())).collect()
}

/// The weights that the options choose, in the graph's order of use.
pub(super) fn choose(model: &Model, options: &PruneOptions) -> Result<Vec<Candidate>, PruneError> {
    let all = candidates(model);
    let label = |(candidate, _): &(Candidate, Kind)| candidate.label.clone();
    let names = |(candidate, _): &(Candidate, Kind), pattern: &str| {
        matches(pattern, &candidate.label) || matches(pattern, &candidate.tensor.name)
    };
    for pattern in options.layers.iter().chain(&options.exclude) {
        if !all.iter().any(|one| names(one, pattern)) {
            let mut near: Vec<String> = all.iter().map(label).collect();
            near.truncate(3);
            return Err(PruneError::NoMatch { pattern: pattern.clone(), near });
        }
    }
    let asked = |kind: Kind| match kind {
        Kind::Product => true,
        Kind::Embedding => options.also.contains(&Also::Embeddings),
        Kind::Norm => options.also.contains(&Also::Norms),
    };
    let chosen: Vec<Candidate> = all
        .iter()
        .filter(|one| {
            let named = options.layers.iter().any(|pattern| names(one, pattern));
            let excluded = options.exclude.iter().any(|pattern| names(one, pattern));
            let taken = if options.layers.is_empty() { asked(one.1) } else { named };
            taken && !excluded
        })
        .map(|(candidate, _)| candidate.clone())
        .collect();
    if chosen.is_empty() {
        let why = "no weight of a product is left; `--also embeddings` takes tables too";
        return Err(PruneError::Nothing { why: why.into() });
    }
    Ok(chosen)
}

/// Weights of two axes or more that are left as they are, in a sentence for each operator that takes them.
///
/// `is_pruned` says of a weight's name whether it loses anything, `why` why an operator's do not; nothing where nobody would
/// expect it.
pub(super) fn left_whole(
    model: &Model,
    is_pruned: &dyn Fn(&str) -> bool,
    why: &dyn Fn(&Node) -> Option<&'static str>,
) -> Vec<Remark> {
    let is_weight = |tensor: &&Tensor| {
        tensor.dtype == DataType::Float && tensor.dims.len() >= 2 && tensor.elements() > 1
    };
    let weights: HashMap<&str, &Tensor> =
        model.graph.initializers.iter().filter(is_weight).map(|t| (t.name.as_str(), t)).collect();
    let mut seen: HashSet<&str> = HashSet::new();
    // Operator and reason, the first name, how many, and their numbers.
    let mut groups: Vec<(String, String, String, u64, u64)> = Vec::new();
    for node in &model.graph.nodes {
        for name in &node.inputs {
            let Some(tensor) = weights.get(name.as_str()) else { continue };
            let Some(why) = why(node).filter(|_| !is_pruned(name) && seen.insert(name)) else {
                continue;
            };
            let (op, why, numbers) = (spelled(node), why.to_owned(), tensor.elements() as u64);
            match groups.iter_mut().find(|group| group.0 == op && group.1 == why) {
                Some(group) => (group.3, group.4) = (group.3 + 1, group.4 + numbers),
                None => groups.push((op, why, label(node, tensor), 1, numbers)),
            }
        }
    }
    let inside: u64 = (model.graph.nodes.iter())
        .flat_map(|node| node.attributes.values())
        .filter_map(|attribute| match attribute {
            crate::Attribute::Graph(body) => Some(body.tensors()),
            _ => None,
        })
        .flatten()
        .filter(is_weight)
        .map(|tensor| tensor.elements() as u64)
        .sum();
    let mut said: Vec<Remark> = groups
        .into_iter()
        .map(|(op, why, first, count, numbers)| {
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let what = format!("`{first}`{more} of `{op}` ({numbers} numbers)");
            Remark::new(RemarkCode::NotPruned, format!("not pruned: {what}: {why}"))
        })
        .collect();
    if inside > 0 {
        let text = format!("not pruned: {inside} numbers inside bodies of `If`, `Loop` or `Scan`");
        said.push(Remark::new(RemarkCode::NotPruned, text));
    }
    said
}

/// The operator with its domain, where that is not the standard's.
fn spelled(node: &Node) -> String {
    match node.is_standard() {
        true => node.op_type.clone(),
        false => format!("{}.{}", node.domain, node.op_type),
    }
}

/// Why zeroing leaves an operator's weight alone.
pub(super) fn not_zeroed(node: &Node) -> Option<&'static str> {
    Some(match node.op_type.as_str() {
        _ if !node.is_standard() => "how this operator uses its weights is not known",
        "Gather" => "tables are pruned with `--also embeddings`",
        "LayerNormalization"
        | "BatchNormalization"
        | "InstanceNormalization"
        | "GroupNormalization"
        | "RMSNormalization" => "norms are pruned with `--also norms`",
        _ => "it is not the weight of a product",
    })
}

/// Why cutting heads and neurons leaves an operator's weight alone.
pub(super) fn not_cut(node: &Node) -> Option<&'static str> {
    match node.op_type.as_str() {
        _ if !node.is_standard() => Some("how this operator uses its weights is not known"),
        "Conv" | "ConvTranspose" | "LSTM" | "GRU" | "RNN" => Some(
            "only attention heads and feed-forward neurons are cut; `--method magnitude` takes it",
        ),
        "MatMul" | "Gemm" => Some("no head or neuron that can be traced begins or ends at it"),
        _ => None,
    }
}

fn candidates(model: &Model) -> Vec<(Candidate, Kind)> {
    let weights: HashMap<&str, &Tensor> = model
        .graph
        .initializers
        .iter()
        .filter(|t| t.dtype == DataType::Float && t.elements() > 1)
        .filter(|t| !matches!(t.data, TensorData::Strings(_)))
        .map(|t| (t.name.as_str(), t))
        .collect();
    // Exporters write the transposition of a weight beside it.
    let turned: HashMap<&str, &str> = model
        .graph
        .nodes
        .iter()
        .filter(|node| node.op_type == "Transpose" && node.is_standard())
        .filter_map(|node| Some((node.outputs.first()?.as_str(), node.input(0)?)))
        .filter(|(_, name)| weights.get(name).is_some_and(|t| t.dims.len() == 2))
        .collect();
    let mut found: Vec<(Candidate, Kind)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut looked_up: HashSet<&str> = HashSet::new();
    for node in &model.graph.nodes {
        for (place, name) in node.inputs.iter().enumerate() {
            let (name, is_turned) = match turned.get(name.as_str()) {
                Some(name) => (*name, true),
                None => (name.as_str(), false),
            };
            let Some(tensor) = weights.get(name) else { continue };
            let Some((kind, summed)) = role(node, place, tensor, is_turned) else { continue };
            if kind == Kind::Embedding {
                looked_up.insert(name);
            }
            if places.contains_key(name) {
                continue;
            }
            places.insert(name, found.len());
            let activation = node.input(0).filter(|_| place == 1).map(str::to_owned);
            let label = label(node, tensor);
            let tensor = (*tensor).clone();
            found.push((Candidate { tensor, label, summed, activation }, kind));
        }
    }
    for name in looked_up {
        // A table that a head multiplies with too is a table.
        if let Some(place) = places.get(name) {
            found[*place].1 = Kind::Embedding;
        }
    }
    found
}

/// What a node takes a weight as, and the axis that is summed over.
fn role(
    node: &Node,
    place: usize,
    tensor: &Tensor,
    is_turned: bool,
) -> Option<(Kind, Option<usize>)> {
    if !node.is_standard() {
        return None;
    }
    let rank = tensor.dims.len();
    match (node.op_type.as_str(), place) {
        ("MatMul", 1) if rank >= 2 => {
            Some((Kind::Product, Some(if is_turned { rank - 1 } else { rank - 2 })))
        }
        ("Gemm", 1) if rank == 2 => {
            let last = (node.int("transB").unwrap_or(0) != 0) != is_turned;
            Some((Kind::Product, Some(usize::from(last))))
        }
        ("Conv" | "ConvTranspose", 1) if rank >= 3 => Some((Kind::Product, None)),
        // What comes in, and what it remembers: both are products with the weights of all gates.
        ("LSTM" | "GRU" | "RNN", 1 | 2) if rank == 3 => Some((Kind::Product, None)),
        ("Gather", 0) if rank == 2 => Some((Kind::Embedding, None)),
        ("LayerNormalization" | "BatchNormalization", 1 | 2) => Some((Kind::Norm, None)),
        ("InstanceNormalization" | "GroupNormalization", 1 | 2) => Some((Kind::Norm, None)),
        ("RMSNormalization", 1) => Some((Kind::Norm, None)),
        ("Mul", _) if rank == 1 && tensor.name.to_lowercase().contains("norm") => {
            Some((Kind::Norm, None))
        }
        _ => None,
    }
}

fn label(node: &Node, tensor: &Tensor) -> String {
    let path = module_path(&node.name, &node.op_type);
    let is_path = tensor.name.contains('.') && !tensor.name.contains("::");
    if is_path || path.is_empty() { tensor.name.clone() } else { format!("{path}.weight") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, GraphBuilder, PruneMethod, plan_pruning};

    fn recurrent() -> Model {
        let mut builder = GraphBuilder::new("recurrent");
        let x = builder.input("x", DataType::Float, &[Dim::Fixed(3), Dim::Fixed(1), Dim::Fixed(4)]);
        for (name, dims) in
            [("w", &[1usize, 24, 4][..]), ("r", &[1, 24, 8]), ("table", &[5, 8]), ("last", &[8, 2])]
        {
            let count: usize = dims.iter().product();
            let numbers: Vec<f32> = (0..count).map(|n| 0.01 * (n as f32 + 1.0)).collect();
            builder.initializer(Tensor::from_f32s(name, dims, &numbers));
        }
        let y = builder.node("GRU", &[&x, "w", "r"], &[("hidden_size", crate::Attribute::Int(8))]);
        let shifted = builder.node("Add", &[&y, "table"], &[]);
        let out = builder.node("MatMul", &[&shifted, "last"], &[]);
        builder.output("y", &out, DataType::Float, &[Dim::Fixed(3)]);
        builder.finish_model()
    }

    #[test]
    fn recurrent_weights_are_pruned_and_what_is_left_is_told() {
        let model = recurrent();
        let options = PruneOptions::new(PruneMethod::Magnitude, 0.5);
        let found = plan_pruning(&model, &options).unwrap();
        let names: Vec<&str> = found.targets.iter().map(|target| target.tensor.as_str()).collect();
        assert_eq!(names, ["w", "r", "last"], "both weights of the GRU lose numbers");
        let said = {
            let texts: Vec<&str> = found.remarks.iter().map(|one| one.text.as_str()).collect();
            texts.join("\n")
        };
        assert!(said.contains("not pruned: `table` of `Add` (40 numbers)"), "{said}");
        let other = PruneOptions { exclude: vec!["r".into()], ..options };
        let found = plan_pruning(&model, &other).unwrap();
        assert!(found.remarks.is_empty(), "whoever chooses knows: {:?}", found.remarks);
    }
}
