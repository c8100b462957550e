//! The accounting and the search on a simulated clock: servers whose times are known, and what must come out.

mod accounting;
mod searching;
mod verdicts;
mod virtual_server;
