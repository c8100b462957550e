//! One run on one screen: readable without colour, pasteable into a chat.

mod facts;
mod grid;
mod header;
mod imported;
mod latency;
mod page;
mod traffic;
mod training;
mod verdict;

pub(crate) use facts::labelled;
pub(crate) use header::{processor, setting, size};
pub use page::{Footer, View, page, summary};
pub(crate) use verdict::words as verdict_words;
