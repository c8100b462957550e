//! A run in the few numbers that comparing many needs; a million of them fit into memory.

use crate::{
    Bytes, Device, Interval, InvalidRuns, Metric, Mode, Precision, Provenance, ReasonCode, Run,
    RunId, Variant, Weights, key,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Percentiles of the latency in seconds; `None` if a percentile is not reported.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Percentiles {
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
}

/// A run in one light row.
///
/// Names that many runs share are counted references, so that a long list holds each of them once; for that it is no
/// document.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its name.
    pub id: RunId,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// The model's name.
    pub model: Arc<str>,
    /// The model's fingerprint: two files may have one name.
    pub fingerprint: Arc<str>,
    /// Whether its weights were drawn.
    pub random_weights: bool,
    /// The machine's key.
    pub machine: Arc<str>,
    /// The host name of the machine; empty if it is unknown.
    pub host: Arc<str>,
    /// Where it ran.
    pub device: Device,
    /// The engine's id.
    pub engine: Arc<str>,
    /// The engine's version.
    pub engine_version: Arc<str>,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    pub batch_size: u64,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<u64>,
    /// Inference or training.
    pub mode: Mode,
    /// Threads the engine could use.
    pub threads: u32,
    /// All other settings of its cell, as [`Variant::canonical`] writes them; empty for the defaults.
    pub variant: Arc<str>,
    /// Whether its numbers are valid.
    pub valid: bool,
    /// The main reason why they cannot; `None` if they can.
    pub reason: Option<ReasonCode>,
    /// Where its numbers come from.
    pub provenance: Provenance,
    /// How many samples its times rest on.
    pub samples: u64,
    /// Median latency in seconds.
    pub median: Option<f64>,
    /// The median's 95 % interval.
    pub interval: Option<Interval>,
    /// Percentiles of the latency.
    pub percentiles: Percentiles,
    /// Throughput.
    pub samples_per_second: Option<f64>,
    /// Peak memory where the model computes: of the worker on a CPU, of a device with its own memory.
    pub memory_peak: Option<Bytes>,
    /// Energy of one sample.
    pub joules_per_sample: Option<f64>,
    /// Operations a second ÷ the machine's ceiling.
    pub ceiling_share: Option<f64>,
    /// Labels given by people.
    pub tags: Vec<String>,
}

/// A cell's newest runs, and how many it has in all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Newest {
    /// The newest valid runs that have a time, and the newest that are not valid; in any order.
    pub runs: Vec<Measured>,
    /// Valid runs with a time.
    pub valid: u64,
    /// Runs that are not valid, by their main reasons.
    pub invalid: InvalidRuns,
    /// Valid runs without a time.
    pub untimed: u64,
}

impl From<&Run> for Measured {
    fn from(run: &Run) -> Measured {
        let run = &*run.with_settled_memory();
        let main = run.main_phase();
        let summary = run.summaries.get(&main);
        let stated = run.stated(main).copied().unwrap_or_default();
        let percentiles = match summary {
            Some(found) => Percentiles {
                p90: Some(found.p90),
                p95: Some(found.p95),
                p99: Some(found.p99),
                p999: Some(found.p999),
            },
            None => {
                Percentiles { p90: stated.p90, p95: stated.p95, p99: stated.p99, p999: stated.p999 }
            }
        };
        let count = summary.map(|found| found.count).or(stated.count).unwrap_or(0);
        let cell = &run.cell;
        Measured {
            id: run.id.clone(),
            started_at: run.started_at,
            model: run.model.name.as_str().into(),
            fingerprint: run.model.fingerprint.as_str().into(),
            random_weights: matches!(run.model.weights, Weights::Random { .. }),
            machine: run.environment.machine.key.as_str().into(),
            host: run.environment.machine.hostname.as_str().into(),
            device: cell.device,
            engine: run.engine.id.as_str().into(),
            engine_version: run.engine.version.as_str().into(),
            precision: cell.precision,
            batch_size: cell.batch_size as u64,
            sequence_length: cell.sequence_length.map(|length| length as u64),
            mode: cell.mode,
            threads: cell.threads,
            variant: Variant::of(run).canonical().into(),
            valid: run.verdict.valid,
            reason: run.verdict.main_reason(),
            provenance: match run.imported {
                Some(_) => Provenance::Imported,
                None => Provenance::Measured,
            },
            samples: count,
            median: summary.map(|found| found.median).or_else(|| stated.typical()),
            interval: summary.map(|found| found.ci95_median),
            percentiles,
            samples_per_second: number(run, key::THROUGHPUT_SAMPLES),
            memory_peak: number(run, key::MEMORY_PEAK).map(|peak| Bytes(peak as u64)),
            joules_per_sample: joules(run, count),
            ceiling_share: number(run, key::CEILING_SHARE),
            tags: run.tags.clone(),
        }
    }
}

/// Energy above idle of the device that computes, for each sample that went through.
fn joules(run: &Run, count: u64) -> Option<f64> {
    let key = match run.cell.device {
        Device::Cpu | Device::Xnnpack | Device::Openvino | Device::Auto => key::CPU_ENERGY,
        _ => key::GPU_ENERGY,
    };
    let samples = count as f64 * run.cell.batch_size as f64;
    number(run, key).filter(|_| samples > 0.0).map(|joules| joules / samples)
}

/// The number under this key, from the run itself or from one of its probes; one that was predicted is none.
fn number(run: &Run, key: &str) -> Option<f64> {
    let probes = run.probes.iter().flat_map(|probe| &probe.metrics);
    let has_key =
        |metric: &&Metric| metric.key == key && metric.provenance != Provenance::Predicted;
    run.metrics.iter().chain(probes).find(has_key)?.value.filter(|value| value.is_finite())
}
