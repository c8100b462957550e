//! Samples as they come: how many, how they lie, how sure their median is.

use schemars::JsonSchema;
use serde::Serialize;

/// So many are kept; beyond, every second one goes.
const MOST: usize = 8192;

/// So many points of the way to the target are kept.
const POINTS: usize = 240;

/// A point follows another when there are so many times as many samples: each costs a look at all of them, and whoever reads
/// the journal of some hours makes all points at once.
const APART: f64 = 1.02;

/// The samples of a cell so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct SamplesNow {
    /// How many were taken.
    pub taken: u64,
    /// Their median in seconds.
    pub median: Option<f64>,
    /// Half the width of the median's 95 % interval as a share of the median; of very many samples it is estimated from some.
    pub error: Option<f64>,
    /// The share at which sampling may stop.
    pub target: f64,
    /// How the interval closed in: samples taken, and the share then.
    pub closing: Vec<Point>,
    /// The shortest and the longest of those that were told, in nanoseconds.
    #[serde(skip)]
    pub range: Option<(u64, u64)>,
    /// Some of the samples, in nanoseconds, in the order they were taken.
    #[serde(skip)]
    pub nanos: Vec<u64>,
    /// Of how many that came one is kept.
    #[serde(skip)]
    step: usize,
    #[serde(skip)]
    came: usize,
}

/// A point of the way to the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Samples taken.
    pub taken: u64,
    /// Half the width of the median's interval as a share of the median.
    pub error: f64,
}

impl SamplesNow {
    pub(crate) fn add(&mut self, taken: u64, newest: &[u64], target: f64) {
        self.taken = taken;
        self.target = target;
        for nanos in newest {
            let (least, most) = self.range.unwrap_or((*nanos, *nanos));
            self.range = Some((least.min(*nanos), most.max(*nanos)));
            let step = self.step.max(1);
            if self.came.is_multiple_of(step) {
                self.nanos.push(*nanos);
            }
            self.came += 1;
            if self.nanos.len() >= MOST {
                let mut index = 0;
                self.nanos.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.step = step * 2;
            }
        }
        self.median = None;
        let last = self.closing.last().map_or(0, |point| point.taken);
        if self.nanos.len() > 1
            && taken > last
            && taken as f64 >= last as f64 * APART
            && let Some(error) = self.error_now()
        {
            self.closing.push(Point { taken, error });
            if self.closing.len() > POINTS {
                let mut index = 0;
                self.closing.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
            }
        }
    }

    fn error_now(&self) -> Option<f64> {
        // An interval closes in with the root of the number of samples.
        let share = (self.nanos.len() as f64 / self.taken.max(1) as f64).min(1.0).sqrt();
        stats::median_error(&self.nanos).map(|error| error * share)
    }

    /// Works out the numbers of the moment, for whoever is about to look.
    pub(crate) fn settle(&mut self) {
        if self.median.is_some() || self.nanos.is_empty() {
            return;
        }
        self.median = stats::median(&self.nanos);
        self.error = self.error_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_some_are_kept_and_the_median_stays() {
        let mut samples = SamplesNow::default();
        for window in 0..400_u64 {
            let newest: Vec<u64> = (0..100).map(|i| 1_000_000 + (i * 7919) % 1000).collect();
            samples.add((window + 1) * 100, &newest, 0.01);
            samples.settle();
        }
        assert!(samples.nanos.len() < MOST && samples.nanos.len() >= MOST / 2);
        assert!(samples.closing.len() <= POINTS);
        assert_eq!(samples.taken, 40_000);
        let median = samples.median.unwrap();
        assert!((0.001..0.001_001).contains(&median), "{median}");
        assert!(samples.error.unwrap() < 0.001);
        assert_eq!(samples.range, Some((1_000_000, 1_000_981)));
    }

    #[test]
    fn the_interval_closes_in_whether_somebody_looks_or_not() {
        let (mut seen, mut unseen) = (SamplesNow::default(), SamplesNow::default());
        for window in 0..500_u64 {
            let newest: Vec<u64> = (0..50).map(|i| 1_000_000 + (i * 7919) % 100_003).collect();
            for samples in [&mut seen, &mut unseen] {
                samples.add((window + 1) * 50, &newest, 0.01);
            }
            seen.settle();
        }
        assert_eq!(seen.closing, unseen.closing);
        let (first, last) = (unseen.closing[0], unseen.closing[unseen.closing.len() - 1]);
        assert!(unseen.closing.len() > 20 && unseen.closing.len() <= POINTS);
        assert!(last.taken > 24_000 && last.error < first.error / 5.0, "{first:?} {last:?}");
    }
}
