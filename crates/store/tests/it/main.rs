//! The store from outside: what goes in comes out, whatever happens in between.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work, or the test fails there")]

mod allocations;
mod broken_files;
mod crash;
mod fixture;
mod leases;
mod lists;
mod measured;
mod noise;
mod permissions;
mod place;
mod postgresql;
mod queries;
mod round_trip;
mod sample;
mod servers;
mod spool;
