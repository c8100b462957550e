//! What to do about a measurement: rules over facts, each with its evidence, its expected gain and its proof.
//!
//! A [`Rule`] is one file and stands in [`RULES`]; docs/ADVICE.md has a paragraph for each. Facts come from the caller:
//! nothing here measures or asks the machine. A rule without its numbers says so instead of guessing.

mod command;
mod facts;
mod footprint;
mod gpu;
mod judgement;
mod measured;
mod rank;
mod rules;
#[cfg(test)]
pub(crate) mod scene;
mod trial;

pub use command::{again, flags, load_again, measuring, without};
pub use facts::{
    Alternative, CacheChoice, Facts, Fragmentation, Known, MemoryLimit, Missing, Padding,
    StoredWeights,
};
pub use gpu::{Fix, Found, GPU_RULES, GpuRule};
pub use judgement::{Judgement, Rests, Rule};
pub use rank::{Judged, judge_all};
pub use rules::RULES;
pub use trial::{judge_trial, overlap, warmth};
