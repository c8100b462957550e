//! Plans: many measurements that survive whatever happens to one of them, shared between machines and taken up again.
//!
//! A [`PlanSpec`] says what shall be measured and becomes [`Task`](types::Task)s, one for each combination that can exist here. A
//! [`PlanRunner`] leases them from the database one process at a time, in random order, and stores what comes out.
//!
//! How a cell is measured is not decided here: a [`Measurer`] measures one on this machine, an [`Executor`] anywhere, and an
//! [`EngineOffer`] says what an engine can do.

mod attempt;
mod cells;
mod control;
mod cooling;
mod disturbance;
mod error;
mod eta;
mod executor;
mod file;
mod lease_heartbeat;
mod lease_store;
mod local;
mod machine_kind;
mod offer;
mod report;
mod runner;
mod session;
mod shard;
mod spec;
mod turn;
mod unit;
mod worker_name;

pub use cells::Expansion;
pub use control::Control;
pub use error::{MeasuringError, PlanError, engine_hint};
pub use executor::{Executor, Measured};
pub use file::{PlanFile, SkipEntry};
pub use local::{LocalExecutor, Measurer};
pub use offer::EngineOffer;
pub use report::{CellReport, CellStanding, Interruption, PlanReport};
pub use runner::{PlanRunner, Resume};
pub use shard::{Shard, shard_of_environment};
pub use spec::PlanSpec;
pub use worker_name::{is_dead as is_dead_worker, machine_and_process};
