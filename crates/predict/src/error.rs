//! Why something cannot be predicted.

use std::path::PathBuf;

/// Why something cannot be predicted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("could not read `{}`", .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no table that is known.
    #[error("could not understand `{}`: {why}", .path.display())]
    Table {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A catalogue of hardware cannot be used.
    #[error("the catalogue cannot be used: {0}")]
    Catalogue(String),
    /// There is too little to learn from.
    #[error("{0}")]
    TooLittle(String),
}
