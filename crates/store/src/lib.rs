//! Remembers every run: one embedded SQLite file, or a team's PostgreSQL server.
//!
//! The only crate that holds SQL, and one set of it for both. A run goes in whole, in one transaction, and comes out equal;
//! where the database lies is the caller's business, and so is how a list is shown.

mod address;
mod allocations;
mod ceilings;
mod codec;
mod connection;
mod document;
mod edit;
mod error;
mod facts;
mod failure;
mod file;
mod filter;
mod fingerprint;
mod id;
mod insert;
mod link;
mod list;
mod measured;
mod migrate;
mod noise;
mod plan;
mod private;
mod query;
mod read;
mod server;
mod sources;
mod spool;
mod spools;
mod status;
mod store;
#[cfg_attr(not(feature = "network"), path = "tls_absent.rs")]
mod tls;
mod value;

#[cfg(test)]
#[path = "../tests/it/postgresql.rs"]
#[expect(dead_code, reason = "the integration tests ask more of a server")]
mod postgresql;
#[cfg(test)]
#[path = "../tests/it/sample.rs"]
mod sample;

pub use address::{check_location, is_server, shown};
pub use edit::check_tag;
pub use error::StoreError;
pub use filter::Filter;
pub use id::{SHORTEST_ID, new_run_id, short_ids};
pub use list::RunRow;
pub use measured::Scope;
pub use migrate::SCHEMA_VERSION;
pub use plan::{CellState, Lease, LeasedCell, Outcome, PlanCell, PlanProgress, PlannedCell};
pub use private::make_folder as make_private_folder;
pub use query::{Answer, Datum};
pub use spool::{Delivery, Kept, Spool, Undelivered, put};
pub use spools::Spools;
pub use status::{Coverage, Status};
pub use store::{BUSY_TIMEOUT, Store};
