//! A model before and after it was made smaller or faster, and whether that helped.

use crate::{
    AttemptRefusal, Bytes, Flops, ModelInfo, Outcome, Precision, Remark, Seconds, SpeedUp, Summary,
    Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// How a model was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Optimisation {
    /// Single weights became zero; the graph stayed as it was.
    Zeroed {
        /// `magnitude`, `global-magnitude`, `random` or `n-m`.
        #[schemars(extend("enum" = ["magnitude", "global-magnitude", "random", "n-m"]))]
        method: String,
        /// `2:4`, if weights were kept in groups.
        pattern: Option<String>,
        /// The requested share.
        asked: f64,
        /// The share of the selected weights that are now zero.
        reached: f64,
        /// Whether activations of the given texts were used.
        calibrated: bool,
        /// In how many steps.
        steps: u32,
    },
    /// Attention heads and neurons were removed.
    Structured {
        /// The requested share.
        asked: f64,
        /// The share of heads and neurons that were removed; every block has the same weight.
        reached: f64,
        /// Whether activations of the given texts were used.
        calibrated: bool,
        /// In how many steps.
        steps: u32,
    },
    /// The weights were stored in another number format.
    Quantised {
        /// The new format.
        #[schemars(extend("enum" = ["fp16", "bf16", "int8"]))]
        to: Precision,
        /// `dynamic`, `static`, `weights-only`; absent for 16-bit floats.
        #[schemars(extend("enum" = ["dynamic", "static", "weights-only", null]))]
        how: Option<String>,
        /// Whether each column of a weight has its own scale.
        per_channel: bool,
    },
    /// One change after the other.
    Together {
        /// In the order in which they were made.
        changes: Vec<Optimisation>,
    },
}

/// A model's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Trained numbers.
    pub parameters: u64,
    /// How many of them are not zero.
    pub nonzeros: u64,
    /// Bytes of graph and weights.
    pub size: Bytes,
    /// The same, compressed with zstd; `None` if not requested.
    pub compressed: Option<Bytes>,
    /// Floating point operations of one batch.
    pub flops: Flops,
    /// The number format it computes in.
    pub precision: Precision,
}

impl ModelFacts {
    /// The share of the parameters that are zero.
    #[must_use]
    pub fn sparsity(&self) -> f64 {
        1.0 - self.nonzeros as f64 / self.parameters.max(1) as f64
    }
}

/// One weight before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightFacts {
    /// Its name.
    pub name: String,
    /// How many numbers it had, and how many of them were not zero.
    pub before: [u64; 2],
    /// How many numbers it has, and how many of them are not zero.
    pub after: [u64; 2],
}

/// One block that lost heads or neurons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockFacts {
    /// Its module.
    pub name: String,
    /// `heads` or `neurons`.
    #[schemars(extend("enum" = ["heads", "neurons"]))]
    pub what: String,
    /// How many there were.
    pub before: usize,
    /// How many are kept.
    pub after: usize,
}

/// How much one output changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputDrift {
    /// The output.
    pub output: String,
    /// The cosine of the angle between before and after; `None` if they cannot be compared.
    pub cosine: Option<f64>,
    /// Norm of the difference as a share of the original norm.
    pub relative_error: Option<f64>,
    /// The share of rows whose largest entry is at the same index.
    pub top1: Option<f64>,
    /// Why the two cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The similarity of two texts, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    /// The first text.
    pub first: String,
    /// The second text.
    pub second: String,
    /// The cosine of their sentence vectors before.
    pub before: f64,
    /// The same value after the change.
    pub after: f64,
}

/// How much a model's outputs changed on the same inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The engine that computed both.
    pub engine: String,
    /// Samples that were compared.
    pub samples: usize,
    /// Whether they were texts that the user gave, or random.
    pub given: bool,
    /// Output by output.
    pub outputs: Vec<OutputDrift>,
    /// The outputs of each module in the order of computation; only those with the same shape.
    pub layers: Vec<OutputDrift>,
    /// Pairs of texts, where the model makes sentence vectors.
    #[serde(default)]
    pub similarities: Vec<Similarity>,
}

impl Drift {
    /// One minus the smallest cosine of any output: what `--max-drift` bounds; `None` if one cannot be compared.
    #[must_use]
    pub fn worst(&self) -> Option<f64> {
        let cosines: Option<Vec<f64>> = self.outputs.iter().map(|output| output.cosine).collect();
        cosines?.into_iter().map(|cosine| 1.0 - cosine).reduce(f64::max)
    }
}

/// Whether it is faster on one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedVerdict {
    /// It is.
    Faster,
    /// It is not: as fast as before, or faster by less than 10 %.
    NoFaster,
    /// It is slower.
    Slower,
    /// The times scatter too much for a decision.
    CannotTell,
    /// It could not be measured.
    Unmeasured,
}

/// The original and the changed model on one engine, interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeedProof {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Times before, in seconds.
    pub before: Option<Summary>,
    /// Times after, in seconds.
    pub after: Option<Summary>,
    /// The largest memory of any process before.
    pub memory_before: Option<Bytes>,
    /// The largest memory of any process after.
    pub memory_after: Option<Bytes>,
    /// Time before ÷ time after; above 1 is faster.
    pub speed_up: Option<SpeedUp>,
    /// What the comparison may say.
    pub outcome: Outcome,
    /// Whether the numbers are valid.
    pub verdicts: Vec<Verdict>,
    /// What that means here.
    pub verdict: SpeedVerdict,
    /// Why it is not faster or why it cannot be told, if known.
    pub why: Option<String>,
    /// What to try next.
    pub instead: Option<String>,
}

impl SpeedProof {
    /// Whether the measurements say anything: faster, no faster or slower.
    #[must_use]
    pub fn is_told(&self) -> bool {
        !matches!(self.verdict, SpeedVerdict::CannotTell | SpeedVerdict::Unmeasured)
    }
}

/// A model before and after, everything a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProofReport {
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long everything took.
    pub elapsed: Duration,
    /// The model before.
    pub model: ModelInfo,
    /// What was done.
    pub optimisation: Optimisation,
    /// The folder of the changed model.
    pub folder: Option<PathBuf>,
    /// How long the change itself took, with writing.
    pub changed_in: Seconds,
    /// Samples in one inference.
    pub batch_size: usize,
    /// Tokens in each sample.
    pub sequence_length: Option<usize>,
    /// Sizes before.
    pub before: ModelFacts,
    /// Sizes after.
    pub after: ModelFacts,
    /// Weights that changed.
    pub weights: Vec<WeightFacts>,
    /// Blocks that lost heads or neurons.
    pub blocks: Vec<BlockFacts>,
    /// How much the outputs changed; `None` if they were not compared.
    pub drift: Option<Drift>,
    /// Why the outputs could not be compared, if they could not; a remark too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncompared: Option<String>,
    /// One entry for each engine; empty if nothing was timed.
    pub speed: Vec<SpeedProof>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

impl ProofReport {
    /// Whether the question was answered: there is a result on an engine, or no times were requested.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.speed.is_empty() || self.speed.iter().any(SpeedProof::is_told)
    }
}

/// What a search minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The time of an inference.
    Latency,
    /// The largest memory of the process.
    Memory,
    /// Bytes on disk.
    Size,
}

impl Target {
    /// The name used in arguments and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::Latency => "latency",
            Target::Memory => "memory",
            Target::Size => "size",
        }
    }
}

/// One change that a search tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The arguments that make it: `quantize --to int8 --per-channel`.
    pub command: String,
    /// The result; `None` if the change could not be made.
    pub proof: Option<Box<ProofReport>>,
    /// By how much the target became better: before ÷ after, with its interval.
    pub gain: Option<f64>,
    /// The lower end of the gain, which decides the order.
    pub sure_gain: Option<f64>,
    /// Why it was not kept; `None` for the best.
    pub refused: Option<AttemptRefusal>,
    /// Whether it may be better: its outputs are within the limit, and its times are not sufficient for a decision.
    #[serde(default)]
    pub is_open: bool,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptimizeReport {
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long everything took.
    pub elapsed: Duration,
    /// The model before.
    pub model: ModelInfo,
    /// What was to be minimised.
    pub target: Target,
    /// The largest drift that was allowed.
    pub max_drift: f64,
    /// The engine that measured.
    pub engine: String,
    /// Everything that was tried, the best first.
    pub attempts: Vec<Attempt>,
    /// The folder of the best model.
    pub folder: Option<PathBuf>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

impl OptimizeReport {
    /// The change that was kept.
    #[must_use]
    pub fn best(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.refused.is_none())
    }

    /// How many changes may be better, as far as can be told.
    #[must_use]
    pub fn open(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.is_open).count()
    }

    /// Whether the question was answered: something was kept, or what was measured is known not to be better.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let decides = |proof: &ProofReport| self.target != Target::Latency || proof.is_told();
        let mut proofs = self.attempts.iter().filter_map(|attempt| attempt.proof.as_deref());
        self.best().is_some() || (self.open() == 0 && proofs.any(decides))
    }
}
