//! GGUF files, as llama.cpp writes them: metadata, tensors and their block formats.
//!
//! The metadata becomes the configuration that `transformers` would have, the tensors become its checkpoint, and both
//! go the way of a Hugging Face folder. Nothing of a file is trusted: every length is checked before it is used.

mod blocks;
mod codes;
mod config;
mod cursor;
mod file;
mod names;
mod tokenizer;

pub(crate) use blocks::{BlockFormat, LARGEST_BLOCK};
pub(crate) use codes::{Codes, Groups};
pub(crate) use config::config;
pub(crate) use file::Gguf;
pub(crate) use names::{Found, Rows, names};
pub(crate) use tokenizer::tokenizer;
