//! One run on one screen: readable without colour, pasteable into a chat.

mod facts;
mod grid;
mod header;
mod imported;
mod latency;
mod page;
mod training;
mod verdict;

pub(crate) use header::{processor, setting};
pub use page::{Footer, View, page, summary};
