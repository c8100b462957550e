//! Intervals by resampling: a circular moving-block bootstrap, seeded.

use crate::{Generator, NANOS, dependence, quantile, student};
use types::Interval;

/// How often the samples are drawn anew; the ends of the interval then rest on 25 values each.
const RESAMPLES: usize = 1000;

/// The 95 % intervals of mean and median.
pub(crate) struct Intervals {
    pub(crate) mean: Interval,
    pub(crate) median: Interval,
}

/// Draws blocks of neighbours, end joined to beginning so that every sample is drawn equally often, and takes the middle
/// 95 % of what the statistic says.
///
/// The block's length follows from how much neighbours resemble each other; independent samples are drawn one by one.
/// The mean's interval is stretched by √(n ÷ (n − 1)) and Student's factor for n ÷ block degrees, because a plain bootstrap
/// of few samples is too narrow. Either interval is widened to hold its own estimate where the draw missed it.
pub(crate) fn intervals(nanos: &[u64], mean: f64, doubled_median: u128, seed: u64) -> Intervals {
    let n = nanos.len();
    let block = dependence::block_length(nanos, doubled_median);
    let ring: Vec<u64> = nanos.iter().chain(&nanos[..block - 1]).copied().collect();
    let mut generator = Generator::new(seed);
    let mut drawn = Vec::with_capacity(n + block);
    let (mut means, mut medians) = (Vec::with_capacity(RESAMPLES), Vec::with_capacity(RESAMPLES));
    for _ in 0..RESAMPLES {
        drawn.clear();
        while drawn.len() < n {
            let start = generator.below(n);
            drawn.extend_from_slice(&ring[start..start + block]);
        }
        drawn.truncate(n);
        means.push(drawn.iter().map(|&x| x as f64 - mean).sum::<f64>() / n as f64);
        medians.push(crate::interval::doubled_median(&mut drawn) as f64 / 2.0);
    }
    let independent = n as f64 / block as f64;
    let stretch = if independent > 1.0 {
        (independent / (independent - 1.0)).sqrt() * student::t(independent - 1.0) / student::Z
    } else {
        1.0
    };
    let off = middle(&mut means);
    let mean_interval = Interval {
        low: (mean + stretch * off.low.min(0.0)).max(0.0) / NANOS,
        high: (mean + stretch * off.high.max(0.0)) / NANOS,
    };
    let median = doubled_median as f64 / 2.0;
    let around = middle(&mut medians);
    let median_interval =
        Interval { low: around.low.min(median) / NANOS, high: around.high.max(median) / NANOS };
    Intervals { mean: mean_interval, median: median_interval }
}

/// From the 2.5 % to the 97.5 % quantile.
fn middle(values: &mut [f64]) -> Interval {
    values.sort_unstable_by(f64::total_cmp);
    Interval { low: quantile::of_sorted(values, 0.025), high: quantile::of_sorted(values, 0.975) }
}
