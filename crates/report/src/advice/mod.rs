//! Advice as text and as a document.

mod document;
mod page;
mod words;

pub use document::{ADVICE_SCHEMA, advice_json};
pub use page::advice;
pub(crate) use words::gain;
