//! Operators that do something else in training: dropout drops, batch normalisation looks at the batch.

use super::{
    MaskSpec,
    tape::{Step, Tape},
};
use crate::{Attribute, Node, Tensor, module_path};
use std::collections::BTreeMap;

/// Takes a node of the model in, in the form it has in training.
pub(super) fn take(tape: &mut Tape, node: Node) {
    match node.op_type.as_str() {
        "Dropout" if node.is_standard() => dropout(tape, node),
        "BatchNormalization" if node.is_standard() => batch_norm(tape, node),
        _ => tape.steps.push(Step::plain(node)),
    }
}

/// Dropout multiplies by a mask that the host draws.
fn dropout(tape: &mut Tape, node: Node) {
    let given = node.input(1).and_then(|name| tape.number(name)).map(|ratio| ratio as f32);
    // The default of every operator set.
    let ratio = given.or_else(|| node.float("ratio")).unwrap_or(0.5);
    let (Some(x), Some(y)) = (node.input(0).map(str::to_string), node.outputs.first()) else {
        return;
    };
    let dims = tape.dims(&x).map(<[usize]>::to_vec);
    let Some(dims) = dims.filter(|_| ratio > 0.0 && ratio < 1.0) else {
        tape.steps.push(Step::plain(Node {
            op_type: "Identity".to_string(),
            inputs: vec![x],
            outputs: vec![y.clone()],
            attributes: BTreeMap::new(),
            ..node
        }));
        return;
    };
    let mask = tape.fresh(&format!("{y}_mask"));
    tape.know(&mask, dims.clone());
    tape.masks.push(MaskSpec { name: mask.clone(), dims, ratio });
    let path = module_path(&node.name, "Dropout");
    let name = |op: &str| if path.is_empty() { op.into() } else { format!("{path}.{op}") };
    if let Some(kept) = node.outputs.get(1).filter(|name| !name.is_empty()) {
        let to = Attribute::Int(i64::from(crate::DataType::Bool as i32));
        let mut cast = Step::plain(Node {
            name: name("Cast"),
            op_type: "Cast".to_string(),
            domain: String::new(),
            inputs: vec![mask.clone()],
            outputs: vec![kept.clone()],
            attributes: BTreeMap::from([("to".to_string(), to)]),
        });
        cast.path.clone_from(&path);
        tape.steps.push(cast);
    }
    let mut step = Step::plain(Node {
        name: name("Mul"),
        op_type: "Mul".to_string(),
        domain: String::new(),
        inputs: vec![x, mask],
        outputs: vec![y.clone()],
        attributes: BTreeMap::new(),
    });
    step.path = path;
    tape.steps.push(step);
}

/// What the rule of batch normalisation reads beside the node's own values.
pub(super) fn batch_statistics(output: &str) -> (String, String) {
    (format!("{output}/centered"), format!("{output}/inverse_deviation"))
}

/// Batch normalisation with the mean and variance of the batch, written out: engines refuse the training form.
///
/// The running statistics are not kept: no gradient depends on them.
fn batch_norm(tape: &mut Tape, node: Node) {
    let (Some(x), Some(y)) = (node.input(0).map(str::to_string), node.outputs.first().cloned())
    else {
        return;
    };
    let Some(dims) = tape.dims(&x).map(<[usize]>::to_vec).filter(|dims| dims.len() >= 2) else {
        tape.steps.push(Step::plain(node));
        return;
    };
    let path = module_path(&node.name, &node.op_type);
    let mut parts = Parts { tape, path: path.clone(), output: y.clone(), nodes: Vec::new() };
    let (centered, inverse) = batch_statistics(&y);
    let count: usize = dims.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, d)| d).product();
    let mut narrow = vec![1; dims.len()];
    narrow[1] = dims[1];
    let over: Vec<i64> = (0..dims.len() as i64).filter(|at| *at != 1).collect();
    let share = parts.scalar("count", 1.0 / count as f32);
    let epsilon = parts.scalar("epsilon", node.float("epsilon").unwrap_or(1e-5));
    let sum = parts.sum(&x, &over, "sum", &narrow);
    let mean = parts.add("Mul", &[&sum, &share], "mean", &narrow);
    parts.add("Sub", &[&x, &mean], "centered", &dims);
    let square = parts.add("Mul", &[&centered, &centered], "square", &dims);
    let sum = parts.sum(&square, &over, "squares", &narrow);
    let variance = parts.add("Mul", &[&sum, &share], "variance", &narrow);
    let shifted = parts.add("Add", &[&variance, &epsilon], "shifted", &narrow);
    let root = parts.add("Sqrt", &[&shifted], "root", &narrow);
    parts.add("Reciprocal", &[&root], "inverse_deviation", &narrow);
    let normal = parts.add("Mul", &[&centered, &inverse], "normal", &dims);
    let scale = parts.column(&node, 1, "scale", &narrow);
    let bias = parts.column(&node, 2, "bias", &narrow);
    let scaled = parts.add("Mul", &[&normal, &scale], "scaled", &dims);
    parts.last("Add", &[&scaled, &bias]);
    let forward = parts.nodes;
    // Only what the rule looks at: the running statistics are not read any more.
    let inputs = node.inputs.iter().take(3).cloned().collect();
    tape.steps.push(Step { node: Node { inputs, outputs: vec![y], ..node }, forward, path });
}

/// The nodes that stand for one.
struct Parts<'t> {
    tape: &'t mut Tape,
    path: String,
    output: String,
    nodes: Vec<Node>,
}

impl Parts<'_> {
    fn node(&mut self, op_type: &str, inputs: &[&str], output: String) {
        let earlier = self.nodes.iter().filter(|node| node.op_type == op_type).count();
        let number = if earlier == 0 { String::new() } else { format!("_{earlier}") };
        let path = if self.path.is_empty() { &self.output } else { &self.path };
        self.nodes.push(Node {
            name: format!("{path}.{op_type}{number}"),
            op_type: op_type.to_string(),
            domain: String::new(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            outputs: vec![output],
            attributes: BTreeMap::new(),
        });
    }

    fn add(&mut self, op_type: &str, inputs: &[&str], name: &str, dims: &[usize]) -> String {
        let output = format!("{}/{name}", self.output);
        self.node(op_type, inputs, output.clone());
        self.tape.know(&output, dims.to_vec());
        output
    }

    fn last(&mut self, op_type: &str, inputs: &[&str]) {
        self.node(op_type, inputs, self.output.clone());
    }

    fn sum(&mut self, x: &str, over: &[i64], name: &str, dims: &[usize]) -> String {
        if self.tape.opset < 13 {
            let sum = self.add("ReduceSum", &[x], name, dims);
            if let Some(node) = self.nodes.last_mut() {
                node.attributes.insert("axes".to_string(), over.to_vec().into());
            }
            return sum;
        }
        let axes =
            self.constant(Tensor::from_i64s(format!("{}/axes", self.output), &[over.len()], over));
        self.add("ReduceSum", &[x, &axes], name, dims)
    }

    /// A vector over channels, ready to be spread.
    fn column(&mut self, node: &Node, input: usize, name: &str, dims: &[usize]) -> String {
        let shape: Vec<i64> = dims.iter().map(|dim| *dim as i64).collect();
        let shape = self.constant(Tensor::from_i64s(
            format!("{}/column", self.output),
            &[shape.len()],
            &shape,
        ));
        let source = node.input(input).unwrap_or_default().to_string();
        self.add("Reshape", &[&source, &shape], name, dims)
    }

    fn scalar(&mut self, name: &str, value: f32) -> String {
        self.constant(Tensor::from_f32s(format!("{}/{name}", self.output), &[], &[value]))
    }

    fn constant(&mut self, tensor: Tensor) -> String {
        let name = tensor.name.clone();
        self.tape.constants.insert(name.clone(), tensor);
        name
    }
}
