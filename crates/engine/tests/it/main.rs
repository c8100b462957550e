//! The socket, seen from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod conformance;
mod worker;
