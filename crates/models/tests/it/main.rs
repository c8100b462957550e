//! Models from files that the tests make for themselves; nothing is downloaded from anywhere but this machine.

mod folders;
mod hub;
mod onnx_files;
mod parity;
mod presets;
mod scene;
mod text;
