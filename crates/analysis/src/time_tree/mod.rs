//! The layers of a report as a tree with the model as its root, every module with the time of all that is inside it.

mod pool;

use std::{borrow::Cow, iter::successors};
use types::{Layer, LayerReport};

/// What stands for the time that lies in no module.
const OUTSIDE: &str = "outside every module";

/// A module, several of them put together, or the whole model.
#[derive(Debug)]
pub struct TimeNode<'a> {
    /// Its path; empty for the model and for what lies in no module.
    pub path: String,
    /// Its path without that of the module around it.
    pub label: String,
    /// How many modules were put together.
    pub modules: usize,
    /// The module around it.
    pub parent: Option<usize>,
    /// Time without the modules inside, in seconds; never negative.
    pub own: f64,
    /// Time with everything inside, in seconds: the sum of all `own` there.
    pub total: f64,
    /// What was measured; `None` for the model.
    pub layer: Option<Cow<'a, Layer>>,
}

/// The model and its modules, every one before those inside it.
#[derive(Debug, Default)]
pub struct TimeTree<'a> {
    /// The model first.
    pub nodes: Vec<TimeNode<'a>>,
}

impl<'a> TimeTree<'a> {
    /// The tree of a report of the model with this name; empty if the report has no layers. `shown` makes a path that comes
    /// from outside fit to be shown.
    #[must_use]
    pub fn of(report: &'a LayerReport, name: &str, shown: impl Fn(&str) -> String) -> TimeTree<'a> {
        let mut tree = TimeTree::default();
        if report.layers.is_empty() {
            return tree;
        }
        tree.nodes.push(TimeNode::model(name.to_owned()));
        // The modules around the next layer, with the depth that the report gives them.
        let mut around: Vec<(usize, usize)> = Vec::new();
        for layer in &report.layers {
            while around.last().is_some_and(|(_, depth)| *depth >= layer.depth) {
                around.pop();
            }
            let parent = around.last().map_or(0, |(node, _)| *node);
            around.push((tree.nodes.len(), layer.depth));
            tree.push(parent, shown(&layer.path), Cow::Borrowed(layer), 1);
        }
        tree.add_up();
        tree
    }

    /// Adds a module inside another one.
    fn push(&mut self, parent: usize, path: String, layer: Cow<'a, Layer>, modules: usize) {
        let own = layer.spent.own.0;
        let own = if own.is_finite() { own.max(0.0) } else { 0.0 };
        let label = label(&path, &self.nodes[parent].path);
        let (parent, layer) = (Some(parent), Some(layer));
        self.nodes.push(TimeNode { path, label, modules, parent, own, total: own, layer });
    }

    /// Gives every module the time of what is inside it.
    fn add_up(&mut self) {
        for node in (1..self.nodes.len()).rev() {
            let (total, parent) = (self.nodes[node].total, self.nodes[node].parent);
            if let Some(parent) = parent {
                self.nodes[parent].total += total;
            }
        }
    }

    /// Whether nothing lies inside a node.
    #[must_use]
    pub fn is_leaf(&self, node: usize) -> bool {
        self.nodes.get(node + 1).is_none_or(|next| next.parent != Some(node))
    }

    /// Time of the whole, in seconds.
    #[must_use]
    pub fn whole(&self) -> f64 {
        self.nodes.first().map_or(0.0, |model| model.total)
    }

    /// A node, the module around it, and so on up to the model.
    pub fn up_from(&self, node: usize) -> impl Iterator<Item = usize> {
        successors(Some(node), |node| self.nodes[*node].parent)
    }
}

impl TimeNode<'_> {
    fn model(label: String) -> Self {
        let path = String::new();
        TimeNode { path, label, modules: 1, parent: None, own: 0.0, total: 0.0, layer: None }
    }
}

fn label(path: &str, around: &str) -> String {
    let inner = path.strip_prefix(around).and_then(|rest| rest.strip_prefix('.'));
    match inner {
        Some(inner) if !around.is_empty() && !inner.is_empty() => inner.to_string(),
        _ if path.is_empty() => OUTSIDE.to_string(),
        _ => path.to_string(),
    }
}
