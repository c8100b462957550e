//! What a list of allocations and frees says: the peak, what was live there, who asked for how much, and whether
//! anything stays behind.

mod leak;
mod ledger;

pub use leak::check_leak;
pub use ledger::{Ledger, read_ledger};
