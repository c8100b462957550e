//! Where the time of an inference goes, as a picture: the model on top, what is inside below, as wide as its time.

mod draw;
mod panel;
mod svg;
mod words;

pub use draw::{FLAME_SCRIPT, flamegraph, flamegraph_for_page};
