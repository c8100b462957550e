//! A cell with its runs pooled, as documents hold it.

use crate::document::{Ends, FirstAndLast, WeightsKind, finite};
use crate::variant::variant;
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use types::{Bytes, CellKey, Device, InvalidRuns, Mode, Pooled, PooledCell, Precision, RunId};

/// The settings for the runs of a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellKey")]
pub(crate) struct KeyDocument<'a> {
    /// The model's name.
    model: &'a str,
    weights: WeightsKind,
    provenance: CellProvenance,
    /// The machine's key.
    machine: &'a str,
    device: Device,
    /// The engine's id.
    engine: &'a str,
    precision: Precision,
    /// Samples in one inference.
    batch_size: u64,
    /// Tokens in each sample; null for models without a length.
    sequence_length: Option<u64>,
    mode: Mode,
    threads: u32,
    /// All other settings that define the cell, as text.
    variant: String,
}

/// Which tool measured.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CellProvenance {
    /// This program.
    Measured,
    /// Another tool.
    Imported,
}

impl<'a> From<&'a CellKey> for KeyDocument<'a> {
    fn from(key: &'a CellKey) -> KeyDocument<'a> {
        KeyDocument {
            model: &key.model,
            weights: WeightsKind::of(key.random_weights),
            provenance: match key.imported {
                true => CellProvenance::Imported,
                false => CellProvenance::Measured,
            },
            machine: &key.machine,
            device: key.device,
            engine: &key.engine,
            precision: key.precision,
            batch_size: key.batch_size,
            sequence_length: key.sequence_length,
            mode: key.mode,
            threads: key.threads,
            variant: variant(&key.variant),
        }
    }
}

/// A cell with its newest valid runs pooled.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cell")]
pub(crate) struct CellDocument<'a> {
    #[serde(flatten)]
    key: KeyDocument<'a>,
    engine_version: &'a str,
    /// Ids of the pooled runs.
    runs: &'a [RunId],
    /// `false` if the cell has no valid run and `--include-invalid` was given.
    valid: bool,
    /// Why it is not, by reason.
    not_valid: Option<&'a InvalidRuns>,
    /// How many valid runs were not pooled.
    older_runs: u64,
    /// When the first and the last of the pooled runs began.
    started_at: FirstAndLast,
    /// Samples of all pooled runs.
    samples: u64,
    latency: LatencyDocument,
    throughput: ThroughputDocument<'a>,
    memory: MemoryDocument<'a>,
    energy: EnergyDocument<'a>,
    /// Operations a second ÷ the machine's ceiling.
    ceiling_share: Option<f64>,
}

/// The latency of the pooled runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellLatency")]
struct LatencyDocument {
    median: Option<f64>,
    ci95: Option<Ends>,
    /// The worst of the pooled runs, like the percentiles below.
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    #[serde(rename = "p99.9")]
    p999: Option<f64>,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

/// The throughput of the pooled runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellThroughput")]
struct ThroughputDocument<'a> {
    samples_per_second: Option<f64>,
    ci95: Option<Ends>,
    /// Why there is none.
    why: Option<&'a str>,
}

/// The largest memory of the pooled runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellMemory")]
struct MemoryDocument<'a> {
    peak: Option<Bytes>,
    #[schemars(extend("const" = "bytes"))]
    unit: &'static str,
    /// Why there is none.
    why: Option<&'a str>,
}

/// The energy of one sample.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellEnergy")]
struct EnergyDocument<'a> {
    joules_per_sample: Option<f64>,
    ci95: Option<Ends>,
    /// Why there is none.
    why: Option<&'a str>,
}

impl<'a> From<&'a PooledCell> for CellDocument<'a> {
    fn from(cell: &'a PooledCell) -> CellDocument<'a> {
        let ms = |seconds: Option<f64>| seconds.map(milliseconds).and_then(finite);
        let value = |found: Option<Pooled>| found.and_then(|found| finite(found.value));
        let ci95 = |found: Option<Pooled>| found.and_then(|found| found.interval).map(Ends::from);
        CellDocument {
            key: KeyDocument::from(&cell.key),
            engine_version: &cell.engine_version,
            runs: &cell.runs,
            valid: cell.invalid.is_none(),
            not_valid: cell.invalid.as_ref(),
            older_runs: cell.older,
            started_at: cell.began.into(),
            samples: cell.samples,
            latency: LatencyDocument {
                median: ms(Some(cell.latency.value)),
                ci95: cell.latency.interval.map(Ends::in_milliseconds),
                p90: ms(cell.percentiles.p90),
                p95: ms(cell.percentiles.p95),
                p99: ms(cell.percentiles.p99),
                p999: ms(cell.percentiles.p999),
                unit: "ms",
            },
            throughput: ThroughputDocument {
                samples_per_second: value(cell.throughput.value),
                ci95: ci95(cell.throughput.value),
                why: cell.throughput.why.as_deref(),
            },
            memory: MemoryDocument {
                peak: cell.memory.value,
                unit: "bytes",
                why: cell.memory.why.as_deref(),
            },
            energy: EnergyDocument {
                joules_per_sample: value(cell.energy.value),
                ci95: ci95(cell.energy.value),
                why: cell.energy.why.as_deref(),
            },
            ceiling_share: cell.efficiency.value.and_then(finite),
        }
    }
}

/// A ratio with its 95 % interval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ratio")]
pub(crate) struct RatioDocument {
    ratio: Option<f64>,
    ci95: Option<Ends>,
}

impl From<&Pooled> for RatioDocument {
    fn from(found: &Pooled) -> RatioDocument {
        RatioDocument { ratio: finite(found.value), ci95: found.interval.map(Ends::from) }
    }
}
