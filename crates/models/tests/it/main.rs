//! Models from files that the tests make for themselves; nothing is downloaded from anywhere but this machine.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

// The name that every other crate uses for this one.
extern crate modelmeter_models as models;

mod folders;
mod gguf;
mod hostile;
mod hub;
mod onnx_files;
mod parity;
mod precision;
mod presets;
mod programs;
mod pruned;
mod replaced;
mod scene;
mod text;
mod training;
