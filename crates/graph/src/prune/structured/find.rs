//! The blocks of a graph that can lose heads or neurons, and the places where they could not be followed.

use super::{
    BlockKind, Unfit,
    flow::{Flow, Tag, Trace},
};
use crate::{Model, Shapes, module_path};
use std::collections::HashSet;

/// Their divisors are tried one by one.
const MOST_HEADS: usize = 1 << 16;

/// A block that can lose units.
pub(super) struct Found {
    pub(super) kind: BlockKind,
    pub(super) label: String,
    pub(super) trace: Trace,
}

/// The blocks in the graph's order, and why other places are none.
pub(super) fn find(model: &Model, shapes: &Shapes) -> (Vec<Found>, Vec<(BlockKind, Unfit)>) {
    let flow = Flow::new(model, shapes);
    let mut unfit = Vec::new();
    let mut found = heads(&flow, &mut unfit);
    let taken: HashSet<(usize, usize)> =
        found.iter().flat_map(|one| one.trace.cuts.keys().copied()).collect();
    let has_attention = !found.is_empty();
    found.extend(neurons(&flow, &taken, has_attention, &mut unfit));
    (found, unfit)
}

/// Heads are followed from every softmax over scores.
fn heads(flow: &Flow<'_>, unfit: &mut Vec<(BlockKind, Unfit)>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for node in &flow.graph.nodes {
        let fused = ["Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention"];
        if fused.contains(&node.op_type.as_str()) {
            let why = format!("the operator `{}` keeps its heads inside", node.op_type);
            unfit.push((BlockKind::Heads, Unfit { node: node.name.clone(), why }));
        }
        if node.op_type != "Softmax" {
            continue;
        }
        let Some(value) = node.outputs.first() else { continue };
        if found.iter().any(|one| one.trace.tags.contains_key(value)) {
            continue;
        }
        let mut refuse = |why: String| {
            unfit.push((BlockKind::Heads, Unfit { node: node.name.clone(), why }));
        };
        let Some(&[_, count, _, _]) = flow.dims(value) else {
            refuse("the softmax is not over scores of batch, heads, queries and keys".into());
            continue;
        };
        if count > MOST_HEADS {
            refuse(format!("the softmax has {count} heads, more than any model"));
            continue;
        }
        // Several heads that share a key stay or go together: fewer, wider units are tried.
        let mut first = None;
        let divisors = (2..=count).rev().filter(|units| count % units == 0);
        let trace = divisors.into_iter().find_map(|units| {
            let tag = Tag { axis: 1, parts: 1, inner: count / units };
            let trace = flow.follow(value, tag, units);
            trace.map_err(|why| first.get_or_insert(why).clone()).ok()
        });
        match trace {
            Some(trace) => {
                found.push(Found { kind: BlockKind::Heads, label: label(flow, &trace), trace })
            }
            None => refuse(first.unwrap_or_else(|| "there is a single head".into())),
        }
    }
    found
}

/// Neurons are followed from every product that widens.
fn neurons(
    flow: &Flow<'_>,
    taken: &HashSet<(usize, usize)>,
    has_attention: bool,
    unfit: &mut Vec<(BlockKind, Unfit)>,
) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (index, node) in flow.graph.nodes.iter().enumerate() {
        if !matches!(node.op_type.as_str(), "MatMul" | "Gemm") || !node.is_standard() {
            continue;
        }
        let (Some(value), Some(weight)) = (node.outputs.first(), node.input(1)) else { continue };
        let Some(&[rows, columns]) = flow.dims(weight) else { continue };
        let is_turned = node.op_type == "Gemm" && node.int("transB").unwrap_or(0) != 0;
        let (inputs, count) = if is_turned { (columns, rows) } else { (rows, columns) };
        let widens = count > inputs || !has_attention;
        if !widens || count < 2 || taken.contains(&(index, 1)) {
            continue;
        }
        let Some(dims) = flow.dims(value) else { continue };
        if found.iter().any(|one| one.trace.tags.contains_key(value)) {
            continue;
        }
        let tag = Tag { axis: dims.len().saturating_sub(1), parts: 1, inner: 1 };
        match flow.follow(value, tag, count) {
            Ok(trace) if trace.cuts.keys().all(|key| !taken.contains(key)) => {
                let label = label(flow, &trace);
                found.push(Found { kind: BlockKind::Neurons, label, trace });
            }
            Ok(_) => {}
            Err(why) => {
                unfit.push((BlockKind::Neurons, Unfit { node: node.name.clone(), why }));
            }
        }
    }
    found
}

/// The innermost module that holds every node whose weights are cut.
fn label(flow: &Flow<'_>, trace: &Trace) -> String {
    let path = |index: &usize| {
        let node = &flow.graph.nodes[*index];
        module_path(&node.name, &node.op_type)
    };
    let mut paths = trace.cuts.keys().map(|(index, _)| path(index)).filter(|path| !path.is_empty());
    let Some(first) = paths.next() else {
        let first = trace.cuts.values().next();
        return first.map(|cut| cut.tensor.clone()).unwrap_or_default();
    };
    let mut common: Vec<String> = first.split('.').map(str::to_owned).collect();
    for path in paths {
        let same = common.iter().zip(path.split('.')).take_while(|(a, b)| a == b).count();
        common.truncate(same);
    }
    if common.is_empty() { first } else { common.join(".") }
}
