//! The layers of a report as a tree with the model as its root.

use crate::clean::clean;
use crate::trace::TraceInfo;
use std::iter::successors;
use types::{Layer, LayerReport};

/// What stands for the time that lies in no module.
const OUTSIDE: &str = "outside every module";

/// A module, or the whole model.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// Its path; empty for the model and for what lies in no module.
    pub(crate) path: String,
    /// Its path without that of the module around it.
    pub(crate) label: String,
    /// The module around it.
    pub(crate) parent: Option<usize>,
    /// How deep it lies; 0 is the model.
    pub(crate) depth: usize,
    /// Time without the modules inside, in seconds; never negative.
    pub(crate) own: f64,
    /// Time with everything inside, in seconds: the sum of all `own` there.
    pub(crate) total: f64,
    /// What was measured; `None` for the model.
    pub(crate) layer: Option<&'a Layer>,
}

/// The model and its modules, every one before those inside it.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
}

impl<'a> Tree<'a> {
    /// The tree of a report; empty where the report has no layers.
    pub(crate) fn of(report: &'a LayerReport, info: &TraceInfo) -> Tree<'a> {
        let mut nodes: Vec<Node<'a>> = Vec::with_capacity(report.layers.len() + 1);
        if !report.layers.is_empty() {
            nodes.push(Node {
                path: String::new(),
                label: info.title(),
                parent: None,
                depth: 0,
                own: 0.0,
                total: 0.0,
                layer: None,
            });
        }
        // The modules around the next layer, with the depth that the report gives them.
        let mut around: Vec<(usize, usize)> = Vec::new();
        for layer in &report.layers {
            while around.last().is_some_and(|(_, depth)| *depth >= layer.depth) {
                around.pop();
            }
            let parent = around.last().map_or(0, |(node, _)| *node);
            around.push((nodes.len(), layer.depth));
            let own = layer.spent.own.0;
            let own = if own.is_finite() { own.max(0.0) } else { 0.0 };
            let label = label(&layer.path, &nodes[parent].path);
            nodes.push(Node {
                path: clean(&layer.path),
                label,
                parent: Some(parent),
                depth: nodes[parent].depth + 1,
                own,
                total: own,
                layer: Some(layer),
            });
        }
        for node in (1..nodes.len()).rev() {
            let (total, parent) = (nodes[node].total, nodes[node].parent);
            if let Some(parent) = parent {
                nodes[parent].total += total;
            }
        }
        Tree { nodes }
    }

    /// A node, the module around it, and so on up to the model.
    pub(crate) fn up_from(&self, node: usize) -> impl Iterator<Item = usize> {
        successors(Some(node), |node| self.nodes[*node].parent)
    }
}

fn label(path: &str, around: &str) -> String {
    let path = clean(path);
    let inner = path.strip_prefix(around).and_then(|rest| rest.strip_prefix('.'));
    match inner {
        Some(inner) if !around.is_empty() && !inner.is_empty() => inner.to_string(),
        _ if path.is_empty() => OUTSIDE.to_string(),
        _ => path,
    }
}
