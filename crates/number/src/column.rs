//! A column of numbers in one unit, so that the eye can compare them.

use crate::digits::{MISSING, decimals_for, fixed};
use crate::quantity::bytes;
use crate::time::TimeUnit;

/// Decimals beyond which a column stops being readable; a wider spread shows each number in its own unit.
const MOST_DECIMALS: usize = 3;

/// How far apart the numbers of a column lie, and so whether they can share a unit.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The unit of the largest.
    pub unit: TimeUnit,
    /// Decimals of all of them.
    pub decimals: usize,
    /// Whether they can share the unit.
    pub shared: bool,
    /// Decimals that only the smallest value needs.
    pub excess: usize,
}

impl Spread {
    /// The unit of the largest value; decimals for four digits of the largest and `digits` of the smallest,
    /// as far as they go. Where the smallest would keep less than two, no unit is shared.
    pub fn of(seconds: impl Iterator<Item = f64> + Clone, digits: usize) -> Spread {
        let positive = seconds.filter(|value| value.is_finite() && *value > 0.0);
        let largest = positive.clone().fold(0.0, f64::max);
        let smallest = positive.fold(f64::INFINITY, f64::min);
        let unit = TimeUnit::fitting(largest);
        let needed = decimals_for(unit.of(smallest), 2);
        let enough = decimals_for(unit.of(largest), 4).min(MOST_DECIMALS);
        let wanted = decimals_for(unit.of(smallest), digits);
        let decimals = enough.max(wanted).min(MOST_DECIMALS);
        Spread { unit, decimals, shared: needed <= MOST_DECIMALS, excess: decimals - enough }
    }
}

/// Time spans in seconds as one column: one unit for all unless they lie too far apart.
#[must_use]
pub fn durations_column(seconds: &[Option<f64>]) -> Vec<String> {
    let spread = Spread::of(seconds.iter().flatten().copied(), 3);
    let show = |value: f64| {
        let (unit, decimals) = if spread.shared {
            (spread.unit, spread.decimals)
        } else {
            let unit = TimeUnit::fitting(value);
            (unit, decimals_for(unit.of(value), 4))
        };
        if value.is_finite() {
            format!("{} {}", fixed(unit.of(value), decimals), unit.name())
        } else {
            MISSING.into()
        }
    };
    seconds.iter().map(|value| value.map_or_else(|| MISSING.into(), show)).collect()
}

/// Bytes as one column: whole megabytes, unless one of them would show as less than ten.
#[must_use]
pub fn bytes_column(values: &[Option<u64>]) -> Vec<String> {
    const MEGABYTE: u64 = 1_000_000;
    let whole = values.iter().flatten().all(|value| *value == 0 || *value >= 10 * MEGABYTE);
    let show = |value: u64| {
        if whole {
            format!("{} MB", fixed(value as f64 / MEGABYTE as f64, 0))
        } else {
            bytes(value)
        }
    };
    values.iter().map(|value| value.map_or_else(|| MISSING.into(), show)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_shares_one_unit() {
        let column = durations_column(&[Some(0.000_42), Some(0.2451), None]);
        assert_eq!(column, ["0.420 ms", "245.100 ms", "–"]);
        assert_eq!(durations_column(&[Some(0.2451), Some(0.0312)]), ["245.1 ms", "31.2 ms"]);
        assert_eq!(durations_column(&[Some(0.2451), Some(0.00336)]), ["245.10 ms", "3.36 ms"]);
    }

    #[test]
    fn numbers_too_far_apart_keep_their_own_units() {
        assert_eq!(durations_column(&[Some(30.12), Some(12.4e-6)]), ["30.12 s", "12.40 µs"]);
    }

    #[test]
    fn memory_lines_up_in_megabytes() {
        let column = bytes_column(&[Some(285_212_672), Some(1_042_000_000), None]);
        assert_eq!(column, ["285 MB", "1,042 MB", "–"]);
        assert_eq!(bytes_column(&[Some(2_000), Some(285_212_672)]), ["2.00 kB", "285 MB"]);
    }
}
