//! Advice as the document `modelmeter.advice/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.advice-1.schema.json` says the same to programs. Keys may be added within version 1; none
//! changes its meaning or leaves.

use super::result::ProgramAdvice;
use crate::document::{
    Ends, MaybeMilliseconds, Milliseconds, PeakMemory, Timestamp, WeightsKind, finite, to_json,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{
    Advice, AdviceReport, Bytes, Device, Environment, Evidence, Fine, Generation, Goal, Precision,
    Proof, Remark, RunId, SweepPoint, Trial, TrialVerdict, Unit, Unjudged, Verdict,
};

/// The name and version of the document.
pub const ADVICE_SCHEMA: &str = "modelmeter.advice/1";

/// The advice as a JSON value of `modelmeter.advice/1`; keys keep the order of the document.
#[must_use]
pub fn advice_json(report: &AdviceReport) -> Value {
    to_json(&AdviceDocument::from(report))
}

/// Recommendations for a run with the numbers behind them, the expected gain and, if it was verified, the result. Missing
/// values are null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AdviceDocument<'a> {
    #[schemars(extend("const" = ADVICE_SCHEMA))]
    schema: &'static str,
    started_at: Timestamp,
    /// Estimates and attempts together.
    elapsed: Milliseconds,
    /// The id of the run.
    #[schemars(length(min = 1))]
    run: &'a RunId,
    /// The name people use.
    model: &'a str,
    weights: WeightsKind,
    /// The seed of random weights.
    weights_seed: Option<u64>,
    /// A hash over graph and weights.
    fingerprint: &'a str,
    /// The id of the engine that ran.
    engine: &'a str,
    engine_version: &'a str,
    device: Device,
    precision: Precision,
    #[schemars(range(min = 1))]
    batch_size: usize,
    /// Tokens in each sample; null for models without a length.
    #[schemars(range(min = 1))]
    sequence_length: Option<usize>,
    /// The test, of a language model that generates; null for others.
    generation: Option<Generation>,
    threads: u32,
    /// Median time that a user waits.
    latency: MaybeMilliseconds,
    throughput: ThroughputDocument,
    memory: PeakMemory,
    /// Whether the run is valid, as in `modelmeter.run/1`.
    verdict: &'a Verdict,
    /// What the user wants to improve; null if not given.
    goal: Option<Goal>,
    /// The largest gain first.
    advice: Vec<OneAdvice<'a>>,
    /// Rules that found no improvement, with the number that shows it.
    fine: Vec<FineDocument<'a>>,
    /// Rules that lack data.
    not_judged: Vec<UnjudgedDocument<'a>>,
    /// Rules that do not apply to this run.
    not_concerned: Vec<UnjudgedDocument<'a>>,
    /// Batch sizes that were measured; empty if there were none.
    sweep: Vec<PointDocument>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
    /// The machine and its software, as in `modelmeter.run/1`.
    environment: &'a Environment,
}

/// The name and version of the document of a program.
pub const PROGRAM_ADVICE_SCHEMA: &str = "modelmeter.program-advice/1";

/// Advice about a program that uses a GPU.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProgramAdviceDocument<'a> {
    #[schemars(extend("const" = PROGRAM_ADVICE_SCHEMA))]
    schema: &'static str,
    /// The command.
    command: &'a [String],
    /// What to do, the largest gain first.
    advice: Vec<OneAdvice<'a>>,
    /// What was looked at and is fine.
    fine: Vec<FineDocument<'a>>,
}

/// Advice about a program as JSON.
pub(super) fn program_advice_json(view: &ProgramAdvice<'_>) -> Value {
    to_json(&ProgramAdviceDocument {
        schema: PROGRAM_ADVICE_SCHEMA,
        command: view.command,
        advice: view.advice.iter().map(OneAdvice::from).collect(),
        fine: view.fine.iter().map(FineDocument::from).collect(),
    })
}

impl<'a> From<&'a AdviceReport> for AdviceDocument<'a> {
    fn from(report: &'a AdviceReport) -> AdviceDocument<'a> {
        let (weights, weights_seed) = WeightsKind::with_seed(report.model.weights);
        let cell = &report.cell;
        AdviceDocument {
            schema: ADVICE_SCHEMA,
            started_at: report.started_at.into(),
            elapsed: report.elapsed.into(),
            run: &report.run,
            model: &report.model.name,
            weights,
            weights_seed,
            fingerprint: &report.model.fingerprint,
            engine: &report.engine.id,
            engine_version: &report.engine.version,
            device: cell.device,
            precision: cell.precision,
            batch_size: cell.batch_size,
            sequence_length: cell.sequence_length,
            generation: cell.generation,
            threads: cell.threads,
            latency: MaybeMilliseconds::of(report.latency.map(|latency| latency.0)),
            throughput: ThroughputDocument {
                samples_per_second: report.samples_per_second.and_then(finite),
            },
            memory: PeakMemory::of(report.peak_memory),
            verdict: &report.verdict,
            goal: report.goal,
            advice: report.advice.iter().map(OneAdvice::from).collect(),
            fine: report.fine.iter().map(FineDocument::from).collect(),
            not_judged: report.not_judged.iter().map(UnjudgedDocument::from).collect(),
            not_concerned: report.beside.iter().map(UnjudgedDocument::from).collect(),
            sweep: report.sweep.iter().map(PointDocument::from).collect(),
            remarks: &report.remarks,
            environment: &report.environment,
        }
    }
}

/// Work per second.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Throughput")]
struct ThroughputDocument {
    samples_per_second: Option<f64>,
}

/// One recommendation with the numbers behind it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Advice")]
struct OneAdvice<'a> {
    /// See docs/ADVICE.md.
    #[schemars(length(min = 1))]
    rule: &'a str,
    #[schemars(length(min = 1))]
    title: &'a str,
    #[schemars(length(min = 1))]
    evidence: Vec<EvidenceDocument<'a>>,
    expected: ExpectedDocument<'a>,
    /// `change`: both cells, interleaved; `buckets`: texts in two batches by length; `repeat`: fresh processes; `elsewhere`:
    /// not possible here.
    proof: &'a Proof,
    /// The command that verifies it; null if it cannot be verified here.
    command: Option<&'a str>,
    caveat: Option<&'a str>,
    /// Null if it was not requested.
    trial: Option<TrialDocument<'a>>,
}

/// What it should gain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExpectedGain")]
struct ExpectedDocument<'a> {
    what: Goal,
    /// The better cell ÷ the worse one: the lower and the upper bound.
    factor: Ends,
    /// In bytes, if the objective is memory.
    saved: Option<Bytes>,
    #[schemars(length(min = 1))]
    basis: &'a str,
}

impl<'a> From<&'a Advice> for OneAdvice<'a> {
    fn from(advice: &'a Advice) -> OneAdvice<'a> {
        OneAdvice {
            rule: &advice.rule,
            title: &advice.title,
            evidence: advice.evidence.iter().map(EvidenceDocument::from).collect(),
            expected: ExpectedDocument {
                what: advice.gain.what,
                factor: advice.gain.factor.into(),
                saved: advice.gain.saved,
                basis: &advice.gain.basis,
            },
            proof: &advice.proof,
            command: advice.command.as_deref(),
            caveat: advice.caveat.as_deref(),
            trial: advice.trial.as_ref().map(TrialDocument::from),
        }
    }
}

/// The result of the verification.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Trial")]
struct TrialDocument<'a> {
    verdict: TrialVerdict,
    factor: Option<f64>,
    interval: Option<Ends>,
    /// Fresh processes per side.
    processes: u64,
    remarks: &'a [Remark],
}

impl<'a> From<&'a Trial> for TrialDocument<'a> {
    fn from(trial: &'a Trial) -> TrialDocument<'a> {
        TrialDocument {
            verdict: trial.verdict,
            factor: trial.found.and_then(finite),
            interval: trial.interval.map(Ends::from),
            processes: trial.processes,
            remarks: &trial.remarks,
        }
    }
}

/// A number that a judgement is based on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Evidence")]
struct EvidenceDocument<'a> {
    /// What the number is.
    #[schemars(length(min = 1))]
    text: &'a str,
    #[schemars(length(min = 1))]
    key: &'a str,
    value: Option<f64>,
    /// SI base units.
    unit: Unit,
}

impl<'a> From<&'a Evidence> for EvidenceDocument<'a> {
    fn from(evidence: &'a Evidence) -> EvidenceDocument<'a> {
        EvidenceDocument {
            text: &evidence.text,
            key: &evidence.key,
            value: finite(evidence.value),
            unit: evidence.unit,
        }
    }
}

/// A rule that found no improvement.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Fine")]
struct FineDocument<'a> {
    rule: &'a str,
    evidence: EvidenceDocument<'a>,
}

impl<'a> From<&'a Fine> for FineDocument<'a> {
    fn from(fine: &'a Fine) -> FineDocument<'a> {
        FineDocument { rule: &fine.rule, evidence: EvidenceDocument::from(&fine.evidence) }
    }
}

/// A rule that lacks data, or does not apply to this run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Unjudged")]
struct UnjudgedDocument<'a> {
    rule: &'a str,
    #[schemars(length(min = 1))]
    why: &'a str,
    /// What would help.
    hint: Option<&'a str>,
}

impl<'a> From<&'a Unjudged> for UnjudgedDocument<'a> {
    fn from(one: &'a Unjudged) -> UnjudgedDocument<'a> {
        UnjudgedDocument { rule: &one.rule, why: &one.why, hint: one.hint.as_deref() }
    }
}

/// One batch size.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SweepPoint")]
struct PointDocument {
    #[schemars(range(min = 1))]
    batch_size: usize,
    latency: MaybeMilliseconds,
    latency_low: MaybeMilliseconds,
    latency_high: MaybeMilliseconds,
    samples_per_second: Option<f64>,
    memory_peak: Option<Bytes>,
    valid: bool,
    /// How often it was measured.
    #[schemars(range(min = 1))]
    passes: u64,
}

impl From<&SweepPoint> for PointDocument {
    fn from(point: &SweepPoint) -> PointDocument {
        PointDocument {
            batch_size: point.batch_size,
            latency: MaybeMilliseconds::of(Some(point.latency.0)),
            latency_low: MaybeMilliseconds::of(Some(point.interval.low)),
            latency_high: MaybeMilliseconds::of(Some(point.interval.high)),
            samples_per_second: finite(point.samples_per_second),
            memory_peak: point.peak_memory,
            valid: point.valid,
            passes: point.passes,
        }
    }
}
