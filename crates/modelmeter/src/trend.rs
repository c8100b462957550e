//! Stored runs as histories: what changed, when, and by how much.

use crate::{Error, Survey, survey::again_of};
use analysis::{HistoryRun, TrendQuestion, trend};
use std::collections::{BTreeMap, BTreeSet};
use store::{Store, StoreError};
use types::{
    CellKey, Interval, InvalidRuns, Measured, Phase, Provenance, Run, RunId, Trend, TrendMetric,
};

/// The newest runs of a cell that are read where nobody says how many.
const MOST_RUNS: usize = 2000;

impl Survey {
    /// The histories of the selected cells, each on its own machine.
    ///
    /// # Errors
    /// As [`Survey::analyse`].
    pub fn trend(&self, store: &Store, question: &TrendQuestion) -> Result<Trend, Error> {
        let selection = self.selection(store)?;
        let scope = self.scope(selection.models.clone());
        let (mut rows, mut left_out) = (Vec::new(), 0);
        let mut invalid_reasons = InvalidRuns::default();
        let mut newest_invalid: Option<(i64, RunId)> = None;
        let mut cells: BTreeSet<CellKey> = BTreeSet::new();
        store.newest(&scope, MOST_RUNS, |newest| {
            let Some(key) = newest.runs.first().map(key).filter(|key| selection.takes(key)) else {
                return;
            };
            cells.insert(key);
            left_out += newest.untimed;
            invalid_reasons.merge(&newest.invalid);
            let invalid = newest.runs.iter().filter(|row| !row.valid);
            newest_invalid = invalid
                .map(|row| (row.started_at, row.id.clone()))
                .chain(newest_invalid.take())
                .max();
            rows.extend(newest.runs.into_iter().filter(|row| row.valid || self.include_invalid));
        })?;
        if !self.include_invalid {
            left_out += invalid_reasons.total();
        }
        let mut runs = Vec::with_capacity(rows.len());
        for row in rows {
            let run = match store.run_without_samples(&row.id) {
                Ok(run) => run,
                // Somebody has deleted it meanwhile.
                Err(StoreError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            match history(&row, &run, question.metric) {
                Some(run) => runs.push(run),
                None => left_out += 1,
            }
        }
        let machines = store.machines()?;
        let with_number: BTreeSet<&CellKey> =
            runs.iter().filter(|run| run.valid).map(|run| &run.key).collect();
        let without_valid = cells.iter().filter(|key| !with_number.contains(key)).count() as u64;
        let mut found = trend(runs, question);
        found.without_valid = without_valid;
        found.again = newest_invalid
            .filter(|_| without_valid > 0)
            .map(|(_, id)| again_of(store, &id))
            .transpose()?
            .flatten();
        found.invalid_reasons = invalid_reasons;
        found.machines = machines
            .into_iter()
            .filter(|(key, _)| found.series.iter().any(|series| series.key.machine == *key))
            .collect();
        found.left_out = left_out;
        Ok(found)
    }
}

/// The noise of histories that are long enough to tell it, by their cells.
pub(crate) fn noises(found: &Trend) -> BTreeMap<CellKey, f64> {
    let long = found.series.iter().filter(|series| series.needs == 0);
    long.filter_map(|series| Some((series.key.clone(), series.noise?))).collect()
}

fn key(row: &Measured) -> CellKey {
    CellKey {
        model: row.model.to_string(),
        random_weights: row.random_weights,
        mode: row.mode,
        sequence_length: row.sequence_length,
        imported: row.provenance == Provenance::Imported,
        machine: row.machine.to_string(),
        device: row.device,
        engine: row.engine.to_string(),
        precision: row.precision,
        threads: row.threads,
        variant: row.variant.to_string(),
        batch_size: row.batch_size,
    }
}

/// The run as a history takes it; `None` if it does not have the number.
fn history(row: &Measured, run: &Run, metric: TrendMetric) -> Option<HistoryRun> {
    let (value, interval) = number(row, run, metric)?;
    let revision = run.environment.revision.as_ref();
    let commit = revision.map(|revision| revision.commit.clone());
    Some(HistoryRun {
        key: key(row),
        id: row.id.clone(),
        started_at: row.started_at,
        value,
        interval: interval.filter(|interval| interval.low > 0.0),
        valid: row.valid,
        commit: commit.or_else(|| run.environment.model_commit.clone()),
        branch: revision.and_then(|revision| revision.branch.clone()),
        facts: facts(run),
    })
}

fn number(row: &Measured, run: &Run, metric: TrendMetric) -> Option<(f64, Option<Interval>)> {
    let summary = run.summaries.get(&run.main_phase());
    // A percentile with too few samples behind it is shown elsewhere, and nothing may rest on it.
    let percentile = |name: &str, value: Option<f64>| {
        value.filter(|_| summary.is_none_or(|summary| summary.supports(name)))
    };
    let alone = |value: Option<f64>| value.map(|value| (value, None));
    let cold =
        |path: &str, time: std::time::Duration| run.tells(path).then_some(time.as_secs_f64());
    match metric {
        TrendMetric::Median => Some((row.median?, row.interval)),
        TrendMetric::P90 => alone(percentile("p90", row.percentiles.p90)),
        TrendMetric::P95 => alone(percentile("p95", row.percentiles.p95)),
        TrendMetric::P99 => alone(percentile("p99", row.percentiles.p99)),
        TrendMetric::Mean => summary.map(|found| (found.mean, Some(found.ci95_mean))),
        TrendMetric::Throughput => alone(row.samples_per_second),
        TrendMetric::Memory => alone(row.memory_peak.map(|peak| peak.0 as f64)),
        TrendMetric::Load => alone(cold("cold.load", run.cold.load)),
        TrendMetric::First => alone(cold("cold.first_inference", run.cold.first_inference)),
        TrendMetric::Energy => alone(row.joules_per_sample),
        TrendMetric::TtftMedian => middle(run, Phase::Ttft),
        TrendMetric::TtftP99 => alone(slow_end(run, Phase::Ttft)),
        TrendMetric::ItlMedian => middle(run, Phase::Itl),
        TrendMetric::ItlP99 => alone(slow_end(run, Phase::Itl)),
        TrendMetric::Goodput => alone(
            run.metrics
                .iter()
                .find(|metric| metric.key == "goodput")?
                .value
                .filter(|rate| *rate > 0.0),
        ),
    }
}

/// The median of a time of a load.
fn middle(run: &Run, phase: Phase) -> Option<(f64, Option<Interval>)> {
    let summary = run.summaries.get(&phase)?;
    Some((summary.median, Some(summary.ci95_median)))
}

/// Its 99th percentile, where there are enough requests for one.
fn slow_end(run: &Run, phase: Phase) -> Option<f64> {
    run.summaries.get(&phase).filter(|summary| summary.supports("p99")).map(|summary| summary.p99)
}

/// What may explain a change.
fn facts(run: &Run) -> BTreeMap<String, String> {
    let environment = &run.environment;
    let mut facts = environment.versions.clone();
    facts.insert(run.engine.id.clone(), run.engine.version.clone());
    facts.insert("kernel".into(), environment.kernel.clone());
    facts.insert("os".into(), environment.os.clone());
    let fingerprint: String = run.model.fingerprint.chars().take(8).collect();
    facts.insert("model file".into(), fingerprint);
    facts.extend(environment.governor.clone().map(|governor| ("governor".into(), governor)));
    let drivers = environment.gpus.iter().map(|gpu| gpu.driver.clone());
    facts.extend(drivers.take(1).map(|driver| ("driver".into(), driver)));
    facts.retain(|_, value| !value.is_empty());
    facts
}
