//! Whether the samples wander over the run: a clock that steps down, a neighbour that wakes up.

use crate::{median, median_interval};

/// A change of the median smaller than this share is not worth a remark, however sure it is.
///
/// Half the 10 % within which warm-up windows must agree: a smaller wander was accepted when sampling began.
pub const MATERIAL_DRIFT: f64 = 0.05;

/// The fewest samples in a third: the floor of the median.
const SMALLEST_THIRD: usize = 11;

/// How the last third of the samples differs from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Median of the first third, in seconds.
    pub first: f64,
    /// Median of the last third, in seconds.
    pub last: f64,
    /// Last ÷ first − 1: above 0 the samples grew slower.
    pub change: f64,
}

/// The drift over the run, if there is one; `None` if the samples hold still or are fewer than 33.
///
/// Two things must hold: the 95 % intervals of the thirds' medians do not touch (noise does that in about one run of two
/// hundred), and the medians differ by at least [`MATERIAL_DRIFT`]. The intervals allow for serial correlation, so a
/// machine that merely flickers is not said to drift.
#[must_use]
pub fn drift(nanos: &[u64]) -> Option<Drift> {
    let third = nanos.len() / 3;
    if third < SMALLEST_THIRD {
        return None;
    }
    let (head, tail) = (&nanos[..third], &nanos[nanos.len() - third..]);
    let (first, last) = (median(head)?, median(tail)?);
    let (before, after) = (median_interval(head)?, median_interval(tail)?);
    let apart = before.high < after.low || after.high < before.low;
    let change = last / first - 1.0;
    (apart && change.abs() >= MATERIAL_DRIFT).then_some(Drift { first, last, change })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;

    fn noisy(count: usize, seed: u64, trend: impl Fn(usize) -> f64) -> Vec<u64> {
        let mut generator = Generator::new(seed);
        (0..count).map(|i| ((1e6 + generator.below(100_000) as f64) * trend(i)) as u64).collect()
    }

    #[test]
    fn a_clock_that_steps_down_is_seen_with_its_size() {
        let found = drift(&noisy(300, 1, |i| if i < 150 { 1.0 } else { 1.3 })).unwrap();
        assert!((found.change - 0.3).abs() < 0.05, "{found:?}");
        assert!(found.last > found.first);
    }

    #[test]
    fn a_slow_ramp_is_seen_in_both_directions() {
        let slower = drift(&noisy(3000, 2, |i| 1.0 + i as f64 / 10_000.0)).unwrap();
        assert!(slower.change > 0.1);
        let faster = drift(&noisy(3000, 2, |i| 1.3 - i as f64 / 10_000.0)).unwrap();
        assert!(faster.change < -0.1);
    }

    #[test]
    fn noise_alone_is_not_drift() {
        let false_alarms = (0..500).filter(|&seed| drift(&noisy(99, seed, |_| 1.0)).is_some());
        assert_eq!(false_alarms.count(), 0);
    }

    #[test]
    fn a_sure_but_tiny_change_is_not_worth_a_remark() {
        assert_eq!(drift(&noisy(30_000, 4, |i| 1.0 + i as f64 / 3e6)), None);
    }

    #[test]
    fn too_few_samples_say_nothing() {
        let steps: Vec<u64> = (0..32).map(|i| if i < 16 { 100 } else { 200 }).collect();
        assert_eq!(drift(&steps), None);
        let steps: Vec<u64> = (0..33).map(|i| if i < 16 { 100 } else { 200 }).collect();
        assert_eq!(drift(&steps).map(|found| found.change), Some(1.0));
        assert_eq!(drift(&[0; 100]), None);
    }
}
