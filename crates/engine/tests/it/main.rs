//! The socket, seen from outside.

mod conformance;
mod worker;
