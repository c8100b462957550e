//! A model written as one ONNX file, and what engines make of the file.

use crate::{Bytes, ModelInfo, Parity, Precision, Remark};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A model written as one ONNX file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    /// The model.
    pub model: ModelInfo,
    /// The file.
    pub path: PathBuf,
    /// The file with its weights, if they do not fit into the model file or were requested as a separate file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// Bytes of all files.
    pub size: Bytes,
    /// The version of ONNX's operators.
    pub opset: i64,
    /// The version the model's own graph has.
    pub native_opset: i64,
    /// The number format.
    pub precision: Precision,
    /// Operators in the graph.
    pub nodes: usize,
    /// What the file's outputs are compared with.
    pub reference: String,
    /// The result of each engine with the file.
    pub checks: Vec<ExportCheck>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

/// The result of one engine with a written file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportCheck {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// How its outputs compare; `None` if it does not run the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<Parity>,
    /// Why it does not run the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl ExportReport {
    /// Whether at least one engine ran the file, and all that did give the model's outputs.
    #[must_use]
    pub fn holds(&self) -> bool {
        let mut compared = self.checks.iter().filter_map(|check| check.parity.as_ref()).peekable();
        compared.peek().is_some() && compared.all(|parity| parity.holds)
    }

    /// Whether an engine gives other answers.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.checks.iter().any(|check| check.parity.as_ref().is_some_and(|parity| !parity.holds))
    }
}
