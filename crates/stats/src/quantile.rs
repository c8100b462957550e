//! Quantiles by linear interpolation between order statistics (type 7, the usual default), and the floors below which nobody can claim one.

use types::{PERCENTILE_FLOORS, Unsupported};

/// The quantile `share` (0 to 1) of a sorted, non-empty list.
pub(crate) fn of_sorted<T: Copy + Into<f64>>(sorted: &[T], share: f64) -> f64 {
    let last = sorted.len() - 1;
    let place = last as f64 * share;
    let below = (place as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high): (f64, f64) = (sorted[below].into(), sorted[above].into());
    // Clamped, because the sum may round past the upper neighbour and percentiles must not cross.
    (low + (place - below as f64) * (high - low)).min(high)
}

/// The percentiles that so many samples do not support.
pub(crate) fn unsupported(count: u64) -> Vec<Unsupported> {
    PERCENTILE_FLOORS
        .iter()
        .filter(|floor| count < floor.samples)
        .map(|floor| Unsupported { percentile: floor.name.into(), needs: floor.samples })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(of_sorted(&sorted, 0.0), 1.0);
        assert_eq!(of_sorted(&sorted, 0.5), 2.5);
        assert!((of_sorted(&sorted, 0.9) - 3.7).abs() < 1e-12);
        assert_eq!(of_sorted(&sorted, 1.0), 4.0);
        assert_eq!(of_sorted(&[7.0], 0.999), 7.0);
    }

    /// Whether `count` samples support a percentile when one may lie above it: the chance of seeing at most one
    /// above, were the true share above it larger than claimed, is at most 1 %.
    fn supports(count: u64, percentile: f64) -> bool {
        let (n, below) = (count as f64, percentile / 100.0);
        let none = below.powf(n);
        let one = n * (1.0 - below) * below.powf(n - 1.0);
        none + one <= 0.01
    }

    #[test]
    fn the_floors_follow_from_the_rule_of_one_failure() {
        for floor in PERCENTILE_FLOORS {
            assert!(supports(floor.samples, floor.percentile), "{} is too low", floor.name);
            assert!(!supports(floor.samples - 1, floor.percentile), "{} is too high", floor.name);
        }
        let counts: Vec<u64> = PERCENTILE_FLOORS.iter().map(|floor| floor.samples).collect();
        assert_eq!(counts, [11, 64, 130, 662, 6636]);
    }

    #[test]
    fn a_percentile_is_supported_exactly_from_its_floor_on() {
        for floor in PERCENTILE_FLOORS {
            let names = |count| unsupported(count).into_iter().map(|entry| entry.percentile);
            assert!(names(floor.samples - 1).any(|name| name == floor.name));
            assert!(names(floor.samples).all(|name| name != floor.name));
        }
        assert_eq!(unsupported(65).len(), 3);
        assert_eq!(unsupported(65)[0].needs, 130);
    }
}
