//! Sums over the readings of one run.

use types::Run;

/// The sum of the metrics with these keys, as far as they are known.
#[must_use]
pub fn metric_sum(run: &Run, keys: &[&str]) -> f64 {
    let metrics = || run.metrics.iter().chain(run.probes.iter().flat_map(|probe| &probe.metrics));
    let value = |key: &&str| metrics().find(|metric| metric.key == *key)?.value;
    keys.iter().filter_map(value).sum()
}

/// The share of a run's time that its probes spent on reading; `None` where none read.
#[must_use]
pub fn watching_share(run: &Run) -> Option<f64> {
    let cost: f64 = run.probes.iter().map(|probe| probe.cost.as_secs_f64()).sum();
    let elapsed = run.elapsed.as_secs_f64();
    (!run.probes.is_empty() && elapsed > 0.0).then(|| cost / elapsed)
}
