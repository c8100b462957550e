//! Builds a graph from the inside out: a stack of module scopes gives every node its path, and every value its name.

use crate::{Attribute, DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo};
use std::collections::{BTreeMap, HashMap};

/// The standard operator set that a built model asks for unless told otherwise.
pub const DEFAULT_OPSET: i64 = 17;

/// The format version that belongs to operator set 17.
const IR_VERSION: i64 = 8;

impl From<usize> for Dim {
    fn from(value: usize) -> Dim {
        Dim::Fixed(value)
    }
}

impl From<&str> for Dim {
    fn from(name: &str) -> Dim {
        Dim::Symbol(name.to_string())
    }
}

/// Builds a [`Graph`] or a [`Model`] node by node.
///
/// ```
/// use modelmeter_graph::{DataType, GraphBuilder, Tensor};
/// let mut builder = GraphBuilder::new("tiny");
/// let x = builder.input("x", DataType::Float, &["batch".into(), 2.into()]);
/// let y = builder.scope("encoder.layer.0", |b| {
///     let weight = b.initializer(Tensor::from_f32s("dense.weight", &[2, 1], &[1.0, 2.0]));
///     b.node("MatMul", &[&x, &weight], &[])
/// });
/// assert_eq!(y, "encoder.layer.0/MatMul_output_0");
/// builder.output("y", &y, DataType::Float, &["batch".into(), 1.into()]);
/// let model = builder.finish_model();
/// assert_eq!(model.graph.nodes[0].name, "encoder.layer.0.MatMul");
/// ```
#[derive(Debug)]
pub struct GraphBuilder {
    graph: Graph,
    opsets: BTreeMap<String, i64>,
    scopes: Vec<String>,
    /// How often each node name was wanted, so that the second one gets a number.
    wanted: HashMap<String, usize>,
    /// Small constants by type, dims and bytes, so that each is kept once.
    constants: HashMap<(DataType, Vec<usize>, Vec<u8>), String>,
}

impl GraphBuilder {
    /// An empty graph with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> GraphBuilder {
        GraphBuilder {
            graph: Graph { name: name.into(), ..Graph::default() },
            opsets: BTreeMap::from([(String::new(), DEFAULT_OPSET)]),
            scopes: Vec::new(),
            wanted: HashMap::new(),
            constants: HashMap::new(),
        }
    }

    /// Asks for this operator set version; the empty domain is standard ONNX.
    pub fn set_opset(&mut self, domain: &str, version: i64) {
        self.opsets.insert(domain.to_string(), version);
    }

    /// The operator set version of standard ONNX that the graph is built for.
    #[must_use]
    pub fn opset(&self) -> i64 {
        self.opsets.get("").copied().unwrap_or(DEFAULT_OPSET)
    }

    /// Runs `build` inside a module; `name` may have several parts (`layer.0`).
    pub fn scope<R>(&mut self, name: &str, build: impl FnOnce(&mut GraphBuilder) -> R) -> R {
        self.push_scope(name);
        let result = build(self);
        self.pop_scope();
        result
    }

    /// Enters a module until [`GraphBuilder::pop_scope`].
    pub fn push_scope(&mut self, name: &str) {
        self.scopes.push(name.to_string());
    }

    /// Leaves the innermost module.
    pub fn pop_scope(&mut self) {
        self.scopes.pop();
    }

    /// The path of the module being built: `encoder.layer.0`.
    #[must_use]
    pub fn path(&self) -> String {
        let parts: Vec<&str> =
            self.scopes.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }

    /// Adds a standard node with one output and gives that output's name.
    pub fn node(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        self.add("", op_type, inputs, attributes, 1).swap_remove(0)
    }

    /// Adds a standard node with `outputs` outputs and gives their names.
    pub fn node_multi(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
        outputs: usize,
    ) -> Vec<String> {
        self.add("", op_type, inputs, attributes, outputs)
    }

    /// Adds a node of any domain with `outputs` outputs and gives their names.
    ///
    /// A domain that has no version yet is asked for in version 1.
    pub fn add(
        &mut self,
        domain: &str,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
        outputs: usize,
    ) -> Vec<String> {
        self.opsets.entry(domain.to_string()).or_insert(1);
        let path = self.path();
        let dotted =
            if path.is_empty() { op_type.to_string() } else { format!("{path}.{op_type}") };
        let seen = self.wanted.entry(dotted.clone()).or_insert(0);
        let number = if *seen == 0 { String::new() } else { format!("_{seen}") };
        *seen += 1;
        let outputs: Vec<String> =
            (0..outputs).map(|i| format!("{path}/{op_type}{number}_output_{i}")).collect();
        self.graph.nodes.push(Node {
            name: format!("{dotted}{number}"),
            op_type: op_type.to_string(),
            domain: domain.to_string(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            outputs: outputs.clone(),
            attributes: attributes
                .iter()
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
        });
        outputs
    }

    /// Declares an input of the graph and gives its name.
    pub fn input(&mut self, name: &str, dtype: DataType, dims: &[Dim]) -> String {
        self.graph.inputs.push(ValueInfo {
            name: name.to_string(),
            dtype,
            shape: Some(dims.to_vec()),
        });
        name.to_string()
    }

    /// Declares `value` as the graph's output `name`.
    ///
    /// A value made by a node takes the new name everywhere; an input or a constant, and a value that already is an
    /// output, pass through an `Identity`.
    pub fn output(&mut self, name: &str, value: &str, dtype: DataType, dims: &[Dim]) {
        if name != value {
            let taken = self.graph.outputs.iter().any(|output| output.name == value);
            if taken || !self.rename(value, name) {
                let copy = self.node("Identity", &[value], &[]);
                self.rename(&copy, name);
            }
        }
        self.graph.outputs.push(ValueInfo {
            name: name.to_string(),
            dtype,
            shape: Some(dims.to_vec()),
        });
    }

    /// Gives a value made by a node another name; false where no node makes it.
    fn rename(&mut self, from: &str, to: &str) -> bool {
        let made = self.graph.nodes.iter().any(|node| node.outputs.iter().any(|o| o == from));
        if made {
            for node in &mut self.graph.nodes {
                for name in node.inputs.iter_mut().chain(&mut node.outputs) {
                    if name == from {
                        *name = to.to_string();
                    }
                }
            }
        }
        made
    }

    /// Adds a weight under the name it has and gives that name; the scope does not change it.
    pub fn initializer(&mut self, tensor: Tensor) -> String {
        let name = tensor.name.clone();
        self.graph.initializers.push(tensor);
        name
    }

    /// A list of integers as a constant, kept once however often it is asked for.
    pub fn constant_i64(&mut self, values: &[i64]) -> String {
        self.constant(Tensor::from_i64s("", &[values.len()], values))
    }

    /// One integer without dimensions, kept once.
    pub fn scalar_i64(&mut self, value: i64) -> String {
        self.constant(Tensor::from_i64s("", &[], &[value]))
    }

    /// A list of floats as a constant, kept once.
    pub fn constant_f32(&mut self, values: &[f32]) -> String {
        self.constant(Tensor::from_f32s("", &[values.len()], values))
    }

    /// One float without dimensions, kept once.
    pub fn scalar_f32(&mut self, value: f32) -> String {
        self.constant(Tensor::from_f32s("", &[], &[value]))
    }

    /// Any small constant; its name is chosen here, and an equal one is kept once.
    pub fn constant(&mut self, tensor: Tensor) -> String {
        let TensorData::Inline(bytes) = &tensor.data else {
            let name = format!("constant_{}", self.graph.initializers.len());
            return self.initializer(Tensor { name, ..tensor });
        };
        let key = (tensor.dtype, tensor.dims.clone(), bytes.to_vec());
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let name = format!("constant_{}", self.graph.initializers.len());
        self.constants.insert(key, name.clone());
        self.initializer(Tensor { name, ..tensor })
    }

    /// The graph as built.
    #[must_use]
    pub fn finish(self) -> Graph {
        self.graph
    }

    /// The graph as a model.
    #[must_use]
    pub fn finish_model(self) -> Model {
        Model {
            graph: self.graph,
            opsets: self.opsets,
            ir_version: IR_VERSION,
            producer: "modelmeter".to_string(),
            metadata: BTreeMap::new(),
            functions: Vec::new(),
            folder: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_scope_and_stay_unique() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into()]);
        let (first, second) = builder.scope("encoder", |b| {
            b.scope("layer.0", |b| (b.node("Relu", &[&x], &[]), b.node("Relu", &[&x], &[])))
        });
        assert_eq!(first, "encoder.layer.0/Relu_output_0");
        assert_eq!(second, "encoder.layer.0/Relu_1_output_0");
        assert_eq!(builder.path(), "");
        let graph = builder.finish();
        assert_eq!(graph.nodes[1].name, "encoder.layer.0.Relu_1");
    }

    #[test]
    fn equal_constants_are_kept_once() {
        let mut builder = GraphBuilder::new("g");
        let first = builder.constant_i64(&[1, 2]);
        assert_eq!(builder.constant_i64(&[1, 2]), first);
        assert_ne!(builder.constant_i64(&[1, 3]), first);
        assert_ne!(builder.scalar_f32(1.0), builder.constant_f32(&[1.0]));
        assert_eq!(builder.finish().initializers.len(), 4);
    }

    #[test]
    fn an_output_renames_what_a_node_made_and_copies_what_was_fed() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into()]);
        let y = builder.node("Relu", &[&x], &[]);
        let z = builder.node("Neg", &[&y], &[]);
        builder.output("y", &y, DataType::Float, &[2.into()]);
        builder.output("again", "y", DataType::Float, &[2.into()]);
        builder.output("z", &z, DataType::Float, &[2.into()]);
        builder.output("echo", &x, DataType::Float, &[2.into()]);
        let graph = builder.finish();
        assert_eq!(graph.nodes[0].outputs, ["y"]);
        assert_eq!(graph.nodes[1].inputs, ["y"]);
        let copies: Vec<&str> = graph
            .nodes
            .iter()
            .filter(|node| node.op_type == "Identity")
            .map(|node| node.outputs[0].as_str())
            .collect();
        assert_eq!(copies, ["again", "echo"]);
    }
}
