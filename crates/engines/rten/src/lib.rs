//! The embedded engine: ONNX on the CPU in pure Rust.
