//! A model written as one ONNX file, and what engines make of the file.

use crate::{Bytes, ModelInfo, Parity, Precision};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A model written as one ONNX file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportReport {
    /// The model.
    pub model: ModelInfo,
    /// The file.
    pub path: PathBuf,
    /// The file with its weights, where they do not fit or were not wanted inside.
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
    /// What the file's answers are compared with.
    pub reference: String,
    /// What each engine makes of the file.
    pub checks: Vec<ExportCheck>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// What one engine makes of a written file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportCheck {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// How its answers compare; `None` where it does not run the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<Parity>,
    /// Why it does not run the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl ExportReport {
    /// Whether an engine ran the file and every one that did gives the model's answers.
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
