//! Intervals that need no resampling: of the median by order statistics, of the mean by batch means.

use crate::{NANOS, dependence, student};
use types::Interval;

/// Above this count the binomial distribution is taken from its normal approximation, off by less than one rank.
const EXACT_LIMIT: usize = 1000;

/// The median of the samples in seconds; `None` if there are none.
#[must_use]
pub fn median(nanos: &[u64]) -> Option<f64> {
    let mut work = nanos.to_vec();
    (!work.is_empty()).then(|| doubled_median(&mut work) as f64 / 2.0 / NANOS)
}

/// The 95 % interval of the median in seconds; `None` if there are no samples.
///
/// It runs from one order statistic to another, as the binomial distribution says; the ranks lie further apart where
/// neighbouring samples resemble each other. No shape of the distribution is assumed and nothing is resampled: it costs a few passes,
/// so it can be asked after every window. Below 6 samples no order statistics reach 95 % and it is the whole range.
#[must_use]
pub fn median_interval(nanos: &[u64]) -> Option<Interval> {
    let mut work = nanos.to_vec();
    (!work.is_empty()).then(|| {
        let doubled = doubled_median(&mut work);
        interval_of_order_statistics(nanos, &mut work, doubled)
    })
}

/// Half the width of the median's interval as a share of the median: what `--target-error` bounds.
#[must_use]
pub fn median_error(nanos: &[u64]) -> Option<f64> {
    let mut work = nanos.to_vec();
    if work.is_empty() {
        return None;
    }
    let doubled = doubled_median(&mut work);
    let interval = interval_of_order_statistics(nanos, &mut work, doubled);
    interval.relative_half_width(doubled as f64 / 2.0 / NANOS)
}

/// Twice the median, which is whole for any count; `work` is reordered and must not be empty.
pub(crate) fn doubled_median(work: &mut [u64]) -> u128 {
    let middle = work.len() / 2;
    let odd = work.len() % 2 == 1;
    let (below, &mut upper, _) = work.select_nth_unstable(middle);
    let lower = if odd { upper } else { below.iter().copied().max().unwrap_or(upper) };
    u128::from(lower) + u128::from(upper)
}

/// The median's interval; `work` holds the same samples as `nanos`, in any order.
pub(crate) fn interval_of_order_statistics(
    nanos: &[u64],
    work: &mut [u64],
    doubled_median: u128,
) -> Interval {
    let n = nanos.len();
    let reach = (n as f64 + 1.0) / 2.0 - lower_rank(n) as f64;
    let reach = reach * dependence::inflation(nanos, doubled_median).sqrt();
    let rank = (((n as f64 + 1.0) / 2.0 - reach).floor().max(1.0) as usize).min(n);
    let low = *work.select_nth_unstable(rank - 1).1;
    let high = *work.select_nth_unstable(n - rank).1;
    Interval { low: low as f64 / NANOS, high: high as f64 / NANOS }
}

/// The largest rank, from 1, whose order statistic lies above the median with a chance of at most 2.5 %.
fn lower_rank(n: usize) -> usize {
    if n > EXACT_LIMIT {
        let rank = (n as f64 - student::Z * (n as f64).sqrt()) / 2.0;
        return rank.floor() as usize;
    }
    let mut term = 0.5f64.powi(n as i32); // the chance that no sample lies below the median
    let mut chance = term;
    let mut rank = 0;
    while chance <= 0.025 {
        rank += 1;
        term *= (n + 1 - rank) as f64 / rank as f64;
        chance += term;
    }
    rank.max(1)
}

/// The mean's 95 % interval by the central limit theorem, with the standard error taken from √n batches of neighbours
/// where that is larger than the one for independent samples.
pub(crate) fn interval_of_mean(nanos: &[u64], mean: f64, std: f64) -> Interval {
    let n = nanos.len();
    let independent = std / (n as f64).sqrt();
    let length = n.isqrt().max(1);
    let batches = n / length;
    let spread = nanos
        .chunks_exact(length)
        .map(|batch| batch.iter().map(|&x| x as f64 - mean).sum::<f64>() / length as f64)
        .map(|deviation| deviation * deviation)
        .sum::<f64>();
    let batched = (spread / (batches.max(2) - 1) as f64 / batches as f64).sqrt();
    let half = if batched > independent {
        batched * student::t(batches as f64 - 1.0)
    } else {
        independent * student::t(n as f64 - 1.0)
    };
    Interval { low: (mean - half).max(0.0) / NANOS, high: (mean + half) / NANOS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_printed_tables() {
        let ranks: Vec<usize> = [6, 11, 20, 50, 100].map(lower_rank).to_vec();
        assert_eq!(ranks, [1, 2, 6, 18, 40]);
        assert_eq!(lower_rank(5), 1);
        assert_eq!(lower_rank(1), 1);
    }

    #[test]
    fn the_approximation_meets_the_exact_ranks() {
        let exact = lower_rank(EXACT_LIMIT);
        assert_eq!(exact, 469);
        assert_eq!(lower_rank(EXACT_LIMIT + 1), 469);
        assert_eq!(lower_rank(1_000_000), 499_020);
    }

    #[test]
    fn the_median_of_an_even_count_lies_in_the_middle() {
        assert_eq!(median(&[4, 1, 3, 2]), Some(2.5e-9));
        assert_eq!(median(&[3, 1, 2]), Some(2e-9));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX as f64 / 1e9));
    }

    #[test]
    fn eleven_samples_give_the_second_and_the_tenth() {
        let nanos: Vec<u64> = (1..=11).rev().collect();
        assert_eq!(median_interval(&nanos), Some(Interval { low: 2e-9, high: 10e-9 }));
        let error = median_error(&nanos).unwrap();
        assert!((error - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(median_error(&[0, 0]), None);
    }

    #[test]
    fn few_samples_give_their_whole_range() {
        assert_eq!(median_interval(&[5, 1, 3]), Some(Interval { low: 1e-9, high: 5e-9 }));
        assert_eq!(median_interval(&[7]), Some(Interval { low: 7e-9, high: 7e-9 }));
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn a_slow_wave_widens_the_interval() {
        let spread = |i: u64| 1000 + i * 7919 % 100;
        let quiet: Vec<u64> = (0..4000).map(spread).collect();
        let wave: Vec<u64> = (0..4000).map(|i| spread(i) + (i / 500 % 2) * 50).collect();
        assert!(median_error(&wave).unwrap() > 3.0 * median_error(&quiet).unwrap());
    }
}
