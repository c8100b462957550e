//! Graphs built from a configuration: one set of transformer blocks, a table of names for each family.
//!
//! Nothing here reads a file or a weight. What comes out is a [`Blueprint`](crate::Blueprint): the graph, and the
//! weights it asks for under the names a checkpoint may have for them.

mod blocks;
mod clip;
mod config;
mod decoder;
mod description;
mod draft;
mod encoder_decoder;
mod error;
mod families;
mod heads;
mod keys;
mod naming;
mod reference;
mod resnet;
mod sound;
mod text_encoder;
mod vision;
mod yolos;

pub use error::ArchitectureError;
pub use families::build;
pub(crate) use families::build_decoder;
pub use reference::{
    EncoderConfig, FeedForwardConfig, PositionalEncoding, build_encoder, build_feed_forward,
};
