//! When activations live, and how much memory that takes at the worst moment.
//!
//! The rules, in node order: a value lives from the node that makes it to the last node that reads it; the graph's
//! outputs live to the end, for the caller takes them; weights and constants do not count. A view shares its input's
//! buffer. While a node runs, its inputs and outputs live together. Inside control flow the worst body counts, on top of
//! what lives outside. What an engine may do beyond that is said by [`Reuse`].

mod overwrite;
mod plan;
mod pooled;
mod steps;

pub use pooled::pooled_peak;

use crate::{Graph, Node, module_path, shapes::Body, shapes::Shapes};
use plan::Plan;
use types::{Bytes, LiveTensor};

/// What an engine does with buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Every value has a buffer of its own, the graph's inputs too.
    Apart,
    /// As engines that optimise run it. Element-wise nodes that follow each other are one step, and what passes between
    /// them has no buffer. Such a step, or a softmax, writes over an input of the same size that nobody reads afterwards.
    /// A transpose that only matrix products read is read through strides. The inputs are the caller's and there before.
    InPlace,
}

/// The worst moment of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationPeak {
    /// The bytes that live then.
    pub bytes: Bytes,
    /// The node that runs then; empty in a graph without nodes.
    pub node: String,
    /// What lives then, the largest first. What a body of control flow needs is one entry, named by its node.
    pub live: Vec<LiveTensor>,
}

/// The peak of live activations in bytes, every value apart; `None` if the size of a value that is used is unknown.
#[must_use]
pub fn activation_peak(graph: &Graph, shapes: &Shapes) -> Option<Bytes> {
    find_peak(graph, shapes, Reuse::Apart).map(|peak| peak.bytes)
}

/// The worst moment and what lives then; `None` if the size of a value that is used is unknown.
#[must_use]
pub fn find_peak(graph: &Graph, shapes: &Shapes, reuse: Reuse) -> Option<ActivationPeak> {
    let plan = Plan::new(graph, shapes, reuse, Scope::Model);
    let highest = plan.highest(|at| inside(graph, shapes, at, reuse))?;
    let mut live = plan.live_at(graph, highest.at);
    if let (Some(at), 1..) = (highest.at, highest.inside) {
        let node = &graph.nodes[at];
        let module = module_path(&node.name, &node.op_type);
        live.push(LiveTensor { name: node.name.clone(), module, bytes: Bytes(highest.inside) });
    }
    live.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    let node = highest.at.map_or_else(String::new, |at| graph.nodes[at].name.clone());
    Some(ActivationPeak { bytes: Bytes(highest.bytes), node, live })
}

/// Whether a graph stands alone or inside a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Model,
    /// Its inputs belong to the outside.
    Body,
}

/// What the bodies of a node need at their worst.
fn inside(graph: &Graph, shapes: &Shapes, at: usize, reuse: Reuse) -> Option<u64> {
    let node = &graph.nodes[at];
    let bodies = shapes.bodies.get(&at).map_or(&[][..], Vec::as_slice);
    worst(node, bodies, reuse)
}

fn worst(node: &Node, bodies: &[Body], reuse: Reuse) -> Option<u64> {
    let mut worst = 0;
    for body in bodies.iter().filter(|body| body.times != Some(0)) {
        let graph = body.graph(node)?;
        let plan = Plan::new(graph, &body.shapes, reuse, Scope::Body);
        worst = worst.max(plan.highest(|at| inside(graph, &body.shapes, at, reuse))?.bytes);
    }
    Some(worst)
}
