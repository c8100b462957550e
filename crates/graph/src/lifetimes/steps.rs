//! Which nodes run as one step, and which only look at their input.

use super::{
    Reuse,
    overwrite::{is_elementwise, is_product},
};
use crate::{
    Graph, Node,
    count::is_view,
    shapes::{Shapes, Value},
};
use std::collections::{HashMap, HashSet};

/// How a graph's nodes are run.
pub(super) struct Steps<'a> {
    /// For every node the last node of its step; a step alone is its own.
    pub(super) last: Vec<usize>,
    /// For every node the nodes of the step that it is the last of; empty for the others.
    pub(super) members: Vec<Vec<usize>>,
    /// What every node reads.
    pub(super) reads: Vec<HashSet<&'a str>>,
    /// For every value the value whose buffer it is a view of.
    roots: HashMap<&'a str, &'a str>,
    /// For every buffer's value the last step that reads it, views of it included.
    readers: HashMap<&'a str, usize>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(graph: &'a Graph, shapes: &Shapes, reuse: Reuse) -> Steps<'a> {
        let reads: Vec<HashSet<&str>> = graph.nodes.iter().map(reads).collect();
        let mut by_value: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, names) in reads.iter().enumerate() {
            names.iter().for_each(|name| by_value.entry(name).or_default().push(index));
        }
        let outputs: HashSet<&str> = graph.outputs.iter().map(|o| o.name.as_str()).collect();
        let mut steps = Steps {
            last: (0..graph.nodes.len()).collect(),
            members: vec![Vec::new(); graph.nodes.len()],
            reads,
            roots: HashMap::new(),
            readers: HashMap::new(),
        };
        // Backwards, so that a node's reader knows its own step already.
        for (index, node) in graph.nodes.iter().enumerate().rev() {
            if reuse == Reuse::InPlace
                && let [output] = node.outputs.as_slice()
                && let Some([reader]) = by_value.get(output.as_str()).map(Vec::as_slice)
                && !outputs.contains(output.as_str())
                && joins(graph, shapes, index, *reader)
            {
                steps.last[index] = steps.last[*reader];
            }
        }
        for (index, step) in steps.last.iter().enumerate() {
            steps.members[*step].push(index);
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            let strided = || {
                let readers = node.outputs.first().and_then(|output| by_value.get(output.as_str()));
                let is_read_so = |at: &usize| is_product(&graph.nodes[*at]);
                reuse == Reuse::InPlace
                    && node.op_type == "Transpose"
                    && node.outputs.first().is_some_and(|output| !outputs.contains(output.as_str()))
                    && readers.is_some_and(|readers| readers.iter().all(is_read_so))
            };
            if (is_view(node) || strided())
                && let (Some(input), Some(output)) = (node.input(0), node.outputs.first())
            {
                let root = steps.root(input);
                steps.roots.insert(output, root);
            }
            for name in &steps.reads[index] {
                let root = steps.roots.get(name).copied().unwrap_or(name);
                let last = steps.readers.entry(root).or_default();
                *last = (*last).max(steps.last[index]);
            }
        }
        for output in &graph.outputs {
            let root = steps.root(&output.name);
            steps.readers.insert(root, graph.nodes.len());
        }
        steps
    }

    /// The value whose buffer a value lies in.
    pub(super) fn root(&self, name: &'a str) -> &'a str {
        self.roots.get(name).copied().unwrap_or(name)
    }

    /// Whether a value is a view of another.
    pub(super) fn is_view(&self, name: &str) -> bool {
        self.roots.contains_key(name)
    }

    /// Whether nobody reads the value, or a view of it, after this step.
    pub(super) fn is_last_reader(&self, name: &'a str, step: usize) -> bool {
        self.readers.get(self.root(name)) == Some(&step)
    }
}

/// Whether a node's only reader takes its value as it comes: both go element by element, and the sizes are equal.
fn joins(graph: &Graph, shapes: &Shapes, index: usize, reader: usize) -> bool {
    let elements = |node: &Node| {
        let output = node.outputs.first()?;
        shapes.values.get(output.as_str()).and_then(Value::elements)
    };
    let (node, reader) = (&graph.nodes[index], &graph.nodes[reader]);
    is_elementwise(node)
        && is_elementwise(reader)
        && reader.outputs.len() == 1
        && elements(node).is_some()
        && elements(node) == elements(reader)
}

/// Every value a node reads, what its bodies capture included.
pub(super) fn reads(node: &Node) -> HashSet<&str> {
    let mut names: HashSet<&str> = node.inputs.iter().map(String::as_str).collect();
    for (_, body) in node.subgraphs() {
        names.extend(body.nodes.iter().flat_map(reads));
        names.extend(body.outputs.iter().map(|output| output.name.as_str()));
    }
    names
}
