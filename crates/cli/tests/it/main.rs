//! The command as people run it: real processes, real files, real errors.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod advise;
mod bad_input;
mod bench;
mod calibrate;
mod commands;
mod compare;
mod db;
mod engines;
mod fit;
mod inside;
mod machine_limits;
mod memory;
mod plans;
#[path = "../../../store/tests/it/postgresql.rs"]
#[expect(dead_code, reason = "the tests of the store ask more of a server")]
mod postgresql;
mod profile;
mod schema;
mod servers;
mod survey;
mod survival;
mod training;
mod visualize;
