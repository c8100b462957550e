//! How one thing grows with another: the exponent of a power law.

use crate::student;
use types::{Interval, Pooled};

/// The exponent e of y = c · xᵉ by least squares in the logarithms, with Student's interval from three points on.
///
/// `None` if fewer than two different sizes have a logarithm.
#[must_use]
pub fn power_law(points: &[(f64, f64)]) -> Option<Pooled> {
    let usable = |(x, y): &&(f64, f64)| [*x, *y].iter().all(|v| *v > 0.0 && v.is_finite());
    let logs: Vec<(f64, f64)> =
        points.iter().filter(usable).map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let together: f64 = logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let slope = together / spread;
    let rest: f64 = logs.iter().map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2)).sum();
    let interval = (logs.len() > 2).then(|| {
        let degrees = count - 2.0;
        let half = student::t(degrees) * (rest / degrees / spread).sqrt();
        Interval { low: slope - half, high: slope + half }
    });
    Some(Pooled { value: slope, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_found_again() {
        let points = [1.0, 4.0, 16.0, 64.0].map(|x: f64| (x, 3.0 * x.powf(0.8)));
        let found = power_law(&points).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.value - 0.8).abs() < 1e-12);
        assert!((interval.low - 0.8).abs() < 1e-6 && (interval.high - 0.8).abs() < 1e-6);
    }

    #[test]
    fn three_points_give_the_numbers_worked_out_by_hand() {
        // Logarithms (0, 0), (1, 2), (2, 1): slope ½, residues −½, 1, −½, so 1.5 ÷ 1 degree ÷ spread 2; t(1) = 12.7062….
        let e = 1f64.exp();
        let found = power_law(&[(1.0, 1.0), (e, e * e), (e * e, e)]).unwrap();
        let half = 12.706_204_736_174_694 * (1.5f64 / 2.0).sqrt();
        let interval = found.interval.unwrap();
        assert!((found.value - 0.5).abs() < 1e-12);
        assert!((interval.low - (0.5 - half)).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - (0.5 + half)).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn two_points_have_no_interval_and_one_no_exponent() {
        let found = power_law(&[(1.0, 2.0), (2.0, 8.0)]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12 && found.interval.is_none());
        assert_eq!(power_law(&[(2.0, 8.0), (2.0, 9.0)]), None);
        assert_eq!(power_law(&[(0.0, 8.0), (2.0, 9.0)]), None);
        assert_eq!(power_law(&[]), None);
    }
}
