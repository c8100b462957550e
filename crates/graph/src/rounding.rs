//! Makes rounding visible: the same model with a little noise on every number that it computes.
//!
//! Two engines that add in another order, or take another formula for `Sigmoid`, differ by rounding. How far that moves an
//! output depends on the whole graph behind it. Noise of the size of that rounding, put on every computed value, shows it.

use crate::{DataType, Model, Node, Shapes, Tensor, count::is_movement};
use std::collections::{BTreeMap, HashMap};

/// Functions whose formulas are exact to a share of their range, not of their result: a sigmoid of 1e-8 may be wrong by
/// 1e-7 where it is computed as `(1 + tanh(x / 2)) / 2` or by a polynomial.
const RANGED: [&str; 17] = [
    "Sigmoid",
    "HardSigmoid",
    "Softplus",
    "Tanh",
    "Erf",
    "Elu",
    "Celu",
    "Selu",
    "Gelu",
    "FastGelu",
    "QuickGelu",
    "HardSwish",
    "Swish",
    "Mish",
    "LSTM",
    "GRU",
    "RNN",
];

/// The smallest and the largest magnitude whose logarithm is taken.
const LEAST: f32 = 1e-30;
const MOST: f32 = 1e30;

/// How fast the noise changes with the logarithm of a number: numbers 2 % apart have noise of their own.
const WAVE: f32 = 211.0;

/// The same model, with every computed 32-bit float made smaller by up to twice this share of itself (for functions with a
/// range such as `Sigmoid`: or larger by that share of 1); `None` if it computes none.
///
/// The noise follows from the numbers alone, so the result is the same in every run; another `draw` is another noise.
/// Nothing gets larger than it was by more than the noise, so masks at the end of the number range stay finite.
#[must_use]
pub fn with_rounding_noise(model: &Model, shapes: &Shapes, share: f32, draw: u32) -> Option<Model> {
    let mut noisy = model.clone();
    let mut noise = Noise { nodes: Vec::new(), count: 0 };
    let mut renamed: HashMap<String, String> = HashMap::new();
    for input in model.graph.inputs.iter().filter(|input| input.dtype == DataType::Float) {
        let name = format!("{}/with_noise", input.name);
        noise.add(&input.name, &name, false);
        renamed.insert(input.name.clone(), name);
    }
    for node in &model.graph.nodes {
        let mut node = node.clone();
        for input in &mut node.inputs {
            if let Some(name) = renamed.get(input) {
                input.clone_from(name);
            }
        }
        let is_exact = is_movement(&node) || node.op_type == "Constant";
        let is_ranged = RANGED.contains(&node.op_type.as_str());
        let mut behind = Vec::new();
        for output in node.outputs.iter_mut().filter(|name| !name.is_empty() && !is_exact) {
            // What follows from shapes alone is exact, and decides over shapes in turn.
            let is_computed = shapes.dtype(output) == Some(DataType::Float)
                && shapes.values.get(output.as_str()).is_none_or(|value| value.numbers.is_none());
            if is_computed {
                let exact = format!("{output}/exact");
                behind.push((exact.clone(), std::mem::replace(output, exact)));
            }
        }
        noise.nodes.push(node);
        for (exact, name) in behind {
            noise.add(&exact, &name, is_ranged);
        }
    }
    if noise.count == 0 {
        return None;
    }
    noisy.graph.nodes = noise.nodes;
    noisy.graph.initializers.extend(constants(share, draw));
    Some(noisy)
}

fn constants(share: f32, draw: u32) -> Vec<Tensor> {
    let wave = WAVE + 13.7 * draw as f32;
    let scalar = |name: &str, value: f32| Tensor::from_f32s(constant(name), &[], &[value]);
    vec![
        scalar("least", LEAST),
        scalar("most", MOST),
        scalar("wave", wave),
        scalar("share", share),
        scalar("rest", 1.0 - share),
    ]
}

fn constant(name: &str) -> String {
    format!("rounding_noise/{name}")
}

/// The nodes of the noisy graph.
struct Noise {
    nodes: Vec<Node>,
    count: usize,
}

impl Noise {
    /// `to` = `from` × (1 − share + share × cos(wave × ln |from|)), and for a function with a range + share × (1 + cos(…)).
    fn add(&mut self, from: &str, to: &str, is_ranged: bool) {
        self.count += 1;
        let [least, most, wave, share, rest] =
            ["least", "most", "wave", "share", "rest"].map(constant);
        let size = self.node("Abs", &[from], None);
        let size = self.node("Max", &[&size, &least], None);
        let size = self.node("Min", &[&size, &most], None);
        let size = self.node("Log", &[&size], None);
        let angle = self.node("Mul", &[&size, &wave], None);
        let wave = self.node("Cos", &[&angle], None);
        let small = self.node("Mul", &[&wave, &share], None);
        let factor = self.node("Add", &[&small, &rest], None);
        if is_ranged {
            let scaled = self.node("Mul", &[from, &factor], None);
            let lifted = self.node("Add", &[&scaled, &share], None);
            self.node("Add", &[&lifted, &small], Some(to));
        } else {
            self.node("Mul", &[from, &factor], Some(to));
        }
    }

    fn node(&mut self, op_type: &str, inputs: &[&str], output: Option<&str>) -> String {
        let name = format!("rounding_noise/{}/{op_type}_{}", self.count, self.nodes.len());
        let output = output.map_or_else(|| format!("{name}_out"), str::to_owned);
        self.nodes.push(Node {
            name,
            op_type: op_type.into(),
            domain: String::new(),
            inputs: inputs.iter().map(|name| (*name).to_owned()).collect(),
            outputs: vec![output.clone()],
            attributes: BTreeMap::new(),
        });
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, infer};

    #[test]
    fn every_computed_float_gets_noise_and_names_stay() {
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Float, &[2.into(), 2.into()]);
        let turned = builder.node("Transpose", &[&x], &[("perm", vec![1, 0].into())]);
        let y = builder.node("Sigmoid", &[&turned], &[]);
        builder.output("y", &y, DataType::Float, &[2.into(), 2.into()]);
        let model = builder.finish_model();
        let shapes = infer(&model, &[]);
        let noisy = with_rounding_noise(&model, &shapes, 1e-6, 0).unwrap();
        assert_eq!(noisy.graph.outputs, model.graph.outputs);
        assert_eq!(noisy.graph.inputs, model.graph.inputs);
        let made: Vec<&String> = noisy.graph.nodes.iter().flat_map(|node| &node.outputs).collect();
        assert!(made.contains(&&model.graph.outputs[0].name), "the output is made by the noise");
        let of = |op: &str| noisy.graph.nodes.iter().filter(|node| node.op_type == op).count();
        assert_eq!(of("Cos"), 2, "the input and the sigmoid, not the transpose");
        assert_eq!((of("Transpose"), of("Sigmoid")), (1, 1));
        // Shapes still follow, and every value is made once and before it is used.
        let shapes = infer(&noisy, &[]);
        assert_eq!(shapes.dims(&noisy.graph.outputs[0].name), Some(&[2, 2][..]));
    }

    #[test]
    fn a_model_of_integers_has_no_rounding() {
        let mut builder = GraphBuilder::new("test");
        let x = builder.input("x", DataType::Int64, &[2.into()]);
        let y = builder.node("Neg", &[&x], &[]);
        builder.output("y", &y, DataType::Int64, &[2.into()]);
        let model = builder.finish_model();
        assert!(with_rounding_noise(&model, &infer(&model, &[]), 1e-6, 0).is_none());
    }
}
