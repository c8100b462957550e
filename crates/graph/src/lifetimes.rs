//! When activations live, and how much memory that takes at the worst moment.
//!
//! The rules, in node order: a value lives from the node that makes it to the last node that reads it; the graph's
//! inputs and outputs live to the end, for the caller holds them; weights and constants do not count. A view shares its
//! input's buffer. While a node runs, its inputs and outputs live together: no buffer is reused in place. Inside control
//! flow the worst body counts, on top of what lives outside.

use crate::{
    Graph, Node,
    count::is_view,
    shapes::{Body, Shapes, Value},
};
use std::collections::{HashMap, HashSet};
use types::Bytes;

/// The peak of live activations in bytes; `None` where the size of a value that is used is unknown.
#[must_use]
pub fn activation_peak(graph: &Graph, shapes: &Shapes) -> Option<Bytes> {
    peak(graph, shapes, true).map(Bytes)
}

/// One buffer: its size where known, and the last node that reads it.
struct Buffer {
    bytes: Option<u64>,
    last: Option<usize>,
}

fn peak(graph: &Graph, shapes: &Shapes, whole_model: bool) -> Option<u64> {
    let plan = Plan::new(graph, shapes, whole_model);
    let mut live = 0u64;
    for buffer in &plan.buffers[..plan.inputs] {
        live = live.checked_add(buffer.bytes?)?;
    }
    let mut highest = live;
    for (index, node) in graph.nodes.iter().enumerate() {
        for buffer in &plan.made[index] {
            let buffer = &plan.buffers[*buffer];
            if buffer.last.is_some() {
                live = live.checked_add(buffer.bytes?)?;
            }
        }
        let bodies = shapes.bodies.get(&index).map_or(&[][..], Vec::as_slice);
        highest = highest.max(live.checked_add(inside(node, bodies)?)?);
        for buffer in &plan.done[index] {
            live = live.saturating_sub(plan.buffers[*buffer].bytes?);
        }
    }
    Some(highest)
}

/// The worst peak of a node's bodies.
fn inside(node: &Node, bodies: &[Body]) -> Option<u64> {
    let mut worst = 0;
    for body in bodies.iter().filter(|body| body.times != Some(0)) {
        worst = worst.max(peak(body.graph(node)?, &body.shapes, false)?);
    }
    Some(worst)
}

/// Buffers, and which nodes make them and are the last to read them.
struct Plan {
    buffers: Vec<Buffer>,
    /// How many buffers, at the front, are the graph's inputs.
    inputs: usize,
    made: Vec<Vec<usize>>,
    done: Vec<Vec<usize>>,
}

impl Plan {
    fn new(graph: &Graph, shapes: &Shapes, whole_model: bool) -> Plan {
        let size = |name: &String| shapes.values.get(name).and_then(Value::bytes);
        let end = graph.nodes.len();
        let mut buffers = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        // A body's inputs belong to the outside.
        if whole_model {
            for input in &graph.inputs {
                by_name.insert(&input.name, buffers.len());
                buffers.push(Buffer { bytes: size(&input.name), last: Some(end) });
            }
        }
        let inputs = buffers.len();
        let mut made = vec![Vec::new(); end];
        for (index, node) in graph.nodes.iter().enumerate() {
            for name in reads(node) {
                if let Some(buffer) = by_name.get(name) {
                    let last = &mut buffers[*buffer].last;
                    *last = (*last).max(Some(index));
                }
            }
            if node.op_type == "Constant" {
                continue;
            }
            for (place, name) in node.outputs.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
                if place == 0 && is_view(node) {
                    // A view of a weight or of an outer value has no buffer here.
                    if let Some(buffer) = node.input(0).and_then(|name| by_name.get(name).copied())
                    {
                        by_name.insert(name, buffer);
                    }
                    continue;
                }
                by_name.insert(name, buffers.len());
                made[index].push(buffers.len());
                buffers.push(Buffer { bytes: size(name), last: None });
            }
        }
        for output in &graph.outputs {
            if let Some(buffer) = by_name.get(output.name.as_str()) {
                buffers[*buffer].last = Some(end);
            }
        }
        let mut done = vec![Vec::new(); end];
        for (index, buffer) in buffers.iter().enumerate() {
            if let Some(last) = buffer.last.filter(|last| *last < end) {
                done[last].push(index);
            }
        }
        Plan { buffers, inputs, made, done }
    }
}

/// Every value a node reads, what its bodies capture included.
fn reads(node: &Node) -> HashSet<&str> {
    let mut names: HashSet<&str> = node.inputs.iter().map(String::as_str).collect();
    for (_, body) in node.subgraphs() {
        names.extend(body.nodes.iter().flat_map(reads));
        names.extend(body.outputs.iter().map(|output| output.name.as_str()));
    }
    names
}
