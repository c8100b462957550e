//! How thick values lie: a bell over each of them.

use crate::quantile;

/// Bells end so many widths away; what is beyond is nothing.
const REACH: f64 = 4.0;

/// The width of bells that shows the shape of these values without their accidents, by Silverman's rule; 0 where all are the
/// same. The values are in the order of their size.
#[must_use]
pub fn bell_width(sorted: &[f64]) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let quartiles = [0.25, 0.75].map(|share| quantile::of_sorted(sorted, share));
    // A far tail makes the deviation large, and the middle would be smeared.
    let spread = variance.sqrt().min((quartiles[1] - quartiles[0]) / 1.34);
    0.9 * spread * count.powf(-0.2)
}

/// How thick values lie around a place, as the sum of a bell over each; the values are in the order of their size.
#[must_use]
pub fn density(sorted: &[f64], width: f64, place: f64) -> f64 {
    let near = sorted.partition_point(|value| *value < place - REACH * width);
    let far = sorted.partition_point(|value| *value <= place + REACH * width);
    sorted[near..far].iter().map(|value| (-((place - value) / width).powi(2) / 2.0).exp()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_thickest_in_their_middle() {
        let mut values: Vec<f64> = (0..101).map(|at| f64::from(at % 11)).collect();
        values.sort_by(f64::total_cmp);
        let width = bell_width(&values);
        // 0.9 × the deviation of 3.16 × 101^(−1/5).
        assert!((width - 1.13).abs() < 0.02, "{width}");
        assert!(density(&values, width, 5.0) > density(&values, width, 0.0));
        assert_eq!(density(&values, width, 100.0), 0.0);
    }

    #[test]
    fn a_far_tail_does_not_widen_the_bells() {
        let mut values: Vec<f64> = (0..100).map(|at| f64::from(at % 10)).collect();
        values.sort_by(f64::total_cmp);
        let before = bell_width(&values);
        values.push(1e6);
        // The deviation grows by four orders of magnitude; the quartiles hardly move.
        assert!((bell_width(&values) / before - 1.0).abs() < 0.4);
        assert_eq!((bell_width(&[]), bell_width(&[2.0, 2.0])), (0.0, 0.0));
    }
}
