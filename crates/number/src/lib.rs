//! Numbers as people read them: three or four significant digits, a fitting unit, one unit to a column.
//!
//! Every function takes SI base units, as the store keeps them. What is not a finite number shows as a dash. A number that
//! a sentence or a table shows is written here and nowhere else; the crate `report` hands these functions on.

mod column;
mod digits;
mod quantity;
mod tick;
mod time;

pub use column::{Spread, bytes_column, durations_column};
pub use digits::{MISSING, decimals_for, fixed, scientific, significant};
pub use quantity::{
    bytes, bytes_per_second, count, flops, flops_per_second, joules, mebibytes, percent,
    plus_minus, rate, share_with_interval, value, watts,
};
pub use tick::tick;
pub use time::{TimeUnit, duration, milliseconds, seconds};
