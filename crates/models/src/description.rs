//! Custom networks from a TOML file: a transformer encoder or a feed-forward network in a few lines.

use crate::{
    Blueprint, ModelError,
    architecture::{self, EncoderConfig, FeedForwardConfig},
};
use std::path::Path;

const ENCODER_KEYS: &[&str] = &[
    "vocab_size",
    "d_model",
    "num_heads",
    "num_layers",
    "d_ff",
    "dropout",
    "max_seq_length",
    "positional_encoding",
];
const FEED_FORWARD_KEYS: &[&str] = &["input_size", "hidden_layers", "output_size", "dropout"];

/// What a description asks for.
#[derive(Debug, Clone)]
pub(crate) enum Description {
    Encoder(EncoderConfig),
    FeedForward(FeedForwardConfig),
}
