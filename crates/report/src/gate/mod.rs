//! What a gate was asked, found and ruled.

mod document;
mod junit;
mod markdown;
mod noise;
mod page;
mod words;

pub use document::{CHECK_SCHEMA, gate_json};
pub use junit::gate_junit;
pub use markdown::{gate_annotations, gate_markdown};
pub use noise::{NOISE_SCHEMA, noise_document};
pub use page::gate;
