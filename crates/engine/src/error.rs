//! What can go wrong inside an engine, in words a person can act on.

use serde::{Deserialize, Serialize};

/// Which step failed; decides the exit code and the hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineErrorKind {
    /// The engine is not here.
    Unavailable,
    /// The engine cannot run this device, precision or operator.
    Unsupported,
    /// The file could not be read as a model.
    BadModel,
    /// The inputs do not fit the model.
    BadInput,
    /// The model failed while running.
    Failed,
    /// There was no memory left to load or to run it.
    OutOfMemory,
}

/// What went wrong inside an engine.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Which step.
    pub kind: EngineErrorKind,
    /// What happened.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// The engine's own error.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl EngineError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: EngineErrorKind, message: impl Into<String>) -> EngineError {
        EngineError { kind, message: message.into(), hint: None, source: None }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> EngineError {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> EngineError {
        self.source = Some(source.into());
        self
    }
}
