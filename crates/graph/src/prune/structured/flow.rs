//! Follows an axis through a graph: every value that carries its indices, and every weight where it begins or ends.

use super::{patch::Patch, rules};
use crate::{Graph, Model, Node, Shapes, Tensor};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where the units lie in a value: index = (part · units + unit) · inner + rest, along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) axis: usize,
    /// How often all units come after each other: 3 where query, key and value are one product.
    pub(super) parts: usize,
    /// How many indices each unit has: the width of a head.
    pub(super) inner: usize,
}

impl Tag {
    /// The axis' size with so many units.
    pub(super) fn size(self, units: usize) -> usize {
        self.parts * units * self.inner
    }

    /// The indices of these units out of so many.
    pub(super) fn indices(self, units: usize, kept: &[usize]) -> Vec<usize> {
        let mut indices = Vec::with_capacity(self.size(kept.len()));
        for part in 0..self.parts {
            for unit in kept {
                let first = (part * units + unit) * self.inner;
                indices.extend(first..first + self.inner);
            }
        }
        indices
    }
}

/// A weight that becomes smaller where a node uses it.
#[derive(Debug, Clone)]
pub(super) struct CutUse {
    pub(super) tensor: String,
    pub(super) tag: Tag,
    /// Whether the axis is summed over: the units end here.
    pub(super) summed: bool,
}

/// Everything that one axis runs through.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    pub(super) units: usize,
    pub(super) tags: HashMap<String, Tag>,
    /// By node and input.
    pub(super) cuts: BTreeMap<(usize, usize), CutUse>,
    /// By node, input and place in it.
    pub(super) patches: BTreeMap<(usize, usize, usize), Patch>,
    /// Nodes whose list of sizes can be left away.
    pub(super) unlisted: HashSet<usize>,
}

/// A graph with who makes and who uses what.
pub(super) struct Flow<'a> {
    pub(super) graph: &'a Graph,
    pub(super) shapes: &'a Shapes,
    pub(super) weights: HashMap<&'a str, &'a Tensor>,
    pub(super) makers: HashMap<&'a str, usize>,
    users: HashMap<&'a str, Vec<usize>>,
    outputs: HashSet<&'a str>,
    inputs: HashSet<&'a str>,
}

/// What a rule finds out of one node.
#[derive(Default)]
pub(super) struct Step {
    /// Inputs that carry the units; with whether they are summed over.
    pub(super) inputs: Vec<(usize, Tag, bool)>,
    pub(super) outputs: Vec<(usize, Tag)>,
    pub(super) patches: Vec<((usize, usize), Patch)>,
    pub(super) unlist: bool,
}

impl<'a> Flow<'a> {
    pub(super) fn new(model: &'a Model, shapes: &'a Shapes) -> Flow<'a> {
        let graph = &model.graph;
        let mut makers = HashMap::new();
        let mut users: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().map(|name| (name.as_str(), index)));
            for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                users.entry(name).or_default().push(index);
            }
        }
        Flow {
            graph,
            shapes,
            weights: graph.initializers.iter().map(|t| (t.name.as_str(), t)).collect(),
            makers,
            users,
            outputs: graph.outputs.iter().map(|output| output.name.as_str()).collect(),
            inputs: graph.inputs.iter().map(|input| input.name.as_str()).collect(),
        }
    }

    /// The dimensions of a value or weight.
    pub(super) fn dims(&self, name: &str) -> Option<&[usize]> {
        self.weights.get(name).map(|t| t.dims.as_slice()).or_else(|| self.shapes.dims(name))
    }

    /// The nodes that use a value.
    pub(super) fn users(&self, name: &str) -> &[usize] {
        self.users.get(name).map_or(&[], Vec::as_slice)
    }

    /// Follows the units that a value carries, both ways; an error says what cannot be followed.
    pub(super) fn follow(&self, value: &str, tag: Tag, units: usize) -> Result<Trace, String> {
        let mut trace = Trace { units, ..Trace::default() };
        let mut waiting = Vec::new();
        self.tag(&mut trace, &mut waiting, value, tag)?;
        while let Some(name) = waiting.pop() {
            let maker = self.makers.get(name.as_str()).copied();
            for index in maker.iter().chain(self.users(&name)) {
                self.step(&mut trace, &mut waiting, *index)?;
            }
        }
        let begins = trace.cuts.values().any(|cut| !cut.summed);
        let ends = trace.cuts.values().any(|cut| cut.summed);
        match (begins, ends) {
            (true, true) => Ok(trace),
            (false, _) => Err("no weight makes them".into()),
            (true, false) => Err("no weight takes them".into()),
        }
    }

    fn step(
        &self,
        trace: &mut Trace,
        waiting: &mut Vec<String>,
        index: usize,
    ) -> Result<(), String> {
        let node = &self.graph.nodes[index];
        let step = rules::step(self, node, index, trace)
            .map_err(|why| format!("{why} (`{}`)", shown(node)))?;
        for (place, tag, summed) in step.inputs {
            let name = node.inputs[place].as_str();
            match self.weights.get(name) {
                Some(_) => {
                    self.cut(trace, index, place, CutUse { tensor: name.into(), tag, summed })?
                }
                None => self.tag(trace, waiting, name, tag)?,
            }
        }
        for (place, tag) in step.outputs {
            self.tag(trace, waiting, &node.outputs[place], tag)?;
        }
        for ((input, place), patch) in step.patches {
            trace.patches.insert((index, input, place), patch);
        }
        if step.unlist {
            trace.unlisted.insert(index);
        }
        Ok(())
    }

    fn cut(&self, trace: &mut Trace, node: usize, input: usize, cut: CutUse) -> Result<(), String> {
        match trace.cuts.get_mut(&(node, input)) {
            Some(known) if known.tag != cut.tag => {
                Err(format!("`{}` would be cut in two ways", cut.tensor))
            }
            Some(known) => {
                known.summed |= cut.summed;
                Ok(())
            }
            None => {
                let size = self.dims(&cut.tensor).and_then(|dims| dims.get(cut.tag.axis)).copied();
                if size != Some(cut.tag.size(trace.units)) {
                    return Err(format!("the size of `{}` does not follow", cut.tensor));
                }
                trace.cuts.insert((node, input), cut);
                Ok(())
            }
        }
    }

    fn tag(
        &self,
        trace: &mut Trace,
        waiting: &mut Vec<String>,
        name: &str,
        tag: Tag,
    ) -> Result<(), String> {
        if let Some(known) = trace.tags.get(name) {
            return match *known == tag {
                true => Ok(()),
                false => Err(format!("`{name}` would be split in two ways")),
            };
        }
        let size = self.dims(name).and_then(|dims| dims.get(tag.axis)).copied();
        if size != Some(tag.size(trace.units)) {
            return Err(format!("the shape of `{name}` is not known"));
        }
        if self.outputs.contains(name) {
            return Err(format!("they are an output of the model, `{name}`"));
        }
        if self.inputs.contains(name) {
            return Err(format!("they are an input of the model, `{name}`"));
        }
        trace.tags.insert(name.to_owned(), tag);
        waiting.push(name.to_owned());
        Ok(())
    }
}

fn shown(node: &Node) -> &str {
    if node.name.is_empty() { &node.op_type } else { &node.name }
}
