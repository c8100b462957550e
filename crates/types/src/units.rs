//! Numbers that carry their unit in their type. The store keeps SI base units; only the report formats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A count of bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Bytes(pub u64);

/// A number of floating-point operations; a multiply-add counts as two.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Flops(pub u64);

/// An amount of energy in joules.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Joules(pub f64);

/// A time span in seconds, for derived values; raw samples are whole nanoseconds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Seconds(pub f64);

/// A share or a quotient; 1.0 is 100 %.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
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

/// A year: longer than anything that is measured, and short enough to be added and multiplied.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 3600);

impl Seconds {
    /// As a duration, whatever the number is: nothing where it is negative or no number, a year where it is longer than that.
    ///
    /// `Duration::from_secs_f64` panics on all of these.
    #[must_use]
    pub fn duration(self) -> std::time::Duration {
        match std::time::Duration::try_from_secs_f64(self.0) {
            Ok(duration) => duration.min(LONGEST),
            Err(_) if self.0 > 0.0 => LONGEST,
            Err(_) => std::time::Duration::ZERO,
        }
    }
}

impl From<std::time::Duration> for Seconds {
    fn from(duration: std::time::Duration) -> Seconds {
        Seconds(duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_number_of_seconds_is_some_duration() {
        assert_eq!(Seconds(1.5).duration(), Duration::from_millis(1500));
        for none in [-1.0, f64::NAN, f64::NEG_INFINITY, 0.0] {
            assert_eq!(Seconds(none).duration(), Duration::ZERO, "{none}");
        }
        for endless in [f64::INFINITY, f64::MAX, 1e12] {
            assert_eq!(Seconds(endless).duration(), LONGEST, "{endless}");
        }
    }
}
