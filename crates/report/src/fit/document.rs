//! What fits as the document `modelmeter.fit/1`.
//!
//! `docs/schema/modelmeter.fit-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit.

use super::words::share;
use crate::document::{Ends, Milliseconds, Timestamp, WeightsKind, finite, to_json};
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{
    Bytes, Confirmation, ContextTry, Device, Estimate, FitCell, FitContext, FitLeftOut, FitOutcome,
    FitReport, FitTry, FitWay, Generation, LimitedBy, Pooled, Precision, Reading, Refusal,
    RefusalKind, Remark, RunId, SmallestNeed, Verdict, Weights,
};

/// The name and version of the document.
pub const FIT_SCHEMA: &str = "modelmeter.fit/1";

/// The report as a JSON value of `modelmeter.fit/1`; keys keep the order of the document.
pub(super) fn fit_json(report: &FitReport) -> Value {
    to_json(&FitDocument::from(report))
}

/// The batch size and precision with the best throughput under a memory limit, and what was tried. Sizes are bytes. Missing
/// values are null.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FitDocument<'a> {
    #[schemars(extend("const" = FIT_SCHEMA))]
    schema: &'static str,
    started_at: Timestamp,
    /// Everything together.
    elapsed: Milliseconds,
    /// The name people use.
    model: &'a str,
    weights: WeightsKind,
    /// A hash over graph and weights.
    fingerprint: &'a str,
    /// Null for a program, because its operations are counted only while it runs.
    parameters: Option<u64>,
    /// Tokens in each sample; null for models without a length.
    #[schemars(range(min = 1))]
    sequence_length: Option<usize>,
    device: Device,
    threads: u32,
    /// The machine's key.
    machine: &'a str,
    memory_limit: LimitDocument,
    /// The largest batch that was considered.
    #[schemars(range(min = 1))]
    max_batch: usize,
    /// The winner among the confirmations; null if nothing fits.
    best: Option<ConfirmationDocument<'a>>,
    /// Complete measurements under the limit, in order.
    confirmations: Vec<ConfirmationDocument<'a>>,
    /// The test, of a language model that generates; null for others.
    generation: Option<Generation>,
    /// How long texts may become, one at a time; empty for models that do not generate.
    contexts: Vec<ContextDocument<'a>>,
    /// Engines and precisions that were tried.
    ways: Vec<WayDocument<'a>>,
    /// Engines and precisions that were not tried, and why.
    left_out: &'a [FitLeftOut],
    /// The limit that would be enough, if nothing fits.
    smallest_need: Option<&'a SmallestNeed>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
}

impl<'a> From<&'a FitReport> for FitDocument<'a> {
    fn from(report: &'a FitReport) -> FitDocument<'a> {
        let confirmation = |one| ConfirmationDocument::new(one, report.limit);
        FitDocument {
            schema: FIT_SCHEMA,
            started_at: report.started_at.into(),
            elapsed: report.elapsed.into(),
            model: &report.model.name,
            weights: WeightsKind::of(matches!(report.model.weights, Weights::Random { .. })),
            fingerprint: &report.model.fingerprint,
            parameters: Some(report.model.parameters).filter(|count| *count > 0),
            sequence_length: report.sequence_length,
            device: report.device,
            threads: report.threads,
            machine: &report.machine.key,
            memory_limit: LimitDocument { bytes: report.limit, by: report.limited_by },
            max_batch: report.most,
            best: report.best().map(confirmation),
            confirmations: report.confirmations.iter().map(confirmation).collect(),
            generation: report.generation,
            contexts: report.contexts.iter().map(ContextDocument::from).collect(),
            ways: report.ways.iter().map(|one| WayDocument::new(one, report.limit)).collect(),
            left_out: &report.left_out,
            smallest_need: report.smallest_need.as_ref(),
            remarks: &report.remarks,
        }
    }
}

/// The limit that was enforced, and by what.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryLimit")]
struct LimitDocument {
    #[schemars(range(min = 1))]
    bytes: Bytes,
    by: Option<LimitedBy>,
}

/// An engine in a precision.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Way")]
struct WayDocument<'a> {
    /// The engine's id.
    engine: &'a str,
    /// Its version, if a worker reported it.
    engine_version: Option<&'a str>,
    precision: Precision,
    /// The first batch that was tried: the largest power of two that the estimate allows.
    #[schemars(range(min = 1))]
    first_batch: usize,
    /// The largest batch that fits, within the search; null if none does.
    #[schemars(range(min = 1))]
    largest_batch: Option<usize>,
    /// The smallest that is known not to fit.
    #[schemars(range(min = 1))]
    refused_batch: Option<usize>,
    /// Why larger batches were not timed.
    stopped: Option<&'a str>,
    /// What was timed, by batch, and the smallest that does not fit.
    cells: Vec<BatchDocument<'a>>,
    /// Every short run, untimed, in order.
    tries: Vec<TryDocument<'a>>,
}

impl<'a> WayDocument<'a> {
    fn new(way: &'a FitWay, limit: Bytes) -> WayDocument<'a> {
        WayDocument {
            engine: &way.engine,
            engine_version: way.engine_version.as_deref(),
            precision: way.precision,
            first_batch: way.start,
            largest_batch: way.largest,
            refused_batch: way.refused,
            stopped: way.stopped.as_deref(),
            cells: way.cells.iter().map(|one| BatchDocument::new(one, limit)).collect(),
            tries: way.tries.iter().map(TryDocument::from).collect(),
        }
    }
}

/// The longest text that fits, one at a time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Context")]
struct ContextDocument<'a> {
    /// The engine's id.
    engine: &'a str,
    precision: Precision,
    /// The most tokens that fit; null if not even the fewest do.
    longest: Option<usize>,
    /// The fewest that are known not to fit.
    refused: Option<usize>,
    /// The most that the model was made for.
    model_limit: Option<usize>,
    cache: CacheDocument<'a>,
    /// Every short run, in order.
    tries: Vec<ContextTryDocument<'a>>,
}

/// What a token in the cache takes, in bytes: by formula, as the slope of what the engine reports, and as that of measured
/// memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CacheCost")]
struct CacheDocument<'a> {
    formula: &'a Reading<Bytes>,
    reported: &'a Reading<Estimate>,
    measured: &'a Reading<Estimate>,
    /// Contexts that ran.
    contexts: usize,
}

/// One context.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ContextTry")]
struct ContextTryDocument<'a> {
    #[schemars(range(min = 1))]
    tokens: usize,
    peak: Option<Bytes>,
    /// What was resident at the end, files apart.
    resident: Option<Bytes>,
    /// The cache as the engine reports it.
    cache: Option<Bytes>,
    refused: Option<RefusalDocument<'a>>,
}

impl<'a> From<&'a FitContext> for ContextDocument<'a> {
    fn from(context: &'a FitContext) -> ContextDocument<'a> {
        let tried = |tried: &'a ContextTry| ContextTryDocument {
            tokens: tried.tokens,
            peak: tried.peak,
            resident: tried.resident,
            cache: tried.reported,
            refused: tried.refused.as_ref().map(RefusalDocument::from),
        };
        ContextDocument {
            engine: &context.engine,
            precision: context.precision,
            longest: context.longest,
            refused: context.refused,
            model_limit: context.model_limit,
            cache: CacheDocument {
                formula: &context.cache.formula,
                reported: &context.cache.reported,
                measured: &context.cache.measured,
                contexts: context.cache.contexts,
            },
            tries: context.tries.iter().map(tried).collect(),
        }
    }
}

/// A batch that was run briefly, without being timed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Try")]
struct TryDocument<'a> {
    #[schemars(range(min = 1))]
    batch_size: usize,
    peak: Option<Bytes>,
    refused: Option<RefusalDocument<'a>>,
}

impl<'a> From<&'a FitTry> for TryDocument<'a> {
    fn from(one: &'a FitTry) -> TryDocument<'a> {
        TryDocument {
            batch_size: one.batch,
            peak: one.peak,
            refused: one.refused.as_ref().map(RefusalDocument::from),
        }
    }
}

/// One batch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Batch")]
struct BatchDocument<'a> {
    #[schemars(range(min = 1))]
    batch_size: usize,
    outcome: BatchOutcome,
    refused: Option<RefusalDocument<'a>>,
    /// Why it was not timed.
    why: Option<&'a str>,
    memory: EstimatedMemory,
    throughput: ThroughputDocument,
    latency: LatencyDocument,
    samples: u64,
    /// Whether its shortness is the only problem of the short measurement; null if it was not timed.
    valid: Option<bool>,
}

/// The result of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BatchOutcome {
    Fits,
    Refused,
    NotTimed,
}

/// Predicted memory and observed resident memory.
#[derive(Debug, Serialize, JsonSchema)]
struct EstimatedMemory {
    /// Engine, weights and activations, before anything ran.
    estimate: Option<Bytes>,
    #[serde(flatten)]
    resident: ResidentMemory,
}

/// The observed resident memory.
#[derive(Debug, Serialize, JsonSchema)]
struct ResidentMemory {
    peak: Option<Bytes>,
    share_of_limit: Option<f64>,
    #[schemars(extend("const" = "bytes"))]
    unit: &'static str,
}

impl ResidentMemory {
    fn new(peak: Option<Bytes>, limit: Bytes) -> ResidentMemory {
        ResidentMemory { peak, share_of_limit: share(peak, limit).and_then(finite), unit: "bytes" }
    }
}

impl<'a> BatchDocument<'a> {
    fn new(cell: &'a FitCell, limit: Bytes) -> BatchDocument<'a> {
        let (outcome, refused, why) = match &cell.outcome {
            FitOutcome::Fits => (BatchOutcome::Fits, None, None),
            FitOutcome::Refused(found) => (BatchOutcome::Refused, Some(found.into()), None),
            FitOutcome::NotTimed { why } => (BatchOutcome::NotTimed, None, Some(why.as_str())),
        };
        BatchDocument {
            batch_size: cell.batch,
            outcome,
            refused,
            why,
            memory: EstimatedMemory {
                estimate: cell.estimate,
                resident: ResidentMemory::new(cell.peak, limit),
            },
            throughput: cell.throughput.into(),
            latency: cell.latency.into(),
            samples: cell.samples,
            valid: cell.valid,
        }
    }
}

/// A candidate that was measured completely.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Confirmation")]
struct ConfirmationDocument<'a> {
    engine: &'a str,
    precision: Precision,
    #[schemars(range(min = 1))]
    batch_size: usize,
    /// The stored run; null if none is.
    run: Option<&'a RunId>,
    memory: ResidentMemory,
    throughput: ThroughputDocument,
    latency: LatencyDocument,
    /// Whether its numbers are valid.
    verdict: Option<&'a Verdict>,
    refused: Option<RefusalDocument<'a>>,
    /// Measures it again.
    command: &'a str,
}

impl<'a> ConfirmationDocument<'a> {
    fn new(one: &'a Confirmation, limit: Bytes) -> ConfirmationDocument<'a> {
        ConfirmationDocument {
            engine: &one.cell.engine,
            precision: one.cell.precision,
            batch_size: one.cell.batch_size,
            run: one.run.as_ref(),
            memory: ResidentMemory::new(one.peak, limit),
            throughput: one.throughput.into(),
            latency: one.latency.into(),
            verdict: one.verdict.as_ref(),
            refused: one.refused.as_ref().map(RefusalDocument::from),
            command: &one.command,
        }
    }
}

/// Why it does not fit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
struct RefusalDocument<'a> {
    kind: RefusalKind,
    /// The message, with its causes.
    why: &'a str,
}

impl<'a> From<&'a Refusal> for RefusalDocument<'a> {
    fn from(refusal: &'a Refusal) -> RefusalDocument<'a> {
        RefusalDocument { kind: refusal.kind, why: &refusal.why }
    }
}

/// Null if it was not timed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Throughput")]
struct ThroughputDocument {
    samples_per_second: Option<f64>,
    ci95: Option<Ends>,
}

impl From<Option<Pooled>> for ThroughputDocument {
    fn from(found: Option<Pooled>) -> ThroughputDocument {
        ThroughputDocument {
            samples_per_second: found.and_then(|found| finite(found.value)),
            ci95: found.and_then(|found| found.interval).map(Ends::from),
        }
    }
}

/// The median of an inference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
struct LatencyDocument {
    median: Option<f64>,
    ci95: Option<Ends>,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

impl From<Option<Pooled>> for LatencyDocument {
    fn from(found: Option<Pooled>) -> LatencyDocument {
        LatencyDocument {
            median: found.and_then(|found| finite(milliseconds(found.value))),
            ci95: found.and_then(|found| found.interval).map(Ends::in_milliseconds),
            unit: "ms",
        }
    }
}
