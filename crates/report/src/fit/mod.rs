//! What fits under a limit of memory.

mod context;
mod csv;
mod document;
mod result;
mod words;

pub use document::FIT_SCHEMA;
pub(crate) use document::FitDocument;
pub use result::fit_document;
