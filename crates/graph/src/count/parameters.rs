//! Which constants are parameters, and how many.
//!
//! A parameter is an element of a floating point tensor with more than one element (or of one that is named `weight` or
//! `bias`, or is the bias of a product), or of a quantised tensor that a quantised operator or an embedding takes. They
//! are counted wherever they are: initialisers, `Constant` nodes, subgraphs. Not parameters are: integer and boolean
//! constants, scalars, scales and zero points, the running statistics of a batch normalisation, the arguments of
//! `Resize`, and what the model's metadata lists as buffers. A tensor that is shared, by name or by place in a file, counts once.

use crate::{Attribute, DataType, Graph, Model, Node, Tensor, TensorData};
use std::collections::HashSet;
use types::Bytes;

/// The metadata key that lists, one name a line, tensors that are not trained (a table of sinusoidal positions).
pub const BUFFERS: &str = "modelmeter.buffers";

/// What a model's constants add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weights {
    /// Trained numbers.
    pub parameters: u64,
    /// Bytes of all constants, shapes and scales included, each counted once.
    pub bytes: Bytes,
}

/// Counts a model's constants.
#[must_use]
pub fn count_weights(model: &Model) -> Weights {
    let mut count = Count::new(model);
    count.graph(&model.graph);
    count.total
}

/// Whether the main graph's constant with this name is a parameter, by the rules above.
pub(crate) fn parameter_test(model: &Model) -> impl Fn(&str, &Tensor) -> bool {
    let count = Count::new(model);
    move |name, tensor| count.is_parameter(name, tensor)
}

/// What nodes use constants for.
#[derive(Default)]
struct Roles<'a> {
    /// Scales, zero points, statistics, arguments: not parameters whatever their type.
    arguments: HashSet<&'a str>,
    /// Weights whatever their type.
    weights: HashSet<&'a str>,
    /// Elements behind the bytes of a packed weight.
    packed: Vec<(&'a str, u64)>,
    /// Names, to find the scale that belongs to a quantised tensor.
    names: HashSet<&'a str>,
}

impl<'a> Roles<'a> {
    fn collect(&mut self, graph: &'a Graph) {
        self.names.extend(graph.initializers.iter().map(|tensor| tensor.name.as_str()));
        for node in &graph.nodes {
            let (arguments, weights) = places(node);
            self.arguments.extend(arguments.iter().filter_map(|index| node.input(*index)));
            self.weights.extend(weights.iter().filter_map(|index| node.input(*index)));
            if let ("MatMulNBits", Some(name)) = (node.op_type.as_str(), node.input(1)) {
                let size = |key| node.int(key).and_then(|size| u64::try_from(size).ok());
                let elements = size("N").zip(size("K")).map(|(n, k)| n.saturating_mul(k));
                self.packed.extend(elements.map(|elements| (name, elements)));
            }
            for (_, inner) in node.subgraphs() {
                self.collect(inner);
            }
        }
    }

    /// Whether a tensor is the scale or zero point of a quantised one, by the names that quantisers give.
    fn is_quantiser(&self, name: &str) -> bool {
        let base = name.strip_suffix("_scale").or_else(|| name.strip_suffix("_zero_point"));
        base.is_some_and(|base| {
            ["_quantized", "_q"]
                .iter()
                .any(|end| self.names.contains(format!("{base}{end}").as_str()))
        })
    }
}

/// The inputs of a node that are arguments, and those that are weights whatever their type.
fn places(node: &Node) -> (&'static [usize], &'static [usize]) {
    match node.op_type.as_str() {
        "BatchNormalization" => (&[3, 4], &[1, 2]),
        "Resize" => (&[1, 2, 3], &[]),
        "Upsample" | "Tile" | "Expand" | "Clip" | "Pad" => (&[1, 2], &[]),
        "QuantizeLinear" => (&[1, 2], &[]),
        "DequantizeLinear" => (&[1, 2], &[0]),
        "QLinearMatMul" => (&[1, 2, 4, 5, 6, 7], &[0, 3]),
        "QLinearConv" => (&[1, 2, 4, 5, 6, 7], &[3, 8]),
        "QGemm" => (&[1, 2, 4, 5, 7, 8], &[0, 3, 6]),
        "QLinearAdd" | "QLinearMul" => (&[1, 2, 4, 5, 6, 7], &[0, 3]),
        "MatMulInteger" | "ConvInteger" => (&[2, 3], &[0, 1]),
        "DynamicQuantizeMatMul" => (&[2, 3], &[1]),
        "MatMulIntegerToFloat" => (&[2, 3, 4, 5], &[0, 1]),
        "MatMulNBits" | "MatMulBnb4" => (&[2, 3], &[1]),
        "QAttention" => (&[3, 4, 6, 7], &[1]),
        "DynamicQuantizeLSTM" => (&[8, 9, 10, 11], &[1, 2]),
        "Gather" | "Transpose" => (&[], &[0]),
        // Weights kept as bytes and scaled by hand; a mask is cast to booleans.
        "Cast" if casts_to_float(node) => (&[], &[0]),
        "Gemm" | "Conv" | "ConvTranspose" | "FusedConv" | "FusedGemm" => (&[], &[1, 2]),
        "PRelu" | "MatMul" => (&[], &[1]),
        _ => (&[], &[]),
    }
}

fn casts_to_float(node: &Node) -> bool {
    let to = node.int("to").and_then(|number| i32::try_from(number).ok());
    to.and_then(|number| DataType::try_from(number).ok()).is_some_and(DataType::is_float)
}

struct Count<'a> {
    roles: Roles<'a>,
    places: HashSet<(&'a std::path::Path, u64, u64)>,
    total: Weights,
}

impl<'a> Count<'a> {
    fn new(model: &'a Model) -> Count<'a> {
        let mut roles = Roles::default();
        roles.collect(&model.graph);
        let buffers = model.metadata.get(BUFFERS).map(String::as_str).unwrap_or_default();
        roles.arguments.extend(buffers.lines());
        Count { roles, places: HashSet::new(), total: Weights::default() }
    }

    fn graph(&mut self, graph: &'a Graph) {
        for tensor in &graph.initializers {
            self.tensor(&tensor.name, tensor);
        }
        for node in &graph.nodes {
            let name = node.outputs.first().map_or("", String::as_str);
            for attribute in node.attributes.values() {
                match attribute {
                    Attribute::Tensor(tensor) => self.tensor(name, tensor),
                    Attribute::Graph(inner) => self.graph(inner),
                    _ => {}
                }
            }
        }
    }

    fn tensor(&mut self, name: &str, tensor: &'a Tensor) {
        if let TensorData::External { path, offset, length } = &tensor.data
            && !self.places.insert((path, *offset, *length))
        {
            return;
        }
        self.total.bytes = self.total.bytes.saturating_add(Bytes(tensor.size()));
        if self.is_parameter(name, tensor) {
            let packed = self.roles.packed.iter().find(|(known, _)| *known == name);
            let elements = packed.map_or(tensor.elements() as u64, |(_, elements)| *elements);
            self.total.parameters = self.total.parameters.saturating_add(elements);
        }
    }

    fn is_parameter(&self, name: &str, tensor: &Tensor) -> bool {
        if self.roles.arguments.contains(name) || self.roles.is_quantiser(name) {
            return false;
        }
        let used_as_weight = self.roles.weights.contains(name);
        let named = name.ends_with("weight") || name.ends_with("bias");
        if tensor.elements() == 1 {
            return tensor.dtype.is_float() && !tensor.dims.is_empty() && (used_as_weight || named);
        }
        // A quantised bias is kept in 32 bits.
        let integer = tensor.dtype.is_quantised() || tensor.dtype == DataType::Int32;
        tensor.dtype.is_float() || (integer && used_as_weight && !is_index(tensor))
    }
}

/// 32-bit integers that `Gather` and `Transpose` take are indices or shapes, not a quantised bias.
fn is_index(tensor: &Tensor) -> bool {
    tensor.dtype == DataType::Int32 && tensor.dims.len() != 1
}
