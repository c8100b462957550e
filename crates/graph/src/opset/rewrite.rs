//! Operators that can be said in both ways: norms taken apart, axes moved between argument and input.

use super::changes::ADDED;
use crate::{Attribute, DataType, Graph, Node, Tensor, TensorData};
use std::collections::{BTreeMap, HashSet};

/// Operators that older versions do not have and that are taken apart for them.
pub(super) const DECOMPOSED: &[&str] = &["LayerNormalization"];

/// The version that moved the axes of reductions from an argument to an input.
const AXES_INPUT: i64 = 18;

/// Reductions whose axes moved then; those of `ReduceSum` moved before.
const REDUCTIONS: &[&str] = &[
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSumSquare",
];

/// No value has more axes.
const MOST_AXES: i64 = 64;

/// The epsilon of a norm that does not say one.
const EPSILON: f32 = 1e-5;

pub(super) struct Rewriter<'a> {
    /// The graph as it was.
    pub(super) source: &'a Graph,
    /// The graph as it becomes.
    pub(super) made: &'a mut Graph,
    pub(super) taken: &'a mut HashSet<String>,
}

impl Rewriter<'_> {
    /// Writes the node in its new form; `false` where it stays as it is.
    pub(super) fn node(&mut self, node: &Node, from: i64, to: i64) -> Result<bool, String> {
        let op = node.op_type.as_str();
        let crosses = |version: i64| from.min(to) < version && version <= from.max(to);
        if op == "LayerNormalization" && to < 17 {
            self.take_apart(node)?;
            return Ok(true);
        }
        if REDUCTIONS.contains(&op) && crosses(AXES_INPUT) {
            let node =
                if to > from { self.axes_to_input(node) } else { self.axes_to_argument(node)? };
            self.made.nodes.push(node);
            return Ok(true);
        }
        if op == "Split" && crosses(AXES_INPUT) && to > from && node.input(1).is_none() {
            let mut node = node.clone();
            let parts = Attribute::Int(node.outputs.len() as i64);
            node.attributes.insert("num_outputs".into(), parts);
            self.made.nodes.push(node);
            return Ok(true);
        }
        if op == "Pad" && crosses(AXES_INPUT) && to < from && node.input(3).is_some() {
            return Err("it says which axes are padded".into());
        }
        if op == "BatchNormalization" && crosses(14) && node.outputs.len() > 1 {
            return Err("it gives running statistics, which are called in another way".into());
        }
        if to < from && ADDED.iter().any(|(name, _, _)| *name == op) {
            // What says the usual is not known yet and not needed.
            let mut node = node.clone();
            node.attributes.retain(|name, _| {
                !ADDED
                    .iter()
                    .any(|(known, version, new)| *known == op && *version > to && new == name)
            });
            self.made.nodes.push(node);
            return Ok(true);
        }
        Ok(false)
    }

    fn axes_to_input(&mut self, node: &Node) -> Node {
        let mut node = node.clone();
        if let Some(Attribute::Ints(axes)) = node.attributes.remove("axes") {
            let name = self.free(&format!("{}_axes", node.outputs[0]));
            self.made.initializers.push(Tensor::from_i64s(name.as_str(), &[axes.len()], &axes));
            node.inputs.push(name);
        }
        node
    }

    fn axes_to_argument(&mut self, node: &Node) -> Result<Node, String> {
        let mut node = node.clone();
        let empty_means_none = node.attributes.remove("noop_with_empty_axes");
        let Some(input) = node.input(1).map(str::to_owned) else {
            return match empty_means_none {
                Some(Attribute::Int(value)) if value != 0 => {
                    Err("without axes it reduces nothing".into())
                }
                _ => Ok(node),
            };
        };
        let axes = self.constant(&input).ok_or("its axes are computed")?;
        node.inputs.truncate(1);
        node.attributes.insert("axes".into(), Attribute::Ints(axes));
        Ok(node)
    }

    /// The integers behind a name, where they are known.
    fn constant(&self, name: &str) -> Option<Vec<i64>> {
        let initializer = self.source.initializers.iter().find(|tensor| tensor.name == name);
        let made = || self.source.nodes.iter().find(|node| node.outputs.iter().any(|o| o == name));
        match initializer {
            Some(tensor) if matches!(tensor.data, TensorData::Inline(_)) => tensor.i64s(),
            Some(_) => None,
            None => made().filter(|node| node.op_type == "Constant")?.tensor("value")?.i64s(),
        }
    }

    /// (x - mean) / √(variance + ε) · scale + bias.
    fn take_apart(&mut self, node: &Node) -> Result<(), String> {
        if node.outputs.iter().skip(1).any(|output| !output.is_empty()) {
            return Err("mean and deviation of `LayerNormalization` are used".into());
        }
        let axis = node.int("axis").unwrap_or(-1);
        if axis >= 0 {
            return Err("the axis of `LayerNormalization` counts from the front".into());
        }
        if axis < -MOST_AXES {
            return Err(format!("its axis is {axis}"));
        }
        let axes: Vec<i64> = (axis..0).collect();
        let (Some(x), Some(scale)) = (node.input(0), node.input(1)) else {
            return Err("it has no input or no scale".into());
        };
        let (x, scale) = (x.to_owned(), scale.to_owned());
        let dtype = self.source.initializers.iter().find(|tensor| tensor.name == scale);
        let dtype = dtype.map_or(DataType::Float, |tensor| tensor.dtype);
        let epsilon = self.number(node, dtype, node.float("epsilon").unwrap_or(EPSILON))?;
        let reduce =
            [("axes".to_owned(), Attribute::Ints(axes)), ("keepdims".to_owned(), 1.into())];
        let mean = self.emit(node, "ReduceMean", &[&x], &reduce, None);
        let centred = self.emit(node, "Sub", &[&x, &mean], &[], None);
        let square = self.emit(node, "Mul", &[&centred, &centred], &[], None);
        let variance = self.emit(node, "ReduceMean", &[&square], &reduce, None);
        let shifted = self.emit(node, "Add", &[&variance, &epsilon], &[], None);
        let deviation = self.emit(node, "Sqrt", &[&shifted], &[], None);
        let normal = self.emit(node, "Div", &[&centred, &deviation], &[], None);
        let last = Some(node.outputs[0].clone());
        match node.input(2).map(str::to_owned) {
            Some(bias) => {
                let scaled = self.emit(node, "Mul", &[&normal, &scale], &[], None);
                self.emit(node, "Add", &[&scaled, &bias], &[], last)
            }
            None => self.emit(node, "Mul", &[&normal, &scale], &[], last),
        };
        Ok(())
    }

    /// One number as an initialiser.
    fn number(&mut self, node: &Node, dtype: DataType, value: f32) -> Result<String, String> {
        let bytes = match dtype {
            DataType::Float => value.to_le_bytes().to_vec(),
            DataType::Float16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
            DataType::Bfloat16 => half::bf16::from_f32(value).to_le_bytes().to_vec(),
            DataType::Double => f64::from(value).to_le_bytes().to_vec(),
            other => return Err(format!("its scale is of type {other:?}")),
        };
        let name = self.free(&format!("{}_epsilon", node.outputs[0]));
        self.made.initializers.push(Tensor::from_bytes(name.as_str(), dtype, &[], bytes));
        Ok(name)
    }

    /// A node in the module of the one that is taken apart.
    fn emit(
        &mut self,
        node: &Node,
        op: &str,
        inputs: &[&str],
        attributes: &[(String, Attribute)],
        output: Option<String>,
    ) -> String {
        let output = output
            .unwrap_or_else(|| self.free(&format!("{}_{}", node.outputs[0], op.to_lowercase())));
        let module = node.name.rsplit_once('.').map(|(module, _)| module);
        let name = module.map_or_else(|| op.to_owned(), |module| format!("{module}.{op}"));
        let name = self.free(&name);
        self.made.nodes.push(Node {
            name,
            op_type: op.to_owned(),
            domain: String::new(),
            inputs: inputs.iter().map(|input| (*input).to_owned()).collect(),
            outputs: vec![output.clone()],
            attributes: attributes.iter().cloned().collect::<BTreeMap<_, _>>(),
        });
        output
    }

    /// A name that nothing has.
    fn free(&mut self, wish: &str) -> String {
        let mut name = wish.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wish}_{number}");
        }
        name
    }
}
