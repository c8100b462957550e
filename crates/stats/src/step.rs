//! How large a step between two stretches of a history is, and the noise it stands in.

use crate::{Generator, quantile, student};
use types::Interval;

/// Resamples behind an interval; its ends then rest on 25 values each.
const RESAMPLES: usize = 999;

/// More resemblance than that leaves no noise to hold a change against.
const MOST_ALIKE: f64 = 0.95;

/// So many standard errors are added to the resemblance that is seen: too little of it would make changes out of noise.
const BOUND: f64 = 1.0;

/// The standard deviation of normal numbers ÷ their median distance from the middle.
const DEVIATION: f64 = 1.4826;

/// A step between two stretches of a series of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// After ÷ before.
    pub ratio: f64,
    /// Its 95 % interval by resampling.
    pub interval: Interval,
}

/// The step from one stretch of logarithms to the next; `None` if either has fewer than two numbers.
#[must_use]
pub fn step(before: &[f64], after: &[f64], seed: u64) -> Option<Step> {
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let centre = shift(before, after);
    let alike = resemblance(&[before, after]);
    // A mean over a first-order process scatters as that of fewer numbers does.
    let fewer = (1.0 - alike) / (1.0 + alike);
    let degrees = ((before.len() + after.len()) as f64 * fewer - 2.0).max(1.0);
    let lost = |stretch: &[f64]| (stretch.len() as f64 / (stretch.len() - 1) as f64).sqrt();
    let wider = lost(before).max(lost(after)) / fewer.sqrt() * student::t(degrees) / student::Z;
    let mut generator = Generator::new(seed);
    let mut draw = |from: &[f64]| -> Vec<f64> {
        (0..from.len()).map(|_| from[generator.below(from.len())]).collect()
    };
    let mut drawn: Vec<f64> =
        (0..RESAMPLES).map(|_| shift(&draw(before), &draw(after)) - centre).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let end = |share| centre + wider * quantile::of_sorted(&drawn, share);
    let interval =
        Interval { low: end(0.025).min(centre).exp(), high: end(0.975).max(centre).exp() };
    Some(Step { ratio: centre.exp(), interval })
}

/// The noise of a series of logarithms around the levels of its stretches, as a standard deviation that outliers do not
/// sway; `None` if too few numbers are left to tell it from.
#[must_use]
pub fn noise(stretches: &[&[f64]]) -> Option<f64> {
    let mut off: Vec<f64> = around_levels(stretches).into_iter().map(f64::abs).collect();
    let free = off.len().saturating_sub(stretches.len());
    if free < 3 {
        return None;
    }
    off.sort_unstable_by(f64::total_cmp);
    let lost = (off.len() as f64 / free as f64).sqrt();
    Some(DEVIATION * quantile::of_sorted(&off, 0.5) * lost)
}

/// The median of all differences between the two (Hodges and Lehmann, 1963).
fn shift(before: &[f64], after: &[f64]) -> f64 {
    let mut differences: Vec<f64> =
        after.iter().flat_map(|late| before.iter().map(move |early| late - early)).collect();
    let middle = differences.len() / 2;
    *differences.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The correlation of neighbours within stretches, each around its own level; never below 0.
///
/// Numbers far out count as three deviations, so that one outlier does not hide it. Levels that were fitted hide some of it as
/// well: that is added again (Kendall, 1954), and [`BOUND`] standard errors with it.
pub(crate) fn resemblance(stretches: &[&[f64]]) -> f64 {
    let mut off = around_levels(stretches);
    let most = 3.0 * noise(stretches).unwrap_or(f64::INFINITY);
    off.iter_mut().for_each(|off| *off = off.clamp(-most, most));
    let square: f64 = off.iter().map(|off| off * off).sum();
    let (mut product, mut pairs, mut rest) = (0.0, 0.0, off.as_slice());
    for stretch in stretches {
        let (own, others) = rest.split_at(stretch.len());
        product += own.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        pairs += own.len().saturating_sub(1) as f64;
        rest = others;
    }
    if square <= 0.0 || pairs < 1.0 {
        return 0.0;
    }
    let count = off.len() as f64;
    let seen = (product / pairs) / (square / count);
    let hidden = stretches.len() as f64 * (1.0 + 3.0 * seen.max(0.0)) / count;
    let error = BOUND * (1.0 - seen * seen).max(0.0).sqrt() / count.sqrt();
    (seen + hidden + error).clamp(0.0, MOST_ALIKE)
}

/// Every number less the median of its stretch.
fn around_levels(stretches: &[&[f64]]) -> Vec<f64> {
    let around = |stretch: &&[f64]| {
        let middle = median(stretch);
        stretch.iter().map(|value| value - middle).collect::<Vec<f64>>()
    };
    stretches.iter().flat_map(around).collect()
}

/// The median; 0 where there is nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.is_empty() { 0.0 } else { quantile::of_sorted(&sorted, 0.5) }
}
