//! Where the time of an inference goes: the layers as a tree, by kind and by operator, and how far they add up.

mod layer_tables;

pub use layer_tables::LayerView;
pub(crate) use layer_tables::{blocks, grids};
