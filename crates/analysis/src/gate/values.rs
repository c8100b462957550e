//! The number of a run that a gate looks at, and how two turns of a duel differ in it.

use super::worse;
use crate::disturbed::undisturbed;
use stats::log_ratio;
use types::{Gauge, ReasonCode, Run, Side, Statistic, Turn};

/// Why a run has no value of a gauge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// It has too few samples to claim the percentile.
    #[error("{0}")]
    TooFewSamples(String),
    /// It did not measure it.
    #[error("{0}")]
    NotMeasured(String),
}

/// The value of a run in the gauge's own unit, or why there is none.
///
/// # Errors
/// Where the run did not measure it, or has too few samples to claim the percentile.
pub fn value_of(run: &Run, gauge: Gauge) -> Result<f64, NoValue> {
    let missing = || NoValue::NotMeasured(format!("`{gauge}` was not measured"));
    let metric = |key: &str| match run.metric(key) {
        Some(metric) => metric.value.ok_or_else(|| match &metric.why {
            Some(why) => NoValue::NotMeasured(format!("`{gauge}`: {why}")),
            None => missing(),
        }),
        None => Err(missing()),
    };
    let value = match gauge {
        Gauge::Latency(statistic) => {
            let summary = run.summaries.get(&run.main_phase()).ok_or_else(missing)?;
            let short = gauge
                .percentile()
                .and_then(|name| summary.unsupported.iter().find(|entry| entry.percentile == name));
            if let Some(short) = short {
                return Err(NoValue::TooFewSamples(format!(
                    "{} needs {} samples per process, and one has {}",
                    short.percentile, short.needs, summary.count
                )));
            }
            match statistic {
                Statistic::Mean => summary.mean,
                Statistic::P50 => summary.median,
                Statistic::P90 => summary.p90,
                Statistic::P95 => summary.p95,
                Statistic::P99 => summary.p99,
                Statistic::P999 => summary.p999,
            }
        }
        Gauge::Throughput => metric("throughput.samples")?,
        Gauge::Tokens => metric("throughput.tokens")?,
        Gauge::MemoryPeak => metric(types::key::MEMORY_PEAK)?,
        Gauge::Load => run.cold.load.as_secs_f64(),
        Gauge::First => run.cold.first_inference.as_secs_f64(),
    };
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(missing()) }
}

/// How much worse the second side is in each round, as logarithms above 0 where it is worse.
///
/// The median and the throughput are paired turn by turn, because neighbours in time share the machine's mood;
/// everything else has one value a process. A round in which one side has no value is left out, and so is a time of a
/// process that something else disturbed.
#[must_use]
pub fn paired_changes(
    gauge: Gauge,
    (base, side): (&Side, &Side),
    (base_runs, side_runs): (&[Run], &[Run]),
) -> Vec<f64> {
    match gauge {
        Gauge::Latency(Statistic::P50) | Gauge::Throughput | Gauge::Tokens => {
            round_changes(&base.rounds, &side.rounds)
        }
        _ => {
            let rounds = base_runs.iter().zip(side_runs);
            let of_time = gauge != Gauge::MemoryPeak;
            let change = |(base, side): (&Run, &Run)| {
                if of_time && [base, side].into_iter().any(is_disturbed) {
                    return None;
                }
                let (base, side) = (value_of(base, gauge).ok()?, value_of(side, gauge).ok()?);
                Some(worse(gauge, (side / base).ln()))
            };
            rounds.filter_map(change).collect()
        }
    }
}

fn is_disturbed(run: &Run) -> bool {
    run.verdict.main_reason().is_some_and(ReasonCode::is_disturbance)
}

/// How much slower the second one was in each round, as logarithms; a round without a pair of turns is left out.
#[must_use]
pub fn round_changes(base: &[Vec<Turn>], side: &[Vec<Turn>]) -> Vec<f64> {
    let rounds = base.iter().zip(side);
    rounds.filter_map(|(base, side)| round_change(base, side)).collect()
}

/// The middle of what the sweeps of a round say: one that something else ran into does not move it.
///
/// A forward and a backward sweep are taken together, so that drift cancels between them.
fn round_change(base: &[Turn], side: &[Turn]) -> Option<f64> {
    let sweeps = undisturbed(base, side);
    let changes: Vec<f64> =
        sweeps.filter_map(|(base, side)| Some(-log_ratio(&base.samples, &side.samples)?)).collect();
    let mut blocks: Vec<f64> =
        changes.chunks(2).map(|block| block.iter().sum::<f64>() / block.len() as f64).collect();
    blocks.sort_by(f64::total_cmp);
    let (low, high) =
        (blocks.get(blocks.len().checked_sub(1)? / 2)?, blocks.get(blocks.len() / 2)?);
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(nanos: &[u64]) -> Vec<Turn> {
        nanos.iter().map(|&nanos| Turn::quiet(vec![nanos; 3])).collect()
    }

    #[test]
    fn a_sweep_that_something_ran_into_does_not_move_the_round() {
        let base = turns(&[100; 8]);
        let side = turns(&[105, 105, 105, 900, 105, 105, 105, 105]);
        let change = round_change(&base, &side).unwrap();
        assert!((change - 1.05f64.ln()).abs() < 1e-12, "{change}");
    }

    #[test]
    fn drift_cancels_between_forward_and_backward() {
        // A B, B A, …: the machine becomes slower all the time.
        let base = turns(&[100, 103, 104, 107]);
        let side = turns(&[101, 102, 105, 106]);
        let change = round_change(&base, &side).unwrap();
        assert!(change.abs() < 2e-4, "{change}");
        assert_eq!(round_change(&[], &side), None);
    }
}
