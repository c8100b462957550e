//! What can be wrong with a configuration.

/// Why no graph could be built from a configuration.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ArchitectureError {
    /// A `model_type` we have no builder for.
    #[error(
        "architecture `{architecture}` is not supported; supported with `config.json`: {}; an ONNX export in the \
         folder as `onnx/model.onnx` would run",
        .families.join(", ")
    )]
    UnknownArchitecture {
        /// The `model_type` asked for.
        architecture: String,
        /// The families that are built.
        families: Vec<&'static str>,
    },
    /// A known family with a head we do not build.
    #[error(
        "the head of `{class}` is not supported; `{architecture}` is supported as {}; an ONNX export in the folder as \
         `onnx/model.onnx` would run",
        .heads.join(", ")
    )]
    UnknownHead {
        /// The class in `architectures`.
        class: String,
        /// The `model_type`.
        architecture: String,
        /// The class names (without the family) that are built.
        heads: Vec<&'static str>,
    },
    /// A key that has no default is not there.
    #[error("the configuration lacks the key `{key}`")]
    MissingKey {
        /// The key, with its path.
        key: String,
    },
    /// A key whose value cannot be used.
    #[error("the configuration's `{key}` is `{value}`; it must be {expected}")]
    InvalidKey {
        /// The key, with its path.
        key: String,
        /// The value found.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// The configuration is no table of keys.
    #[error("the configuration is not a JSON object with keys such as `model_type`")]
    NotAnObject,
}
