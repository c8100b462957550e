//! ONNX files: the wire types, reading without copying weights, writing without holding them twice.
//!
//! What is ONNX's own stays in this crate; everybody else sees a [`Graph`](crate::Graph).

mod encode;
mod error;
mod external;
mod from_proto;
mod proto;
mod read;
mod regular;
mod tensor;
mod to_proto;
mod walk;
mod write;

pub use error::{ReadError, WriteError};
pub(crate) use from_proto::{function_body, sparse_type};
pub(crate) use proto::FunctionProto;
pub use regular::open_regular;
#[cfg(test)]
pub(crate) use to_proto::function_wire;
