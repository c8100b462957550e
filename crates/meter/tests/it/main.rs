//! The meter against real worker processes that behave and misbehave by script.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bench;
mod confinement;
mod duel;
mod failures;
mod limits;
mod measuring;
mod memory;
mod serving;
mod verdicts;
