//! What a list of allocations and frees says: the peak, what was live there, who asked for how much, and whether
//! anything stays behind.

mod leak;
mod ledger;
mod pools;

pub use leak::check_leak;
pub use ledger::{Ledger, read_ledger};
pub use pools::{layer_memory_sum, pool_layer_memory, pool_step_memory, step_memory_sum};
