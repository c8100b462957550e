//! A changed model beside the one before: sizes, zeros, answers, times, and the verdict.

mod document;
mod result;
mod search;
mod words;

pub use document::{OPTIMIZE_SCHEMA, PROOF_SCHEMA};
pub(crate) use document::{OptimizeDocument, ProofDocument};
pub use result::proof_document;
pub use search::optimize_document;
