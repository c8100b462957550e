//! A model in 16-bit floats, with 32-bit floats at its borders.
//!
//! Every 32-bit float has a form in which it is made, and is cast once where somebody needs the other. A weight that is
//! needed in both forms is kept twice while it is small, and cast where it is large.

use super::{
    ConvertError, ConvertOptions, Left, Plan, Report,
    names::Names,
    plan::Made,
    policy::{Form, Policy, makes_wide, stays_wide, takes_any},
    recast::{Half, Recast},
    scope::{captured, list_copies, rename, with_constants_as_weights},
    types::value_types,
};
use crate::{Attribute, DataType, Model, Node, Tensor};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A constant with more elements is cast where it is needed in both forms, instead of kept twice.
const KEPT_TWICE: usize = 4096;

/// The first operator set that knows bf16 for arithmetic, and the first in which `Cast` names types by number.
const FIRST_OPSETS: (i64, i64) = (6, 13);

/// Plans the 16-bit form of a model.
pub(super) fn plan<'m>(
    source: &'m Model,
    half: Half,
    options: &ConvertOptions,
) -> Result<Plan<'m>, ConvertError> {
    let asked = half.precision();
    let present = source.opsets.get("").or_else(|| source.opsets.get("ai.onnx"));
    let present = present.copied().unwrap_or(1);
    let needed = if half == Half::Fp16 { FIRST_OPSETS.0 } else { FIRST_OPSETS.1 };
    if present < needed {
        return Err(ConvertError::Opset { asked, needed, present });
    }
    let model = with_constants_as_weights(source);
    let types = value_types(&model);
    let policy = Policy::of(&model, &types, half, options);
    let mut halving = Halving {
        half,
        types,
        policy,
        names: Names::of(&model.graph),
        outputs: model.graph.outputs.iter().map(|output| output.name.clone()).collect(),
        made: HashMap::new(),
        needed: HashMap::new(),
        other: HashMap::new(),
    };
    halving.look(&model);
    halving.emit(source, model)
}

struct Halving {
    half: Half,
    types: HashMap<String, DataType>,
    policy: Policy,
    names: Names,
    outputs: HashSet<String>,
    /// The form in which inputs and nodes make their values.
    made: HashMap<String, Form>,
    /// The forms that somebody needs.
    needed: HashMap<String, HashSet<Form>>,
    /// The names of values in the form that does not have the value's own name.
    other: HashMap<String, String>,
}

impl Halving {
    fn is_float(&self, name: &str) -> bool {
        self.types.get(name) == Some(&DataType::Float)
    }

    fn form_of(&self, index: usize) -> Form {
        if self.policy.wide[index].is_some() { Form::Wide } else { Form::Narrow }
    }

    /// The form in which a node takes its input; `None` if it takes any.
    fn wanted(&self, index: usize, node: &Node, place: usize) -> Option<Form> {
        match () {
            () if takes_any(node) => None,
            () if stays_wide(node, place) => Some(Form::Wide),
            () => Some(self.form_of(index)),
        }
    }

    /// Finds out who makes and who needs what.
    fn look(&mut self, model: &Model) {
        let graph = &model.graph;
        for input in graph.inputs.iter().filter(|input| input.dtype == DataType::Float) {
            self.made.insert(input.name.clone(), Form::Wide);
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            for (place, name) in node.outputs.iter().enumerate() {
                if self.is_float(name) {
                    let wide = makes_wide(node, place);
                    let form = if wide { Form::Wide } else { self.form_of(index) };
                    self.made.insert(name.clone(), form);
                }
            }
            for (place, name) in node.inputs.iter().enumerate() {
                if let Some(form) = self.wanted(index, node, place) {
                    self.need(name, form);
                }
            }
            for (_, inner) in node.subgraphs() {
                for name in captured(inner) {
                    self.need(&name, Form::Wide);
                }
            }
        }
        for output in &graph.outputs {
            self.need(&output.name, Form::Wide);
        }
        // What only takers of any form read: weights become narrow like the others.
        for tensor in graph.initializers.iter().filter(|tensor| tensor.dtype == DataType::Float) {
            let forms = self.needed.entry(tensor.name.clone()).or_default();
            if forms.is_empty() {
                forms.insert(Form::Narrow);
            }
        }
    }

    fn need(&mut self, name: &str, form: Form) {
        if self.is_float(name) {
            self.needed.entry(name.to_owned()).or_default().insert(form);
        }
    }

    fn needs(&self, name: &str, form: Form) -> bool {
        self.needed.get(name).is_some_and(|forms| forms.contains(&form))
    }

    /// The form that has the value's own name: an output keeps its name for whoever reads it outside.
    fn own_form(&self, name: &str) -> Form {
        match self.made.get(name) {
            _ if self.outputs.contains(name) => Form::Wide,
            Some(form) => *form,
            None if self.needs(name, Form::Wide) => Form::Wide,
            None => Form::Narrow,
        }
    }

    fn name_in(&mut self, name: &str, form: Form) -> String {
        if !self.is_float(name) || self.own_form(name) == form {
            return name.to_owned();
        }
        if let Some(other) = self.other.get(name) {
            return other.clone();
        }
        let suffix = match form {
            Form::Wide => "fp32",
            Form::Narrow => self.half.name(),
        };
        let other = self.names.value(&format!("{name}.{suffix}"));
        self.other.insert(name.to_owned(), other.clone());
        other
    }

    fn cast(&mut self, name: &str, from: Form, beside: &Node) -> Node {
        let (to, dtype) = match from {
            Form::Wide => (Form::Narrow, self.half.dtype()),
            Form::Narrow => (Form::Wide, DataType::Float),
        };
        Node {
            name: self.names.beside(beside, "Cast"),
            op_type: "Cast".into(),
            domain: String::new(),
            inputs: vec![self.name_in(name, from)],
            outputs: vec![self.name_in(name, to)],
            attributes: BTreeMap::from([("to".into(), Attribute::Int(dtype as i64))]),
        }
    }

    fn emit<'m>(mut self, source: &'m Model, mut model: Model) -> Result<Plan<'m>, ConvertError> {
        let mut report = Report::new(self.half.precision());
        let nodes = std::mem::take(&mut model.graph.nodes);
        let first = |name: &str| {
            nodes.iter().find(|node| node.inputs.iter().any(|input| input == name)).cloned()
        };
        let mut emitted = Vec::new();
        for input in model.graph.inputs.iter().filter(|input| input.dtype == DataType::Float) {
            if let (true, Some(beside)) =
                (self.needs(&input.name, Form::Narrow), first(&input.name))
            {
                emitted.push(self.cast(&input.name, Form::Wide, &beside));
            }
        }
        let (mut made, mut copies) = (Vec::new(), Vec::new());
        for tensor in &model.graph.initializers {
            let cast = self.weight(tensor, &mut made, &mut copies, &mut report);
            if let (true, Some(beside)) = (cast, first(&tensor.name)) {
                emitted.push(self.cast(&tensor.name, Form::Wide, &beside));
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            let floats: Vec<String> =
                node.outputs.iter().filter(|name| self.is_float(name)).cloned().collect();
            let touched = !floats.is_empty() || node.inputs.iter().any(|name| self.is_float(name));
            if let (Some(why), true) = (&self.policy.wide[index], touched) {
                report.left.push(Left { node: node.name.clone(), why: why.clone() });
            }
            emitted.push(self.node(index, node));
            for name in floats {
                let form = self.made[&name];
                let other = if form == Form::Wide { Form::Narrow } else { Form::Wide };
                if self.needs(&name, other) {
                    emitted.push(self.cast(&name, form, node));
                }
            }
        }
        list_copies(&mut model, &copies);
        model.graph.nodes = emitted;
        for value in &mut model.graph.value_infos {
            if self.is_float(&value.name) && self.own_form(&value.name) == Form::Narrow {
                value.dtype = self.half.dtype();
            }
        }
        let asked = self.half.precision();
        let why = match report.left.first() {
            None => "it has no weights of 32-bit floats".to_owned(),
            Some(left) => format!("most of its weights stay as they are, because {}", left.why),
        };
        let plan = Plan::new(source, model, made, report)?;
        // Else it would be called what it is not.
        let is_converted = plan.precision() == asked;
        if is_converted { Ok(plan) } else { Err(ConvertError::Nothing { asked, why }) }
    }

    /// Adds a weight in the forms it is needed in; true where the narrow one must be cast from the wide one.
    fn weight(
        &mut self,
        tensor: &Tensor,
        made: &mut Vec<Made>,
        copies: &mut Vec<String>,
        report: &mut Report,
    ) -> bool {
        if tensor.dtype != DataType::Float {
            made.push(Made::kept(tensor));
            return false;
        }
        let (wide, narrow) =
            (self.needs(&tensor.name, Form::Wide), self.needs(&tensor.name, Form::Narrow));
        if wide {
            made.push(Made::kept(tensor));
            if narrow && tensor.elements() > KEPT_TWICE {
                return true;
            }
        }
        if narrow {
            report.tensors += 1;
            let name = self.name_in(&tensor.name, Form::Narrow);
            if wide {
                copies.push(name.clone());
            }
            made.push(Made {
                name,
                dtype: self.half.dtype(),
                recast: Recast::Narrow(self.half),
                ..Made::kept(tensor)
            });
        }
        false
    }

    fn node(&mut self, index: usize, node: &Node) -> Node {
        let mut made = node.clone();
        for (place, name) in node.inputs.iter().enumerate() {
            if let Some(form) = self.wanted(index, node, place) {
                made.inputs[place] = self.name_in(name, form);
            } else if let Some(form) = self.made.get(name).copied() {
                made.inputs[place] = self.name_in(name, form);
            }
        }
        for (place, name) in node.outputs.iter().enumerate() {
            if let Some(form) = self.made.get(name).copied() {
                made.outputs[place] = self.name_in(name, form);
            }
        }
        for attribute in made.attributes.values_mut() {
            if let Attribute::Graph(inner) = attribute {
                let names = captured(inner).into_iter();
                let names = names.map(|name| (name.clone(), self.name_in(&name, Form::Wide)));
                rename(inner, &names.filter(|(old, new)| old != new).collect());
            }
        }
        if self.form_of(index) == Form::Narrow {
            self.narrow_arguments(&mut made);
        }
        made
    }

    /// Arguments that say which type comes out.
    fn narrow_arguments(&self, node: &mut Node) {
        let float = Attribute::Int(DataType::Float as i64);
        let half = Attribute::Int(self.half.dtype() as i64);
        for name in ["to", "dtype", "output_datatype"] {
            if node.attributes.get(name) == Some(&float) {
                node.attributes.insert(name.into(), half.clone());
            }
        }
        match node.op_type.as_str() {
            "RandomNormal" | "RandomUniform" => {
                node.attributes.entry("dtype".into()).or_insert(half);
            }
            "BlackmanWindow" | "HammingWindow" | "HannWindow" | "MelWeightMatrix" => {
                node.attributes.entry("output_datatype".into()).or_insert(half);
            }
            "ConstantOfShape" => {
                let zero = Tensor::from_f32s("", &[1], &[0.0]);
                let value = node.tensor("value").unwrap_or(&zero);
                if let Some(&[value]) = value.f32s().as_deref()
                    && node.tensor("value").is_none_or(|tensor| tensor.dtype == DataType::Float)
                {
                    let tensor = self.half.scalar(value);
                    node.attributes.insert("value".into(), Attribute::Tensor(tensor));
                }
            }
            _ => {}
        }
    }
}
