//! Matrix products with constant weights as products of 8-bit integers.
//!
//! `y = x · W` becomes: `DynamicQuantizeLinear` rounds the activations to unsigned bytes with one scale and zero point
//! for all of them; `MatMulInteger` multiplies them with the signed bytes of the weight; the sums, as floats, are
//! multiplied by the scale of the activations and that of the weight's column. Products of the same activations
//! (query, key and value) share their rounding. A bias stays a float and is added as before.
//!
//! A column's scale makes its largest weight 127, and no zero point is needed. The full range is used on purpose:
//! processors with AVX2 or AVX-512 but without VNNI add pairs of products in 16 bits and saturate there, and halving
//! the range (`reduce_range`) would avoid it at the price of half the precision for everybody.
//!
//! With known ranges `QuantizeLinear` rounds by a constant scale instead, and one multiplication is left behind the
//! product. Weights alone are widened by `DequantizeLinear` in front of the product as it was.
//!
//! The zero point is written although it is 0 and could be left out: rten joins product, cast and scale only where it
//! is there. The order of the two multiplications is the one that ONNX Runtime joins.

use super::{
    ConvertError, ConvertOptions, Int8, Left, Plan, Report, WhyLeft,
    names::Names,
    plan::Made,
    recast::{Recast, column_scales},
    scope::{list_copies, uses, with_constants_as_weights},
    types::value_types,
};
use crate::{Attribute, DataType, Dim, Graph, Model, Node, Tensor, ValueInfo, module_path};
use std::collections::{BTreeMap, HashMap, HashSet};
use types::Precision;

/// The first operator set with `DynamicQuantizeLinear`.
const FIRST_OPSET: i64 = 11;
/// The first operator set in which `DequantizeLinear` has a scale for each column.
const FIRST_OPSET_OF_AXES: i64 = 13;

/// Plans the 8-bit form of a model.
pub(super) fn plan<'m>(
    source: &'m Model,
    options: &ConvertOptions,
) -> Result<Plan<'m>, ConvertError> {
    let asked = Precision::Int8;
    let present = source.opsets.get("").or_else(|| source.opsets.get("ai.onnx"));
    let present = present.copied().unwrap_or(1);
    let needed = match options.int8 {
        Int8::WeightsOnly => FIRST_OPSET_OF_AXES,
        Int8::Dynamic | Int8::Static(_) => FIRST_OPSET,
    };
    if present < needed {
        return Err(ConvertError::Opset { asked, needed, present });
    }
    let mut model = with_constants_as_weights(source);
    let nodes = std::mem::take(&mut model.graph.nodes);
    let types = value_types(source);
    let mut quantising = Quantising {
        source,
        options,
        types,
        weights: model.graph.initializers.iter().map(|t| (t.name.clone(), t.clone())).collect(),
        names: Names::of(&source.graph),
        nodes: Vec::new(),
        infos: Vec::new(),
        rounded: HashMap::new(),
        quantised: HashMap::new(),
        zero_point: None,
        scales: HashMap::new(),
        known: HashMap::new(),
        made: Vec::new(),
        report: Report::new(asked),
    };
    for node in nodes {
        quantising.node(node)?;
    }
    if quantising.report.products == 0 {
        let why = nothing(&quantising.report.left);
        return Err(ConvertError::Nothing { asked, why });
    }
    quantising.finish(model)
}

/// Why nothing was quantised.
fn nothing(left: &[Left]) -> String {
    match left.first() {
        None => "it has no matrix product with a constant weight".into(),
        Some(first) if left.iter().all(|other| other.why == first.why) => first.why.to_string(),
        Some(first) => format!("{}, and {} more nodes for like reasons", first.why, left.len() - 1),
    }
}

/// A product that can be quantised.
struct Product {
    weight: Tensor,
    /// Whether the weight lies transposed.
    turned: bool,
    /// A factor on the product.
    alpha: f32,
    bias: Option<String>,
}

impl Product {
    /// Rows and columns of the weight as the product uses it.
    fn sides(&self) -> (usize, usize) {
        match (self.weight.dims.as_slice(), self.turned) {
            (&[rows, columns], false) | (&[columns, rows], true) => (rows, columns),
            _ => (0, 0),
        }
    }
}

/// What rounding activations gives: the bytes, their scale, their zero point.
#[derive(Clone)]
struct Rounded {
    bytes: String,
    scale: String,
    zero_point: String,
}

/// The names of a rounded weight and its scales.
#[derive(Clone)]
struct Quantised {
    bytes: String,
    scales: String,
}

struct Quantising<'m, 'o> {
    source: &'m Model,
    options: &'o ConvertOptions,
    types: HashMap<String, DataType>,
    weights: HashMap<String, Tensor>,
    names: Names,
    nodes: Vec<Node>,
    infos: Vec<ValueInfo>,
    rounded: HashMap<String, Rounded>,
    /// By weight, whether it is turned, and the bits of the factor.
    quantised: HashMap<(String, bool, u32), Quantised>,
    zero_point: Option<String>,
    /// The scales of rounded weights, by name.
    scales: HashMap<String, Vec<f32>>,
    /// What values are rounded by, where their range is known: scale and zero point.
    known: HashMap<String, (f32, String, String)>,
    made: Vec<Made>,
    report: Report,
}

impl<'m> Quantising<'m, '_> {
    /// Adds a node, quantised where it can be.
    fn node(&mut self, node: Node) -> Result<(), ConvertError> {
        let product = match self.product(&node) {
            Ok(Some(product)) => product,
            Ok(None) => {
                self.leave_inner(&node);
                self.nodes.push(node);
                return Ok(());
            }
            Err(why) => {
                self.leave(&node.name, why);
                self.nodes.push(node);
                return Ok(());
            }
        };
        match self.quantise(&product)? {
            Some(weight) => self.emit(&node, &product, &weight),
            None => {
                self.leave(&node.name, WhyLeft::NotFinite);
                self.nodes.push(node);
            }
        }
        Ok(())
    }

    fn leave(&mut self, node: &str, why: WhyLeft) {
        self.report.left.push(Left { node: node.to_owned(), why });
    }

    /// Products inside the graphs of `If`, `Loop` and `Scan` stay as they are.
    fn leave_inner(&mut self, node: &Node) {
        fn products(graph: &Graph) -> Vec<&Node> {
            let inner = graph.nodes.iter().flat_map(|node| node.subgraphs());
            let inner = inner.flat_map(|(_, graph)| products(graph));
            let is_product = |node: &&Node| matches!(node.op_type.as_str(), "MatMul" | "Gemm");
            graph.nodes.iter().filter(is_product).chain(inner).collect()
        }
        for (_, graph) in node.subgraphs() {
            for product in products(graph) {
                self.leave(&product.name, WhyLeft::Inside { op: node.op_type.clone() });
            }
        }
    }

    /// What a node multiplies; `None` if it is no product with a weight, an error where it is one and must stay.
    fn product(&self, node: &Node) -> Result<Option<Product>, WhyLeft> {
        let weight = |index: usize| node.input(index).and_then(|name| self.weights.get(name));
        let op = node.op_type.as_str();
        if matches!(op, "Conv" | "ConvTranspose" | "LSTM" | "GRU" | "RNN") && weight(1).is_some() {
            return Err(WhyLeft::NoProduct { op: op.to_owned() });
        }
        if !node.is_standard() || !matches!(op, "MatMul" | "Gemm") {
            return Ok(None);
        }
        let Some(tensor) = weight(1) else {
            return match weight(0) {
                Some(_) if op == "MatMul" => Err(WhyLeft::LeftWeight),
                _ => Ok(None),
            };
        };
        let floats = [0, 1].map(|index| node.input(index).and_then(|name| self.types.get(name)));
        if floats != [Some(&DataType::Float); 2] || weight(0).is_some() {
            return Ok(None);
        }
        if self.options.excludes(&node.name, &module_path(&node.name, op)) {
            return Err(WhyLeft::Excluded);
        }
        let flag = |name: &str| op == "Gemm" && node.int(name).unwrap_or(0) != 0;
        let factor = |name: &str| node.float(name).filter(|_| op == "Gemm").unwrap_or(1.0);
        let bias = node.input(2).filter(|_| op == "Gemm").map(str::to_owned);
        if tensor.dims.len() != 2 {
            return Err(WhyLeft::Dimensions);
        }
        if tensor.elements() < self.options.smallest_weight {
            let smallest = self.options.smallest_weight;
            return Err(WhyLeft::Small { smallest });
        }
        if flag("transA") || (bias.is_some() && factor("beta") != 1.0) || factor("alpha") == 0.0 {
            return Err(WhyLeft::Transposed);
        }
        let turned = flag("transB");
        Ok(Some(Product { weight: tensor.clone(), turned, alpha: factor("alpha"), bias }))
    }

    /// The rounded weight of a product, made once; `None` if it has values that are not finite.
    fn quantise(&mut self, product: &Product) -> Result<Option<Quantised>, ConvertError> {
        let weight = &product.weight;
        let key = (weight.name.clone(), product.turned, product.alpha.to_bits());
        if let Some(known) = self.quantised.get(&key) {
            return Ok(Some(known.clone()));
        }
        let bytes = self
            .source
            .bytes(weight)
            .map_err(|source| ConvertError::Read { name: weight.name.clone(), source })?;
        let (rows, columns) = product.sides();
        let Some(mut scales) = column_scales(&bytes, columns, product.turned) else {
            return Ok(None);
        };
        if !self.options.per_channel {
            let largest = scales.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
            scales.fill(largest);
        }
        // These endings tell the counter of parameters which tensor is the weight and which only its scale.
        let quantised = Quantised {
            bytes: self.names.value(&format!("{}_quantized", weight.name)),
            scales: self.names.value(&format!("{}_scale", weight.name)),
        };
        let scaled: Vec<f32> = scales.iter().map(|scale| scale * product.alpha).collect();
        self.made.push(Made {
            name: quantised.bytes.clone(),
            dtype: DataType::Int8,
            dims: vec![rows, columns],
            source: weight.clone(),
            recast: Recast::Quantise { scales, turned: product.turned },
        });
        // One scale for all columns is still written for each: engines join the same nodes then.
        let scales = Tensor::from_f32s(&quantised.scales, &[columns], &scaled);
        self.scales.insert(quantised.scales.clone(), scaled);
        self.made.push(Made::kept(&scales));
        self.report.tensors += 1;
        self.quantised.insert(key, quantised.clone());
        Ok(Some(quantised))
    }

    fn emit(&mut self, node: &Node, product: &Product, weight: &Quantised) {
        self.report.products += 1;
        if self.options.int8 == Int8::WeightsOnly {
            return self.widen(node, product, weight);
        }
        if let Some(range) = self.range(&node.inputs[0]) {
            return self.emit_known(node, product, weight, range);
        }
        let rounded = self.round(node);
        let zero_point = self.zero_point();
        let inputs = [&rounded.bytes, &weight.bytes, &rounded.zero_point, &zero_point];
        let sums = self.add(node, "MatMulInteger", &inputs);
        let sums = self.add(node, "Cast", &[&sums]);
        self.set("to", Attribute::Int(DataType::Float as i64));
        let scales = self.add(node, "Mul", &[&rounded.scale, &weight.scales]);
        // Engines join product and scale only where they know that this is a vector.
        let shape = Some(vec![Dim::Fixed(product.sides().1)]);
        self.infos.push(ValueInfo { name: scales.clone(), dtype: DataType::Float, shape });
        let result = self.add(node, "Mul", &[&sums, &scales]);
        if let Some(bias) = &product.bias {
            self.add(node, "Add", &[&result, bias]);
        }
        if let Some(last) = self.nodes.last_mut() {
            last.outputs.clone_from(&node.outputs);
        }
    }

    /// The product as it was, of a weight that is widened in front of it.
    fn widen(&mut self, node: &Node, product: &Product, weight: &Quantised) {
        let wide = self.add(node, "DequantizeLinear", &[&weight.bytes, &weight.scales]);
        self.set("axis", Attribute::Int(1));
        let mut made = node.clone();
        made.inputs[1] = wide;
        // The weight lies as the product uses it, and its scales hold the factor.
        made.attributes.remove("transB");
        made.attributes.remove("alpha");
        debug_assert_eq!(made.input(2).is_some(), product.bias.is_some(), "a bias stays");
        self.nodes.push(made);
    }

    /// The range that a value is known to have, made to hold 0.
    fn range(&self, value: &str) -> Option<(f32, f32)> {
        let Int8::Static(ranges) = &self.options.int8 else { return None };
        let (low, high) = ranges.get(value)?;
        let (low, high) = (low.min(0.0), high.max(0.0));
        (low.is_finite() && high.is_finite() && high > low).then_some((low, high))
    }

    /// A product of activations that are rounded by constants.
    fn emit_known(
        &mut self,
        node: &Node,
        product: &Product,
        weight: &Quantised,
        (low, high): (f32, f32),
    ) {
        let name = node.inputs[0].clone();
        if !self.known.contains_key(&name) {
            let scale = ((high - low) / 255.0).max(f32::MIN_POSITIVE);
            let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0) as u8;
            let [scale_name, zero_name] = ["activation_scale", "activation_zero_point"]
                .map(|end| self.names.value(&format!("{name}_{end}")));
            self.made.push(Made::kept(&Tensor::from_f32s(&scale_name, &[], &[scale])));
            let zero = Tensor::from_bytes(&zero_name, DataType::Uint8, &[], vec![zero]);
            self.made.push(Made::kept(&zero));
            let bytes = self.add(node, "QuantizeLinear", &[&name, &scale_name, &zero_name]);
            self.known.insert(name.clone(), (scale, bytes, zero_name));
        }
        let (scale, bytes, zero) = self.known[&name].clone();
        let zero_point = self.zero_point();
        let sums = self.add(node, "MatMulInteger", &[&bytes, &weight.bytes, &zero, &zero_point]);
        let sums = self.add(node, "Cast", &[&sums]);
        self.set("to", Attribute::Int(DataType::Float as i64));
        let joined = self.names.value(&format!("{}_joined_scale", weight.scales));
        let scales: Vec<f32> = self.scales[&weight.scales].iter().map(|s| s * scale).collect();
        self.made.push(Made::kept(&Tensor::from_f32s(&joined, &[scales.len()], &scales)));
        let result = self.add(node, "Mul", &[&sums, &joined]);
        if let Some(bias) = &product.bias {
            self.add(node, "Add", &[&result, bias]);
        }
        if let Some(last) = self.nodes.last_mut() {
            last.outputs.clone_from(&node.outputs);
        }
    }

    /// The activations of a product, rounded once for all that multiply them.
    fn round(&mut self, node: &Node) -> Rounded {
        let name = node.inputs[0].clone();
        if let Some(known) = self.rounded.get(&name) {
            return known.clone();
        }
        let bytes = self.add(node, "DynamicQuantizeLinear", &[&name]);
        let rounded = Rounded {
            scale: self.names.value(&format!("{bytes}_scale")),
            zero_point: self.names.value(&format!("{bytes}_zero_point")),
            bytes,
        };
        if let Some(last) = self.nodes.last_mut() {
            last.outputs.extend([rounded.scale.clone(), rounded.zero_point.clone()]);
        }
        self.rounded.insert(name, rounded.clone());
        rounded
    }

    /// The zero point of all weights.
    fn zero_point(&mut self) -> String {
        if let Some(name) = &self.zero_point {
            return name.clone();
        }
        let name = self.names.value("weight_zero_point");
        let zero = Tensor::from_bytes(&name, DataType::Int8, &[], vec![0]);
        self.made.push(Made::kept(&zero));
        self.zero_point = Some(name.clone());
        name
    }

    /// Adds a node with one output in the module of another, and gives the output's name.
    fn add(&mut self, beside: &Node, op_type: &str, inputs: &[&String]) -> String {
        let name = self.names.beside(beside, op_type);
        let output = self.names.value(&format!("{name}_output_0"));
        self.nodes.push(Node {
            name,
            op_type: op_type.to_owned(),
            domain: String::new(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            outputs: vec![output.clone()],
            attributes: BTreeMap::new(),
        });
        output
    }

    /// Gives the last node an argument.
    fn set(&mut self, name: &str, value: Attribute) {
        if let Some(last) = self.nodes.last_mut() {
            last.attributes.insert(name.to_owned(), value);
        }
    }

    fn finish(mut self, mut model: Model) -> Result<Plan<'m>, ConvertError> {
        let mut used: HashSet<String> = self.nodes.iter().flat_map(uses).collect();
        used.extend(model.graph.outputs.iter().map(|output| output.name.clone()));
        let replaced: HashSet<&String> = self.quantised.keys().map(|(name, ..)| name).collect();
        let is_gone = |name: &String| replaced.contains(name) && !used.contains(name);
        // A weight that an embedding uses too stays beside its rounded copy, and counts once.
        let copies = self.quantised.iter().filter(|((name, ..), _)| used.contains(name));
        let mut copies: Vec<String> = copies.map(|(_, copy)| copy.bytes.clone()).collect();
        copies.sort_unstable();
        list_copies(&mut model, &copies);
        let kept = model.graph.initializers.iter().filter(|tensor| !is_gone(&tensor.name));
        let mut made: Vec<Made> = kept.map(Made::kept).collect();
        // Where every range is known the scales of a weight alone are not used any more.
        self.made.retain(|one| used.contains(&one.name));
        made.append(&mut self.made);
        model.graph.nodes = self.nodes;
        model.graph.value_infos.append(&mut self.infos);
        Plan::new(self.source, model, made, self.report)
    }
}
