//! The command as people run it: real processes, real files, real errors.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod advise;
mod bad_input;
mod bench;
mod browser;
mod calibrate;
mod check;
mod commands;
mod compare;
mod db;
mod engines;
mod export;
mod fit;
mod generate;
mod gpu;
mod inputs;
mod inside;
mod load;
mod machine_limits;
mod memory;
mod optimise;
mod parity;
mod plans;
#[path = "../../../store/tests/it/postgresql.rs"]
#[expect(dead_code, reason = "the tests of the store ask more of a server")]
mod postgresql;
mod predict;
mod profile;
mod report;
mod schema;
mod serve;
mod serve_views;
mod servers;
mod sinks;
mod survey;
mod survival;
mod training;
mod trend;
mod visualize;
mod watch;
mod web;
