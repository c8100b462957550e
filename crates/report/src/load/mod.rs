//! Loads on a served model: latencies, rates, limits, and the search for the highest rate.

mod document;
mod result;

pub use document::LOAD_SCHEMA;
pub(crate) use document::{LoadDocument, RunLoadDocument};
pub(crate) use result::labelled;
pub use result::{load_comparison_document, load_document};
