//! A cell's newest runs as one: numbers with intervals over the runs.

use super::cells::{Kept, Runs};
use stats::pool;
use types::{Bytes, CellKey, Interval, MissingCode, Percentiles, Pooled, PooledCell, Reading};

/// The cell with its newest valid runs pooled, or where it has none with those that are not valid and were asked for; valid
/// and other runs are never mixed. `None` if there is neither.
pub(super) fn pooled(key: CellKey, runs: &Runs) -> Option<PooledCell> {
    let (kept, dropped, invalid) = match runs.kept.as_slice() {
        [] => (&runs.kept_invalid, 0, Some(runs.invalid.clone())),
        _ => (&runs.kept, runs.dropped, None),
    };
    let newest = kept.first()?;
    // An engine of another version or a file of another content would be another measurement under the same name.
    let is_like = |run: &&Kept| {
        run.engine_version == newest.engine_version && run.fingerprint == newest.fingerprint
    };
    let like: Vec<&Kept> = kept.iter().filter(is_like).collect();
    let medians: Vec<_> = like.iter().map(|run| (run.median, run.interval)).collect();
    let began = like.iter().map(|run| run.started_at);
    let worst = |of: fn(&Percentiles) -> Option<f64>| largest(&like, |run| of(&run.percentiles));
    Some(PooledCell {
        engine_version: newest.engine_version.to_string(),
        invalid_runs: runs.invalid.clone(),
        newest_is_valid: invalid.is_none()
            && runs.newest_invalid.as_ref().is_none_or(|(began, _)| *began < newest.started_at),
        invalid,
        fingerprint: newest.fingerprint.to_string(),
        runs: like.iter().map(|run| run.id.clone()).collect(),
        older: dropped + (kept.len() - like.len()) as u64,
        began: (began.clone().min()?, began.max()?),
        samples: like.iter().map(|run| run.samples).sum(),
        fewest_samples: like.iter().map(|run| run.samples).min()?,
        latency: pool(&medians)?,
        slowest: largest(&like, |run| Some(run.median))?,
        percentiles: Percentiles {
            p90: worst(|of| of.p90),
            p95: worst(|of| of.p95),
            p99: worst(|of| of.p99),
            p999: worst(|of| of.p999),
        },
        throughput: throughput(&like),
        memory: memory(&like),
        memory_spread: memory_spread(&like),
        energy: energy(&like),
        efficiency: efficiency(&like),
        key,
    })
}

/// The largest of what the runs know; `None` if one of them does not know it, for it might have been the largest.
fn largest(runs: &[&Kept], of: impl Fn(&Kept) -> Option<f64>) -> Option<f64> {
    let each: Option<Vec<f64>> = runs.iter().map(|run| of(run)).collect();
    each?.into_iter().filter(|value| value.is_finite()).reduce(f64::max)
}

/// Each run's rate with an interval as wide as that of its median: both come from the same times.
fn throughput(runs: &[&Kept]) -> Reading<Pooled> {
    let rate = |run: &&Kept| {
        let rate = run.samples_per_second?;
        let interval = run.interval.map(|Interval { low, high }| Interval {
            low: rate * run.median / high,
            high: rate * run.median / low,
        });
        Some((rate, interval))
    };
    let rates: Vec<_> = runs.iter().filter_map(rate).collect();
    Reading::or_missing(pool(&rates), MissingCode::NotMeasured, "its runs have no throughput")
}

fn memory(runs: &[&Kept]) -> Reading<Bytes> {
    let peak = runs.iter().filter_map(|run| run.memory_peak).max();
    Reading::or_missing(peak, MissingCode::NotMeasured, "the memory of its runs was not measured")
}

/// The largest peak, and how far peaks scatter.
fn memory_spread(runs: &[&Kept]) -> Reading<Pooled> {
    let peaks = runs.iter().filter_map(|run| run.memory_peak);
    let peaks: Vec<_> = peaks.map(|Bytes(peak)| (peak as f64, None)).collect();
    let value = peaks.iter().map(|(peak, _)| *peak).fold(0.0, f64::max);
    let spread = pool(&peaks).map(|found| Pooled {
        value,
        interval: found
            .interval
            .map(|Interval { low, high }| Interval { low, high: high.max(value) }),
    });
    Reading::or_missing(spread, MissingCode::NotMeasured, "the memory of its runs was not measured")
}

fn energy(runs: &[&Kept]) -> Reading<Pooled> {
    let each: Vec<_> = runs.iter().filter_map(|run| Some((run.joules_per_sample?, None))).collect();
    Reading::or_missing(
        pool(&each),
        MissingCode::NotMeasured,
        "the energy of its runs was not measured",
    )
}

fn efficiency(runs: &[&Kept]) -> Reading<f64> {
    let each: Vec<_> = runs.iter().filter_map(|run| Some((run.ceiling_share?, None))).collect();
    let why = "the share of the ceiling is unknown: operations or ceiling were not measured";
    Reading::or_missing(pool(&each).map(|found| found.value), MissingCode::Underivable, why)
}
