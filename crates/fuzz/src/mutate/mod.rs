//! Ways to damage a file: by its bytes, and by the structure of its format, so that damage gets past the first check.

mod bytes;
mod gguf;
mod image;
mod json;
mod lines;
mod onnx;
mod safetensors;

pub(crate) use bytes::mutate as bytes;
pub(crate) use gguf::mutate as gguf;
pub(crate) use image::{checksum, mutate as image};
pub(crate) use json::{leaves as json_leaves, lines as json_lines, mutate as json};
pub(crate) use lines::mutate as lines;
pub(crate) use onnx::{field as onnx_field, mutate as onnx};
pub(crate) use safetensors::mutate as safetensors;

use crate::Random;

/// No case is longer than this, in bytes: growth by repetition ends here.
const LONGEST: usize = 1 << 20;

/// One of the files to begin with.
fn begin(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    random.pick(seeds).cloned().unwrap_or_default()
}
