//! What runs say: whether they computed the same, comparisons with intervals and verdicts, time joined by layer, and
//! what to do about it; and what many runs say together.
//!
//! Samples come in, statements come out. Nothing here measures, reads a file or formats a table.

pub mod advice;
mod baseline;
mod critical_path;
mod distribution;
mod disturbed;
mod duel;
mod error;
mod fit;
pub mod gate;
mod gpu_layers;
mod inside;
mod interim;
mod layer_group;
mod layer_pool;
mod layer_tree;
mod layers;
mod likeness;
mod memory;
mod outcome;
mod parity;
mod part;
pub mod proof;
mod run_sums;
mod scatter;
mod stored;
mod survey;
mod time_tree;
mod trend;

pub use baseline::Baseline;
pub use critical_path::{RestOfPath, critical_path, longest_links};
pub use distribution::{DIFFERENT_BELOW, Repeated, compare_draws};
pub use disturbed::{disturbed_pairs, too_busy};
pub use duel::compare_duel;
pub use error::CompareError;
pub use fit::{Climb, contenders, is_below, ranked};
pub use gpu_layers::gpu_layers;
pub use inside::{layer_profile, layer_report};
pub use interim::{Contest, InterimRows, interim_rows};
pub use layer_group::{LayerGroup, group_rows};
pub use layer_pool::{LayerPool, LayerSum, fold_small, pool_layers};
pub use layers::join_layers;
pub use memory::{
    Ledger, check_leak, layer_memory_sum, pool_layer_memory, pool_step_memory, read_ledger,
    step_memory_sum,
};
pub use parity::{Difference, Floor, Ruling, Tolerance, difference, differences, rounding_share};
pub use part::part;
pub use run_sums::{metric_sum, watching_share};
pub use stored::{StoredSide, compare_runs, labels};
pub use survey::{
    Cells, LimitError, MOST_RUNS, NEARLY, PricesError, Selection, against, analyse, parse_memory,
    parse_prices, parse_slo, recommend,
};
pub use time_tree::{TimeNode, TimeTree};
pub use trend::{HistoryRun, TrendQuestion, standing, trend};
