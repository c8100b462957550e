//! The worker's half of generating: a language model reads a prompt or writes token by token, and every sample is timed here.
//!
//! Engines that keep the cache themselves bring a [`Generator`](crate::Generator); for those that only run graphs, one is
//! made here of a graph that takes the past and gives the present.

mod checked;
mod graph_generator;
mod inside;
mod sampler;
mod serve;
mod writer;

pub(crate) use serve::{open_generator, serve};

/// The setting with which a user chooses the operators of the graph that generates, and its values: what the engine wants, and
/// standard operators.
pub const DECODER: &str = "decoder";
/// See [`DECODER`].
pub const DECODER_STANDARD: &str = "standard";
/// See [`DECODER`].
pub const DECODER_FUSED: &str = "fused";
