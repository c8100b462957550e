//! The number format a model computes in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The number format a model computes in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    Fp32,
    /// 16-bit floating point, IEEE.
    Fp16,
    /// 16-bit floating point with the range of fp32.
    Bf16,
    /// 8-bit integers.
    Int8,
    /// As the model's file has its weights, quantised block by block.
    Stored,
}

/// A precision name is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown precision `{0}`; known precisions: fp32, fp16, bf16, int8, stored")]
pub struct ParsePrecisionError(pub String);

impl Precision {
    /// Every precision that a model can be converted to, widest first.
    pub const ALL: [Precision; 4] =
        [Precision::Fp32, Precision::Fp16, Precision::Bf16, Precision::Int8];

    /// The name used in arguments, tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
            Precision::Stored => "stored",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = ParsePrecisionError;

    fn from_str(text: &str) -> Result<Precision, ParsePrecisionError> {
        match text.to_ascii_lowercase().as_str() {
            "fp32" | "float32" | "f32" => Ok(Precision::Fp32),
            "fp16" | "float16" | "f16" | "half" => Ok(Precision::Fp16),
            "bf16" | "bfloat16" => Ok(Precision::Bf16),
            "int8" | "i8" => Ok(Precision::Int8),
            "stored" => Ok(Precision::Stored),
            _ => Err(ParsePrecisionError(text.into())),
        }
    }
}
