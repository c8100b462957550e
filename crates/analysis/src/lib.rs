//! What several runs say together: whether they computed the same, comparisons with intervals and verdicts, and time
//! joined by layer.
//!
//! Samples come in, statements come out. Nothing here measures, reads a file or formats a table.

mod baseline;
mod duel;
mod error;
mod inside;
mod layer_tree;
mod layers;
mod likeness;
mod module_path;
mod outcome;
mod parity;
mod stored;

pub use duel::compare_duel;
pub use error::CompareError;
pub use inside::{layer_profile, layer_report};
pub use layers::join_layers;
pub use parity::{Difference, Tolerance, difference, differences};
pub use stored::{StoredSide, compare_runs, labels};
