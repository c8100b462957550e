//! A changed model beside the one before: sizes, zeros, answers, times, and the verdict.

mod document;
mod markdown;
mod page;
mod search;
mod words;

pub use document::{OPTIMIZE_SCHEMA, PROOF_SCHEMA, optimize_json, proof_json};
pub use markdown::proof_markdown;
pub use page::proof;
pub use search::optimize;
