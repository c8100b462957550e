//! When every request is wanted: drawn whole before the load starts, from a seed, and kept.

use crate::{
    NANOS,
    draw::{exponential, gamma},
};
use serde::{Deserialize, Serialize};
use stats::Generator;
use types::Arrivals;

/// The seeds of a load: the same seeds give the same load, and one can change without the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// Of the gaps between arrivals.
    pub gaps: u64,
    /// Of the order of contents.
    pub order: u64,
    /// Of the contents.
    pub content: u64,
}

impl Seeds {
    /// Three seeds of one.
    #[must_use]
    pub fn of(seed: u64) -> Seeds {
        let part = |number: u64| stats::mix(seed ^ number.rotate_left(32));
        Seeds { gaps: part(1), order: part(2), content: part(3) }
    }
}

/// The rate and the gaps of arrivals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Requests a second at the start.
    pub rate: f64,
    /// The same at the end; the rate changes evenly.
    pub ramp_to: Option<f64>,
    /// How gaps are drawn.
    pub arrivals: Arrivals,
}

/// When every request is wanted, in nanoseconds from the start, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// One moment a request.
    pub moments: Vec<u64>,
}

impl Schedule {
    /// Arrivals for so many seconds, but never more than `most`.
    #[must_use]
    pub fn draw(pattern: &Pattern, seconds: f64, most: usize, seed: u64) -> Schedule {
        let mut generator = Generator::new(seed);
        let mut gap = || match pattern.arrivals {
            Arrivals::Poisson => exponential(&mut generator),
            Arrivals::Constant => 1.0,
            Arrivals::Gamma { burstiness } => gamma(&mut generator, burstiness.0),
        };
        let mut moments = Vec::new();
        // Gaps are drawn at one request a unit of work, and then stretched over time: so a ramp keeps their distribution.
        let mut work = 0.0;
        while moments.len() < most {
            work += gap();
            match pattern.time_of(work, seconds) {
                Some(time) if time < seconds => moments.push((time * NANOS) as u64),
                _ => break,
            }
        }
        Schedule { moments }
    }

    /// Everything at once.
    #[must_use]
    pub fn at_once(requests: usize) -> Schedule {
        Schedule { moments: vec![0; requests] }
    }

    /// The moments of a file, in seconds; they are put in order and begin at 0.
    #[must_use]
    pub fn of_trace(seconds: &[f64], most: usize) -> Schedule {
        let mut sorted: Vec<f64> =
            seconds.iter().copied().filter(|time| time.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let first = sorted.first().copied().unwrap_or(0.0);
        let moments = sorted.iter().take(most).map(|time| ((time - first) * NANOS) as u64);
        Schedule { moments: moments.collect() }
    }
}

impl Pattern {
    /// When so many requests are expected; `None` if the rate falls to 0 before.
    fn time_of(&self, work: f64, seconds: f64) -> Option<f64> {
        let slope = self.ramp_to.map_or(0.0, |to| (to - self.rate) / seconds);
        if slope == 0.0 {
            return Some(work / self.rate);
        }
        // rate · t + slope · t² ÷ 2 = work
        let root = self.rate * self.rate + 2.0 * slope * work;
        (root >= 0.0).then(|| 2.0 * work / (self.rate + root.sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Rate;

    fn pattern(rate: f64, arrivals: Arrivals) -> Pattern {
        Pattern { rate, ramp_to: None, arrivals }
    }

    /// The largest distance of the gaps from the exponential distribution (Kolmogorov and Smirnov), times √n.
    fn distance(schedule: &Schedule, rate: f64) -> f64 {
        let times = std::iter::once(0).chain(schedule.moments.iter().copied());
        let mut gaps: Vec<f64> = times
            .zip(&schedule.moments)
            .map(|(before, after)| (after - before) as f64 / NANOS)
            .collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let worst = gaps.iter().enumerate().map(|(at, gap)| {
            let below = 1.0 - (-gap * rate).exp();
            (below - at as f64 / n).abs().max(((at + 1) as f64 / n - below).abs())
        });
        worst.fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn gaps_of_poisson_pass_the_test_of_kolmogorov_and_smirnov_for_97_of_100_seeds() {
        // 1.628 is the 1 % point of the distribution of the distance for many samples.
        let passed = (0..100)
            .filter(|seed| {
                let drawn = Schedule::draw(&pattern(50.0, Arrivals::Poisson), 40.0, 10_000, *seed);
                distance(&drawn, 50.0) < 1.628
            })
            .count();
        assert!(passed >= 97, "{passed}");
        let constant = Schedule::draw(&pattern(50.0, Arrivals::Constant), 40.0, 10_000, 1);
        assert!(distance(&constant, 50.0) > 1.628, "the test can fail");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        let of = |seed| Schedule::draw(&pattern(100.0, Arrivals::Poisson), 10.0, 10_000, seed);
        assert_eq!(of(5), of(5));
        assert_ne!(of(5), of(6));
        let seeds = Seeds::of(5);
        assert!(seeds.gaps != seeds.order && seeds.order != seeds.content);
    }

    #[test]
    fn a_constant_rate_has_one_gap_and_ends_with_the_time_or_the_count() {
        let of = |most| Schedule::draw(&pattern(10.0, Arrivals::Constant), 1.05, most, 1);
        assert_eq!(of(100).moments.len(), 10);
        assert_eq!(of(100).moments[..2], [100_000_000, 200_000_000]);
        assert_eq!(of(3).moments.len(), 3);
    }

    #[test]
    fn a_ramp_offers_the_mean_of_its_ends() {
        let ramp = Pattern { ramp_to: Some(30.0), ..pattern(10.0, Arrivals::Constant) };
        let drawn = Schedule::draw(&ramp, 10.0, 10_000, 1);
        assert!((199..=200).contains(&drawn.moments.len()), "{}", drawn.moments.len());
        // In the first half the rate is 10 to 20 a second, in the second 20 to 30.
        let early = drawn.moments.iter().filter(|time| **time < 5_000_000_000).count();
        assert!((74..=75).contains(&early), "{early}");
        let down = Pattern { rate: 20.0, ramp_to: Some(0.0), ..ramp };
        let count = Schedule::draw(&down, 10.0, 10_000, 1).moments.len();
        assert!((99..=100).contains(&count), "{count}");
    }

    #[test]
    fn bursts_have_more_short_gaps_than_poisson() {
        let rate = 100.0;
        let short = |arrivals| {
            let drawn = Schedule::draw(&pattern(rate, arrivals), 100.0, 20_000, 2);
            drawn.moments.windows(2).filter(|pair| pair[1] - pair[0] < 1_000_000).count()
        };
        let bursts = short(Arrivals::Gamma { burstiness: Rate(0.25) });
        let even = short(Arrivals::Gamma { burstiness: Rate(16.0) });
        let poisson = short(Arrivals::Poisson);
        assert!(bursts > 2 * poisson && poisson > 10 * even.max(1), "{bursts} {poisson} {even}");
    }

    #[test]
    fn a_trace_begins_at_zero_and_is_put_in_order() {
        let trace = Schedule::of_trace(&[12.5, 10.0, f64::NAN, 11.0], 10);
        assert_eq!(trace.moments, [0, 1_000_000_000, 2_500_000_000]);
        assert_eq!(Schedule::at_once(3).moments, [0, 0, 0]);
    }
}
