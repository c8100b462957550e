//! Buffers with their lifetimes, step by step.

use super::{Reuse, Scope, overwrite::may_overwrite, steps::Steps};
use crate::{
    Graph, Node, module_path,
    shapes::{Shapes, Value},
};
use std::collections::HashMap;
use types::{Bytes, LiveTensor};

/// One buffer: its size where known, the values that lie in it one after the other, and the last step that reads it.
pub(super) struct Buffer<'a> {
    pub(super) bytes: Option<u64>,
    /// The values with the nodes that make them; a graph's input has no node.
    values: Vec<(Option<usize>, &'a str)>,
    last: Option<usize>,
}

/// A moment: the bytes that live, the node that runs, and how many of the bytes its bodies need.
pub(super) struct Moment {
    pub(super) bytes: u64,
    pub(super) at: Option<usize>,
    pub(super) inside: u64,
}

/// Buffers, and which steps make them and are the last to read them.
pub(super) struct Plan<'a> {
    pub(super) buffers: Vec<Buffer<'a>>,
    /// How many buffers, at the front, are the graph's inputs.
    inputs: usize,
    /// For every node the buffers it makes, those left out that nobody reads.
    pub(super) made: Vec<Vec<usize>>,
    /// For every node the buffers it is the last to read.
    pub(super) done: Vec<Vec<usize>>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(graph: &'a Graph, shapes: &Shapes, reuse: Reuse, scope: Scope) -> Plan<'a> {
        let size = |name: &str| shapes.values.get(name).and_then(Value::bytes);
        let end = graph.nodes.len();
        let steps = Steps::new(graph, shapes, reuse);
        let mut buffers: Vec<Buffer<'a>> = Vec::new();
        let mut by_value: HashMap<&str, usize> = HashMap::new();
        if reuse == Reuse::Apart && scope == Scope::Model {
            for input in &graph.inputs {
                by_value.insert(&input.name, buffers.len());
                let values = vec![(None, input.name.as_str())];
                buffers.push(Buffer { bytes: size(&input.name), values, last: Some(end) });
            }
        }
        let inputs = buffers.len();
        let mut made = vec![Vec::new(); end];
        for (index, node) in graph.nodes.iter().enumerate() {
            let step = steps.last[index];
            for name in &steps.reads[index] {
                if let Some(buffer) = by_value.get(steps.root(name)) {
                    let last = &mut buffers[*buffer].last;
                    *last = (*last).max(Some(step));
                }
            }
            // What passes inside a step has no buffer, and neither has a constant.
            if node.op_type == "Constant" || step != index {
                continue;
            }
            let mut over = match reuse {
                Reuse::Apart => None,
                Reuse::InPlace => Some(overwritten(graph, &steps, index)),
            };
            for name in node.outputs.iter().filter(|name| !name.is_empty()) {
                if steps.is_view(name) {
                    continue;
                }
                let bytes = size(name);
                let fits = |at: &usize| bytes.is_some() && buffers[*at].bytes == bytes;
                let values = over.take().unwrap_or_default();
                let taken = values.iter().filter_map(|name| by_value.get(name).copied()).find(fits);
                if let Some(buffer) = taken {
                    by_value.insert(name, buffer);
                    buffers[buffer].values.push((Some(index), name));
                    continue;
                }
                by_value.insert(name, buffers.len());
                made[index].push(buffers.len());
                buffers.push(Buffer { bytes, values: vec![(Some(index), name)], last: None });
            }
        }
        for output in &graph.outputs {
            if let Some(buffer) = by_value.get(steps.root(&output.name)) {
                buffers[*buffer].last = Some(end);
            }
        }
        for made in &mut made {
            made.retain(|buffer| buffers[*buffer].last.is_some());
        }
        let mut done = vec![Vec::new(); end];
        for (index, buffer) in buffers.iter().enumerate() {
            if let Some(last) = buffer.last.filter(|last| *last < end) {
                done[last].push(index);
            }
        }
        Plan { buffers, inputs, made, done }
    }

    /// The worst moment; `inside` tells what a node's bodies need. `None` if a size is unknown.
    pub(super) fn highest(&self, inside: impl Fn(usize) -> Option<u64>) -> Option<Moment> {
        let mut live = 0u64;
        for buffer in &self.buffers[..self.inputs] {
            live = live.checked_add(buffer.bytes?)?;
        }
        let mut highest = Moment { bytes: live, at: None, inside: 0 };
        for index in 0..self.made.len() {
            for buffer in &self.made[index] {
                live = live.checked_add(self.buffers[*buffer].bytes?)?;
            }
            let inside = inside(index)?;
            let bytes = live.checked_add(inside)?;
            if bytes > highest.bytes || highest.at.is_none() {
                highest = Moment { bytes, at: Some(index), inside };
            }
            for buffer in &self.done[index] {
                live = live.saturating_sub(self.buffers[*buffer].bytes?);
            }
        }
        Some(highest)
    }

    /// What lives while a node runs.
    pub(super) fn live_at(&self, graph: &Graph, at: Option<usize>) -> Vec<LiveTensor> {
        let alive = |buffer: &&Buffer<'_>| {
            let born = buffer.values.first().is_some_and(|(made, _)| *made <= at);
            born && buffer.last.is_some_and(|last| at.is_none_or(|at| last >= at))
        };
        let tensor = |buffer: &Buffer<'_>| {
            // Of those that lie in it one after the other, the one that is there now.
            let (made, name) = *buffer.values.iter().rfind(|(made, _)| *made <= at)?;
            let module = made.map(|made| module_of(&graph.nodes[made]));
            Some(LiveTensor {
                name: name.to_owned(),
                module: module.unwrap_or_default(),
                bytes: Bytes(buffer.bytes?),
            })
        };
        self.buffers.iter().filter(alive).filter_map(tensor).collect()
    }
}

fn module_of(node: &Node) -> String {
    module_path(&node.name, &node.op_type)
}

/// The values whose buffers a step may write over: what its nodes read that nobody reads afterwards.
fn overwritten<'a>(graph: &'a Graph, steps: &Steps<'a>, step: usize) -> Vec<&'a str> {
    let mut values: Vec<&str> = Vec::new();
    for &at in &steps.members[step] {
        let node = &graph.nodes[at];
        for (place, name) in node.inputs.iter().enumerate() {
            let root = steps.root(name);
            if may_overwrite(node, place)
                && steps.is_last_reader(name, step)
                && !values.contains(&root)
            {
                values.push(root);
            }
        }
    }
    values
}
