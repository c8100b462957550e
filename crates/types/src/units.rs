//! Numbers that carry their unit in their type. The store keeps SI base units; only the report formats.

use serde::{Deserialize, Serialize};

/// A count of bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A count of floating point operations; a multiply-add is two.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Flops(pub u64);

/// An amount of energy in joules.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joules(pub f64);

/// A time span in seconds, for derived values; raw samples are whole nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

/// A share or a quotient; 1.0 is the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(pub f64);

impl Bytes {
    /// The sum, held at the largest value instead of wrapping.
    #[must_use]
    pub fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes(0), Bytes::saturating_add)
    }
}

impl std::iter::Sum for Flops {
    fn sum<I: Iterator<Item = Flops>>(iter: I) -> Flops {
        Flops(iter.fold(0u64, |sum, item| sum.saturating_add(item.0)))
    }
}

impl From<std::time::Duration> for Seconds {
    fn from(duration: std::time::Duration) -> Seconds {
        Seconds(duration.as_secs_f64())
    }
}
