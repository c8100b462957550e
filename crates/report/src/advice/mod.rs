//! Advice.

mod document;
mod result;
mod words;

pub use document::{ADVICE_SCHEMA, PROGRAM_ADVICE_SCHEMA, advice_json};
pub(crate) use document::{AdviceDocument, ProgramAdviceDocument};
pub use result::{ProgramAdvice, advice_document, program_advice_document};
pub(crate) use words::gain;
