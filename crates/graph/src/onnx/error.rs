//! What can be wrong with a model file.

use std::{io, path::PathBuf};

/// Why a model could not be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum ReadError {
    /// The file could not be opened.
    #[error("could not open `{}`", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("`{}` is empty", path.display())]
    Empty { path: PathBuf },
    /// The file holds something else.
    #[error("`{}` is not an ONNX model: {why}", path.display())]
    NotOnnx { path: PathBuf, why: String },
    /// The file is shorter than its own length fields say; `at` is its size, `of` the size it should have at least.
    #[error("the file ends in the middle of {part} (byte {at} of {of})")]
    Truncated { part: &'static str, at: u64, of: u64 },
    /// The bytes contradict themselves.
    #[error("{part} is damaged at byte {at}: {why}")]
    Corrupt { part: &'static str, at: u64, why: &'static str },
    /// The bytes are protobuf but not what ONNX says they must be.
    #[error("`{}` could not be decoded", path.display())]
    Decode {
        path: PathBuf,
        #[source]
        source: prost::DecodeError,
    },
    /// A tensor's description and its bytes disagree.
    #[error("tensor `{name}`: {why}")]
    Tensor { name: String, why: String },
    /// A tensor points out of the model's folder.
    #[error(
        "tensor `{name}` keeps its bytes at `{location}`, which is outside the model's folder; move the file next to the model"
    )]
    Escapes { name: String, location: String },
    /// A link leads a tensor out of the model's folder.
    #[error(
        "tensor `{name}` keeps its bytes at `{location}`, a link to `{}`, which is outside the model's folder; copy the file next to the model", real.display()
    )]
    Leaves { name: String, location: String, real: PathBuf },
    /// Nodes wait for each other.
    #[error("the graph has a cycle: node `{node}` reads what follows from its own output")]
    Cycle { node: String },
    /// A file that holds weights is not there.
    #[error("the weights file `{}` of tensor `{name}` could not be opened; it belongs next to the model", path.display())]
    External {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file that holds weights is too short.
    #[error(
        "the weights file `{}` is too short for tensor `{name}`: {needed} bytes needed, {present} present", path.display()
    )]
    ExternalTooShort { name: String, path: PathBuf, needed: u64, present: u64 },
    /// Strings have no plain bytes.
    #[error("a tensor of strings has no plain bytes")]
    Strings,
}

/// Why a model could not be written; nothing half-written stays.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum WriteError {
    /// The file system refused.
    #[error("could not write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path has no file name.
    #[error("`{}` is not a file name", path.display())]
    NotAFile { path: PathBuf },
    /// A tensor's bytes could not be brought along.
    #[error("could not copy the bytes of tensor `{name}`")]
    Weights {
        name: String,
        #[source]
        source: Box<ReadError>,
    },
    /// The graph itself, without weights, is beyond what protobuf can hold.
    #[error("the graph takes {size} bytes without its weights; ONNX ends at 2147483647")]
    TooLarge { size: u64 },
}
