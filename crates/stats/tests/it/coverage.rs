//! How often a 95 % interval holds the truth, on drawn samples whose truth is known.

use modelmeter_stats::{median_interval, summarise};

/// Normal numbers from a plain multiplicative generator, independent of the one under test.
pub(crate) struct Normal(pub(crate) u64);

impl Normal {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn next(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A skewed latency around 1 ms: log-normal, its logarithm a first-order process with this correlation.
fn latencies(count: usize, correlation: f64, normal: &mut Normal) -> Vec<u64> {
    let mut state = normal.next();
    (0..count)
        .map(|_| {
            state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal.next();
            (1e6 * (0.2 * state).exp()) as u64
        })
        .collect()
}

const TRUE_MEDIAN: f64 = 1e-3;

fn share(trials: u32, mut hit: impl FnMut(&mut Normal) -> bool) -> f64 {
    let mut normal = Normal(42);
    let hits = (0..trials).map(|_| u32::from(hit(&mut normal))).sum::<u32>();
    f64::from(hits) / f64::from(trials)
}

fn bootstrap_share(count: usize, correlation: f64) -> f64 {
    share(250, |normal| {
        let interval = summarise(&latencies(count, correlation, normal), 5)
            .expect("there are samples")
            .ci95_median;
        interval.low <= TRUE_MEDIAN && TRUE_MEDIAN <= interval.high
    })
}

fn order_share(count: usize, correlation: f64) -> f64 {
    share(1000, |normal| {
        let interval =
            median_interval(&latencies(count, correlation, normal)).expect("there are samples");
        interval.low <= TRUE_MEDIAN && TRUE_MEDIAN <= interval.high
    })
}

#[test]
fn the_bootstrap_holds_the_true_median_about_as_often_as_it_says() {
    for count in [11, 50, 300] {
        let share = bootstrap_share(count, 0.0);
        assert!((0.91..=0.99).contains(&share), "{count} samples: {share}");
    }
}

#[test]
fn order_statistics_hold_the_true_median_about_as_often_as_they_say() {
    for count in [11, 64, 300, 5000] {
        let share = order_share(count, 0.0);
        assert!((0.92..=0.995).contains(&share), "{count} samples: {share}");
    }
}

#[test]
fn samples_that_resemble_their_neighbours_do_not_fool_the_intervals() {
    // Taken as independent, these intervals would hold the truth less than three times in four.
    let bootstrap = bootstrap_share(500, 0.6);
    assert!(bootstrap >= 0.88, "{bootstrap}");
    for count in [500, 5000] {
        let order = order_share(count, 0.6);
        assert!(order >= 0.88, "{count} samples: {order}");
    }
}

#[test]
fn the_mean_is_held_too() {
    let truth = 1e-3 * (0.2f64 * 0.2 / 2.0).exp();
    for (count, correlation) in [(11, 0.0), (300, 0.0), (5000, 0.0), (500, 0.6), (5000, 0.6)] {
        let share = share(250, |normal| {
            let interval = summarise(&latencies(count, correlation, normal), 5)
                .expect("there are samples")
                .ci95_mean;
            interval.low <= truth && truth <= interval.high
        });
        assert!((0.88..=0.99).contains(&share), "{count} samples at {correlation}: {share}");
    }
}
