//! Where the time of an inference goes: the layers as a tree, by kind and by operator, and how far they add up.

mod page;
mod pool;

pub(crate) use page::grids;
pub use page::{LayerView, inside};
