//! A run as the document `modelmeter.run/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.run-1.schema.json` says the same to programs. Keys may be added within version 1;
//! none changes its meaning or leaves. Missing is `null`, and a `why` beside it says why.

mod critical_path;
mod groups;
mod imported;
mod inputs;
mod latency;
mod layers;
mod memory;
mod probes;
mod run;
mod training;
mod values;

pub(crate) use layers::Layers;
pub(crate) use memory::MemoryProfile;
pub use run::{RUN_SCHEMA, RunDocument};
pub(crate) use values::{
    Ends, FirstAndLast, MaybeMilliseconds, Milliseconds, PeakMemory, WeightsKind, finite,
};
pub use values::{Timestamp, to_json};
