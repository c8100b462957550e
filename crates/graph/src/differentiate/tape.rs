//! The forward graph in the form it is trained in, as a list of steps with everything known about them.
//!
//! Constants are folded, dropout multiplies by a mask, batch normalisation uses the batch's own statistics, and parts
//! that no output needs are gone. A step is what one rule differentiates: a node, or several that are one function.

use super::{
    DifferentiateError, MaskSpec, TrainingPlan, emitter::captured, loss, parameters::Parameters,
    patterns, rules, training_form,
};
use crate::{DataType, Model, Node, Tensor, ValueInfo, infer, module_path, shapes::Value, sound};
use std::collections::{HashMap, HashSet};

/// What one rule differentiates.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The function that the rule sees.
    pub(super) node: Node,
    /// The nodes that compute it in the forward graph.
    pub(super) forward: Vec<Node>,
    /// The module it belongs to.
    pub(super) path: String,
}

impl Step {
    pub(super) fn plain(node: Node) -> Step {
        let path = module_path(&node.name, &node.op_type);
        Step { forward: vec![node.clone()], node, path }
    }

    /// Every value the step needs from outside.
    pub(super) fn reads(&self) -> Vec<&str> {
        let made: HashSet<&str> =
            self.forward.iter().flat_map(|node| &node.outputs).map(String::as_str).collect();
        let inputs = self.forward.iter().flat_map(|node| &node.inputs).map(String::as_str);
        inputs.filter(|name| !name.is_empty() && !made.contains(name)).collect()
    }

    /// Every value that comes out, for the rule or beside it.
    pub(super) fn makes(&self) -> impl Iterator<Item = &str> {
        let made = self.forward.iter().flat_map(|node| &node.outputs).map(String::as_str);
        made.filter(|name| !name.is_empty())
    }
}

/// The forward graph, ready to be differentiated.
#[derive(Debug)]
pub(super) struct Tape {
    pub(super) steps: Vec<Step>,
    pub(super) inputs: Vec<ValueInfo>,
    /// What is fixed: constants, folded shapes. Weights that may be trained are not here.
    pub(super) constants: HashMap<String, Tensor>,
    pub(super) parameters: Parameters,
    pub(super) masks: Vec<MaskSpec>,
    pub(super) values: HashMap<String, Value>,
    /// Float values that depend on a parameter in a way that can be differentiated.
    pub(super) active: HashSet<String>,
    /// The output that the loss reads.
    pub(super) output: String,
    pub(super) opset: i64,
    /// The step that makes each value.
    pub(super) maker: HashMap<String, usize>,
}

impl Tape {
    pub(super) fn new(
        model: &Model,
        dims: &[(String, Vec<usize>)],
        plan: &TrainingPlan,
    ) -> Result<Tape, DifferentiateError> {
        let shapes = infer(model, dims);
        sound::check(model, &shapes, &|node| rules::of(node).is_some())?;
        let mut inputs = Vec::new();
        for input in &model.graph.inputs {
            let known = shapes.dims(&input.name);
            let known =
                known.ok_or(DifferentiateError::UnknownShape { value: input.name.clone() })?;
            inputs.push(super::emitter::info(&input.name, input.dtype, known));
        }
        let output = loss::choose_output(model, &shapes, plan)?;
        let mut tape = Tape {
            steps: Vec::new(),
            inputs,
            constants: HashMap::new(),
            parameters: Parameters::new(model),
            masks: Vec::new(),
            values: shapes.values,
            active: HashSet::new(),
            output,
            opset: model.opsets.get("").copied().unwrap_or(crate::DEFAULT_OPSET),
            maker: HashMap::new(),
        };
        for tensor in &model.graph.initializers {
            if !tape.parameters.is_known(&tensor.name) {
                tape.constants.insert(tensor.name.clone(), tensor.clone());
            }
        }
        for node in &model.graph.nodes {
            tape.take(node, model);
        }
        tape.prune();
        patterns::join(&mut tape);
        tape.index();
        tape.activate()?;
        Ok(tape)
    }

    /// Takes one node of the model in.
    fn take(&mut self, node: &Node, model: &Model) {
        let mut node = node.clone();
        for name in &mut node.inputs {
            if let Some(other) = self.parameters.alias(name) {
                *name = other.to_string();
            }
        }
        let is_output = |name: &String| model.graph.outputs.iter().any(|o| o.name == *name);
        if node.is_standard() && node.op_type == "Constant" {
            if let (Some(tensor), Some(name)) = (node.tensor("value"), node.outputs.first())
                && !self.parameters.is_known(name)
            {
                let tensor = Tensor { name: name.clone(), ..tensor.clone() };
                self.constants.insert(name.clone(), tensor);
                return;
            }
            if node.outputs.first().is_some_and(|name| self.parameters.is_known(name)) {
                return;
            }
        }
        if node.is_standard()
            && node.op_type == "Identity"
            && let (Some(from), Some(to)) = (node.input(0), node.outputs.first())
            && self.parameters.is_known(from)
            && !is_output(to)
        {
            self.parameters.rename(to, from);
            return;
        }
        if self.fold(&node) {
            return;
        }
        training_form::take(self, node);
    }

    /// Keeps what a node makes as constants, where they are integers known before a run.
    fn fold(&mut self, node: &Node) -> bool {
        let tensors: Option<Vec<Tensor>> = node
            .outputs
            .iter()
            .filter(|name| !name.is_empty())
            .map(|name| self.known_integers(name))
            .collect();
        match tensors {
            Some(tensors) if !tensors.is_empty() => {
                self.constants.extend(tensors.into_iter().map(|t| (t.name.clone(), t)));
                true
            }
            _ => false,
        }
    }

    fn known_integers(&self, name: &str) -> Option<Tensor> {
        let value = self.values.get(name)?;
        let (numbers, dims) = (value.numbers.as_ref()?, value.dims.as_ref()?);
        match value.dtype {
            DataType::Int64 => {
                let numbers: Vec<i64> = numbers.iter().map(|x| *x as i64).collect();
                Some(Tensor::from_i64s(name, dims, &numbers))
            }
            DataType::Int32 => {
                let bytes: Vec<u8> =
                    numbers.iter().flat_map(|x| (*x as i32).to_le_bytes()).collect();
                Some(Tensor::from_bytes(name, DataType::Int32, dims, bytes))
            }
            DataType::Bool => {
                let bytes: Vec<u8> = numbers.iter().map(|x| u8::from(*x != 0.0)).collect();
                Some(Tensor::from_bytes(name, DataType::Bool, dims, bytes))
            }
            _ => None,
        }
    }

    /// Takes away steps that the loss's output does not need.
    fn prune(&mut self) {
        let mut needed: HashSet<String> = HashSet::from([self.output.clone()]);
        let mut kept = Vec::new();
        while let Some(step) = self.steps.pop() {
            if step.makes().any(|name| needed.contains(name)) {
                needed.extend(step.reads().into_iter().map(str::to_string));
                needed.extend(step.forward.iter().flat_map(captured));
                kept.push(step);
            }
        }
        kept.reverse();
        self.steps = kept;
        self.masks.retain(|mask| needed.contains(&mask.name));
    }

    fn index(&mut self) {
        self.maker = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            self.maker.extend(step.makes().map(|name| (name.to_string(), index)));
        }
    }

    /// Finds the values that carry a gradient.
    fn activate(&mut self) -> Result<(), DifferentiateError> {
        self.active.extend(self.parameters.names().map(str::to_string));
        for step in &self.steps {
            let node = &step.node;
            let fed = node.inputs.iter().any(|name| self.active.contains(name))
                || node.subgraphs().next().is_some()
                    && (captured(node).iter().any(|name| self.active.contains(name))
                        || !self.parameters.inside(node).is_empty());
            if !fed || rules::is_flat(node) {
                continue;
            }
            for name in node.outputs.iter().filter(|name| !name.is_empty()) {
                let dtype = self.values.get(name).map_or(DataType::Undefined, |v| v.dtype);
                // An operator that nobody knows may well make floats: its missing rule is what will be reported.
                if dtype.is_float() || dtype == DataType::Undefined {
                    self.active.insert(name.clone());
                }
            }
        }
        if self.active.contains(&self.output) {
            Ok(())
        } else {
            Err(DifferentiateError::NothingToTrain { output: self.output.clone() })
        }
    }

    /// The dims of a value of the forward graph.
    pub(super) fn dims(&self, name: &str) -> Option<&[usize]> {
        self.values.get(name)?.dims.as_deref()
    }

    /// The elements of a value, where they are few and known.
    pub(super) fn numbers(&self, name: &str) -> Option<&[f64]> {
        self.values.get(name)?.numbers.as_deref()
    }

    /// The one number that a value is, where it is one known number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match self.numbers(name)? {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Adds a value that the model did not have.
    pub(super) fn know(&mut self, name: &str, dims: Vec<usize>) {
        self.values.insert(name.to_string(), Value::new(DataType::Float, dims));
    }

    /// A name that no value has.
    pub(super) fn fresh(&self, wish: &str) -> String {
        let mut name = wish.to_string();
        let mut number = 1;
        while self.values.contains_key(&name) {
            name = format!("{wish}_{number}");
            number += 1;
        }
        name
    }
}
