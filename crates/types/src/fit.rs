//! What fits under a limit of memory: which precisions and batches were tried, what each took, and which was best.

use crate::{
    Bytes, Cell, Device, Estimate, Generation, LimitedBy, Machine, ModelInfo, Pooled, Precision,
    Reading, Remark, RunId, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How an attempt ended that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// An allocation was refused, or the kernel ended the worker for its memory.
    OutOfMemory,
    /// It ran with more resident memory than the limit: pages of mapped files, which the limit does not count.
    OverLimit,
    /// It did not answer in time: if memory is only just enough, a worker reads its weights from disk again and again.
    Timeout,
    /// It crashed without a reason, as engines do that do not check their allocations.
    Crash,
}

impl RefusalKind {
    /// The name used in tables and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RefusalKind::OutOfMemory => "out-of-memory",
            RefusalKind::OverLimit => "over-limit",
            RefusalKind::Timeout => "timeout",
            RefusalKind::Crash => "crash",
        }
    }
}

/// Why something does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// How it ended.
    pub kind: RefusalKind,
    /// The message, with its causes.
    pub why: String,
}

/// One batch that was run for a moment, untimed, to see whether it fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitTry {
    /// Samples in one inference.
    pub batch: usize,
    /// Peak resident memory, if it ran to its end.
    pub peak: Option<Bytes>,
    /// Why it does not fit; `None` if it does.
    pub refused: Option<Refusal>,
}

/// The result of a batch that was to be timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum FitOutcome {
    /// It ran within the limit.
    Fits,
    /// It did not.
    Refused(Refusal),
    /// It fits and was not timed.
    NotTimed {
        /// Why.
        why: String,
    },
}

/// One batch of a way, under the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitCell {
    /// Samples in one inference.
    pub batch: usize,
    /// What it should take: the engine, the weights, the activations; `None` if shapes stay unknown.
    pub estimate: Option<Bytes>,
    /// The most that was resident.
    pub peak: Option<Bytes>,
    /// Samples a second.
    pub throughput: Option<Pooled>,
    /// Median latency in seconds.
    pub latency: Option<Pooled>,
    /// How many samples these rest on.
    pub samples: u64,
    /// Whether the short measurement is valid; `None` if it was not timed.
    pub valid: Option<bool>,
    /// The result.
    pub outcome: FitOutcome,
}

/// An engine and a precision, and all batches that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitWay {
    /// The engine's id.
    pub engine: String,
    /// Its version, if a worker reported it.
    pub engine_version: Option<String>,
    /// The number format.
    pub precision: Precision,
    /// The first batch that was tried: the largest power of two that the estimate allows.
    pub start: usize,
    /// Every short run, in order.
    pub tries: Vec<FitTry>,
    /// The largest batch that fits; what ran for a moment and was refused when it was timed does not.
    pub largest: Option<usize>,
    /// The smallest that is known not to fit.
    pub refused: Option<usize>,
    /// What was timed, by batch; and the smallest that does not fit.
    pub cells: Vec<FitCell>,
    /// Why larger batches were not timed, if they were not.
    pub stopped: Option<String>,
}

/// An engine and precision that was not tried, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FitLeftOut {
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: Precision,
    /// Why.
    pub why: String,
}

/// A candidate that was measured once more, completely, under the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// What ran.
    pub cell: Cell,
    /// The stored run; `None` if there was none, or nothing is stored.
    pub run: Option<RunId>,
    /// Samples a second.
    pub throughput: Option<Pooled>,
    /// Median latency in seconds.
    pub latency: Option<Pooled>,
    /// The most that was resident.
    pub peak: Option<Bytes>,
    /// Whether its numbers are valid.
    pub verdict: Option<Verdict>,
    /// Why it does not fit after all.
    pub refused: Option<Refusal>,
    /// The command that measures it again.
    pub command: String,
}

/// One context that was tried for a moment: how many tokens, and what they took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextTry {
    /// Tokens of the text with what is written.
    pub tokens: usize,
    /// The most that was resident, or held on a device with its own memory.
    pub peak: Option<Bytes>,
    /// What was resident at the end, files apart.
    pub resident: Option<Bytes>,
    /// The bytes of the cache as the engine reports them.
    pub reported: Option<Bytes>,
    /// Tokens that the cache held then.
    pub held: usize,
    /// Bytes of a token in the cache by formula, in the format that it was kept in; `None` where nothing ran.
    pub per_token: Option<Bytes>,
    /// Why it does not fit; `None` if it does.
    pub refused: Option<Refusal>,
}

/// What a token in the cache takes, in bytes: three views that should agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheCost {
    /// By formula: layers, heads of keys, width, number format.
    pub formula: Reading<Bytes>,
    /// The slope of what the engine reports.
    pub reported: Reading<Estimate>,
    /// The slope of measured memory.
    pub measured: Reading<Estimate>,
    /// Contexts that ran.
    pub contexts: usize,
}

/// The longest text that fits, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitContext {
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: Precision,
    /// The most tokens that fit; `None` if not even the fewest do.
    pub longest: Option<usize>,
    /// The fewest that are known not to fit.
    pub refused: Option<usize>,
    /// The most that the model was made for.
    pub model_limit: Option<usize>,
    /// What was tried, in order.
    pub tries: Vec<ContextTry>,
    /// What a token takes.
    pub cache: CacheCost,
}

/// The smallest limit that would be enough, if nothing fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmallestNeed {
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    #[schemars(range(min = 1))]
    pub batch: usize,
    /// Peak resident memory without a limit.
    pub peak: Bytes,
    /// A limit under which it ran; `None` if none was found.
    pub enough: Option<Bytes>,
}

/// The best throughput under a limit of memory, and what was tried for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long it took.
    pub elapsed: Duration,
    /// The model.
    pub model: ModelInfo,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<usize>,
    /// Where it ran.
    pub device: Device,
    /// Threads the engine could use.
    pub threads: u32,
    /// The machine.
    pub machine: Machine,
    /// The limit that held.
    pub limit: Bytes,
    /// Who held the workers to it; `None` if none started.
    pub limited_by: Option<LimitedBy>,
    /// The largest batch that was considered.
    pub most: usize,
    /// The test, of a language model that generates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// How long texts may become, of a language model that generates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<FitContext>,
    /// What was tried.
    pub ways: Vec<FitWay>,
    /// What was not.
    pub left_out: Vec<FitLeftOut>,
    /// Whole measurements of the best, in order.
    pub confirmations: Vec<Confirmation>,
    /// Which of them is the best; `None` if nothing fits.
    pub winner: Option<usize>,
    /// The limit that would be enough, if nothing fits.
    pub smallest_need: Option<SmallestNeed>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

impl FitReport {
    /// The best, if something fits.
    #[must_use]
    pub fn best(&self) -> Option<&Confirmation> {
        self.confirmations.get(self.winner?)
    }

    /// Whether something fits and its numbers can be believed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.best().and_then(|best| best.verdict.as_ref()).is_some_and(|verdict| verdict.valid)
    }
}
