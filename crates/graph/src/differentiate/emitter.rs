//! Writes nodes and knows the dims of everything written, so that rules can be short and mistakes are seen here.

use crate::{
    Attribute, DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo,
    shapes::{Call, Value, broadcast, infer_node},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The longest row of ones that is written to add up rows; beyond it engines add as well as they can.
const MOST_ONES: usize = 1 << 22;

/// A graph being written.
#[derive(Debug)]
pub(super) struct Emitter {
    pub(super) graph: Graph,
    opset: i64,
    /// The module that nodes are written for.
    path: String,
    values: HashMap<String, Value>,
    taken: HashSet<String>,
    /// How often each node name was wanted, and those that are given.
    wanted: HashMap<String, usize>,
    labels: HashSet<String>,
    /// New names of values that became outputs.
    renamed: HashMap<String, String>,
    constants: HashMap<(DataType, Vec<usize>, Vec<u8>), String>,
    /// Matrices that were turned in nodes of their own, by their names; `None` if products turn them.
    turned: Option<HashMap<String, String>>,
}

impl Emitter {
    /// An empty graph; names in `taken` belong to others.
    pub(super) fn new(name: &str, opset: i64, taken: HashSet<String>) -> Emitter {
        Emitter {
            graph: Graph { name: name.to_string(), ..Graph::default() },
            opset,
            path: String::new(),
            values: HashMap::new(),
            taken,
            wanted: HashMap::new(),
            labels: HashSet::new(),
            renamed: HashMap::new(),
            constants: HashMap::new(),
            turned: None,
        }
    }

    /// Turns the left matrix of a product in a node of its own, once for all products with it.
    pub(super) fn turn_first(&mut self) {
        self.turned = Some(HashMap::new());
    }

    /// Whether it does so.
    pub(super) fn turns_first(&self) -> bool {
        self.turned.is_some()
    }

    /// Writes what follows for this module.
    pub(super) fn enter(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    /// A name that nobody has.
    pub(super) fn fresh(&mut self, wish: &str) -> String {
        let mut name = wish.to_string();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("{wish}_{number}");
            number += 1;
        }
        name
    }

    /// A node of one output; gives that output's name.
    pub(super) fn op(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        let path = &self.path;
        let label = if path.is_empty() { op_type.into() } else { format!("{path}.{op_type}") };
        let output = self.fresh(&format!("{}/{op_type}_grad", self.path));
        let node = Node {
            name: self.number(label),
            op_type: op_type.to_string(),
            domain: String::new(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            outputs: vec![output.clone()],
            attributes: attributes
                .iter()
                .map(|(n, value)| (n.to_string(), value.clone()))
                .collect(),
        };
        self.push(node);
        output
    }

    /// A node's name: the label, with a number from the second time on.
    pub(super) fn number(&mut self, label: String) -> String {
        loop {
            let seen = self.wanted.entry(label.clone()).or_insert(0);
            let name = if *seen == 0 { label.clone() } else { format!("{label}_{seen}") };
            *seen += 1;
            if self.labels.insert(name.clone()) {
                return name;
            }
        }
    }

    /// A node as it is.
    pub(super) fn push(&mut self, node: Node) {
        let inputs = node.inputs.iter().map(|name| self.values.get(name)).collect();
        let made = infer_node(&Call { node: &node, inputs }).unwrap_or_default();
        let mut made = made.into_iter();
        for name in &node.outputs {
            let value = made.next().unwrap_or_else(|| Value::unknown(DataType::Undefined));
            if !name.is_empty() {
                self.values.insert(name.clone(), value);
            }
        }
        self.graph.nodes.push(node);
    }

    /// Says what a value is that comes from outside.
    pub(super) fn know(&mut self, name: &str, value: Value) {
        self.taken.insert(name.to_string());
        self.values.insert(name.to_string(), value);
    }

    /// An input of the graph.
    pub(super) fn input(&mut self, name: &str, dtype: DataType, dims: &[usize]) {
        self.know(name, Value::new(dtype, dims.to_vec()));
        self.graph.inputs.push(info(name, dtype, dims));
    }

    /// A constant under its own name.
    pub(super) fn initializer(&mut self, tensor: Tensor) {
        let value = match tensor.numbers() {
            Some(numbers) => Value::known(tensor.dtype, tensor.dims.clone(), numbers),
            None => Value::new(tensor.dtype, tensor.dims.clone()),
        };
        self.know(&tensor.name.clone(), value);
        self.graph.initializers.push(tensor);
    }

    /// Declares a value as an output; gives the output's name, which is `wish` unless that is taken.
    pub(super) fn output(&mut self, wish: &str, value: &str) -> String {
        let name = self.fresh(wish);
        self.output_as(&name, value)
    }

    /// Declares a value as an output under a name that was set aside for it.
    pub(super) fn output_as(&mut self, name: &str, value: &str) -> String {
        let name = name.to_string();
        let renamed = self.renamed.get(value).cloned();
        let value = renamed.as_deref().unwrap_or(value);
        let known = self.values.get(value).cloned();
        let dims = known.as_ref().and_then(|value| value.dims.clone()).unwrap_or_default();
        let dtype = known.map_or(DataType::Float, |value| value.dtype);
        let made = self.graph.nodes.iter().any(|node| node.outputs.iter().any(|o| o == value));
        let is_output = self.graph.outputs.iter().any(|output| output.name == value);
        if made && !is_output {
            for node in &mut self.graph.nodes {
                for place in node.inputs.iter_mut().chain(&mut node.outputs) {
                    if place == value {
                        name.clone_into(place);
                    }
                }
            }
            if let Some(known) = self.values.get(value).cloned() {
                self.values.insert(name.clone(), known);
            }
            self.renamed.insert(value.to_string(), name.clone());
        } else {
            // What came in, or already goes out under another name, is copied.
            let label = self.number("Identity".to_string());
            self.push(Node {
                name: label,
                op_type: "Identity".to_string(),
                domain: String::new(),
                inputs: vec![value.to_string()],
                outputs: vec![name.clone()],
                attributes: BTreeMap::new(),
            });
        }
        self.graph.outputs.push(info(&name, dtype, &dims));
        name
    }

    /// The dims of a value; empty if a mistake left them unknown, which is found when the gradient is given.
    pub(super) fn dims(&self, name: &str) -> Vec<usize> {
        self.values.get(name).and_then(|value| value.dims.clone()).unwrap_or_default()
    }

    /// The type of a value.
    pub(super) fn dtype(&self, name: &str) -> DataType {
        self.values.get(name).map_or(DataType::Undefined, |value| value.dtype)
    }

    /// A small constant, kept once.
    pub(super) fn constant(&mut self, tensor: Tensor) -> String {
        let TensorData::Inline(bytes) = &tensor.data else { return String::new() };
        let key = (tensor.dtype, tensor.dims.clone(), bytes.to_vec());
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let number = self.constants.len();
        let name = self.fresh(&format!("backward_constant_{number}"));
        self.constants.insert(key, name.clone());
        let numbers = tensor.numbers();
        let dims = tensor.dims.clone();
        let value = match numbers {
            Some(numbers) => Value::known(tensor.dtype, dims, numbers),
            None => Value::new(tensor.dtype, dims),
        };
        self.values.insert(name.clone(), value);
        self.graph.initializers.push(Tensor { name: name.clone(), ..tensor });
        name
    }

    /// A list of integers.
    pub(super) fn i64s(&mut self, values: &[i64]) -> String {
        self.constant(Tensor::from_i64s("", &[values.len()], values))
    }

    /// One integer without dims.
    pub(super) fn integer(&mut self, value: i64) -> String {
        self.constant(Tensor::from_i64s("", &[], &[value]))
    }

    /// One number without dims.
    pub(super) fn scalar(&mut self, value: f32) -> String {
        self.constant(Tensor::from_f32s("", &[], &[value]))
    }

    /// A tensor of zeros, made when the graph runs.
    pub(super) fn zeros(&mut self, dims: &[usize]) -> String {
        let shape = self.shape(dims);
        let zero = Attribute::Tensor(Tensor::from_f32s("", &[1], &[0.0]));
        self.op("ConstantOfShape", &[&shape], &[("value", zero)])
    }

    fn shape(&mut self, dims: &[usize]) -> String {
        let dims: Vec<i64> = dims.iter().map(|dim| *dim as i64).collect();
        self.i64s(&dims)
    }

    /// The same elements under other dims.
    pub(super) fn reshape(&mut self, value: &str, dims: &[usize]) -> String {
        if self.dims(value) == dims {
            return value.to_string();
        }
        let shape = self.shape(dims);
        // A dim of 0 would mean "as before", which it also is wherever a tensor is empty.
        self.op("Reshape", &[value, &shape], &[])
    }

    /// The axes in another order.
    pub(super) fn transpose(&mut self, value: &str, order: &[usize]) -> String {
        if order.iter().enumerate().all(|(at, from)| at == *from) {
            return value.to_string();
        }
        let order: Vec<i64> = order.iter().map(|at| *at as i64).collect();
        self.op("Transpose", &[value], &[("perm", order.into())])
    }

    /// The last two axes swapped.
    pub(super) fn swap_last(&mut self, value: &str) -> String {
        let rank = self.dims(value).len();
        let mut order: Vec<usize> = (0..rank).collect();
        if rank >= 2 {
            order.swap(rank - 1, rank - 2);
        }
        self.transpose(value, &order)
    }

    pub(super) fn add(&mut self, a: &str, b: &str) -> String {
        self.op("Add", &[a, b], &[])
    }

    pub(super) fn sub(&mut self, a: &str, b: &str) -> String {
        self.op("Sub", &[a, b], &[])
    }

    pub(super) fn mul(&mut self, a: &str, b: &str) -> String {
        self.op("Mul", &[a, b], &[])
    }

    pub(super) fn div(&mut self, a: &str, b: &str) -> String {
        self.op("Div", &[a, b], &[])
    }

    /// Times a number.
    pub(super) fn scale(&mut self, value: &str, factor: f32) -> String {
        if factor == 1.0 {
            return value.to_string();
        }
        let factor = self.scalar(factor);
        self.mul(value, &factor)
    }

    /// Plus a number.
    pub(super) fn shift(&mut self, value: &str, by: f32) -> String {
        let by = self.scalar(by);
        self.add(value, &by)
    }

    /// A function of one argument.
    pub(super) fn map(&mut self, op_type: &str, value: &str) -> String {
        self.op(op_type, &[value], &[])
    }

    /// `value` where the condition holds, else 0.
    pub(super) fn keep(&mut self, condition: &str, value: &str) -> String {
        let zero = self.scalar(0.0);
        self.op("Where", &[condition, value, &zero], &[])
    }

    /// The sum over these axes, which stay with size 1.
    pub(super) fn sum(&mut self, value: &str, axes: &[usize]) -> String {
        let dims = self.dims(value);
        if axes.iter().all(|at| dims.get(*at) == Some(&1)) {
            return value.to_string();
        }
        let rows =
            dims.iter().take(axes.len()).try_fold(1_usize, |rows, dim| rows.checked_mul(*dim));
        let leads = axes.iter().enumerate().all(|(place, at)| place == *at)
            && rows.is_some_and(|rows| rows <= MOST_ONES);
        if leads && axes.len() < dims.len() && self.dtype(value) == DataType::Float {
            return self.sum_rows(value, axes.len());
        }
        let list: Vec<i64> = axes.iter().map(|at| *at as i64).collect();
        if self.opset < 13 {
            return self.op(
                "ReduceSum",
                &[value],
                &[("axes", list.into()), ("keepdims", 1.into())],
            );
        }
        let list = self.i64s(&list);
        self.op("ReduceSum", &[value, &list], &[("keepdims", 1.into())])
    }

    /// The sum over the first axes, which stay with size 1: a product with a row of ones.
    ///
    /// Engines add along the last axis well and along others badly: 512 × 768 takes 1.1 ms on rten and 0.27 ms on ONNX
    /// Runtime, as a product 0.09 ms on both.
    fn sum_rows(&mut self, value: &str, axes: usize) -> String {
        let mut dims = self.dims(value);
        let (rows, width) = (dims[..axes].iter().product(), dims[axes..].iter().product());
        let ones = self.constant(Tensor::from_f32s("", &[1, rows], &vec![1.0; rows]));
        let flat = self.reshape(value, &[rows, width]);
        let sum = self.op("MatMul", &[&ones, &flat], &[]);
        dims[..axes].fill(1);
        self.reshape(&sum, &dims)
    }

    /// The sum of the squares over these axes, which stay with size 1.
    pub(super) fn sum_squares(&mut self, value: &str, axes: &[usize]) -> String {
        let list: Vec<i64> = axes.iter().map(|at| *at as i64).collect();
        if self.opset < 18 {
            let attributes = [("axes", list.into()), ("keepdims", 1.into())];
            return self.op("ReduceSumSquare", &[value], &attributes);
        }
        let list = self.i64s(&list);
        self.op("ReduceSumSquare", &[value, &list], &[("keepdims", 1.into())])
    }

    /// A product of two matrices.
    pub(super) fn gemm(&mut self, a: &str, b: &str, turn: (bool, bool), alpha: f32) -> String {
        let mut attributes = Vec::new();
        let mut a = a.to_string();
        match &self.turned {
            Some(turned) if turn.0 => {
                let known = turned.get(&a).cloned();
                let turned = known.unwrap_or_else(|| self.swap_last(&a));
                self.turned.get_or_insert_default().insert(a, turned.clone());
                a = turned;
            }
            None if turn.0 => attributes.push(("transA", Attribute::Int(1))),
            _ => {}
        }
        if turn.1 {
            attributes.push(("transB", Attribute::Int(1)));
        }
        if alpha != 1.0 {
            attributes.push(("alpha", Attribute::Float(alpha)));
        }
        self.op("Gemm", &[&a, b], &attributes)
    }

    /// From `start` up to `end` along one axis.
    pub(super) fn slice(&mut self, value: &str, axis: usize, start: usize, end: usize) -> String {
        if start == 0 && self.dims(value).get(axis) == Some(&end) {
            return value.to_string();
        }
        self.slice_steps(value, &[axis], &[start as i64], &[end as i64], &[1])
    }

    /// A slice with steps.
    pub(super) fn slice_steps(
        &mut self,
        value: &str,
        axes: &[usize],
        starts: &[i64],
        ends: &[i64],
        steps: &[i64],
    ) -> String {
        let axes: Vec<i64> = axes.iter().map(|at| *at as i64).collect();
        let (starts, ends) = (self.i64s(starts), self.i64s(ends));
        let axes = self.i64s(&axes);
        if steps.iter().all(|step| *step == 1) {
            return self.op("Slice", &[value, &starts, &ends, &axes], &[]);
        }
        let steps = self.i64s(steps);
        self.op("Slice", &[value, &starts, &ends, &axes, &steps], &[])
    }

    /// More of `fill` before and behind, for each axis.
    pub(super) fn pad(
        &mut self,
        value: &str,
        before: &[usize],
        behind: &[usize],
        fill: f32,
    ) -> String {
        if before.iter().chain(behind).all(|more| *more == 0) {
            return value.to_string();
        }
        let pads: Vec<i64> = before.iter().chain(behind).map(|more| *more as i64).collect();
        let (pads, fill) = (self.i64s(&pads), self.scalar(fill));
        self.op("Pad", &[value, &pads, &fill], &[])
    }

    /// Several values behind each other along an axis.
    pub(super) fn concat(&mut self, values: &[String], axis: usize) -> String {
        match values {
            [one] => one.clone(),
            _ => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                self.op("Concat", &values, &[("axis", (axis as i64).into())])
            }
        }
    }

    /// Spread over larger dims.
    pub(super) fn expand(&mut self, value: &str, dims: &[usize]) -> String {
        if self.dims(value) == dims {
            return value.to_string();
        }
        let shape = self.shape(dims);
        self.op("Expand", &[value, &shape], &[])
    }

    /// Another element type.
    pub(super) fn cast(&mut self, value: &str, to: DataType) -> String {
        if self.dtype(value) == to {
            return value.to_string();
        }
        self.op("Cast", &[value], &[("to", Attribute::Int(i64::from(to as i32)))])
    }

    /// What arrives at a value of these dims that was spread by broadcasting: the sum over the spread axes.
    ///
    /// A gradient that was left narrow is spread instead.
    pub(super) fn fit(&mut self, value: &str, dims: &[usize]) -> String {
        let found = self.dims(value);
        if found == dims {
            return value.to_string();
        }
        let Some(offset) = found.len().checked_sub(dims.len()) else {
            return self.expand(value, dims);
        };
        let spread: Vec<usize> = (0..found.len())
            .filter(|at| *at < offset || (dims[*at - offset] == 1 && found[*at] != 1))
            .collect();
        let summed = if spread.is_empty() { value.to_string() } else { self.sum(value, &spread) };
        let kept = self.dims(&summed).split_off(offset.min(self.dims(&summed).len()));
        let summed = self.reshape(&summed, &kept);
        if kept != dims && broadcast(&kept, dims).as_deref() == Some(dims) {
            return self.expand(&summed, dims);
        }
        summed
    }

    /// The graph as a model of this operator set.
    pub(super) fn finish(mut self, ir_version: i64, domains: &BTreeMap<String, i64>) -> Model {
        let used: HashSet<&str> =
            self.graph.nodes.iter().map(|node| node.domain.as_str()).collect();
        let mut opsets = BTreeMap::from([(String::new(), self.opset)]);
        for (domain, version) in domains {
            if !domain.is_empty() && used.contains(domain.as_str()) {
                opsets.insert(domain.clone(), *version);
            }
        }
        drop_dead(&mut self.graph);
        Model {
            graph: self.graph,
            opsets,
            ir_version,
            producer: "modelmeter".to_string(),
            metadata: BTreeMap::new(),
            functions: Vec::new(),
            folder: None,
        }
    }
}

/// A value's declaration with fixed dims.
pub(super) fn info(name: &str, dtype: DataType, dims: &[usize]) -> ValueInfo {
    let shape = dims.iter().map(|dim| Dim::Fixed(*dim)).collect();
    ValueInfo { name: name.to_string(), dtype, shape: Some(shape) }
}

/// Takes away nodes and constants that no output needs; inputs stay.
pub(super) fn drop_dead(graph: &mut Graph) {
    let mut needed: HashSet<String> = graph.outputs.iter().map(|o| o.name.clone()).collect();
    let mut alive = vec![false; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        if node.outputs.iter().any(|name| needed.contains(name)) {
            alive[index] = true;
            needed.extend(node.inputs.iter().cloned());
            needed.extend(captured(node));
        }
    }
    let mut alive = alive.into_iter();
    graph.nodes.retain(|_| alive.next().unwrap_or(true));
    graph.initializers.retain(|tensor| needed.contains(&tensor.name));
}

/// What the bodies of a node read from outside, and more: names of their own are harmless here.
pub(super) fn captured(node: &Node) -> Vec<String> {
    let mut names = Vec::new();
    for (_, body) in node.subgraphs() {
        for inner in &body.nodes {
            names.extend(inner.inputs.iter().cloned());
            names.extend(captured(inner));
        }
        names.extend(body.outputs.iter().map(|output| output.name.clone()));
    }
    names
}
