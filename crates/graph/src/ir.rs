//! The graph itself: values, nodes, tensors. Weights stay where they are; a tensor points at them.

use crate::Attribute;
use std::{collections::BTreeMap, path::PathBuf};

/// The element type of a tensor, with ONNX's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are ONNX's own")]
pub enum DataType {
    Undefined = 0,
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8E4m3fn = 17,
    Float8E4m3fnuz = 18,
    Float8E5m2 = 19,
    Float8E5m2fnuz = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4E2m1 = 23,
}

/// One dimension of a value's declared shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number.
    Fixed(usize),
    /// A name or a formula: `batch`, `sequence_length + 1`.
    Symbol(String),
    /// Nothing declared.
    Unknown,
}

/// A declared input, output or intermediate value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueInfo {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its dimensions; `None` if even the rank is unknown.
    pub shape: Option<Vec<Dim>>,
}

/// Where a tensor's bytes are.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorData {
    /// In memory, little-endian, row-major. `Bytes` shares a memory map where the file was mapped.
    Inline(bytes::Bytes),
    /// In another file, as ONNX external data; relative paths are relative to the model's folder.
    External {
        /// The file.
        path: PathBuf,
        /// Where the tensor begins in it.
        offset: u64,
        /// How many bytes it has.
        length: u64,
    },
    /// Strings.
    Strings(Vec<Vec<u8>>),
}

/// A constant tensor: a weight or a small constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name; empty for a tensor inside an attribute.
    pub name: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its dimensions; empty for a scalar.
    pub dims: Vec<usize>,
    /// Its bytes.
    pub data: TensorData,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its module path: `encoder.layer.0.attention.query.MatMul`.
    pub name: String,
    /// The operator: `MatMul`.
    pub op_type: String,
    /// Empty for standard ONNX, or `com.microsoft`, …
    pub domain: String,
    /// Names of its inputs; an empty name is an omitted optional input.
    pub inputs: Vec<String>,
    /// Names of its outputs; an empty name is an output nobody wants.
    pub outputs: Vec<String>,
    /// Its constant arguments.
    pub attributes: BTreeMap<String, Attribute>,
}

/// Nodes in an order in which every value is made before it is used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// The graph's name.
    pub name: String,
    /// What must be fed (initialisers that are also listed as inputs are not here).
    pub inputs: Vec<ValueInfo>,
    /// What comes out.
    pub outputs: Vec<ValueInfo>,
    /// The operations.
    pub nodes: Vec<Node>,
    /// Weights and constants.
    pub initializers: Vec<Tensor>,
    /// Declared shapes of intermediate values.
    pub value_infos: Vec<ValueInfo>,
}

/// A graph with what ONNX says around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The main graph.
    pub graph: Graph,
    /// Operator set versions by domain; the empty domain is standard ONNX.
    pub opsets: BTreeMap<String, i64>,
    /// ONNX's own format version.
    pub ir_version: i64,
    /// Who wrote it.
    pub producer: String,
    /// Free text by key.
    pub metadata: BTreeMap<String, String>,
    /// Functions local to the model, in their wire form.
    pub functions: Vec<bytes::Bytes>,
    /// The folder that relative external data paths start from.
    pub folder: Option<PathBuf>,
}
