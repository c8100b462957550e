//! What programs do on NVIDIA GPUs: the library that they load, the files that it writes, and where the time went.
//!
//! The library (`crates/gpu-inject`) is carried in this crate and written to the user's cache. Nothing here starts a
//! program, prints, or decides what is asked for.

mod analyse;
mod find;
mod foreign;
mod library;
mod name;
mod read;
mod runs;
mod timeline;

pub use analyse::analyse;
pub use find::cupti_libraries;
pub use foreign::{ForeignError, Tool, foreign, foreign_text};
pub use library::{Injection, Wish, is_supported};
pub use name::short_name;
pub use read::{Recording, Unread, recordings};
pub use runs::{NOBODY, PartTime, PartedRun};
pub use timeline::{LARGEST_TRACE, timeline};

/// Why something about recordings does not work.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// CUDA programs are recorded on Linux alone.
    #[error("programs can be recorded on Linux only")]
    NotHere,
    /// The library cannot be put where programs can load it.
    #[error("could not write `{path}`")]
    Write {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A recording cannot be read.
    #[error("could not read `{path}`")]
    Read {
        /// The file or folder.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
