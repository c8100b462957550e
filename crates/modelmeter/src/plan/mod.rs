//! Plans: many measurements that survive whatever happens to one of them, shared between machines and taken up again.
//!
//! A [`PlanSpec`] says what shall be measured and becomes [`Task`]s, one for each combination that can exist here. A
//! [`PlanRunner`] leases them from the database one process at a time, in random order, and stores what comes out.

mod cells;
mod control;
mod cooling;
mod disturbance;
mod eta;
mod executor;
mod failure;
mod file;
mod host;
mod lease_heartbeat;
mod lease_store;
mod report;
mod runner;
mod shard;
mod spec;
mod task;
mod turn;
mod worker_name;

pub use cells::{Expansion, LeftOut};
pub use control::Control;
pub use failure::{CellFailure, FailureKind};
pub use file::{PlanFile, SkipEntry};
pub use host::{Host, HostOptions, serve_host};
pub use report::{CellReport, CellStanding, Interruption, PlanReport};
pub use runner::{PlanEvent, PlanRunner, Resume};
pub use shard::{Shard, shard_of_environment};
pub use spec::PlanSpec;
pub use task::Task;
