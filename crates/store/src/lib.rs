//! Remembers every run: one embedded SQLite file with migrations.
//!
//! The only room that holds SQL. A run goes in whole, in one transaction, and comes out equal; where the file lies is
//! the caller's business, and so is how a list is shown.

mod allocations;
mod ceilings;
mod codec;
mod document;
mod edit;
mod error;
mod facts;
mod filter;
mod id;
mod insert;
mod list;
mod migrate;
mod read;
mod status;
mod store;

#[cfg(test)]
#[path = "../tests/it/sample.rs"]
mod sample;

pub use edit::check_tag;
pub use error::StoreError;
pub use filter::Filter;
pub use id::{SHORTEST_ID, new_run_id, short_ids};
pub use list::RunRow;
pub use migrate::SCHEMA_VERSION;
pub use status::Status;
pub use store::{BUSY_TIMEOUT, Store};
