//! What a list of samples says, derived in one place.

use crate::{NANOS, bootstrap, interval, outlier, quantile};
use types::Summary;

/// Up to this many samples the intervals are bootstrapped; above, the order statistics and the central limit theorem
/// give the same interval in a fraction of the time.
pub const BOOTSTRAP_LIMIT: usize = 2000;

/// What the samples say, in seconds; `None` if there are none. `seed` steers only the bootstrap.
///
/// Samples are taken in their order: the intervals allow for neighbours that resemble each other. Everything else does
/// not depend on the order. The standard deviation of a single sample is 0.
#[must_use]
pub fn summarise(nanos: &[u64], seed: u64) -> Option<Summary> {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let n = sorted.len();
    let mean = mean_of(&sorted);
    let std = deviation_of(&sorted, mean);
    let doubled_median = u128::from(sorted[(n - 1) / 2]) + u128::from(sorted[n / 2]);
    let median = doubled_median as f64 / 2.0;

    let (ci95_mean, ci95_median) = if n <= BOOTSTRAP_LIMIT {
        let intervals = bootstrap::intervals(nanos, mean, doubled_median, seed);
        (intervals.mean, intervals.median)
    } else {
        let mean_interval = interval::interval_of_mean(nanos, mean, std);
        let mut work = nanos.to_vec();
        (mean_interval, interval::interval_of_order_statistics(nanos, &mut work, doubled_median))
    };

    let values: Vec<f64> = sorted.iter().map(|&x| x as f64).collect();
    let at = |share| quantile::of_sorted(&values, share) / NANOS;
    let mut deviations: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let mad = quantile::of_sorted(&deviations, 0.5);

    Some(Summary {
        count: n as u64,
        mean: mean / NANOS,
        std: std / NANOS,
        min: min as f64 / NANOS,
        max: max as f64 / NANOS,
        median: median / NANOS,
        mad: mad / NANOS,
        p90: at(0.90),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        ci95_mean,
        ci95_median,
        outliers: outlier::count(&deviations, mad),
        unsupported: quantile::unsupported(n as u64),
    })
}

/// The mean, from an exact sum: equal samples have exactly their own value as mean.
fn mean_of(nanos: &[u64]) -> f64 {
    let n = nanos.len() as u128;
    let sum: u128 = nanos.iter().map(|&x| u128::from(x)).sum();
    (sum / n) as f64 + (sum % n) as f64 / n as f64
}

/// The standard deviation (n − 1); the list comes sorted, so that rounding does not depend on the order of the samples.
fn deviation_of(sorted: &[u64], mean: f64) -> f64 {
    if sorted.len() < 2 {
        return 0.0;
    }
    let squares: f64 = sorted.iter().map(|&x| (x as f64 - mean).powi(2)).sum();
    (squares / (sorted.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-12 * right.abs().max(1e-9)
    }

    #[test]
    fn a_small_list_gives_the_numbers_worked_out_by_hand() {
        // 1…9 and 100 ms: sum 145, mean 14.5; squared deviations add up to 8182.5.
        let nanos: Vec<u64> = [3, 1, 2, 5, 4, 6, 9, 8, 7, 100].map(|ms: u64| ms * 1_000_000).into();
        let summary = summarise(&nanos, 1).unwrap();
        assert_eq!(summary.count, 10);
        assert!(close(summary.mean, 0.0145));
        assert!(close(summary.std, (8182.5f64 / 9.0).sqrt() / 1e3));
        assert!(close(summary.median, 0.0055));
        assert!(close(summary.mad, 0.0025));
        assert!(close(summary.min, 0.001) && close(summary.max, 0.1));
        assert!(close(summary.p90, 0.0181)); // place 8.1: 9 + 0.1 × 91
        assert!(close(summary.p95, 0.05905)); // place 8.55: 9 + 0.55 × 91
        assert_eq!(summary.outliers, 1); // only 100 lies beyond 5.5 + 3.5 × 2.5 ÷ 0.6745
        assert_eq!(summary.unsupported.len(), 5);
    }

    #[test]
    fn one_sample_is_its_own_summary() {
        let summary = summarise(&[2_000_000_000], 0).unwrap();
        assert_eq!((summary.mean, summary.std, summary.p999), (2.0, 0.0, 2.0));
        assert_eq!((summary.ci95_mean.low, summary.ci95_mean.high), (2.0, 2.0));
        assert_eq!(summary.outliers, 0);
        assert_eq!(summarise(&[], 0), None);
    }

    #[test]
    fn the_largest_times_do_not_overflow() {
        let summary = summarise(&[u64::MAX; 3], 0).unwrap();
        assert_eq!(summary.mean, u64::MAX as f64 / 1e9);
        assert_eq!(summary.mean, summary.max);
        assert_eq!(summary.std, 0.0);
    }

    #[test]
    fn the_seed_changes_nothing_but_the_bootstrap() {
        let nanos: Vec<u64> = (0..100).map(|i| 1000 + i * i % 37).collect();
        let (one, two) = (summarise(&nanos, 1).unwrap(), summarise(&nanos, 2).unwrap());
        assert_ne!(one.ci95_mean, two.ci95_mean);
        assert_eq!(summarise(&nanos, 1).unwrap(), one);
        let strip = |mut summary: Summary| {
            summary.ci95_mean = one.ci95_mean;
            summary.ci95_median = one.ci95_median;
            summary
        };
        assert_eq!(strip(two), strip(one.clone()));
    }
}
