//! From a name or a path to a graph with weights, inputs and tokenizer.
//!
//! Presets, Hugging Face folders, the hub, GGUF files, TOML descriptions and bare `.onnx` files all end as the same thing: an
//! ONNX file on disk beside its weights, with the recipes of its inputs, and where it can be told how PyTorch makes
//! the same model of the same weights. A program of PyTorch's has no graph of ours. Nothing here runs a model.

mod architecture;
mod arrangement;
mod automodel;
mod blueprint;
mod checkpoint;
mod commit;
mod data;
mod data_file;
mod description;
#[cfg_attr(not(feature = "network"), path = "download_absent.rs")]
mod download;
mod encoded;
mod error;
mod export;
mod fingerprint;
mod folder;
mod formula;
mod gguf;
mod given;
mod guess;
mod hub;
mod module;
mod npy;
mod precision;
mod prepare;
mod preprocessor;
mod preset;
mod program;
mod random;
mod recipe;
mod request;
mod resolve;
mod resolved;
mod settlement;
mod shapes;
mod signature;
mod stored;
mod summary;
#[cfg_attr(not(feature = "tokenizers"), path = "tokens_absent.rs")]
mod tokens;
mod unfinished;
mod weights;

pub use architecture::{
    ArchitectureError, EncoderConfig, FeedForwardConfig, PositionalEncoding, build, build_encoder,
    build_feed_forward,
};
pub use blueprint::{Blueprint, DecoderBlueprint, Init, InputKind, Layout, Origin, Weight};
pub use commit::checkout_of;
pub use data::{Data, hash_contents, read_data};
pub use description::build as build_description;
pub use encoded::Encoded;
pub use error::{ModelError, NoValues};
pub use export::{Export, Exported, replace_folder};
pub use guess::Trial;
pub use npy::{convert_values, read_npy};
pub use precision::converted_fingerprint;
pub use prepare::verify_prepared;
pub use preprocessor::Preprocessor;
pub use preset::{PRESETS, Preset};
pub use request::{Progress, Request};
pub use resolve::resolve;
pub use resolved::{Decoder, Resolved};
pub use settlement::{Ask, Guess, Settlement};
pub use summary::{PresetSummary, preset_summaries};
pub use tokens::Tokeniser;
pub use unfinished::{Unfinished, discard_unfinished};
