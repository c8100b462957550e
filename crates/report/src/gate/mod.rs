//! The questions, evidence and rulings of a gate.

mod annotations;
mod document;
mod junit;
mod noise;
mod result;
mod words;

pub(crate) use document::CheckDocument;
pub(crate) use noise::NoiseDocument;

pub use annotations::gate_annotations;
pub use document::CHECK_SCHEMA;
pub use junit::gate_junit;
pub use noise::{NOISE_SCHEMA, noise_document};
pub use result::gate_document;
