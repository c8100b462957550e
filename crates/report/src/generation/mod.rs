//! The tests of a language model: a table with the names of llama-bench, what the cache holds, and rows for its scripts.

mod document;
mod llama_bench;
mod result;
mod words;

pub use document::GENERATION_SCHEMA;
pub(crate) use document::{GenerationDocument, RunGenerationDocument};
pub use llama_bench::llama_bench_rows;
pub use result::{GenerationRefused, generation_document};
pub(crate) use words::cache;
pub use words::growth as step_growth;
pub(crate) use words::growth;
