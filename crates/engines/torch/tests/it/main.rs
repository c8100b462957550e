//! PyTorch as an engine, with the real PyTorch of the test environment.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod archives;
mod automodel;
mod calibrate;
mod compile;
mod conformance;
mod count;
mod detection;
mod factories;
mod files;
mod memory;
mod modules;
mod parts;
mod text;
mod timeline;
mod train;
mod worker;
mod world;
