//! A comparison as the document `modelmeter.comparison/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.comparison-1.schema.json` says the same to programs. Keys may be added within version 1;
//! none changes its meaning or leaves.

use crate::document::Milliseconds;
use crate::number::milliseconds;
use crate::timestamp::rfc3339;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use types::{
    Comparison, ComparisonReport, Design, Device, Disturbed, EngineOptions, Environment, Estimate,
    Interval, LayerJoin, Mode, Outcome, Parity, Phase, Precision, Seconds, SideReport, SpeedUp,
    Summary, Unsupported, Verdict, Weights,
};

/// The name and version of the document.
pub const COMPARISON_SCHEMA: &str = "modelmeter.comparison/1";

/// The comparison as a JSON value of `modelmeter.comparison/1`; keys keep the order of the document.
#[must_use]
pub fn comparison_json(report: &ComparisonReport) -> Value {
    serde_json::to_value(Document::from(report))
        .expect("a document is strings, numbers, lists and maps with string keys")
}

/// Several comparisons as one JSON value: `modelmeter.comparisons/1`, a list of documents as above.
#[must_use]
pub fn comparisons_json(reports: &[ComparisonReport]) -> Value {
    let comparisons: Vec<Value> = reports.iter().map(comparison_json).collect();
    json!({ "schema": "modelmeter.comparisons/1", "comparisons": comparisons })
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    started_at: String,
    elapsed: Milliseconds,
    model: &'a str,
    weights: &'static str,
    weights_seed: Option<u64>,
    fingerprint: &'a str,
    batch_size: usize,
    sequence_length: Option<usize>,
    mode: Mode,
    seed: u64,
    design: DesignDocument,
    baseline: &'a str,
    sides: Vec<SideDocument<'a>>,
    comparisons: Vec<ComparisonDocument<'a>>,
    parity: Vec<ParityDocument<'a>>,
    remarks: &'a [String],
    layers: Option<Value>,
    environment: &'a Environment,
}

impl<'a> From<&'a ComparisonReport> for Document<'a> {
    fn from(report: &'a ComparisonReport) -> Document<'a> {
        let (weights, weights_seed) = match report.model.weights {
            Weights::Real => ("real", None),
            Weights::Random { seed } => ("random", Some(seed)),
        };
        Document {
            schema: COMPARISON_SCHEMA,
            started_at: rfc3339(report.started_at),
            elapsed: report.elapsed.into(),
            model: &report.model.name,
            weights,
            weights_seed,
            fingerprint: &report.model.fingerprint,
            batch_size: report.batch_size,
            sequence_length: report.sequence_length,
            mode: report.mode,
            seed: report.seed,
            design: DesignDocument::from(report),
            baseline: &report.baseline,
            sides: report.sides.iter().map(SideDocument::from).collect(),
            comparisons: report.comparisons.iter().map(ComparisonDocument::from).collect(),
            parity: report.parity.iter().map(ParityDocument::from).collect(),
            remarks: &report.remarks,
            layers: report.layers.as_ref().map(layers),
            environment: &report.environment,
        }
    }
}

#[derive(Debug, Serialize)]
struct DesignDocument {
    kind: &'static str,
    processes: Option<u64>,
    turns: Option<u64>,
    detectable: Option<f64>,
}

impl From<&ComparisonReport> for DesignDocument {
    fn from(report: &ComparisonReport) -> DesignDocument {
        let (kind, processes, turns) = match report.design {
            Design::Interleaved { rounds, turns } => ("interleaved", Some(rounds), Some(turns)),
            Design::Stored => ("stored", None, None),
        };
        DesignDocument { kind, processes, turns, detectable: report.detectable.and_then(finite) }
    }
}

#[derive(Debug, Serialize)]
struct SideDocument<'a> {
    label: &'a str,
    engine: &'a str,
    engine_version: &'a str,
    placement: &'a str,
    device: Device,
    precision: Precision,
    threads: u32,
    options: &'a EngineOptions,
    mode: Mode,
    phases: Vec<PhaseDocument>,
    processes: u64,
    runs: Vec<&'a str>,
    latency: Option<LatencyDocument<'a>>,
    load: TimeDocument,
    first_inference: TimeDocument,
    memory: MemoryDocument,
    verdict: &'a Verdict,
    remarks: &'a [String],
    failed: Option<&'a str>,
}

/// The median time of a phase of a training step.
#[derive(Debug, Serialize)]
struct PhaseDocument {
    phase: &'static str,
    median: f64,
    unit: &'static str,
}

fn phase((phase, seconds): &(Phase, Seconds)) -> PhaseDocument {
    PhaseDocument { phase: phase.name(), median: milliseconds(seconds.0), unit: "ms" }
}

impl<'a> From<&'a SideReport> for SideDocument<'a> {
    fn from(side: &'a SideReport) -> SideDocument<'a> {
        let info = &side.info;
        SideDocument {
            label: &info.label,
            engine: &info.engine.id,
            engine_version: &info.engine.version,
            placement: &info.engine.placement,
            device: info.device,
            precision: info.precision,
            threads: info.threads,
            options: &info.options,
            mode: info.mode,
            phases: info.phases.iter().map(phase).collect(),
            processes: side.processes,
            runs: side.runs.iter().map(|id| id.0.as_str()).collect(),
            latency: side.latency.as_ref().map(LatencyDocument::from),
            load: TimeDocument::of(side.load.map(|time| time.0)),
            first_inference: TimeDocument::of(side.first.map(|time| time.0)),
            memory: MemoryDocument { peak: info.peak_memory.map(|peak| peak.0), unit: "bytes" },
            verdict: &info.verdict,
            remarks: &info.remarks,
            failed: info.failed.as_deref(),
        }
    }
}

/// What the samples of all processes together say; how sure a difference is stands in `comparisons`.
#[derive(Debug, Serialize)]
struct LatencyDocument<'a> {
    unit: &'static str,
    mean: Option<f64>,
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    median: Option<f64>,
    mad: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    samples: u64,
    outliers: u64,
    unsupported: &'a [Unsupported],
}

impl<'a> From<&'a Summary> for LatencyDocument<'a> {
    fn from(summary: &'a Summary) -> LatencyDocument<'a> {
        let ms = |seconds: f64| finite(seconds).map(milliseconds);
        LatencyDocument {
            unit: "ms",
            mean: ms(summary.mean),
            std: ms(summary.std),
            min: ms(summary.min),
            max: ms(summary.max),
            median: ms(summary.median),
            mad: ms(summary.mad),
            p90: ms(summary.p90),
            p95: ms(summary.p95),
            p99: ms(summary.p99),
            samples: summary.count,
            outliers: summary.outliers,
            unsupported: &summary.unsupported,
        }
    }
}

/// A time that may be missing; the median over the side's processes.
#[derive(Debug, Serialize)]
struct TimeDocument {
    value: Option<f64>,
    unit: &'static str,
}

impl TimeDocument {
    fn of(seconds: Option<f64>) -> TimeDocument {
        TimeDocument { value: seconds.and_then(finite).map(milliseconds), unit: "ms" }
    }
}

#[derive(Debug, Serialize)]
struct MemoryDocument {
    peak: Option<u64>,
    unit: &'static str,
}

#[derive(Debug, Serialize)]
struct ComparisonDocument<'a> {
    side: &'a str,
    baseline: &'a str,
    verdict: &'static str,
    why: Option<&'a str>,
    speed_up: Option<SpeedUpDocument>,
    disturbed: Option<DisturbedDocument>,
    remarks: &'a [String],
}

/// Pairs of turns that something else disturbed.
#[derive(Debug, Serialize)]
struct DisturbedDocument {
    pairs: u64,
    left_out: u64,
    too_many: bool,
    causes: BTreeMap<&'static str, u64>,
}

impl From<&Disturbed> for DisturbedDocument {
    fn from(disturbed: &Disturbed) -> DisturbedDocument {
        DisturbedDocument {
            pairs: disturbed.pairs,
            left_out: disturbed.left_out,
            too_many: disturbed.is_too_much(),
            causes: disturbed.causes.iter().map(|(code, count)| (code.name(), *count)).collect(),
        }
    }
}

impl<'a> From<&'a Comparison> for ComparisonDocument<'a> {
    fn from(comparison: &'a Comparison) -> ComparisonDocument<'a> {
        ComparisonDocument {
            side: &comparison.side,
            baseline: &comparison.baseline,
            verdict: comparison.outcome.name(),
            why: match &comparison.outcome {
                Outcome::Refused { why } => Some(why),
                _ => None,
            },
            speed_up: comparison.speed_up.as_ref().map(SpeedUpDocument::from),
            disturbed: comparison.disturbed.as_ref().map(DisturbedDocument::from),
            remarks: &comparison.remarks,
        }
    }
}

/// The baseline's time ÷ the side's.
#[derive(Debug, Serialize)]
struct SpeedUpDocument {
    ratio: Option<f64>,
    ci95: Option<Interval>,
    best: Option<f64>,
    worst: Option<f64>,
    rounds: Vec<Option<f64>>,
    p_value: Option<f64>,
    adjusted_p: Option<f64>,
    detectable: Option<f64>,
}

impl From<&SpeedUp> for SpeedUpDocument {
    fn from(found: &SpeedUp) -> SpeedUpDocument {
        SpeedUpDocument {
            ratio: finite(found.ratio),
            ci95: found.interval.filter(|ends| ends.low.is_finite() && ends.high.is_finite()),
            best: finite(found.best),
            worst: finite(found.worst),
            rounds: found.rounds.iter().map(|ratio| finite(*ratio)).collect(),
            p_value: found.p_value.and_then(finite),
            adjusted_p: found.adjusted_p.and_then(finite),
            detectable: found.detectable.and_then(finite),
        }
    }
}

#[derive(Debug, Serialize)]
struct ParityDocument<'a> {
    side: &'a str,
    reference: &'a str,
    holds: bool,
    verdict: &'static str,
    first_difference: Option<&'a str>,
    outputs: Vec<OutputDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct OutputDocument<'a> {
    output: &'a str,
    max_abs: Option<f64>,
    tolerance: Option<f64>,
    rounding: Option<f64>,
    error: Option<f64>,
    cosine: Option<f64>,
    holds: bool,
    why: Option<&'a str>,
    note: Option<&'a str>,
}

impl<'a> From<&'a Parity> for ParityDocument<'a> {
    fn from(parity: &'a Parity) -> ParityDocument<'a> {
        let outputs = parity.outputs.iter().map(|output| OutputDocument {
            output: &output.output,
            max_abs: output.max_abs.and_then(finite),
            tolerance: output.tolerance.and_then(finite),
            rounding: output.rounding.and_then(finite),
            error: output.error.and_then(finite),
            cosine: output.cosine.and_then(finite),
            holds: output.holds,
            why: output.why.as_deref(),
            note: output.note.as_deref(),
        });
        ParityDocument {
            side: &parity.side,
            reference: &parity.reference,
            holds: parity.holds,
            verdict: parity.agreement().name(),
            first_difference: parity.first_difference.as_deref(),
            outputs: outputs.collect(),
        }
    }
}

/// Joined layers: every module by itself, one entry a side in the order of `sides`.
fn layers(join: &LayerJoin) -> Value {
    let ms = |seconds: f64| finite(seconds).map(milliseconds);
    let sides = join.sides.iter().map(|side| {
        json!({
            "label": side.label,
            "total": ms(side.total.0),
            "outside": ms(side.outside.0),
            "joined": ms(side.joined.time.0),
            "joined_share": finite(side.joined.share.0),
            "unjoined": ms(side.unjoined.time.0),
            "placed_share": finite(side.placed.0),
            "plain": side.cost.map(|cost| milliseconds(cost.plain.0)),
            "overhead": side.cost.map(|cost| estimate(&cost.overhead)),
            "closure": side.cost.map(|cost| estimate(&cost.closure)),
        })
    });
    let rows = join.rows.iter().map(|row| {
        json!({
            "path": row.path,
            "times": row.cells.iter().map(|cell| ms(cell.time.0)).collect::<Vec<_>>(),
            "shares": row.cells.iter().map(|cell| finite(cell.share.0)).collect::<Vec<_>>(),
        })
    });
    json!({
        "unit": "ms",
        "sides": sides.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn estimate(estimate: &Estimate) -> Value {
    let Estimate { value, interval } = estimate;
    json!({ "value": finite(*value), "low": finite(interval.low), "high": finite(interval.high) })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
