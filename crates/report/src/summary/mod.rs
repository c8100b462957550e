//! One run on one screen: readable without colour, pasteable into a chat.

mod document;
mod facts;
mod header;
mod imported;
mod latency;
mod traffic;
mod training;
mod verdict;

pub(crate) use document::inner_blocks;
pub use document::{Footer, View, run_document};
pub(crate) use facts::labelled;
pub use header::setting;
pub(crate) use header::{processor, size, title};
pub use training::sample_word;
pub(crate) use verdict::words as verdict_words;
