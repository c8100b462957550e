//! What can keep a graph from being trained.

use crate::{DataType, Unsound};
use std::fmt;

/// An operator on the way of the gradient for which there is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoGradient {
    /// The operator, with its domain where it is not standard ONNX: `LSTM`, `com.microsoft.QAttention`.
    pub operator: String,
    /// The node's name, or its first output's where it has none.
    pub node: String,
    /// What to try next.
    pub hint: String,
}

impl fmt::Display for NoGradient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` (node `{}`): {}", self.operator, self.node, self.hint)
    }
}

/// Why a graph cannot be differentiated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DifferentiateError {
    /// Operators have no gradient; all of them are listed, in the graph's order.
    #[error("no gradient is known for {}", listed(.0))]
    NoGradient(Vec<NoGradient>),
    /// The asked output does not exist.
    #[error("the model has no output `{asked}`; it has {}", quoted(.known))]
    UnknownOutput {
        /// What was asked for.
        asked: String,
        /// The outputs there are.
        known: Vec<String>,
    },
    /// No output fits the loss.
    #[error("no output fits the loss: {why}; outputs are {}", quoted(.known))]
    NoOutput {
        /// What the loss needs.
        why: String,
        /// The outputs there are.
        known: Vec<String>,
    },
    /// The output depends on no weight.
    #[error("the output `{output}` depends on no weight, so there is nothing to train")]
    NothingToTrain {
        /// The output that the loss reads.
        output: String,
    },
    /// The dims of a value follow only from a run.
    #[error("the shape of `{value}` is not known before a run; fix every input's dims")]
    UnknownShape {
        /// The value.
        value: String,
    },
    /// A value on the way of the gradient is a float of another width.
    #[error("`{value}` is {dtype:?}; train the model in 32-bit floats")]
    NotSingle {
        /// The value.
        value: String,
        /// Its type.
        dtype: DataType,
    },
    /// The graph is not what ONNX defines.
    #[error(transparent)]
    Unsound(#[from] Unsound),
    /// The operator set is too old for what a graph needs.
    #[error(
        "the model uses operator set {found}, checkpointing needs at least {needed}; convert the model, or train \
         without checkpointing"
    )]
    OldOperators {
        /// The model's version.
        found: i64,
        /// The lowest that serves.
        needed: i64,
    },
    /// A rule made a gradient of the wrong dims: our mistake.
    #[error(
        "the gradient of `{value}` came out as {found:?} instead of {expected:?}; please report this model"
    )]
    WrongDims {
        /// The value whose gradient it is.
        value: String,
        /// The dims of the gradient.
        found: Vec<usize>,
        /// The dims of the value.
        expected: Vec<usize>,
    },
}

fn listed(operators: &[NoGradient]) -> String {
    operators.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
