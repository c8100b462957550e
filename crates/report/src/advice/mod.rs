//! Advice.

mod document;
mod result;
mod words;

pub(crate) use document::AdviceDocument;
pub use document::{ADVICE_SCHEMA, advice_json};
pub use result::advice_document;
pub(crate) use words::gain;
