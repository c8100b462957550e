//! A model as a graph: read and write ONNX, infer shapes, count FLOPs, bytes and lifetimes.
//!
//! A [`Graph`] is the one language between models and engines. Node names carry the module path
//! (`encoder.layer.0.attention.query`), so a layer has the same key everywhere. Nothing here knows where a model
//! comes from or how it is executed.

mod attribute;
mod builder;
mod data_type;
mod graph;
mod ir;
mod node;
mod onnx;
mod tensor;

pub use attribute::Attribute;
pub use builder::{DEFAULT_OPSET, GraphBuilder};
pub use data_type::UnknownDataType;
pub use ir::{DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo};
pub use onnx::{ReadError, WriteError};
