//! The accounting and the search on a simulated clock: servers whose times are known, and what must come out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod accounting;
mod searching;
mod verdicts;
mod virtual_server;
