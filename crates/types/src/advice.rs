//! What to do about a measurement: advice with the numbers behind it, what it should gain, and whether it did.
//!
//! A factor is always better ÷ worse in the sense of its [`Goal`]: 2 is half the time, twice the rate or half the memory.

use crate::{
    Bytes, Cell, EngineInfo, EngineOptions, Environment, Interval, ModelInfo, Precision, Remark,
    RunId, Seconds, Unit, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, time::Duration};

/// What the user wants to improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// The time of one inference.
    Latency,
    /// Samples a second.
    Throughput,
    /// Memory.
    Memory,
    /// The time to the first result.
    Start,
}

/// A goal is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown goal `{0}`; known goals: latency, throughput, memory, start")]
pub struct ParseGoalError(pub String);

impl Goal {
    /// Every goal.
    pub const ALL: [Goal; 4] = [Goal::Latency, Goal::Throughput, Goal::Memory, Goal::Start];

    /// The name used in arguments and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Latency => "latency",
            Goal::Throughput => "throughput",
            Goal::Memory => "memory",
            Goal::Start => "start",
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Goal {
    type Err = ParseGoalError;

    fn from_str(text: &str) -> Result<Goal, ParseGoalError> {
        let known = |goal: &Goal| goal.name() == text.to_ascii_lowercase();
        Goal::ALL.into_iter().find(known).ok_or_else(|| ParseGoalError(text.into()))
    }
}

/// A number that a judgement is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the number is, in a few words: `samples per second at batch 16`.
    pub text: String,
    /// Its key: `sweep.16.throughput`.
    pub key: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// What an advice should gain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedGain {
    /// What gets better.
    pub what: Goal,
    /// By which factor, at least and at most.
    pub factor: Interval,
    /// Memory that is saved at most, for advice about memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Bytes>,
    /// How it was estimated.
    pub basis: String,
}

impl ExpectedGain {
    /// The middle of the factor, as ratios have it.
    #[must_use]
    pub fn middle(&self) -> f64 {
        (self.factor.low * self.factor.high).sqrt()
    }
}

/// The changes to the cell; fields that are absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Change {
    /// Samples in one inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    /// Tokens in each sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<usize>,
    /// The number format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// All options of the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<EngineOptions>,
    /// Batches whose gradients are accumulated in one training step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulation: Option<u32>,
    /// Gradient checkpointing: activations are recomputed in the backward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpointing: Option<bool>,
}

/// How an advice is verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Proof {
    /// Interleaved: the cell as it is, and the changed one.
    Change {
        /// What is changed.
        change: Change,
    },
    /// Interleaved: the batch as it is, and the same texts in two batches by length.
    Buckets,
    /// New processes show the same numbers again.
    Repeat,
    /// It cannot be verified here.
    Elsewhere {
        /// Why not.
        why: String,
    },
}

/// The result of verifying an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// The gain is at least what was expected.
    CameTrue,
    /// There is a gain, but less than expected.
    FellShort,
    /// No gain.
    DidNot,
    /// The data are not sufficient for a decision.
    CannotTell,
    /// The changed cell computes different outputs, or could not run.
    Refused,
    /// It was not tried.
    NotTried,
}

impl TrialVerdict {
    /// The name used in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TrialVerdict::CameTrue => "came-true",
            TrialVerdict::FellShort => "fell-short",
            TrialVerdict::DidNot => "did-not",
            TrialVerdict::CannotTell => "cannot-tell",
            TrialVerdict::Refused => "refused",
            TrialVerdict::NotTried => "not-tried",
        }
    }
}

/// What was found when an advice was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The result.
    pub verdict: TrialVerdict,
    /// The factor that was found; `None` if nothing was measured.
    pub found: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// Fresh processes per side.
    pub processes: u64,
    /// What a reader must know: why it was refused or not tried, what speaks against the numbers.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// One recommendation with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The rule that says so.
    pub rule: String,
    /// What to do, in one line.
    pub title: String,
    /// The numbers behind it; never empty.
    pub evidence: Vec<Evidence>,
    /// What it should gain.
    pub gain: ExpectedGain,
    /// How it is proved.
    pub proof: Proof,
    /// The command that proves it; `None` if nothing here can.
    pub command: Option<String>,
    /// What it costs or may break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// The result, if it was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// A rule that looked and found nothing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fine {
    /// The rule.
    pub rule: String,
    /// The number that says so.
    pub evidence: Evidence,
}

/// A rule that lacks data, or does not apply to this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    /// The rule.
    pub rule: String,
    /// Why.
    pub why: String,
    /// What would help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One batch size of a quick sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Samples in one inference.
    pub batch_size: usize,
    /// Median time of one inference, the mean over the passes.
    pub latency: Seconds,
    /// Where that lies: the widest interval that any pass allows.
    pub interval: Interval,
    /// Samples a second.
    pub samples_per_second: f64,
    /// The largest memory of any pass.
    pub peak_memory: Option<Bytes>,
    /// Whether every pass can be believed.
    pub valid: bool,
    /// How often it was measured.
    pub passes: u64,
}

/// The results of the rules for a run, ranked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdviceReport {
    /// When the looking began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long it took, proofs included.
    pub elapsed: Duration,
    /// The run that was looked at.
    pub run: RunId,
    /// What was measured.
    pub cell: Cell,
    /// The model.
    pub model: ModelInfo,
    /// The engine that ran.
    pub engine: EngineInfo,
    /// The machine and its state during the run.
    pub environment: Environment,
    /// Whether the run's numbers can be believed.
    pub verdict: Verdict,
    /// Median time that a user waits.
    pub latency: Option<Seconds>,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Largest memory of the worker.
    pub peak_memory: Option<Bytes>,
    /// What the user wants to improve, if given.
    pub goal: Option<Goal>,
    /// The batch sizes that were measured; empty if no sweep was made.
    pub sweep: Vec<SweepPoint>,
    /// What to do, the largest gain first.
    pub advice: Vec<Advice>,
    /// What was looked at and is fine.
    pub fine: Vec<Fine>,
    /// What could not be judged.
    pub not_judged: Vec<Unjudged>,
    /// What does not concern this model or run.
    pub beside: Vec<Unjudged>,
    /// Remarks about the whole result.
    pub remarks: Vec<Remark>,
}

impl AdviceReport {
    /// Whether any rule could say anything.
    #[must_use]
    pub fn says_something(&self) -> bool {
        !(self.advice.is_empty() && self.fine.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_read_from_its_name() {
        for goal in Goal::ALL {
            assert_eq!(goal.name().parse::<Goal>().unwrap(), goal);
        }
        assert!("speed".parse::<Goal>().unwrap_err().to_string().contains("`speed`"));
    }

    #[test]
    fn the_middle_of_a_factor_is_that_of_ratios() {
        let gain = ExpectedGain {
            what: Goal::Latency,
            factor: Interval { low: 1.0, high: 4.0 },
            saved: None,
            basis: "by hand".into(),
        };
        assert!((gain.middle() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_proof_names_only_what_changes() {
        let proof = Proof::Change { change: Change { batch_size: Some(16), ..Change::default() } };
        let text = serde_json::to_string(&proof).unwrap();
        assert_eq!(text, r#"{"kind":"change","change":{"batch_size":16}}"#);
        assert_eq!(serde_json::from_str::<Proof>(&text).unwrap(), proof);
    }
}
