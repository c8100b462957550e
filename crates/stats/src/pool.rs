//! One number out of several runs, and the quotient of two such numbers.
//!
//! Everything happens in the logarithms: times and rates scatter by factors, and an interval must not reach below 0.

use crate::student;
use types::{Interval, Pooled};

/// The median of what several runs found, with an interval over the runs; each comes with its own interval, where it has one.
///
/// A single run keeps its own interval, which knows nothing of other processes. Several have Student's over their
/// logarithms, never narrower than their own intervals make the mean, and widened to hold the median. Numbers that have no
/// logarithm are passed over; `None` if nothing is left.
#[must_use]
pub fn pool(runs: &[(f64, Option<Interval>)]) -> Option<Pooled> {
    let usable = |(value, _): &&(f64, Option<Interval>)| *value > 0.0 && value.is_finite();
    let runs: Vec<&(f64, Option<Interval>)> = runs.iter().filter(usable).collect();
    if let [(value, interval)] = runs.as_slice() {
        return Some(Pooled { value: *value, interval: *interval });
    }
    let mut logs: Vec<f64> = runs.iter().map(|(value, _)| value.ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let count = logs.len();
    let middle = median(&logs)?;
    let mean = logs.iter().sum::<f64>() / count as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let degrees = count as f64 - 1.0;
    let between = student::t(degrees) * (squares / degrees / count as f64).sqrt();
    let own = runs.iter().filter_map(|(_, interval)| half_width(interval.as_ref()?));
    let within = own.map(|half| half * half).sum::<f64>().sqrt() / count as f64;
    let half = between.max(within);
    let interval =
        Interval { low: (mean - half).min(middle).exp(), high: (mean + half).max(middle).exp() };
    Some(Pooled { value: middle.exp(), interval: Some(interval) })
}

/// One pooled number ÷ another: the distances from value to end, in the logarithms, are added as squares.
///
/// That is the method of variance estimates recovery (Zou and Donner, 2008), which keeps uneven intervals uneven. No
/// interval where one of them has none.
#[must_use]
pub fn quotient(over: &Pooled, under: &Pooled) -> Pooled {
    let centre = over.value.ln() - under.value.ln();
    let interval = match (over.interval, under.interval) {
        (Some(top), Some(bottom)) => {
            let distance = |value: f64, end: f64| (value.ln() - end.ln()).abs();
            let down = distance(over.value, top.low).hypot(distance(under.value, bottom.high));
            let up = distance(over.value, top.high).hypot(distance(under.value, bottom.low));
            Some(Interval { low: (centre - down).exp(), high: (centre + up).exp() })
        }
        _ => None,
    };
    Pooled { value: centre.exp(), interval }
}

/// The deviation of one run, in the logarithm, that the interval over so many runs tells of; at most that much.
///
/// What [`pool`] made of several runs turned back. `None` for a single run, whose interval knows no other.
#[must_use]
pub fn run_deviation(pooled: &Pooled, runs: u64) -> Option<f64> {
    let half = half_width(pooled.interval.as_ref()?)?;
    (runs > 1).then(|| half * (runs as f64).sqrt() / student::t(runs as f64 - 1.0))
}

fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

/// Half the width of an interval in the logarithm; `None` if an end has none.
fn half_width(interval: &Interval) -> Option<f64> {
    let half = (interval.high / interval.low).ln() / 2.0;
    (half.is_finite() && interval.low > 0.0).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left / right - 1.0).abs() < 1e-9
    }

    fn around(value: f64, factor: f64) -> (f64, Option<Interval>) {
        (value, Some(Interval { low: value / factor, high: value * factor }))
    }

    #[test]
    fn one_run_keeps_its_own_interval() {
        let (value, interval) = around(2.0, 1.1);
        assert_eq!(pool(&[(value, interval)]), Some(Pooled { value, interval }));
        assert_eq!(pool(&[(2.0, None)]), Some(Pooled { value: 2.0, interval: None }));
        assert_eq!(pool(&[]), None);
        assert_eq!(pool(&[(0.0, None), (f64::NAN, None)]), None);
    }

    #[test]
    fn three_runs_give_the_numbers_worked_out_by_hand() {
        // Logarithms 0.1, 0.2, 0.6: median 0.2, mean 0.3, deviation √0.07, error √(0.07 ÷ 3), t(2) = 4.302652729749462.
        let runs = [0.6, 0.1, 0.2].map(|log: f64| (log.exp(), None));
        let found = pool(&runs).unwrap();
        let half = 4.302_652_729_749_462 * (0.07f64 / 3.0).sqrt();
        let interval = found.interval.unwrap();
        assert!(close(found.value, 0.2f64.exp()));
        assert!(close(interval.low, (0.3 - half).exp()));
        assert!(close(interval.high, (0.3 + half).exp()));
    }

    #[test]
    fn the_deviation_of_a_run_comes_back_out_of_the_interval() {
        let runs = [0.6, 0.1, 0.2].map(|log: f64| (log.exp(), None));
        let found = pool(&runs).unwrap();
        assert!(close(run_deviation(&found, 3).unwrap(), 0.07f64.sqrt()));
        assert_eq!(run_deviation(&Pooled { value: 1.0, interval: None }, 3), None);
        assert_eq!(run_deviation(&found, 1), None);
    }

    #[test]
    fn runs_that_agree_by_luck_are_not_surer_than_their_own_intervals() {
        // Each half width is ln 1.1; of four such the mean's is ln 1.1 ÷ 2.
        let found = pool(&[around(5.0, 1.1); 4]).unwrap();
        let interval = found.interval.unwrap();
        assert!(close(interval.high, 5.0 * 1.1f64.sqrt()));
        assert!(close(interval.low, 5.0 / 1.1f64.sqrt()));
    }

    #[test]
    fn the_interval_holds_its_value() {
        // Thirty runs agree and one is far off: the mean's interval alone would miss the median.
        let mut runs = vec![(1.0, None); 30];
        runs.push((1e6, None));
        let found = pool(&runs).unwrap();
        let interval = found.interval.unwrap();
        assert!(interval.low <= found.value && found.value <= interval.high, "{found:?}");
    }

    #[test]
    fn a_quotient_adds_distances_as_squares() {
        let pooled = |value: f64, low: f64, high: f64| Pooled {
            value,
            interval: Some(Interval { low: value * (-low).exp(), high: value * high.exp() }),
        };
        // Down: 0.3 of the upper one and 0.4 of the lower one make 0.5; up: 0.6 and 0.8 make 1.
        let found = quotient(&pooled(8.0, 0.3, 0.6), &pooled(2.0, 0.8, 0.4));
        let interval = found.interval.unwrap();
        assert!(close(found.value, 4.0));
        assert!(close(interval.low, 4.0 * (-0.5f64).exp()));
        assert!(close(interval.high, 4.0 * 1f64.exp()));
        let bare = Pooled { value: 2.0, interval: None };
        assert_eq!(quotient(&pooled(8.0, 0.3, 0.6), &bare).interval, None);
    }
}
