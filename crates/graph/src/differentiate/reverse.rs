//! The walk from the loss back to the weights: every step once, its rule, and the gradients that meet added up.

use super::{
    DifferentiateError, NoGradient,
    checkpoint::Boundaries,
    emitter::Emitter,
    rules,
    tape::{Step, Tape},
};
use crate::{DataType, Node, shapes::Value};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Why a rule cannot differentiate a node: what to try next.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

/// What a rule answers.
pub(super) type Outcome = Result<(), Refusal>;

/// A gradient of a part of a value, from `start` up to `end` along an axis.
#[derive(Debug)]
struct Piece {
    axis: usize,
    start: usize,
    end: usize,
    gradient: String,
}

/// What has arrived at one value.
#[derive(Debug, Default)]
struct Arrived {
    whole: Option<String>,
    pieces: Vec<Piece>,
}

/// Rows of a table that were looked up: which, and their gradients.
#[derive(Debug, Clone)]
pub(super) struct LookedUp {
    pub(super) indices: String,
    pub(super) values: String,
}

/// The backward graph being written.
pub(super) struct Reverse<'t> {
    pub(super) tape: &'t Tape,
    /// The backward graph.
    pub(super) out: Emitter,
    boundaries: Option<Boundaries>,
    arrived: HashMap<String, Arrived>,
    rows: HashMap<String, Vec<LookedUp>>,
    /// The backward graph's name of each forward value that was asked for.
    names: HashMap<String, String>,
    /// Forward values that the backward graph takes, in the order they were asked for.
    saved: Vec<String>,
    /// Weights, inputs and masks that the backward graph takes.
    fed: BTreeSet<String>,
    recomputed: HashSet<usize>,
    /// A gradient of wrong dims.
    wrong: Option<DifferentiateError>,
    /// Whether a gradient has other dims than its value.
    is_misshapen: bool,
}

/// What the walk leaves.
pub(super) struct Walked {
    pub(super) out: Emitter,
    /// The dense gradient of each weight that has one.
    pub(super) dense: HashMap<String, String>,
    /// The looked-up rows of each weight that has some.
    pub(super) rows: HashMap<String, Vec<LookedUp>>,
    pub(super) saved: Vec<String>,
    pub(super) fed: BTreeSet<String>,
}

impl<'t> Reverse<'t> {
    /// Walks the whole tape, beginning with the gradient of its output, which is named `seed` in the backward graph.
    pub(super) fn walk(
        tape: &'t Tape,
        mut out: Emitter,
        boundaries: Option<Boundaries>,
        seed: &str,
    ) -> Result<Walked, DifferentiateError> {
        let dims = tape.dims(&tape.output).unwrap_or_default();
        out.input(seed, DataType::Float, dims);
        let mut walk = Reverse {
            tape,
            out,
            boundaries,
            arrived: HashMap::new(),
            rows: HashMap::new(),
            names: HashMap::new(),
            saved: Vec::new(),
            fed: BTreeSet::new(),
            recomputed: HashSet::new(),
            wrong: None,
            is_misshapen: false,
        };
        let first = Arrived { whole: Some(seed.to_string()), pieces: Vec::new() };
        walk.arrived.insert(tape.output.clone(), first);
        let mut refused = Vec::new();
        for step in tape.steps.iter().rev() {
            walk.step(step, &mut refused);
            // Rules count on the dims of what reaches them; unknown ones are known to be so and told at the end.
            if walk.is_misshapen {
                break;
            }
        }
        if !refused.is_empty() {
            refused.reverse();
            return Err(DifferentiateError::NoGradient(refused));
        }
        if let Some(wrong) = walk.wrong {
            return Err(wrong);
        }
        let mut dense = HashMap::new();
        for name in tape.parameters.names() {
            walk.out.enter(name.rsplit_once('.').map_or("", |(module, _)| module));
            if let Some(gradient) = walk.gradient(name) {
                dense.insert(name.to_string(), gradient);
            }
        }
        let Reverse { out, rows, saved, fed, wrong, .. } = walk;
        match wrong {
            Some(wrong) => Err(wrong),
            None => Ok(Walked { out, dense, rows, saved, fed }),
        }
    }

    fn step(&mut self, step: &'t Step, refused: &mut Vec<NoGradient>) {
        let node = &step.node;
        let reached = node.outputs.iter().any(|name| self.arrived.contains_key(name));
        let fed = node.inputs.iter().any(|name| self.wants(name));
        let holds = node.subgraphs().next().is_some();
        if !reached || !(fed || holds && node.outputs.iter().any(|name| self.wants(name))) {
            return;
        }
        self.out.enter(&step.path);
        let outcome = match (rules::of(node), self.check(node)) {
            (Some(rule), Ok(())) => rule(self, node),
            (Some(_), Err(wrong)) => {
                // Behind an operator that nobody knows shapes are unknown; that operator is the one to name.
                self.wrong.get_or_insert(wrong);
                return self.go_on(node);
            }
            (None, _) => {
                let hint = rules::hint(node);
                Err(Refusal(match self.tape.parameters.inside(node).as_slice() {
                    [] => hint,
                    [first, rest @ ..] => {
                        let more = match rest.len() {
                            0 => String::new(),
                            count => format!(" and {count} more"),
                        };
                        format!("weights inside it (`{first}`{more}) cannot be trained; {hint}")
                    }
                }))
            }
        };
        if let Err(Refusal(hint)) = outcome {
            refused.push(NoGradient { operator: operator(node), node: label(node), hint });
            self.go_on(node);
        }
    }

    /// Walks on as if there were gradients, so that every operator without one is found.
    fn go_on(&mut self, node: &Node) {
        for name in &node.inputs {
            if !self.wants(name) {
                continue;
            }
            let dims = self.dims(name);
            let nothing = self.out.zeros(&dims);
            let arrived = self.arrived.entry(name.clone()).or_default();
            arrived.whole.get_or_insert(nothing);
        }
    }

    /// Every value a rule sees has known dims and is a 32-bit float where it carries a gradient.
    fn check(&self, node: &Node) -> Result<(), DifferentiateError> {
        for name in node.inputs.iter().chain(&node.outputs).filter(|name| !name.is_empty()) {
            let known = match self.tape.constants.get(name) {
                Some(_) => continue,
                None => self.tape.values.get(name),
            };
            let unused = !self.wants(name) && !node.inputs.contains(name);
            if unused {
                continue;
            }
            let dims = known.and_then(|value| value.dims.as_ref());
            let dtype = known.map_or(DataType::Undefined, |value| value.dtype);
            if dims.is_none() {
                return Err(DifferentiateError::UnknownShape { value: name.clone() });
            }
            if self.wants(name) && dtype != DataType::Float {
                return Err(DifferentiateError::NotSingle { value: name.clone(), dtype });
            }
        }
        Ok(())
    }

    /// Whether a value needs a gradient.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.tape.active.contains(name)
    }

    /// Whether the input at this place needs a gradient.
    pub(super) fn wants_input(&self, node: &Node, index: usize) -> bool {
        node.input(index).is_some_and(|name| self.wants(name))
    }

    /// The dims of a forward value.
    pub(super) fn dims(&self, name: &str) -> Vec<usize> {
        let constant = || self.tape.constants.get(name).map(|tensor| tensor.dims.clone());
        self.tape.dims(name).map(<[usize]>::to_vec).or_else(constant).unwrap_or_default()
    }

    /// The dims of a node's input.
    pub(super) fn input_dims(&self, node: &Node, index: usize) -> Vec<usize> {
        node.input(index).map(|name| self.dims(name)).unwrap_or_default()
    }

    /// The gradient of a node's first output.
    pub(super) fn dy(&mut self, node: &Node) -> Result<String, Refusal> {
        let name = node.outputs.first();
        let gradient = name.and_then(|name| Some((name, self.gradient(name)?)));
        let (name, gradient) = gradient
            .ok_or_else(|| Refusal("only its first output may be trained through".to_string()))?;
        if self.out.dims(&gradient) != self.dims(name) {
            return Err(Refusal("the shape of its gradient is not known".to_string()));
        }
        Ok(gradient)
    }

    /// The gradient of a value, all that arrived added up; `None` if nothing did.
    pub(super) fn gradient(&mut self, name: &str) -> Option<String> {
        let Arrived { whole, mut pieces } = self.arrived.remove(name)?;
        let dims = self.dims(name);
        let mut sum = whole;
        pieces.sort_by_key(|piece| (piece.axis, piece.start));
        let disjoint = pieces
            .windows(2)
            .all(|pair| pair[0].axis == pair[1].axis && pair[0].end <= pair[1].start);
        if disjoint && pieces.len() > 1 {
            let joined = self.join(&pieces, &dims);
            sum = Some(self.plus(sum, joined));
        } else {
            for piece in &pieces {
                let padded = self.widen(piece, &dims);
                sum = Some(self.plus(sum, padded));
            }
        }
        let sum = sum?;
        // Asked for again, it is the same.
        let again = Arrived { whole: Some(sum.clone()), pieces: Vec::new() };
        self.arrived.insert(name.to_string(), again);
        Some(sum)
    }

    fn plus(&mut self, sum: Option<String>, more: String) -> String {
        match sum {
            Some(sum) => self.out.add(&sum, &more),
            None => more,
        }
    }

    /// Pieces that lie beside each other, with zeros in the gaps.
    fn join(&mut self, pieces: &[Piece], dims: &[usize]) -> String {
        let axis = pieces[0].axis;
        let mut parts = Vec::new();
        let mut at = 0;
        let gap = |out: &mut Emitter, parts: &mut Vec<String>, from: usize, to: usize| {
            if to > from {
                let mut dims = dims.to_vec();
                dims[axis] = to - from;
                parts.push(out.zeros(&dims));
            }
        };
        for piece in pieces {
            gap(&mut self.out, &mut parts, at, piece.start);
            parts.push(piece.gradient.clone());
            at = piece.end;
        }
        gap(&mut self.out, &mut parts, at, dims[axis]);
        self.out.concat(&parts, axis)
    }

    fn widen(&mut self, piece: &Piece, dims: &[usize]) -> String {
        let (mut before, mut behind) = (vec![0; dims.len()], vec![0; dims.len()]);
        before[piece.axis] = piece.start;
        behind[piece.axis] = dims[piece.axis].saturating_sub(piece.end);
        self.out.pad(&piece.gradient, &before, &behind, 0.0)
    }

    /// Gives an input its gradient; what broadcasting spread is summed, what was left narrow is spread.
    pub(super) fn give(&mut self, node: &Node, index: usize, gradient: &str) {
        if let Some(name) = node.input(index).filter(|name| self.wants(name)) {
            let name = name.to_string();
            self.give_value(&name, gradient);
        }
    }

    fn give_value(&mut self, name: &str, gradient: &str) {
        let dims = self.dims(name);
        let gradient = self.out.fit(gradient, &dims);
        let found = self.out.dims(&gradient);
        if found != dims {
            let value = name.to_string();
            self.is_misshapen = true;
            self.wrong.get_or_insert(DifferentiateError::WrongDims {
                value,
                found,
                expected: dims,
            });
        }
        let before = self.arrived.entry(name.to_string()).or_default().whole.take();
        // Added at once, so that two gradients never wait for a third.
        let sum = self.plus(before, gradient);
        self.arrived.entry(name.to_string()).or_default().whole = Some(sum);
    }

    /// Gives a part of an input its gradient.
    pub(super) fn give_piece(
        &mut self,
        node: &Node,
        index: usize,
        axis: usize,
        start: usize,
        gradient: &str,
    ) {
        let Some(name) = node.input(index).filter(|name| self.wants(name)) else { return };
        let end = start + self.out.dims(gradient).get(axis).copied().unwrap_or(0);
        let piece = Piece { axis, start, end, gradient: gradient.to_string() };
        self.arrived.entry(name.to_string()).or_default().pieces.push(piece);
    }

    /// Gives rows of a table their gradients.
    pub(super) fn give_rows(&mut self, table: &str, rows: LookedUp) {
        self.rows.entry(table.to_string()).or_default().push(rows);
    }

    /// The name in the backward graph of a node's input.
    pub(super) fn x(&mut self, node: &Node, index: usize) -> String {
        let name = node.input(index).unwrap_or_default().to_string();
        self.read(&name)
    }

    /// The name in the backward graph of a node's first output.
    pub(super) fn y(&mut self, node: &Node) -> String {
        let name = node.outputs.first().cloned().unwrap_or_default();
        self.read(&name)
    }

    /// Makes a forward value known in the backward graph and gives its name there.
    pub(super) fn read(&mut self, name: &str) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let here = self.bring(name);
        self.names.insert(name.to_string(), here.clone());
        here
    }

    fn bring(&mut self, name: &str) -> String {
        if let Some(tensor) = self.tape.constants.get(name) {
            let tensor = crate::Tensor { name: name.to_string(), ..tensor.clone() };
            self.out.initializer(tensor);
            if self.tape.values.contains_key(name) {
                self.know(name);
            }
            return name.to_string();
        }
        let Some(maker) = self.tape.maker.get(name).copied() else {
            self.fed.insert(name.to_string());
            self.know(name);
            return name.to_string();
        };
        let step = &self.tape.steps[maker];
        // A view is made again from what it looks at: one buffer serves both.
        if is_view(&step.node) {
            let source = self.x(&step.node, 0);
            let dims = self.dims(name);
            return self.out.reshape(&source, &dims);
        }
        let again = self.boundaries.as_ref().is_some_and(|known| known.is_inside(name));
        if again {
            return self.recompute(maker, name);
        }
        self.saved.push(name.to_string());
        self.know(name);
        name.to_string()
    }

    fn know(&mut self, name: &str) {
        let known = self.tape.values.get(name).cloned();
        self.out.know(name, known.unwrap_or_else(|| Value::unknown(DataType::Undefined)));
    }

    /// Writes the step that makes a value once more, in the backward graph, right where it is first needed.
    fn recompute(&mut self, maker: usize, name: &str) -> String {
        if self.recomputed.insert(maker) {
            let step = &self.tape.steps[maker];
            for node in &step.forward {
                let mut copy = node.clone();
                for input in copy.inputs.iter_mut().filter(|input| !input.is_empty()) {
                    *input = self.read(&input.clone());
                }
                for output in copy.outputs.iter_mut().filter(|output| !output.is_empty()) {
                    let again = self.out.fresh(&format!("{output}_again"));
                    self.names.insert(output.clone(), again.clone());
                    *output = again;
                }
                copy.name = self.out.number(copy.name);
                self.out.push(copy);
            }
        }
        self.names.get(name).cloned().unwrap_or_default()
    }
}

/// Operators that only rename dims.
fn is_view(node: &Node) -> bool {
    let views = ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"];
    node.is_standard() && views.contains(&node.op_type.as_str())
}

fn operator(node: &Node) -> String {
    if node.is_standard() {
        node.op_type.clone()
    } else {
        format!("{}.{}", node.domain, node.op_type)
    }
}

fn label(node: &Node) -> String {
    let first = || node.outputs.first().cloned().unwrap_or_default();
    if node.name.is_empty() { first() } else { node.name.clone() }
}
