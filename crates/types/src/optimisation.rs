//! A model before and after it was made smaller or faster, and whether that helped.

use crate::{Bytes, Flops, ModelInfo, Outcome, Precision, Seconds, SpeedUp, Summary, Verdict};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// What was done to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Optimisation {
    /// Single weights became zero; the graph stayed as it was.
    Zeroed {
        /// `magnitude`, `global-magnitude`, `random` or `n-m`.
        method: String,
        /// `2:4`, where groups were kept.
        pattern: Option<String>,
        /// The share that was asked for.
        asked: f64,
        /// The share of the chosen weights that are zero now.
        reached: f64,
        /// Whether activations of given texts were weighed in.
        calibrated: bool,
        /// In how many steps.
        steps: u32,
    },
    /// Heads and neurons were cut away.
    Structured {
        /// The share that was asked for.
        asked: f64,
        /// The share of heads and neurons that went, each block weighing alike.
        reached: f64,
        /// Whether activations of given texts were weighed in.
        calibrated: bool,
        /// In how many steps.
        steps: u32,
    },
    /// Another number format.
    Quantised {
        /// The new format.
        to: Precision,
        /// `dynamic`, `static`, `weights-only`; absent for 16-bit floats.
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
    /// Those that are not zero.
    pub nonzeros: u64,
    /// Bytes of graph and weights.
    pub size: Bytes,
    /// The same, compressed with zstd; `None` where nobody asked.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockFacts {
    /// Its module.
    pub name: String,
    /// `heads` or `neurons`.
    pub what: String,
    /// How many there were.
    pub before: usize,
    /// How many stay.
    pub after: usize,
}

/// How far one output moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputDrift {
    /// The output.
    pub output: String,
    /// The cosine of the angle between before and after; `None` where they cannot be compared.
    pub cosine: Option<f64>,
    /// The length of the difference as a share of the length before.
    pub relative_error: Option<f64>,
    /// The share of rows whose largest entry is at the same place.
    pub top1: Option<f64>,
    /// Why the two cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How alike two texts are, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// The first text.
    pub first: String,
    /// The second text.
    pub second: String,
    /// The cosine of their sentence vectors before.
    pub before: f64,
    /// The same after.
    pub after: f64,
}

/// How far a model's answers moved on the same inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The engine that computed both.
    pub engine: String,
    /// Samples that were compared.
    pub samples: usize,
    /// Whether they were texts that somebody gave, or drawn.
    pub given: bool,
    /// Output by output.
    pub outputs: Vec<OutputDrift>,
    /// What leaves each module, in the order it is computed; only where it has the same shape.
    pub layers: Vec<OutputDrift>,
    /// Pairs of texts, where the model makes sentence vectors.
    #[serde(default)]
    pub similarities: Vec<Similarity>,
}

impl Drift {
    /// One minus the smallest cosine of any output: what `--max-drift` bounds; `None` where one cannot be compared.
    #[must_use]
    pub fn worst(&self) -> Option<f64> {
        let cosines: Option<Vec<f64>> = self.outputs.iter().map(|output| output.cosine).collect();
        cosines?.into_iter().map(|cosine| 1.0 - cosine).reduce(f64::max)
    }
}

/// Whether it is faster on one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedVerdict {
    /// It is.
    Faster,
    /// It is not: as fast as before, or faster by less than a tenth.
    NoFaster,
    /// It is slower.
    Slower,
    /// The times lie too far apart to say.
    CannotTell,
    /// It could not be measured.
    Unmeasured,
}

/// Before and after on one engine, in turns.
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
    /// Before ÷ after, above 1 is faster.
    pub speed_up: Option<SpeedUp>,
    /// What the comparison may say.
    pub outcome: Outcome,
    /// Whether the numbers can be believed.
    pub verdicts: Vec<Verdict>,
    /// What that means here.
    pub verdict: SpeedVerdict,
    /// Why it is not faster or that cannot be told, where that is known.
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
    /// Where the changed model was written.
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
    /// How far the answers moved; `None` where nobody looked.
    pub drift: Option<Drift>,
    /// Why the answers could not be compared, where they could not; a remark too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncompared: Option<String>,
    /// Engine by engine; empty where nothing was timed.
    pub speed: Vec<SpeedProof>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

impl ProofReport {
    /// Whether the question was answered: something was told on an engine, or nobody asked for times.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.speed.is_empty() || self.speed.iter().any(SpeedProof::is_told)
    }
}

/// What a search keeps small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What came of it; `None` where it could not be made.
    pub proof: Option<Box<ProofReport>>,
    /// By how much the target became better: before ÷ after, with its interval.
    pub gain: Option<f64>,
    /// The lower end of the gain, which decides.
    pub sure_gain: Option<f64>,
    /// Why it was not kept; `None` for the best.
    pub refused: Option<String>,
    /// Whether it may be better: its answers stay where they are, and its times do not decide.
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
    /// What was to become small.
    pub target: Target,
    /// The largest drift that was allowed.
    pub max_drift: f64,
    /// The engine that measured.
    pub engine: String,
    /// Everything that was tried, the best first.
    pub attempts: Vec<Attempt>,
    /// Where the best was written.
    pub folder: Option<PathBuf>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

impl OptimizeReport {
    /// The change that was kept.
    #[must_use]
    pub fn best(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.refused.is_none())
    }

    /// How many changes may be better, for all that could be told.
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
