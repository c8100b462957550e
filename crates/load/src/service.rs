//! How long a service takes, as it was measured: a distribution for every batch size.

use crate::draw::unit;
use stats::Generator;
use std::collections::BTreeMap;

/// Measured times by batch size, in nanoseconds, each list in order of size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceTimes {
    by_batch: BTreeMap<usize, Vec<u64>>,
}

impl ServiceTimes {
    /// Times by batch size; empty lists and the batch of 0 are left out.
    #[must_use]
    pub fn new(times: impl IntoIterator<Item = (usize, Vec<u64>)>) -> ServiceTimes {
        let mut by_batch = BTreeMap::new();
        for (batch, mut nanos) in times {
            if batch > 0 && !nanos.is_empty() {
                nanos.sort_unstable();
                by_batch.insert(batch, nanos);
            }
        }
        ServiceTimes { by_batch }
    }

    /// One time, always.
    #[must_use]
    pub fn constant(nanos: u64) -> ServiceTimes {
        ServiceTimes::new([(1, vec![nanos])])
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_batch.is_empty()
    }

    /// The largest batch that was measured.
    #[must_use]
    pub fn largest_batch(&self) -> usize {
        self.by_batch.keys().next_back().copied().unwrap_or(0)
    }

    /// Every batch that was measured, with its times in order of size.
    pub fn batches(&self) -> impl Iterator<Item = (usize, &[u64])> {
        self.by_batch.iter().map(|(batch, nanos)| (*batch, nanos.as_slice()))
    }

    /// The mean time of a batch in nanoseconds.
    #[must_use]
    pub fn mean(&self, batch: usize) -> f64 {
        let mean =
            |nanos: &[u64]| nanos.iter().map(|x| *x as f64).sum::<f64>() / nanos.len() as f64;
        self.between(batch, mean)
    }

    /// A time of this batch. Between two measured sizes, the same quantile of both is taken and the line between them.
    pub fn draw(&self, batch: usize, generator: &mut Generator) -> u64 {
        let share = unit(generator);
        let at = |nanos: &[u64]| nanos[(share * nanos.len() as f64) as usize] as f64;
        self.between(batch, at).round() as u64
    }

    /// A number of the lists around a batch size. Below the smallest and above the largest the nearest list counts.
    fn between(&self, batch: usize, of: impl Fn(&[u64]) -> f64) -> f64 {
        let below = self.by_batch.range(..=batch).next_back();
        let above = self.by_batch.range(batch..).next();
        match (below, above) {
            (Some((low, small)), Some((high, large))) if low != high => {
                let share = (batch - low) as f64 / (high - low) as f64;
                of(small) + share * (of(large) - of(small))
            }
            (Some((_, list)), _) | (None, Some((_, list))) => of(list),
            (None, None) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_between_two_measured_ones_lies_on_the_line_between_them() {
        let times = ServiceTimes::new([(1, vec![10]), (4, vec![40]), (8, vec![])]);
        assert_eq!(times.largest_batch(), 4);
        assert_eq!(times.mean(2), 20.0);
        assert_eq!(times.draw(3, &mut Generator::new(1)), 30);
        assert_eq!((times.mean(1), times.mean(4), times.mean(9)), (10.0, 40.0, 40.0));
    }

    #[test]
    fn drawn_times_are_those_that_were_measured() {
        let times = ServiceTimes::new([(1, vec![30, 10, 20])]);
        let mut generator = Generator::new(2);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[times.draw(1, &mut generator) as usize / 10 - 1] += 1;
        }
        assert!(seen.iter().all(|count| (900..1100).contains(count)), "{seen:?}");
    }
}
