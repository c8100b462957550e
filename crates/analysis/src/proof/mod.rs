//! What may be said of a model that was changed: how far its answers moved, and whether it is faster.

mod drift;
mod pool;
mod verdict;

pub use drift::{drift, drifts};
pub use pool::{pool, similarities};
pub use verdict::{Circumstances, Judgement, judge_speed};
