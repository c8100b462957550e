//! Numbers as people read them: three or four significant digits, a fitting unit, one unit to a column.
//!
//! Every function takes SI base units, as the store keeps them. What is not a finite number shows as a dash.

mod column;
mod digits;
mod quantity;
mod tick;
mod time;

pub use column::{bytes_column, durations_column};
pub use digits::{MISSING, fixed, significant};
pub use quantity::{
    bytes, bytes_per_second, count, flops, flops_per_second, joules, percent, plus_minus, rate,
    share_with_interval, value, watts,
};
pub use tick::tick;
pub use time::{TimeUnit, duration, milliseconds, seconds};

pub(crate) use column::Spread;
pub(crate) use digits::decimals_for;
