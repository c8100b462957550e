//! A comparison as the document `modelmeter.comparison/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.comparison-1.schema.json` says the same to programs. Keys may be added within version 1;
//! none changes its meaning or leaves.

use super::layers_document::LayersDocument;
use crate::document::{
    MaybeMilliseconds, Milliseconds, PeakMemory, Timestamp, WeightsKind, finite, to_json,
};
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use types::{
    Comparison, ComparisonReport, Design, Device, Disturbed, EngineOptions, Environment, Interval,
    LooksReport, Mode, Outcome, Parity, Phase, Precision, Remark, RemarkCode, Seconds, SideReport,
    SpeedUp, Summary, Unsupported, Verdict,
};

/// The name and version of the document.
pub const COMPARISON_SCHEMA: &str = "modelmeter.comparison/1";

/// The name and version of a document with several comparisons.
pub const COMPARISONS_SCHEMA: &str = "modelmeter.comparisons/1";

/// The comparison as a JSON value of `modelmeter.comparison/1`; keys keep the order of the document.
#[must_use]
pub fn comparison_json(report: &ComparisonReport) -> Value {
    to_json(&ComparisonDocument::from(report))
}

/// Several comparisons as one JSON value: `modelmeter.comparisons/1`, a list of documents as above.
#[must_use]
pub fn comparisons_json(reports: &[ComparisonReport]) -> Value {
    let comparisons = reports.iter().map(ComparisonDocument::from).collect();
    to_json(&ComparisonsDocument { schema: COMPARISONS_SCHEMA, comparisons })
}

/// Several comparisons.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonsDocument<'a> {
    #[schemars(extend("const" = COMPARISONS_SCHEMA))]
    schema: &'static str,
    /// Each a `modelmeter.comparison/1`.
    comparisons: Vec<ComparisonDocument<'a>>,
}

/// Several engines, formats or devices on one model, each compared with a baseline. Missing values are null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparisonDocument<'a> {
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    schema: &'static str,
    started_at: Timestamp,
    /// Everything that was measured for it.
    elapsed: Milliseconds,
    /// The name people use.
    model: &'a str,
    weights: WeightsKind,
    /// The seed of random weights.
    weights_seed: Option<u64>,
    /// A hash over graph and weights.
    fingerprint: &'a str,
    #[schemars(range(min = 1))]
    batch_size: usize,
    /// Tokens in each sample; null for models without a length.
    #[schemars(range(min = 1))]
    sequence_length: Option<usize>,
    mode: Mode,
    seed: u64,
    design: DesignDocument<'a>,
    /// The label of the baseline.
    baseline: &'a str,
    #[schemars(length(min = 2))]
    sides: Vec<SideDocument<'a>>,
    /// One entry per side, except the baseline.
    #[schemars(length(min = 1))]
    comparisons: Vec<AgainstBaseline<'a>>,
    /// The comparisons of outputs; empty for stored runs.
    parity: Vec<ParityDocument<'a>>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
    /// Time by layer, with `--by layer`.
    layers: Option<LayersDocument<'a>>,
    /// The machine and its software, as in `modelmeter.run/1`; the baseline's if stored runs differ.
    environment: &'a Environment,
}

impl<'a> From<&'a ComparisonReport> for ComparisonDocument<'a> {
    fn from(report: &'a ComparisonReport) -> ComparisonDocument<'a> {
        let (weights, weights_seed) = WeightsKind::with_seed(report.model.weights);
        ComparisonDocument {
            schema: COMPARISON_SCHEMA,
            started_at: report.started_at.into(),
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
            comparisons: report.comparisons.iter().map(AgainstBaseline::from).collect(),
            parity: report.parity.iter().map(ParityDocument::from).collect(),
            remarks: &report.remarks,
            layers: report.layers.as_ref().map(LayersDocument::from),
            environment: &report.environment,
        }
    }
}

/// How the times were taken.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Design")]
struct DesignDocument<'a> {
    /// `interleaved`: sides alternated in one session; `stored`: runs from different times.
    #[schemars(extend("enum" = ["interleaved", "stored"]))]
    kind: &'static str,
    /// Fresh processes per side; null for stored runs.
    processes: Option<u64>,
    /// Turns of each side in a process; null for stored runs.
    turns: Option<u64>,
    /// How it was looked at while it grew; null if the number of processes was fixed.
    looks: Option<LooksDocument<'a>>,
    /// The smallest difference that every comparison would detect with 80 % probability, as a share.
    #[schemars(range(min = 0))]
    detectable: Option<f64>,
}

/// A comparison that ends as soon as every side is better or worse than the baseline.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Looks")]
struct LooksDocument<'a> {
    /// After how many processes per side it looks; fixed before anything is measured.
    after: &'a [u32],
    /// The most processes of any side that were measured.
    used: u32,
    /// The most that it would have measured.
    at_most: u32,
    /// `answered`: every question; `limit-reached`: the most processes were measured.
    #[schemars(extend("enum" = ["answered", "limit-reached"]))]
    ended: &'static str,
    /// The accepted chance of calling equal sides different, over all looks and sides.
    #[schemars(range(min = 0, max = 1))]
    chance: f64,
}

impl<'a> From<&'a LooksReport> for LooksDocument<'a> {
    fn from(looks: &'a LooksReport) -> LooksDocument<'a> {
        let LooksReport { after, used, at_most, ended, chance } = looks;
        LooksDocument {
            after,
            used: *used,
            at_most: *at_most,
            ended: ended.name(),
            chance: *chance,
        }
    }
}

impl<'a> From<&'a ComparisonReport> for DesignDocument<'a> {
    fn from(report: &'a ComparisonReport) -> DesignDocument<'a> {
        let (kind, processes, turns) = match report.design {
            Design::Interleaved { rounds, turns } => ("interleaved", Some(rounds), Some(turns)),
            Design::Stored => ("stored", None, None),
        };
        let looks = report.looks.as_ref().map(LooksDocument::from);
        let detectable = report.detectable.and_then(finite);
        DesignDocument { kind, processes, turns, looks, detectable }
    }
}

/// One side.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Side")]
struct SideDocument<'a> {
    /// Its unique label in this comparison.
    #[schemars(length(min = 1))]
    label: &'a str,
    /// The id of the engine that really ran.
    engine: &'a str,
    engine_version: &'a str,
    /// The device that really ran the model, as reported by the engine.
    placement: &'a str,
    /// The requested device; never `auto`.
    #[schemars(regex(pattern = format!("^({})$", Device::RECORDED)))]
    device: Device,
    precision: Precision,
    threads: u32,
    /// Other engine options; empty means the engine's defaults.
    options: &'a EngineOptions,
    mode: Mode,
    /// Median times of the phases of a training step; empty for an inference.
    phases: Vec<PhaseDocument>,
    /// Fresh processes that were timed.
    processes: u64,
    /// The stored runs it was computed from; empty for interleaved comparisons.
    runs: Vec<&'a str>,
    /// All processes together; null if it was not measured.
    latency: Option<LatencyDocument<'a>>,
    /// Time to load the model, median over processes.
    load: MaybeMilliseconds,
    /// The true first inference, median over processes.
    first_inference: MaybeMilliseconds,
    /// The largest of any process.
    memory: PeakMemory,
    /// Whether its times are valid, as in `modelmeter.run/1`.
    verdict: &'a Verdict,
    remarks: &'a [Remark],
    /// Why it could not be measured to the end.
    failed: Option<&'a str>,
}

/// The median time of a phase of a training step.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PhaseTime")]
struct PhaseDocument {
    #[schemars(extend("enum" = ["forward", "loss", "backward", "optimizer"]))]
    phase: Phase,
    #[schemars(range(min = 0))]
    median: f64,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

fn phase((phase, seconds): &(Phase, Seconds)) -> PhaseDocument {
    PhaseDocument { phase: *phase, median: milliseconds(seconds.0), unit: "ms" }
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
            load: MaybeMilliseconds::of(side.load.map(|time| time.0)),
            first_inference: MaybeMilliseconds::of(side.first.map(|time| time.0)),
            memory: PeakMemory::of(info.peak_memory),
            verdict: &info.verdict,
            remarks: &info.remarks,
            failed: info.failed.as_deref(),
        }
    }
}

/// Summary of the samples of all processes; `comparisons` says how certain a difference is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
struct LatencyDocument<'a> {
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    #[schemars(range(min = 0))]
    mean: Option<f64>,
    #[schemars(range(min = 0))]
    std: Option<f64>,
    #[schemars(range(min = 0))]
    min: Option<f64>,
    #[schemars(range(min = 0))]
    max: Option<f64>,
    #[schemars(range(min = 0))]
    median: Option<f64>,
    #[schemars(range(min = 0))]
    mad: Option<f64>,
    #[schemars(range(min = 0))]
    p90: Option<f64>,
    #[schemars(range(min = 0))]
    p95: Option<f64>,
    #[schemars(range(min = 0))]
    p99: Option<f64>,
    samples: u64,
    /// Outliers; counted, never removed.
    outliers: u64,
    /// Percentiles that have too few samples to be reliable.
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

/// One side compared with the baseline.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(
    rename = "Comparison",
    extend(
        "if" = { "properties": { "verdict": { "const": "refused" } } },
        "then" = { "properties": { "speed_up": { "type": "null" }, "why": { "type": "string" } } },
        "else" = { "properties": { "speed_up": { "type": "object" }, "why": { "type": "null" } } },
    )
)]
struct AgainstBaseline<'a> {
    side: &'a str,
    baseline: &'a str,
    /// `refused` means that no speed-up is reported.
    #[schemars(extend("enum" = ["better", "worse", "cannot-tell", "refused"]))]
    verdict: &'static str,
    /// The kind of reason why it is refused.
    code: Option<RemarkCode>,
    /// Why it is refused.
    why: Option<&'a str>,
    speed_up: Option<SpeedUpDocument>,
    /// Pairs of turns that were disturbed by other work, stolen time or a throttled clock, and left out of the speed-up;
    /// null if there were none.
    disturbed: Option<DisturbedDocument>,
    remarks: &'a [Remark],
}

/// Pairs of turns that were disturbed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Disturbed")]
struct DisturbedDocument {
    /// Pairs of turns that were taken.
    #[schemars(range(min = 1))]
    pairs: u64,
    #[schemars(range(min = 1))]
    left_out: u64,
    /// More than half of the pairs were disturbed: the verdict is `cannot-tell`, and the speed-up is that of all pairs.
    too_many: bool,
    /// Reason codes with their counts.
    #[schemars(extend("additionalProperties" = { "type": "integer", "minimum": 1 }))]
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

impl<'a> From<&'a Comparison> for AgainstBaseline<'a> {
    fn from(comparison: &'a Comparison) -> AgainstBaseline<'a> {
        AgainstBaseline {
            side: &comparison.side,
            baseline: &comparison.baseline,
            verdict: comparison.outcome.name(),
            code: match &comparison.outcome {
                Outcome::Refused { code, .. } => Some(*code),
                _ => None,
            },
            why: match &comparison.outcome {
                Outcome::Refused { why, .. } => Some(why),
                _ => None,
            },
            speed_up: comparison.speed_up.as_ref().map(SpeedUpDocument::from),
            disturbed: comparison.disturbed.as_ref().map(DisturbedDocument::from),
            remarks: &comparison.remarks,
        }
    }
}

/// Baseline's time ÷ the side's: above 1 the side is faster.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SpeedUp")]
struct SpeedUpDocument {
    #[schemars(range(min = 0))]
    ratio: Option<f64>,
    /// 95 % interval; null without repetitions.
    ci95: Option<RatioInterval>,
    /// Largest ratio of any pair of turns, or of stored runs.
    #[schemars(range(min = 0))]
    best: Option<f64>,
    /// Smallest ratio of any pair of turns, or of stored runs.
    #[schemars(range(min = 0))]
    worst: Option<f64>,
    /// The result of each round of fresh processes by itself; empty for stored runs.
    #[schemars(inner(range(min = 0)))]
    rounds: Vec<Option<f64>>,
    /// Chance of a ratio this far from 1 if both were equally fast; null if processes were not repeated.
    #[schemars(range(min = 0, max = 1))]
    p_value: Option<f64>,
    /// The same, corrected for multiple comparisons.
    #[schemars(range(min = 0, max = 1))]
    adjusted_p: Option<f64>,
    /// The smallest difference that is detected with 80 % probability, as a share.
    #[schemars(range(min = 0))]
    detectable: Option<f64>,
}

/// A 95 % interval of a ratio.
#[derive(Debug, Serialize, JsonSchema)]
struct RatioInterval {
    #[schemars(range(min = 0))]
    low: f64,
    #[schemars(range(min = 0))]
    high: f64,
}

impl RatioInterval {
    /// `None` if an end is not finite.
    fn of(interval: Interval) -> Option<RatioInterval> {
        Some(RatioInterval { low: finite(interval.low)?, high: finite(interval.high)? })
    }
}

impl From<&SpeedUp> for SpeedUpDocument {
    fn from(found: &SpeedUp) -> SpeedUpDocument {
        SpeedUpDocument {
            ratio: finite(found.ratio),
            ci95: found.interval.and_then(RatioInterval::of),
            best: finite(found.best),
            worst: finite(found.worst),
            rounds: found.rounds.iter().map(|ratio| finite(*ratio)).collect(),
            p_value: found.p_value.and_then(finite),
            adjusted_p: found.adjusted_p.and_then(finite),
            detectable: found.detectable.and_then(finite),
        }
    }
}

/// Whether a side computes what the reference computes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Parity")]
struct ParityDocument<'a> {
    side: &'a str,
    reference: &'a str,
    holds: bool,
    /// `cannot-tell`: no number is finite on either side, or random operators cannot be told apart.
    #[schemars(extend("enum" = ["equal", "different", "cannot-tell"]))]
    verdict: &'static str,
    /// The first layer whose output differs, if it was searched for.
    first_difference: Option<&'a str>,
    outputs: Vec<OutputDocument<'a>>,
}

/// How far one output differs from the reference's.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OutputParity")]
struct OutputDocument<'a> {
    output: &'a str,
    /// Largest absolute difference; null if the two cannot be compared.
    #[schemars(range(min = 0))]
    max_abs: Option<f64>,
    /// The bound for `max_abs`, derived from the output's own scale; null without a bound.
    #[schemars(range(min = 0))]
    tolerance: Option<f64>,
    /// The largest difference that rounding explains; null if it was not needed.
    #[schemars(range(min = 0))]
    rounding: Option<f64>,
    /// Norm of the difference as a share of the reference's norm.
    #[schemars(range(min = 0))]
    error: Option<f64>,
    #[schemars(range(min = -1, max = 1))]
    cosine: Option<f64>,
    holds: bool,
    why: Option<&'a str>,
    /// Limitations of the comparison: numbers that are not finite, random operators, rounding.
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
