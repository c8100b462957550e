//! Tensors in host memory and the recipes that fill them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The element type of a host tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ElementType {
    F32,
    F64,
    F16,
    Bf16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            ElementType::F64 | ElementType::I64 => 8,
            ElementType::F32 | ElementType::I32 => 4,
            ElementType::F16 | ElementType::Bf16 | ElementType::I16 => 2,
            ElementType::I8 | ElementType::U8 | ElementType::Bool => 1,
        }
    }
}

/// The elements of a host tensor; 16-bit floats as their bits, booleans as 0 and 1.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "one variant an element type")]
pub enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<u16>),
    Bf16(Vec<u16>),
    I64(Vec<i64>),
    I32(Vec<i32>),
    I16(Vec<i16>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    Bool(Vec<u8>),
}

impl Elements {
    /// How many elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(v) => v.len(),
            Elements::F64(v) => v.len(),
            Elements::F16(v) | Elements::Bf16(v) => v.len(),
            Elements::I64(v) => v.len(),
            Elements::I32(v) => v.len(),
            Elements::I16(v) => v.len(),
            Elements::I8(v) => v.len(),
            Elements::U8(v) | Elements::Bool(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        match self {
            Elements::F32(_) => ElementType::F32,
            Elements::F64(_) => ElementType::F64,
            Elements::F16(_) => ElementType::F16,
            Elements::Bf16(_) => ElementType::Bf16,
            Elements::I64(_) => ElementType::I64,
            Elements::I32(_) => ElementType::I32,
            Elements::I16(_) => ElementType::I16,
            Elements::I8(_) => ElementType::I8,
            Elements::U8(_) => ElementType::U8,
            Elements::Bool(_) => ElementType::Bool,
        }
    }
}

/// A named tensor in host memory, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// The input or output it belongs to.
    pub name: String,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// Its elements; as many as the product of `dims`.
    pub elements: Elements,
}

/// How an input is filled; drawn values come from the cell's seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fill")]
pub enum Fill {
    /// Whole numbers, `low` included, `high` not.
    Integers {
        /// Smallest value.
        low: i64,
        /// One above the largest value.
        high: i64,
    },
    /// Evenly distributed numbers.
    Uniform {
        /// Smallest value.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Normally distributed numbers.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
    /// The same number everywhere.
    Constant {
        /// The number.
        value: f64,
    },
    /// 0, 1, 2, … along the last dimension, the same in every row.
    Positions,
    /// Exactly these numbers, for small inputs that must be right (a sampling rate).
    Values {
        /// The numbers.
        values: Vec<f64>,
    },
    /// Values that the user gave; they are in the job's file of inputs.
    Given {
        /// What they are, as text: `from ids.npy`.
        what: String,
    },
}

impl Fill {
    /// Where the values come from, as text.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Fill::Integers { low, high } => {
                format!("whole numbers {low} to {}", high.saturating_sub(1).max(*low))
            }
            Fill::Uniform { low, high } => format!("evenly distributed {low} to {high}"),
            Fill::Normal { mean, std } => {
                format!("normally distributed, mean {mean}, standard deviation {std}")
            }
            Fill::Constant { value } => format!("all {value}"),
            Fill::Positions => "positions 0, 1, 2, …".into(),
            Fill::Values { values } => format!("{} fixed numbers in turn", values.len()),
            Fill::Given { what } => what.clone(),
        }
    }
}

/// The role of an input; a tokenizer fills the token roles if there is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputRole {
    /// Token ids of the text.
    TokenIds,
    /// 1 for real tokens, 0 for padding.
    AttentionMask,
    /// Segment ids.
    TokenTypes,
    /// Token ids of the decoder.
    DecoderTokenIds,
    /// Images.
    Image,
    /// Sound.
    Audio,
    /// Anything else.
    Other,
}

/// One input with its shape settled and the recipe that fills it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    /// Its name in the graph.
    pub name: String,
    /// Its element type.
    pub dtype: ElementType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// What it means.
    pub role: InputRole,
    /// How it is filled.
    pub fill: Fill,
}

/// What turns a model's outputs into the answer people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Postprocess {
    /// Average the token vectors under the mask and scale to length 1: a sentence embedding.
    MeanPool,
    /// The best class or token of the last dimension.
    Argmax,
    /// The outputs are the answer.
    None,
}
