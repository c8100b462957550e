//! Why there is nothing to compare.

use thiserror::Error;

/// Why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompareError {
    /// One side alone is faster than nobody.
    #[error("a comparison needs two sides or more, and there is {0}")]
    TooFewSides(usize),
    /// Two sides could not be told apart.
    #[error("two sides are called `{0}`")]
    SameLabel(String),
    /// A side of stored runs without any.
    #[error("the side `{0}` has no runs")]
    NoRuns(String),
    /// A side that another tool measured, whose machine, inputs and outputs are not known well enough.
    #[error("the side `{label}` was imported: {tool} measured it, not Modelmeter")]
    Imported {
        /// Its label.
        label: String,
        /// The tool.
        tool: String,
    },
    /// Nobody has the name that the others shall be compared with.
    #[error("unknown side `{asked}`; the sides are {known}")]
    UnknownBaseline {
        /// What was asked for.
        asked: String,
        /// The labels there are.
        known: String,
    },
    /// The side that the others shall be compared with has no times.
    #[error("the baseline `{label}` was not measured: {why}")]
    BaselineFailed {
        /// Its label.
        label: String,
        /// What happened to it.
        why: String,
    },
    /// No side has a sample.
    #[error("no side was measured: {0}")]
    NothingMeasured(String),
}

impl CompareError {
    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CompareError::TooFewSides(_) => Some("name a second engine or run"),
            CompareError::SameLabel(_) => Some("name each side once"),
            CompareError::BaselineFailed { .. } => Some("choose another baseline"),
            CompareError::Imported { .. } => {
                Some("`modelmeter runs show` shows its numbers; measure the model here to compare")
            }
            CompareError::NoRuns(_)
            | CompareError::UnknownBaseline { .. }
            | CompareError::NothingMeasured(_) => None,
        }
    }
}
