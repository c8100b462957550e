//! Several engines on the same model at the same time: what was timed, and what may be said of it.
//!
//! A [`Duel`] is raw: rounds of fresh processes, turns inside a round, samples inside a turn. A [`ComparisonReport`] is
//! derived from it, or from stored runs. Ratios are speed-ups: the baseline's time ÷ the side's time, above 1 is faster.

use crate::{
    Bytes, Device, EngineInfo, EngineOptions, Environment, Interval, LayerJoin, Mode, ModelInfo,
    Phase, Precision, ReasonCode, Remark, RemarkCode, RunId, Seconds, Summary, Training, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What else the machine did during a measurement; `None` if the system does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnConditions {
    /// The share of the machine that other processes used, 0 to 1.
    #[serde(rename = "others")]
    pub other_work: Option<f64>,
    /// How many threads were ready to run but had no processor, on average.
    pub waited: Option<f64>,
    /// How many processors its own threads used, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// The share of processor time that the hypervisor took, 0 to 1.
    pub steal: Option<f64>,
    /// How many times a processor's clock was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// What was wrong with the GPU it ran on: a throttled clock, or other processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<ReasonCode>,
}

/// One window of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// One entry per sample, in nanoseconds, in the order they were taken.
    pub samples: Vec<u64>,
    /// What else went on meanwhile.
    #[serde(default)]
    pub conditions: TurnConditions,
    /// What disturbed it so that its times say nothing; it is then left out and counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<ReasonCode>,
}

impl Turn {
    /// A turn that nothing disturbed.
    #[must_use]
    pub fn quiet(samples: Vec<u64>) -> Turn {
        Turn { samples, conditions: TurnConditions::default(), disturbed: None }
    }
}

/// A side and its results, except its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideInfo {
    /// Its name in this comparison, unlike any other's: `onnxruntime`, `torch compiled`.
    pub label: String,
    /// The engine that ran, with its version and the device of the model.
    pub engine: EngineInfo,
    /// The requested device.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Threads that the engine was configured to use.
    pub threads: u32,
    /// Other engine options.
    #[serde(default, skip_serializing_if = "EngineOptions::is_default")]
    pub options: EngineOptions,
    /// Inference or training.
    #[serde(default)]
    pub mode: Mode,
    /// How it was trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// What it generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<crate::Generation>,
    /// Median times of the phases of a training step; empty for an inference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<(Phase, Seconds)>,
    /// The largest memory of any of its processes.
    pub peak_memory: Option<Bytes>,
    /// Whether its numbers are valid.
    pub verdict: Verdict,
    /// Remarks of the engine about the results.
    #[serde(default)]
    pub remarks: Vec<Remark>,
    /// Why it could not be measured to the end; its speed-up is then refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// One side of a duel: an engine with its settings, and everything that was timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The engine and its settings.
    pub info: SideInfo,
    /// Its turns, round by round. A round is one fresh process. Turn j of every side belongs to the same sweep, in which
    /// each side runs once; sweeps alternate between forward and backward order.
    pub rounds: Vec<Vec<Turn>>,
    /// Time to load the model, one entry per process.
    pub load: Vec<Seconds>,
    /// Time of the true first inference, one entry per process.
    pub first: Vec<Seconds>,
}

/// How far one output of a side differs from the reference's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputParity {
    /// The output's name.
    pub output: String,
    /// The largest absolute difference; `None` if the two cannot be compared.
    pub max_abs: Option<f64>,
    /// The cosine of the angle between them; `None` if the two cannot be compared.
    pub cosine: Option<f64>,
    /// The norm of the difference as a share of the reference's norm; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The bound for `max_abs`, derived from the output's own scale; `None` without a bound.
    pub tolerance: Option<f64>,
    /// The largest difference that rounding explains, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// Whether they are equal within it.
    pub holds: bool,
    /// True if nothing could be compared, rather than outputs differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// Why it does not hold, if no number shows it: `shapes 4×768 and 4×128×768`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Limitations of the comparison: numbers that are not finite, random operators, rounding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Whether a side computes what the reference computes: same weights, same inputs, outputs within the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parity {
    /// The side's label.
    pub side: String,
    /// The label of the side it was compared with.
    pub reference: String,
    /// Output by output.
    pub outputs: Vec<OutputParity>,
    /// Whether every output holds.
    pub holds: bool,
    /// The first layer whose output differs, if outputs differ and it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<String>,
}

/// What a comparison of outputs says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The outputs are equal within the tolerance.
    Equal,
    /// They differ.
    Different,
    /// Nothing could be compared: no number is finite, or random operators cannot be told apart.
    CannotTell,
}

impl Agreement {
    /// The name used in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Agreement::Equal => "equal",
            Agreement::Different => "different",
            Agreement::CannotTell => "cannot-tell",
        }
    }

    /// The sign between two sides.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Agreement::Equal => "=",
            Agreement::Different => "≠",
            Agreement::CannotTell => "?",
        }
    }
}

impl Parity {
    /// The agreement: one output that differs is enough; `CannotTell` if none could be compared.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        let mut broken = self.outputs.iter().filter(|output| !output.holds).peekable();
        match (self.holds, broken.peek().is_some() && broken.all(|output| output.undecided)) {
            (true, _) => Agreement::Equal,
            (false, true) => Agreement::CannotTell,
            (false, false) => Agreement::Different,
        }
    }

    /// The largest absolute difference of any output; `None` if one cannot be compared or there are none.
    #[must_use]
    pub fn max_abs(&self) -> Option<f64> {
        let each: Option<Vec<f64>> = self.outputs.iter().map(|output| output.max_abs).collect();
        each?.into_iter().reduce(f64::max)
    }
}

/// The same model on several sides, interleaved in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Duel {
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long everything took.
    pub elapsed: Duration,
    /// The model that all sides ran.
    pub model: ModelInfo,
    /// Samples in one inference.
    pub batch_size: usize,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<usize>,
    /// Inference or training.
    pub mode: Mode,
    /// Seed of weights and inputs.
    pub seed: u64,
    /// The machine and its state.
    pub environment: Environment,
    /// The sides in the order they were given.
    pub sides: Vec<Side>,
    /// The comparisons of outputs.
    pub parity: Vec<Parity>,
    /// Remarks about the whole result.
    #[serde(default)]
    pub remarks: Vec<Remark>,
    /// How it was looked at while it grew; `None` if the number of rounds was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<DuelLooks>,
}

/// How a duel was looked at while it grew: after rounds that were fixed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DuelLooks {
    /// The most fresh processes of each side.
    pub at_most: u32,
    /// The scatter of the machine, where a test of its noise showed it: the standard deviation of a round's ratio, as a
    /// logarithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scatter: Option<f64>,
}

/// Why a comparison that was looked at while it grew ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Every question was answered.
    Answered,
    /// The most processes were measured.
    LimitReached,
}

impl Ended {
    /// The name used in tables, JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ended::Answered => "answered",
            Ended::LimitReached => "limit-reached",
        }
    }

    /// What people read: `answered`, `limit reached`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Ended::Answered => "answered",
            Ended::LimitReached => "limit reached",
        }
    }
}

/// How a comparison was looked at while it grew, and why it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LooksReport {
    /// After how many processes per side it looks.
    pub after: Vec<u32>,
    /// The most processes of any side that were measured.
    pub used: u32,
    /// The most that it would have measured.
    pub at_most: u32,
    /// Why it ended.
    pub ended: Ended,
    /// The accepted chance of calling equal sides different, over all looks and sides.
    pub chance: f64,
}

/// How the times were taken that a comparison rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Design {
    /// Sides alternated, forward and backward, in one session, so drift affects all sides equally.
    Interleaved {
        /// Fresh processes per side.
        rounds: u64,
        /// Turns of each side in a round; the smallest number if they differ.
        turns: u64,
    },
    /// Runs that were stored before, each at its own time.
    Stored,
}

/// How much faster a side is than the baseline: baseline's time ÷ its own, above 1 is faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeedUp {
    /// The estimate.
    pub ratio: f64,
    /// Its 95 % interval; `None` if nothing was repeated.
    pub interval: Option<Interval>,
    /// The largest that any pair of turns (or of stored runs) showed.
    pub best: f64,
    /// The smallest that any pair of turns (or of stored runs) showed.
    pub worst: f64,
    /// The result of each round by itself.
    pub rounds: Vec<f64>,
    /// The chance of a ratio this far from 1 if both were equally fast; `None` if processes were not repeated.
    pub p_value: Option<f64>,
    /// The same, corrected for the number of comparisons (Benjamini and Hochberg).
    pub adjusted_p: Option<f64>,
    /// The smallest difference that this design detects with 80 % probability, as a share: 0.03 is 3 %.
    pub detectable: Option<f64>,
}

/// The outcome of comparing a side with the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Outcome {
    /// It is faster.
    Better,
    /// It is slower.
    Worse,
    /// The data are not sufficient for a decision.
    CannotTell,
    /// No speed-up is reported.
    Refused {
        /// The kind of reason.
        #[serde(default)]
        code: RemarkCode,
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// The name used in tables, JSON and CSV.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::CannotTell => "cannot-tell",
            Outcome::Refused { .. } => "refused",
        }
    }
}

/// Pairs of turns that were disturbed by other work on the machine; they are left out of the speed-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// Pairs of turns that were taken.
    pub pairs: u64,
    /// Pairs of turns that were disturbed.
    pub left_out: u64,
    /// What disturbed them, the most frequent first.
    pub causes: Vec<(ReasonCode, u64)>,
}

impl Disturbed {
    /// Whether too few pairs are left for a decision: fewer than half of the pairs were undisturbed.
    #[must_use]
    pub fn is_too_much(&self) -> bool {
        self.left_out * 2 > self.pairs
    }

    /// `18 of 20 pairs of turns were disturbed (18 × other work)`.
    #[must_use]
    pub fn words(&self) -> String {
        let causes: Vec<String> =
            self.causes.iter().map(|(code, count)| format!("{count} × {}", code.words())).collect();
        let Disturbed { pairs, left_out, .. } = self;
        format!("{left_out} of {pairs} pairs of turns were disturbed ({})", causes.join(", "))
    }
}

/// One side compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The side's label.
    pub side: String,
    /// The baseline's label.
    pub baseline: String,
    /// The speed-up; `None` exactly if it is refused.
    pub speed_up: Option<SpeedUp>,
    /// The outcome.
    pub outcome: Outcome,
    /// Turns that were disturbed, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
    /// Remarks that limit or explain this verdict.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// Summary of a side's samples, all its processes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// The engine and its settings.
    pub info: SideInfo,
    /// Processes that were timed.
    pub processes: u64,
    /// Summary of its samples, in seconds; `None` if there are none.
    pub latency: Option<Summary>,
    /// Median time to load the model.
    pub load: Option<Seconds>,
    /// Median time of the true first inference.
    pub first: Option<Seconds>,
    /// The stored runs it was computed from; empty for interleaved comparisons.
    #[serde(default)]
    pub runs: Vec<RunId>,
}

/// Sides compared with a baseline: everything that a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
    /// When the measuring began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long the measuring took.
    pub elapsed: Duration,
    /// The model; that of the baseline if stored runs differ.
    pub model: ModelInfo,
    /// Samples in one inference; those of the baseline if stored runs differ.
    pub batch_size: usize,
    /// Tokens in each sample; those of the baseline if stored runs differ.
    pub sequence_length: Option<usize>,
    /// Inference or training.
    pub mode: Mode,
    /// Seed of weights and inputs.
    pub seed: u64,
    /// The machine and its state; the baseline's if stored runs differ.
    pub environment: Environment,
    /// How the times were taken.
    pub design: Design,
    /// The label of the baseline.
    pub baseline: String,
    /// The sides in the order they were given.
    pub sides: Vec<SideReport>,
    /// One entry per side except the baseline, in the same order.
    pub comparisons: Vec<Comparison>,
    /// The comparisons of outputs; empty for stored runs.
    pub parity: Vec<Parity>,
    /// The smallest difference that every comparison would detect with 80 % probability, as a share.
    pub detectable: Option<f64>,
    /// Remarks about the whole result.
    pub remarks: Vec<Remark>,
    /// Time by layer, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<LayerJoin>,
    /// How it was looked at while it grew; `None` if the number of processes was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksReport>,
}

impl ComparisonReport {
    /// The side with this label.
    #[must_use]
    pub fn side(&self, label: &str) -> Option<&SideReport> {
        self.sides.iter().find(|side| side.info.label == label)
    }

    /// The comparison of the side with this label; the baseline has none.
    #[must_use]
    pub fn comparison(&self, label: &str) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.side == label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_survives_its_name_and_keeps_its_reason() {
        let refused =
            Outcome::Refused { code: RemarkCode::OutputsDiffer, why: "outputs differ".into() };
        for outcome in [Outcome::Better, Outcome::Worse, Outcome::CannotTell, refused] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert!(text.contains(&format!("\"verdict\":\"{}\"", outcome.name())), "{text}");
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        }
    }

    #[test]
    fn a_difference_that_cannot_be_taken_leaves_no_largest_one() {
        let output = |max_abs| OutputParity {
            output: "y".into(),
            max_abs,
            cosine: None,
            error: None,
            tolerance: Some(1e-4),
            rounding: None,
            holds: false,
            undecided: false,
            why: None,
            note: None,
        };
        let mut parity = Parity {
            side: "rten".into(),
            reference: "torch".into(),
            outputs: vec![output(Some(1e-6)), output(Some(3e-6))],
            holds: true,
            first_difference: None,
        };
        assert_eq!(parity.max_abs(), Some(3e-6));
        parity.outputs.push(output(None));
        assert_eq!(parity.max_abs(), None);
        assert_eq!(parity.agreement(), Agreement::Equal);
        parity.holds = false;
        assert_eq!(parity.agreement(), Agreement::Different);
        parity.outputs.iter_mut().for_each(|output| output.undecided = true);
        assert_eq!(parity.agreement(), Agreement::CannotTell);
    }
}
