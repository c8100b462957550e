//! Which nodes run as one step. What passes between them has no buffer, and they come to their turn together.
//!
//! The rules say what the fusions of engines come to, not which names they have:
//! - a product with its bias, scale and transposes, a convolution with what follows it channel by channel
//! - a sum with the softmax behind it
//! - an activation or a norm that is written out: it begins at one value and ends at one product or quotient

use super::{
    Step,
    place::{Over, over},
};
use crate::{
    Graph, Node,
    lifetimes::{overwrite::is_elementwise, steps::reads},
    shapes::{Shapes, Value},
};
use std::collections::{HashMap, HashSet};

/// The longest written-out activation or norm that is looked for, in nodes.
const LONGEST: usize = 12;

/// The steps of a graph, each behind those whose values it reads; what depends on constants only is no step.
pub(super) fn steps<'a>(graph: &'a Graph, shapes: &'a Shapes) -> Vec<Step<'a>> {
    let fusing = Fusing::new(graph, shapes);
    let mut inner: HashSet<usize> = HashSet::new();
    let mut steps = Vec::with_capacity(graph.nodes.len());
    // Backwards: the longest comes first, and begins at its end.
    for node in (0..graph.nodes.len()).rev() {
        if fusing.is_constant(&graph.nodes[node]) || inner.contains(&node) {
            continue;
        }
        let joined = fusing.joined(node);
        steps.push(fusing.step(node, &joined));
        inner.extend(joined.nodes);
    }
    steps.reverse();
    steps
}

/// The nodes that a step has beside its last.
#[derive(Default)]
struct Joined {
    nodes: HashSet<usize>,
    /// What the whole writes over, where that is not what its last node does.
    over: Option<Over>,
}

impl Joined {
    fn of(nodes: impl IntoIterator<Item = usize>, over: Over) -> Joined {
        Joined { nodes: nodes.into_iter().collect(), over: Some(over) }
    }
}

struct Fusing<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    makers: HashMap<&'a str, usize>,
    /// The nodes that read a value; what comes out of the graph is read by one more, behind the last.
    readers: HashMap<&'a str, Vec<usize>>,
    constants: HashSet<&'a str>,
    /// Whether every node stands behind those whose values it reads; nothing is joined in a damaged file.
    is_ordered: bool,
}

impl<'a> Fusing<'a> {
    fn new(graph: &'a Graph, shapes: &'a Shapes) -> Fusing<'a> {
        let mut makers = HashMap::new();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut constants: HashSet<&str> =
            graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        for (index, node) in graph.nodes.iter().enumerate() {
            if depends_on(node, &constants) {
                constants.extend(node.outputs.iter().map(String::as_str));
            }
            makers.extend(node.outputs.iter().map(|output| (output.as_str(), index)));
            reads(node).into_iter().for_each(|name| readers.entry(name).or_default().push(index));
        }
        let is_ordered = graph.nodes.iter().enumerate().all(|(index, node)| {
            let mut names = reads(node).into_iter();
            names.all(|name| makers.get(name).is_none_or(|maker| *maker < index))
        });
        for output in &graph.outputs {
            readers.entry(output.name.as_str()).or_default().push(graph.nodes.len());
        }
        Fusing { graph, shapes, makers, readers, constants, is_ordered }
    }

    fn is_constant(&self, node: &Node) -> bool {
        node.outputs.iter().all(|output| self.constants.contains(output.as_str()))
    }

    fn joined(&self, index: usize) -> Joined {
        let node = &self.graph.nodes[index];
        if !node.is_standard() || !self.is_ordered {
            return Joined::default();
        }
        let mut joined = match node.op_type.as_str() {
            "Mul" | "Div" => self.written_out(index).or_else(|| self.scaled_product(index)),
            "Add" => self
                .behind(node, &["MatMul"], |bias| self.rank(bias) == Some(1))
                .or_else(|| self.behind(node, &["Conv"], |_| true)),
            "BatchNormalization" => self.behind(node, &["Conv"], |_| true),
            "MatMul" => Some(Joined::of(self.scales(index), Over::Nothing)),
            "Softmax" if self.is_last_axis(node) => {
                let sum = node.input(0).and_then(|name| self.sole(name, &["Add"]));
                sum.map(|sum| Joined::of([sum], Over::Largest))
            }
            _ => None,
        }
        .unwrap_or_default();
        self.join_transposes(index, &mut joined);
        joined
    }

    /// The maker of a value, where it is one of these operators and nobody else reads the value.
    fn sole(&self, value: &str, operators: &[&str]) -> Option<usize> {
        let maker = *self.makers.get(value)?;
        let node = &self.graph.nodes[maker];
        let is_one = node.is_standard() && operators.contains(&node.op_type.as_str());
        let is_alone = self.readers.get(value).is_some_and(|readers| readers.len() == 1);
        (is_one && is_alone && !self.constants.contains(value)).then_some(maker)
    }

    /// A node with the one before it, where the rest of what it reads is constant and fits.
    fn behind(
        &self,
        node: &Node,
        operators: &[&str],
        fits: impl Fn(&str) -> bool,
    ) -> Option<Joined> {
        let (constant, computed): (Vec<&str>, Vec<&str>) =
            node.inputs.iter().map(String::as_str).partition(|name| self.constants.contains(name));
        let [value] = computed.as_slice() else { return None };
        let product = self.sole(value, operators).filter(|_| constant.into_iter().all(fits))?;
        Some(Joined::of([product], Over::Nothing))
    }

    /// A product times a number, with what its operands are multiplied by.
    fn scaled_product(&self, index: usize) -> Option<Joined> {
        let product = self.sole(self.scaled(index)?, &["MatMul"])?;
        let scales = self.scales(product);
        Some(Joined::of(scales.into_iter().chain([product]), Over::Nothing))
    }

    /// The nodes that multiply a product's operands by a number.
    fn scales(&self, product: usize) -> Vec<usize> {
        let operands = self.graph.nodes[product].inputs.iter();
        let scales = operands.filter_map(|operand| self.sole(operand, &["Mul", "Div"]));
        scales.filter(|scale| self.scaled(*scale).is_some()).collect()
    }

    /// What a node multiplies by a number, or divides by one.
    fn scaled(&self, index: usize) -> Option<&'a str> {
        let node = &self.graph.nodes[index];
        let [left, right] = node.inputs.as_slice() else { return None };
        let is_number = |name: &String| {
            let elements = self.value(name).and_then(Value::elements);
            self.constants.contains(name.as_str()) && elements == Some(1)
        };
        match (is_number(left), is_number(right)) {
            (false, true) => Some(left),
            (true, false) if node.op_type == "Mul" => Some(right),
            _ => None,
        }
    }

    /// The nodes of an activation or a norm that ends here: every path backwards comes to the same value, and nothing
    /// between is read from outside.
    fn written_out(&self, index: usize) -> Option<Joined> {
        let mut nodes: HashSet<usize> = HashSet::new();
        let mut open: HashSet<&str> = self.computed(index).collect();
        if open.len() < 2 {
            return None;
        }
        let mut reduces = false;
        while open.len() > 1 {
            // The last one made: those before it may be what it is made from.
            let value =
                *open.iter().max_by_key(|value| self.makers.get(**value).map(|at| at + 1))?;
            let maker = *self.makers.get(value)?;
            let node = &self.graph.nodes[maker];
            let is_mean =
                node.is_standard() && matches!(&*node.op_type, "ReduceMean" | "ReduceSum");
            let stays = |reader: &usize| *reader == index || nodes.contains(reader);
            if !(is_mean || is_elementwise(node))
                || nodes.len() == LONGEST
                || !self.readers.get(value).is_some_and(|readers| readers.iter().all(stays))
            {
                return None;
            }
            reduces |= is_mean;
            nodes.insert(maker);
            open.remove(value);
            open.extend(self.computed(maker));
        }
        let over = if reduces { Over::Nothing } else { Over::First };
        Some(Joined { nodes, over: Some(over) })
    }

    /// A step that goes through its inputs by strides takes in the transposes before it, all or none.
    fn join_transposes(&self, index: usize, joined: &mut Joined) {
        const STRIDED: [&str; 5] = ["MatMul", "Concat", "Expand", "Slice", "Split"];
        let members = joined.nodes.iter().copied().chain([index]);
        let is_strided = |at: &usize| STRIDED.contains(&self.graph.nodes[*at].op_type.as_str());
        let Some(strided) = members.into_iter().find(is_strided) else { return };
        let mut transposes = Vec::new();
        for name in self.outside(strided, joined) {
            let maker = self.makers.get(name).copied();
            if maker.is_some_and(|at| self.graph.nodes[at].op_type == "Transpose") {
                match self.sole(name, &["Transpose"]) {
                    Some(transpose) => transposes.push(transpose),
                    None => return,
                }
            }
        }
        if !transposes.is_empty() {
            joined.nodes.extend(transposes);
            joined.over = Some(Over::Nothing);
        }
    }

    fn step(&self, index: usize, joined: &Joined) -> Step<'a> {
        let node = &self.graph.nodes[index];
        let kind = joined.over.unwrap_or_else(|| over(node));
        let mut reads: Vec<&str> = match node.op_type.as_str() {
            // Its answer is known from the inputs' dims.
            "Shape" | "Size" => Vec::new(),
            _ => self.outside(index, joined),
        };
        if joined.nodes.len() > 1 || kind == Over::First && !joined.nodes.is_empty() {
            let mut seen = HashSet::new();
            reads.retain(|name| seen.insert(*name));
        }
        let first = node.input(0).filter(|name| !self.constants.contains(name));
        let over = match kind {
            Over::Nothing => Vec::new(),
            Over::First if joined.nodes.is_empty() => first.into_iter().collect(),
            Over::First | Over::Largest => reads.clone(),
        };
        Step { node: index, reads, works_in_place: kind != Over::Nothing, over }
    }

    /// What a node and those joined to it read from outside, in the order in which they read it.
    fn outside(&self, index: usize, joined: &Joined) -> Vec<&'a str> {
        let mut found = Vec::new();
        for name in self.computed(index) {
            match self.makers.get(name).filter(|maker| joined.nodes.contains(maker)) {
                Some(maker) => found.extend(self.outside(*maker, joined)),
                None => found.push(name),
            }
        }
        found
    }

    /// What a node reads that is no constant; what its bodies capture comes last.
    fn computed(&self, index: usize) -> impl Iterator<Item = &'a str> {
        let node = &self.graph.nodes[index];
        let named = || node.inputs.iter().map(String::as_str).filter(|name| !name.is_empty());
        let direct: HashSet<&str> = named().collect();
        let mut captured: Vec<&str> = reads(node)
            .into_iter()
            .filter(|name| !name.is_empty() && !direct.contains(name))
            .collect();
        captured.sort_unstable();
        named().chain(captured).filter(|name| !self.constants.contains(name))
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.shapes.values.get(name)
    }

    fn rank(&self, name: &str) -> Option<usize> {
        self.value(name)?.dims.as_ref().map(Vec::len)
    }

    fn is_last_axis(&self, node: &Node) -> bool {
        let axis = node.int("axis").unwrap_or(-1);
        let rank = node.input(0).and_then(|name| self.rank(name));
        axis == -1 || rank.is_some_and(|rank| axis == rank as i64 - 1)
    }
}

/// Whether a node's outputs are known before a run.
fn depends_on(node: &Node, constants: &HashSet<&str>) -> bool {
    let is_drawn = node.op_type.starts_with("Random")
        || matches!(node.op_type.as_str(), "Bernoulli" | "Multinomial" | "Dropout");
    let mut names = reads(node).into_iter().filter(|name| !name.is_empty()).peekable();
    if names.peek().is_none() {
        return node.op_type == "Constant";
    }
    !is_drawn && names.all(|name| constants.contains(name))
}
