//! How one thing grows with another along a straight line, where neighbouring readings resemble each other.

use crate::student;
use types::Interval;

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Its height at 0.
    pub at_zero: f64,
    /// What one unit along adds.
    pub slope: f64,
    /// The 95 % interval of the slope.
    pub interval: Interval,
}

/// The line through (x, y) by least squares. The interval of its slope is widened by how much each residual resembles the
/// one before it.
///
/// `None` if there are fewer than eight points, or all are at one place.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 8 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    if spread <= 0.0 || !spread.is_finite() {
        return None;
    }
    let together: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let slope = together / spread;
    let residuals: Vec<f64> =
        points.iter().map(|(x, y)| y - y_mean - slope * (x - x_mean)).collect();
    let rest: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    let next: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let likeness = if rest > 0.0 { (next / rest).clamp(0.0, 0.99) } else { 0.0 };
    let independent = (count * (1.0 - likeness) / (1.0 + likeness)).max(3.0);
    let degrees = independent - 2.0;
    let variance = rest / (count - 2.0) / spread * count / independent;
    let half = student::t(degrees) * variance.sqrt();
    let interval = Interval { low: slope - half, high: slope + half };
    Some(Line { at_zero: y_mean - slope * x_mean, slope, interval })
}

/// The line through a few (x, y) that were each measured on their own, so that no reading resembles the one before it.
///
/// `None` if there are fewer than four points, or all are at one place.
#[must_use]
pub fn few_points_line(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 4 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    if spread <= 0.0 || !spread.is_finite() {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>() / spread;
    let rest: f64 = points.iter().map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2)).sum();
    let half = student::t(count - 2.0) * (rest / (count - 2.0) / spread).sqrt();
    let interval = Interval { low: slope - half, high: slope + half };
    Some(Line { at_zero: y_mean - slope * x_mean, slope, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix;

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<(f64, f64)> =
            (0..20).map(|x| (f64::from(x), 3.0 + 0.5 * f64::from(x))).collect();
        let found = line(&points).unwrap();
        assert!((found.slope - 0.5).abs() < 1e-12 && (found.at_zero - 3.0).abs() < 1e-12);
        assert_eq!(line(&points[..7]), None);
        assert_eq!(line(&[(1.0, 2.0); 9]), None);
    }

    #[test]
    fn a_few_points_of_their_own_have_a_line_whose_interval_covers_the_slope() {
        assert_eq!(few_points_line(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), None);
        assert_eq!(few_points_line(&[(1.0, 2.0); 5]), None);
        let mut random = SplitMix::new(5);
        let covered = (0..1000)
            .filter(|_| {
                // A sum of uniform numbers is normal enough.
                let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                let points: Vec<(f64, f64)> =
                    (0..5).map(|x| (f64::from(x), 4.0 + 2.0 * f64::from(x) + noise())).collect();
                let Interval { low, high } = few_points_line(&points).unwrap().interval;
                low <= 2.0 && 2.0 <= high
            })
            .count();
        assert!((925..=975).contains(&covered), "{covered} of 1000");
    }

    /// Noise that resembles itself: the plain interval would miss the slope four times as often as it may.
    #[test]
    fn the_interval_covers_the_slope_in_noise_that_resembles_itself() {
        let mut random = SplitMix::new(7);
        let mut covered = 0;
        for _ in 0..500 {
            let mut noise = 0.0;
            let points: Vec<(f64, f64)> = (0..256)
                .map(|x| {
                    noise = 0.7 * noise + random.unit() - 0.5;
                    (f64::from(x), 10.0 + 0.01 * f64::from(x) + noise)
                })
                .collect();
            let Interval { low, high } = line(&points).unwrap().interval;
            covered += i32::from(low <= 0.01 && 0.01 <= high);
        }
        assert!(covered >= 455, "{covered} of 500");
    }
}
