//! Values that the backward graph takes as it reads them.
//!
//! What comes in is often read under other dims only: rten copies it for that. Some of it is turned for a product: an
//! engine does that in one thread. Whoever runs the graphs holds the memory and has the first for nothing.

use super::{
    PreparedValue,
    emitter::{Emitter, captured, drop_dead, info},
};
use crate::{DataType, Node};
use std::collections::{HashMap, HashSet};

impl Emitter {
    /// Takes nodes away that only read an input in another form, and takes that form as an input instead; with `turned`
    /// also those that turn one.
    pub(super) fn prepare(&mut self, turned: bool) -> Vec<PreparedValue> {
        drop_dead(&mut self.graph);
        let mut held: HashSet<String> = self.graph.nodes.iter().flat_map(captured).collect();
        held.extend(self.graph.outputs.iter().map(|output| output.name.clone()));
        let mut forms = Forms { turned: turned && self.turns_first(), ..Forms::default() };
        for input in &self.graph.inputs {
            if input.dtype == DataType::Float && !held.contains(&input.name) {
                forms.known.insert(input.name.clone(), (input.name.clone(), false));
            }
        }
        let mut kept = Vec::with_capacity(self.graph.nodes.len());
        for mut node in std::mem::take(&mut self.graph.nodes) {
            for name in &mut node.inputs {
                if let Some(other) = forms.renamed.get(name) {
                    other.clone_into(name);
                }
            }
            let is_held = node.outputs.iter().any(|output| held.contains(output));
            if is_held || !self.replaces(&mut forms, &node) {
                kept.push(node);
            }
        }
        let read: HashSet<&String> = kept.iter().flat_map(|node| &node.inputs).collect();
        let is_read = |name: &String| read.contains(name) || held.contains(name);
        self.graph.inputs.retain(|input| is_read(&input.name));
        forms.prepared.retain(|value| is_read(&value.name));
        let new = forms.prepared.iter().map(|v| info(&v.name, DataType::Float, &v.dims));
        self.graph.inputs.extend(new);
        self.graph.nodes = kept;
        forms.prepared
    }

    /// Whether an input in another form stands for what the node gives.
    fn replaces(&self, forms: &mut Forms, node: &Node) -> bool {
        let (Some(input), Some(output)) = (node.inputs.first(), node.outputs.first()) else {
            return false;
        };
        let Some((of, false)) = forms.known.get(input).cloned() else { return false };
        let turned = match (node.domain.as_str(), node.op_type.as_str()) {
            ("", "Reshape") => false,
            ("", "Transpose") if forms.turned && node.ints("perm") == Some(&[1, 0]) => true,
            _ => return false,
        };
        let dims = self.dims(output);
        if dims.is_empty() {
            return false;
        }
        if !turned && dims == self.dims(&of) {
            forms.renamed.insert(output.clone(), of);
            return true;
        }
        let same = |v: &&PreparedValue| v.of == of && v.dims == dims && v.turned == turned;
        if let Some(same) = forms.prepared.iter().find(same) {
            forms.renamed.insert(output.clone(), same.name.clone());
            return true;
        }
        forms.known.insert(output.clone(), (of.clone(), turned));
        forms.prepared.push(PreparedValue { name: output.clone(), of, dims, turned });
        true
    }
}

/// What was found on the way through the nodes.
#[derive(Default)]
struct Forms {
    /// Whether turned matrices are among the forms.
    turned: bool,
    /// What a value is another form of, and whether it is turned.
    known: HashMap<String, (String, bool)>,
    /// Values that another one stands for.
    renamed: HashMap<String, String>,
    prepared: Vec<PreparedValue>,
}
