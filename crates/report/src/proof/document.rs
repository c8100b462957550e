//! A proof as the document `modelmeter.proof/1`, a search as `modelmeter.optimize/1`.
//!
//! `docs/schema/modelmeter.proof-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit.

use crate::document::{Ends, Milliseconds, Timestamp, WeightsKind, finite, to_json};
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::{borrow::Cow, path::Path};
use types::{
    Attempt, AttemptRefusalKind, BlockFacts, Bytes, Drift, Flops, ModelFacts, Optimisation,
    OptimizeReport, OutputDrift, Precision, ProofReport, Remark, Similarity, SpeedProof,
    SpeedVerdict, Summary, Target, WeightFacts, Weights,
};

/// The name and version of a proof.
pub const PROOF_SCHEMA: &str = "modelmeter.proof/1";
/// The name and version of a search.
pub const OPTIMIZE_SCHEMA: &str = "modelmeter.optimize/1";

/// A proof as a JSON value of `modelmeter.proof/1`.
pub(super) fn proof_json(report: &ProofReport) -> Value {
    to_json(&ProofDocument::from(report))
}

/// A changed model compared with the original. Times are milliseconds, sizes bytes, shares from 0 to 1.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Proof")]
pub(crate) struct ProofDocument<'a> {
    #[schemars(extend("const" = PROOF_SCHEMA))]
    schema: &'static str,
    started_at: Timestamp,
    elapsed: Milliseconds,
    model: &'a str,
    weights: WeightsKind,
    fingerprint: &'a str,
    optimisation: &'a Optimisation,
    /// The folder of the changed model.
    folder: Option<Cow<'a, str>>,
    /// How long the change itself took, with writing.
    changed_in: f64,
    batch_size: usize,
    sequence_length: Option<usize>,
    before: FactsDocument,
    after: FactsDocument,
    /// Weights that changed.
    layers: Vec<WeightDocument<'a>>,
    /// Blocks that lost heads or neurons.
    blocks: &'a [BlockFacts],
    /// How much the outputs changed; null if they were not compared.
    drift: Option<DriftDocument<'a>>,
    /// One entry for each engine; empty if nothing was timed.
    speed: Vec<SpeedDocument<'a>>,
    remarks: &'a [Remark],
}

impl<'a> From<&'a ProofReport> for ProofDocument<'a> {
    fn from(report: &'a ProofReport) -> ProofDocument<'a> {
        ProofDocument {
            schema: PROOF_SCHEMA,
            started_at: report.started_at.into(),
            elapsed: report.elapsed.into(),
            model: &report.model.name,
            weights: WeightsKind::of(matches!(report.model.weights, Weights::Random { .. })),
            fingerprint: &report.model.fingerprint,
            optimisation: &report.optimisation,
            folder: report.folder.as_deref().map(Path::to_string_lossy),
            changed_in: milliseconds(report.changed_in.0),
            batch_size: report.batch_size,
            sequence_length: report.sequence_length,
            before: FactsDocument::from(&report.before),
            after: FactsDocument::from(&report.after),
            layers: report.weights.iter().map(WeightDocument::from).collect(),
            blocks: &report.blocks,
            drift: report.drift.as_ref().map(DriftDocument::from),
            speed: report.speed.iter().map(SpeedDocument::from).collect(),
            remarks: &report.remarks,
        }
    }
}

/// A model's sizes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ModelFacts")]
struct FactsDocument {
    parameters: u64,
    /// Parameters that are not zero.
    nonzeros: u64,
    sparsity: f64,
    /// Bytes of graph and weights.
    size: Bytes,
    /// The same with zstd, level 3.
    compressed: Option<Bytes>,
    flops: Flops,
    precision: Precision,
}

impl From<&ModelFacts> for FactsDocument {
    fn from(facts: &ModelFacts) -> FactsDocument {
        FactsDocument {
            parameters: facts.parameters,
            nonzeros: facts.nonzeros,
            sparsity: facts.sparsity(),
            size: facts.size,
            compressed: facts.compressed,
            flops: facts.flops,
            precision: facts.precision,
        }
    }
}

/// One weight before and after.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Weight")]
struct WeightDocument<'a> {
    name: &'a str,
    before: CountDocument,
    after: CountDocument,
    /// Share of the original parameters that were removed or are zero.
    sparsity: f64,
}

/// How many numbers a weight has.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Count")]
struct CountDocument {
    numbers: u64,
    /// How many of them are not zero.
    nonzeros: u64,
}

impl From<[u64; 2]> for CountDocument {
    fn from([numbers, nonzeros]: [u64; 2]) -> CountDocument {
        CountDocument { numbers, nonzeros }
    }
}

impl<'a> From<&'a WeightFacts> for WeightDocument<'a> {
    fn from(one: &'a WeightFacts) -> WeightDocument<'a> {
        WeightDocument {
            name: &one.name,
            before: one.before.into(),
            after: one.after.into(),
            sparsity: 1.0 - one.after[1] as f64 / one.before[0].max(1) as f64,
        }
    }
}

/// How much a model's outputs changed on the same inputs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Drift")]
struct DriftDocument<'a> {
    /// The engine that computed both.
    engine: &'a str,
    samples: usize,
    inputs: DriftInputs,
    /// One minus the smallest cosine of any output.
    worst: Option<f64>,
    outputs: Vec<OutputDocument<'a>>,
    /// The outputs of each module.
    layers: Vec<OutputDocument<'a>>,
    similarities: &'a [Similarity],
}

/// Where the inputs came from.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DriftInputs {
    Given,
    Drawn,
}

impl<'a> From<&'a Drift> for DriftDocument<'a> {
    fn from(drift: &'a Drift) -> DriftDocument<'a> {
        DriftDocument {
            engine: &drift.engine,
            samples: drift.samples,
            inputs: if drift.given { DriftInputs::Given } else { DriftInputs::Drawn },
            worst: drift.worst().and_then(finite),
            outputs: drift.outputs.iter().map(OutputDocument::from).collect(),
            layers: drift.layers.iter().map(OutputDocument::from).collect(),
            similarities: &drift.similarities,
        }
    }
}

/// How much one output changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OutputDrift")]
struct OutputDocument<'a> {
    name: &'a str,
    cosine: Option<f64>,
    /// Norm of the difference as a share of the original norm.
    relative_error: Option<f64>,
    /// The share of rows whose largest entry is at the same index.
    top1: Option<f64>,
    /// Why the two cannot be compared.
    why: Option<&'a str>,
}

impl<'a> From<&'a OutputDrift> for OutputDocument<'a> {
    fn from(one: &'a OutputDrift) -> OutputDocument<'a> {
        OutputDocument {
            name: &one.output,
            cosine: one.cosine.and_then(finite),
            relative_error: one.relative_error.and_then(finite),
            top1: one.top1.and_then(finite),
            why: one.why.as_deref(),
        }
    }
}

/// The original and the changed model on one engine, interleaved.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Speed")]
struct SpeedDocument<'a> {
    engine: &'a str,
    engine_version: &'a str,
    before: Option<TimesDocument>,
    after: Option<TimesDocument>,
    memory_before: Option<Bytes>,
    memory_after: Option<Bytes>,
    /// Time before ÷ time after; above 1 is faster.
    speed_up: Option<f64>,
    interval: Option<Ends>,
    /// The smallest difference that is detected with 80 % probability, as a share.
    detectable: Option<f64>,
    verdict: SpeedVerdict,
    valid: bool,
    /// Why it is not faster or why it cannot be told, if known.
    why: Option<&'a str>,
    /// What to try next.
    instead: Option<&'a str>,
}

/// The times of one inference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Times")]
struct TimesDocument {
    /// Milliseconds.
    median: f64,
    mean: f64,
    p95: f64,
    /// How many samples.
    count: u64,
}

impl From<&Summary> for TimesDocument {
    fn from(summary: &Summary) -> TimesDocument {
        TimesDocument {
            median: milliseconds(summary.median),
            mean: milliseconds(summary.mean),
            p95: milliseconds(summary.p95),
            count: summary.count,
        }
    }
}

impl<'a> From<&'a SpeedProof> for SpeedDocument<'a> {
    fn from(one: &'a SpeedProof) -> SpeedDocument<'a> {
        let found = one.speed_up.as_ref();
        SpeedDocument {
            engine: &one.engine,
            engine_version: &one.version,
            before: one.before.as_ref().map(TimesDocument::from),
            after: one.after.as_ref().map(TimesDocument::from),
            memory_before: one.memory_before,
            memory_after: one.memory_after,
            speed_up: found.and_then(|found| finite(found.ratio)),
            interval: found.and_then(|found| found.interval).map(Ends::from),
            detectable: found.and_then(|found| found.detectable),
            verdict: one.verdict,
            valid: one.verdicts.iter().all(|verdict| verdict.valid),
            why: one.why.as_deref(),
            instead: one.instead.as_deref(),
        }
    }
}

/// A search as a JSON value of `modelmeter.optimize/1`.
pub(super) fn optimize_json(report: &OptimizeReport) -> Value {
    to_json(&OptimizeDocument {
        schema: OPTIMIZE_SCHEMA,
        started_at: report.started_at.into(),
        elapsed: report.elapsed.into(),
        model: &report.model.name,
        target: report.target,
        max_drift: report.max_drift,
        engine: &report.engine,
        best: report.best().map(AttemptDocument::from),
        attempts: report.attempts.iter().map(AttemptDocument::from).collect(),
        folder: report.folder.as_deref().map(Path::to_string_lossy),
        remarks: &report.remarks,
    })
}

/// Everything a search tried.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptimizeDocument<'a> {
    #[schemars(extend("const" = OPTIMIZE_SCHEMA))]
    schema: &'static str,
    started_at: Timestamp,
    elapsed: Milliseconds,
    model: &'a str,
    /// What was to be minimised.
    target: Target,
    /// The largest drift that was allowed.
    max_drift: f64,
    /// The engine that measured.
    engine: &'a str,
    /// The change that was kept.
    best: Option<AttemptDocument<'a>>,
    /// Everything that was tried, the best first.
    attempts: Vec<AttemptDocument<'a>>,
    /// The folder of the best model.
    folder: Option<Cow<'a, str>>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
}

/// One change that was tried.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attempt")]
struct AttemptDocument<'a> {
    /// The command-line arguments that make this change.
    command: &'a str,
    /// How much the target improved: before ÷ after.
    gain: Option<f64>,
    /// The lower end of the gain, which decides the order.
    sure_gain: Option<f64>,
    /// Why it was rejected; null for the best.
    refused: Option<&'a str>,
    /// What kind of reason that is; null for the best.
    refused_kind: Option<AttemptRefusalKind>,
    /// Whether it may be better, as far as can be told.
    open: bool,
    /// The result, a `modelmeter.proof/1`; null if the change could not be made.
    proof: Option<ProofDocument<'a>>,
}

impl<'a> From<&'a Attempt> for AttemptDocument<'a> {
    fn from(one: &'a Attempt) -> AttemptDocument<'a> {
        AttemptDocument {
            command: &one.command,
            gain: one.gain.and_then(finite),
            sure_gain: one.sure_gain.and_then(finite),
            refused: one.refused.as_ref().map(|refusal| refusal.why.as_str()),
            refused_kind: one.refused.as_ref().map(|refusal| refusal.kind),
            open: one.is_open,
            proof: one.proof.as_deref().map(ProofDocument::from),
        }
    }
}
