//! Everything that is counted on a graph, put together.

use crate::{
    Graph, Model, Node, Shapes,
    count::{Operation, count_weights, flops, is_movement, traffic},
    infer, layer_kind,
    lifetimes::activation_peak,
    module_path,
    shapes::{Body, Call},
};
use std::collections::BTreeMap;
use types::{Bytes, Flops, LayerKind, Ratio, Work};

/// The work of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeWork {
    /// The index in the main graph of the node itself, or of the control flow or call that holds it.
    pub index: usize,
    /// How many bodies it is inside; 0 for a node of the main graph.
    pub depth: usize,
    /// The node's name.
    pub name: String,
    /// Its operator.
    pub op_type: String,
    /// Its module path; empty if its name holds none.
    pub path: String,
    /// What its layer is for.
    pub kind: LayerKind,
    /// Its operations in one inference, all rounds of a loop together; `None` if nobody could count them.
    pub flops: Option<Flops>,
    /// Bytes it reads; `None` if a shape is unknown.
    pub bytes_read: Option<Bytes>,
    /// Bytes it writes; `None` if a shape is unknown.
    pub bytes_written: Option<Bytes>,
}

/// What is counted on a graph for given input dims.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// Every node that runs, those inside control flow and functions behind the node that holds them.
    ///
    /// Where only a run can tell which branch of an `If` is taken, the one with more operations is here; where it
    /// cannot be told how often a `Loop` runs, its body is here once and the `Loop` is uncovered.
    pub nodes: Vec<NodeWork>,
    /// Trained numbers, as [`count_weights`] counts them.
    pub parameters: u64,
    /// Bytes of all constants.
    pub weight_bytes: Bytes,
    /// The sums. Coverage is the share of counted nodes among those that could cost something: nodes that only move
    /// data are in neither number; with no such node at all it is 1.
    pub work: Work,
    /// Operators that could not be counted, with how many nodes of each.
    pub uncovered: BTreeMap<String, usize>,
}

/// Counts everything on a model whose inputs have these dims.
#[must_use]
pub fn analyse(model: &Model, inputs: &[(String, Vec<usize>)]) -> Analysis {
    analyse_shapes(model, &infer(model, inputs))
}

/// Counts everything on a model whose shapes are known.
#[must_use]
pub fn analyse_shapes(model: &Model, shapes: &Shapes) -> Analysis {
    let mut tally = Tally::default();
    for index in 0..model.graph.nodes.len() {
        tally.node(&model.graph, shapes, index, &Place { index, depth: 0, times: 1 });
    }
    let weights = count_weights(model);
    let coverage = match tally.costly {
        0 => 1.0,
        costly => tally.counted as f64 / costly as f64,
    };
    let work = Work {
        flops: tally.nodes.iter().filter_map(|node| node.flops).sum(),
        coverage: Ratio(coverage),
        bytes_read: tally.nodes.iter().filter_map(|node| node.bytes_read).sum(),
        bytes_written: tally.nodes.iter().filter_map(|node| node.bytes_written).sum(),
        activation_peak: activation_peak(&model.graph, shapes),
    };
    Analysis {
        nodes: tally.nodes,
        parameters: weights.parameters,
        weight_bytes: weights.bytes,
        work,
        uncovered: tally.uncovered,
    }
}

/// Where a node is and how often it runs.
struct Place {
    index: usize,
    depth: usize,
    times: u64,
}

#[derive(Default)]
struct Tally {
    nodes: Vec<NodeWork>,
    uncovered: BTreeMap<String, usize>,
    /// Nodes that could cost something, and those of them that were counted.
    costly: usize,
    counted: usize,
}

impl Tally {
    fn node(&mut self, graph: &Graph, shapes: &Shapes, at: usize, place: &Place) {
        let node = &graph.nodes[at];
        if let Some(bodies) = shapes.bodies.get(&at) {
            return self.holder(node, bodies, place);
        }
        let operation = Operation {
            call: Call {
                node,
                inputs: node.inputs.iter().map(|name| shapes.values.get(name)).collect(),
            },
            outputs: node.outputs.iter().map(|name| shapes.values.get(name)).collect(),
        };
        let flops = flops(&operation);
        let (read, written) = traffic(&operation);
        self.note(node, flops.is_some(), !is_movement(node));
        let all = |bytes: Bytes| Bytes(bytes.0.saturating_mul(place.times));
        let flops = flops.map(|count| Flops(count.saturating_mul(place.times)));
        self.push(node, place, flops, read.map(all), written.map(all));
    }

    /// A node with bodies costs what they cost.
    fn holder(&mut self, node: &Node, bodies: &[Body], place: &Place) {
        let known = bodies.iter().all(|body| body.times.is_some());
        let is_choice = node.op_type == "If";
        // An `If` that cannot be told is counted by its heavier branch; a loop that cannot be told is not counted.
        let covered = known || is_choice;
        self.note(node, covered, !covered);
        self.push(node, place, covered.then_some(Flops(0)), Some(Bytes(0)), Some(Bytes(0)));
        let tallies = bodies.iter().filter(|body| body.times != Some(0)).filter_map(|body| {
            let graph = body.graph(node)?;
            let times = place.times.saturating_mul(body.times.unwrap_or(1));
            let inner = Place { index: place.index, depth: place.depth + 1, times };
            let mut tally = Tally::default();
            for at in 0..graph.nodes.len() {
                tally.node(graph, &body.shapes, at, &inner);
            }
            Some(tally)
        });
        let heaviest = tallies.reduce(|a, b| if b.flops() > a.flops() { b } else { a });
        if let Some(inner) = heaviest {
            self.nodes.extend(inner.nodes);
            self.costly += inner.costly;
            self.counted += inner.counted;
            for (op_type, count) in inner.uncovered {
                *self.uncovered.entry(op_type).or_default() += count;
            }
        }
    }

    fn flops(&self) -> Flops {
        self.nodes.iter().filter_map(|node| node.flops).sum()
    }

    fn note(&mut self, node: &Node, covered: bool, costly: bool) {
        self.costly += usize::from(costly);
        self.counted += usize::from(costly && covered);
        if !covered {
            *self.uncovered.entry(node.op_type.clone()).or_default() += 1;
        }
    }

    fn push(
        &mut self,
        node: &Node,
        place: &Place,
        flops: Option<Flops>,
        bytes_read: Option<Bytes>,
        bytes_written: Option<Bytes>,
    ) {
        self.nodes.push(NodeWork {
            index: place.index,
            depth: place.depth,
            name: node.name.clone(),
            op_type: node.op_type.clone(),
            path: module_path(&node.name, &node.op_type),
            kind: layer_kind(node),
            flops,
            bytes_read,
            bytes_written,
        });
    }
}
