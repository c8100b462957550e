//! What several runs say together: whether they computed the same, and comparisons with intervals and verdicts.

mod parity;

pub use parity::{Difference, Tolerance, difference, differences};
