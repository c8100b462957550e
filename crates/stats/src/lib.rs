//! Pure maths over samples: summaries, intervals, outliers, drift, rates, ratios, change points.
//!
//! Nanoseconds come in, seconds go out. Nothing here reads a clock, a file or the system, and the same samples with the
//! same seed always give the same answer. What a number means for a verdict is decided elsewhere.

mod beta;
mod bootstrap;
mod change;
mod density;
mod dependence;
mod discovery;
mod drift;
mod evidence;
mod hierarchy;
mod interval;
mod line;
mod looks;
mod outlier;
mod pool;
mod power_law;
mod quantile;
mod random;
mod rate;
mod ratio;
mod smooth;
mod step;
mod student;
mod summary;
mod window;

pub use change::{Cut, SMALLEST_SERIES, SMALLEST_SIDE, cuts};
pub use density::{bell_width, density};
pub use discovery::false_discovery;
pub use drift::{Drift, MATERIAL_DRIFT, drift};
pub use evidence::Evidence;
pub use interval::{median, median_error, median_interval};
pub use line::{Line, few_points_line, line};
pub use looks::{Looks, PROCESS_SCATTER, SURE};
pub use outlier::MODIFIED_Z_LIMIT;
pub use pool::{pool, quotient, run_deviation};
pub use power_law::power_law;
pub use random::{Generator, SplitMix, mix};
pub use rate::per_second;
pub use ratio::{
    RatioEstimate, expected_rounds, log_ratio, looked_ratio, mean_ratio, paired_ratio,
    unpaired_ratio,
};
pub use step::{Step, noise, step};
pub use summary::{BOOTSTRAP_LIMIT, summarise};
pub use window::{WINDOWS_COMPARED, windows_agree};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;
