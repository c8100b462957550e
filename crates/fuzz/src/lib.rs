//! Damages every file and message that Modelmeter reads, and says what did not end in an answer.
//!
//! A [`Target`] is a reader, whole files to begin with and a way to damage them. Each case is made of a target, a seed and
//! a number alone, so that it can be made again. Cases run in a child process: a crash, an endless loop or memory without
//! bound is a finding, not the end. Findings are kept as files and read again by the tests (docs/FUZZING.md).

mod allocator;
mod case;
mod child;
mod finding;
mod hunt;
mod mutate;
mod panics;
mod random;
mod target;
mod targets;

pub use allocator::CountingAllocator;
pub use child::{case_bytes, replay_file, serve};
pub use finding::Finding;
pub use hunt::{Hunt, Tally, hunt, replay};
pub use random::Random;
pub use target::{Outcome, TARGETS, Target};
