//! Runs out to other tools and machines, and results of other tools in.
//!
//! Bytes come in, runs go out, and the other way round; nothing here opens a database or prints. What another tool
//! measured says so (`Run::imported`): which tool and file, which of its numbers were put right and why, and what the
//! file does not tell. Samples are never invented: a file with statistics alone gives a run with statistics alone
//! (`types::Stated`). docs/IMPORTS.md lists the formats.

mod baseline;
pub mod bounds;
mod detect;
mod draft;
mod error;
mod foreign;
mod format;
mod given;
mod import;
mod key;
mod node;
mod own;
mod table;
mod weighed;

pub use baseline::file_cells;
pub use draft::UNKNOWN;
pub use error::{Error, Place, Problem, WriteError};
pub use format::{Format, ParseFormatError};
pub use given::Given;
pub use import::{Imported, import, import_with};
pub use key::key;
pub use own::{
    Column, Kind, Runs, WHOLE_RUN_SCHEMA, WholeRun, Writer, columns, stream, stream_from, write,
};
