//! A plan in, events out: isolate, warm up, sample, stop, judge.
//!
//! The meter starts one fresh worker for each cell, asks it to load and run, watches it from outside and decides
//! when it is enough. It names no engine, opens no model and stores nothing: what it needs comes as a [`Job`], what it
//! finds leaves as [`types::Event`]s.

mod counting;
mod derive;
mod disturbance;
mod duel;
mod error;
mod exit_report;
mod family;
mod generation;
mod hold;
mod job;
mod judge;
mod launch;
mod layers;
mod link;
mod look;
mod measure;
mod memory;
mod place;
#[cfg(test)]
#[path = "../testing/plain_job.rs"]
mod plain_job;
mod pooled;
mod reading;
mod recorder;
mod rehearsal;
mod sampling;
mod serving;
mod tracker;

pub use counting::Counting;
pub use duel::{Bout, Contender, DuelRule, Gate, Record, SoFar, Watch, duel};
pub use error::MeterError;
pub use hold::Limit;
pub use job::{Bench, Job, Refine};
pub use judge::{Evidence, is_above_ceiling, judge};
pub use launch::{Launch, ServeThread};
pub use layers::{LayerPass, layer_pass, timeline};
pub use link::Link;
pub use look::{Depth, can_load, outputs_of, repeated_outputs_of, try_once};
pub use measure::{describe, measure, observe_shapes};
pub use memory::{MemoryPass, memory_pass};
pub use reading::{make_media, measure_text, unpickle};
pub use rehearsal::{Rehearsal, rehearse};
pub use serving::{Serving, serve_requests};
pub use tracker::Tracker;
