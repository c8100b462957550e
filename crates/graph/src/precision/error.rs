//! Why a model cannot be had in another format.

use crate::ReadError;
use std::io;
use types::Precision;

/// Why a model cannot be had in another format.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum ConvertError {
    /// It is no fp32 model, or fp32 was asked for.
    #[error("it computes in {native} and cannot be converted to {asked}")]
    Native { native: Precision, asked: Precision },
    /// Nothing would change.
    #[error("nothing in it can be converted to {asked}: {why}")]
    Nothing { asked: Precision, why: String },
    /// The operators that are needed came later.
    #[error("{asked} needs operator set {needed} or newer, it uses {present}")]
    Opset { asked: Precision, needed: i64, present: i64 },
    /// A weight could not be read.
    #[error("could not read the weight `{name}`")]
    Read {
        name: String,
        #[source]
        source: ReadError,
    },
    /// A weight could not be written.
    #[error("could not write the weight `{name}`")]
    Write {
        name: String,
        #[source]
        source: io::Error,
    },
}
