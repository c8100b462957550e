//! From a name or a path to a graph with weights, inputs and tokenizer.
//!
//! Presets, Hugging Face folders, the hub, TOML descriptions and bare `.onnx` files all end as the same thing: an
//! ONNX file on disk beside its weights, with the recipes of its inputs. Nothing here runs a model.

mod blueprint;

pub use blueprint::{Blueprint, Init, InputKind, Layout, Weight};
