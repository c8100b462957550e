//! Which weights a pruning looks at, what they are called, and along which axis they are summed.

use super::{Also, PruneError, PruneOptions, glob::matches};
use crate::{
    DataType, Model, Node, Tensor, TensorData, module_path, precision::with_constants_as_weights,
};
use std::collections::{HashMap, HashSet};

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
    /// The axis that is summed over; `None` where nothing is.
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
