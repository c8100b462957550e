//! The command as people run it: real processes, real files, real errors.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod advise;
mod bad_input;
mod bench;
mod calibrate;
mod commands;
mod compare;
mod engines;
mod inside;
mod machine_limits;
mod memory;
mod profile;
mod schema;
mod survival;
mod training;
