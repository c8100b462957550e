//! A node's constant arguments.

use crate::{Graph, Tensor};

/// A node's constant argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// One integer.
    Int(i64),
    /// One float.
    Float(f32),
    /// A byte string, usually text.
    String(Vec<u8>),
    /// Several integers.
    Ints(Vec<i64>),
    /// Several floats.
    Floats(Vec<f32>),
    /// Several byte strings.
    Strings(Vec<Vec<u8>>),
    /// A tensor, as in `Constant`.
    Tensor(Tensor),
    /// A subgraph, as in `If` and `Loop`.
    Graph(Box<Graph>),
    /// A kind we keep but do not interpret (sparse tensors, type protos), in its wire form.
    Opaque(Vec<u8>),
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Attribute {
        Attribute::Int(value)
    }
}

impl From<f32> for Attribute {
    fn from(value: f32) -> Attribute {
        Attribute::Float(value)
    }
}

impl From<&str> for Attribute {
    fn from(value: &str) -> Attribute {
        Attribute::String(value.as_bytes().to_vec())
    }
}

impl From<Vec<i64>> for Attribute {
    fn from(value: Vec<i64>) -> Attribute {
        Attribute::Ints(value)
    }
}
