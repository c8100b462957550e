//! The questions, evidence and rulings of a gate.

use crate::{
    Device, Environment, Gauge, Generation, Interval, LengthUnit, Mode, Precision, Reason, Remark,
    RemarkCode, Revision, Run, RunId, Seconds,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The ruling of a gate.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// The condition holds.
    Held,
    /// The data are not sufficient for a decision.
    CannotTell,
    /// It does not hold.
    Failed,
}

impl Ruling {
    /// The name used in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ruling::Held => "held",
            Ruling::CannotTell => "cannot-tell",
            Ruling::Failed => "failed",
        }
    }
}

/// What was measured: enough to find it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCell {
    /// The model.
    pub model: String,
    /// The engine's id.
    pub engine: String,
    /// Where it ran.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<usize>,
    /// The unit of the length.
    #[serde(default, skip_serializing_if = "LengthUnit::is_tokens")]
    pub length_unit: LengthUnit,
    /// Threads that the engine was configured to use.
    pub threads: u32,
    /// Inference, training or generating.
    pub mode: Mode,
    /// The test, of a language model that generates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
}

impl GateCell {
    /// What a run measured.
    #[must_use]
    pub fn of(run: &Run) -> GateCell {
        GateCell {
            model: run.model.name.clone(),
            engine: run.engine.id.clone(),
            device: run.cell.device,
            precision: run.cell.precision,
            batch_size: run.cell.batch_size,
            sequence_length: run.cell.sequence_length,
            length_unit: run.cell.feed.length_unit,
            threads: run.cell.threads,
            mode: run.cell.mode,
            generation: run.cell.generation,
        }
    }

    /// Everything in one line, for people and for files that know only names.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = vec![
            self.model.clone(),
            self.engine.clone(),
            self.device.to_string(),
            self.precision.to_string(),
            format!("batch={}", self.batch_size),
        ];
        if let Some(generation) = self.generation {
            words.push(generation.name());
            return words.join(" ");
        }
        words.extend(self.sequence_length.map(|length| format!("length={length}")));
        if self.mode != Mode::Inference {
            words.push(self.mode.name().into());
        }
        words.join(" ")
    }
}

/// How the baseline and the candidate were timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateDesign {
    /// Both were measured interleaved, in one session.
    Interleaved,
    /// The baseline was stored before, with too few sessions to know how this machine drifts.
    Stored,
    /// The baseline was stored in several sessions; their scatter shows how this machine drifts.
    History,
}

/// The question that a gate asks about a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Question {
    /// Is the number within a limit?
    Limit {
        /// The limit in the gauge's own unit.
        limit: f64,
    },
    /// Has it got worse than a baseline?
    Change {
        /// The worsening that the user wants to be alerted to: 0.05 is 5 %.
        alert: f64,
        /// The same, but never below the noise floor of this machine.
        effective: f64,
        /// How the two were timed.
        design: GateDesign,
        /// The change that drift alone can cause, as a share; only a larger one counts as worse.
        drift: f64,
    },
}

/// The evidence of the measurements for a question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateEvidence {
    /// The value itself, or for a change how many times worse it is: above 1 is worse, whatever the gauge.
    pub estimate: f64,
    /// The confidence interval, with the error rate of the design at either end.
    pub interval: Interval,
    /// The chance of such a value if the question's answer were yes, it holds.
    pub p_value: f64,
    /// The same, corrected for all questions together (Benjamini and Hochberg).
    pub adjusted_p: f64,
    /// The smallest worsening that is found 19 times in 20, as a share.
    pub detectable: f64,
}

/// One question, its evidence and the ruling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was measured.
    pub cell: GateCell,
    /// Which number.
    pub gauge: Gauge,
    /// The request.
    pub question: Question,
    /// The value now, in the gauge's own unit.
    pub value: Option<f64>,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// What the measurements say; `None` if they say nothing.
    pub evidence: Option<GateEvidence>,
    /// Processes it rests on, on the side with fewer.
    pub processes: u64,
    /// How many times worse each round was; empty if sides were not interleaved.
    pub rounds: Vec<f64>,
    /// The ruling.
    pub ruling: Ruling,
    /// The reason, if no number shows it.
    pub why: Option<String>,
    /// What would decide it, if it is undecided.
    pub settle: Option<String>,
    /// What speaks against the measurements, each thing once.
    pub reasons: Vec<Reason>,
    /// The stored runs of it.
    pub runs: Vec<RunId>,
}

/// How the gate measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GatePlan {
    /// After how many processes per side it looked, in order; it stopped as soon as everything was settled.
    pub looks: Vec<u32>,
    /// How many looks it took.
    pub looked: u32,
    /// Turns of each side in a process; 0 where there is only one side.
    pub turns: u32,
    /// How long a turn, or the sampling of a process, lasts at least.
    pub turn: Seconds,
    /// The chance of a false alarm that is accepted over all questions and looks together.
    pub chance: f64,
}

/// The questions, evidence and rulings of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateReport {
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long it took.
    pub elapsed: Duration,
    /// The machine and its state.
    pub environment: Environment,
    /// How it measured.
    pub plan: GatePlan,
    /// The name of the baseline; `None` if only thresholds were checked.
    pub baseline: Option<String>,
    /// The baseline's source, if known.
    pub baseline_revision: Option<Revision>,
    /// Every question.
    pub checks: Vec<Check>,
    /// What could not be measured at all.
    pub missing: Vec<Missing>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

/// A cell for which the question has no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Which one.
    pub what: String,
    /// The kind of reason.
    #[serde(default)]
    pub code: RemarkCode,
    /// Why.
    pub why: String,
    /// Whether that is a failed measurement, rather than a missing baseline.
    pub fails: bool,
}

impl GateReport {
    /// The ruling on everything together: the worst of all.
    #[must_use]
    pub fn ruling(&self) -> Ruling {
        let missing = self.missing.iter().map(|missing| match missing.fails {
            true => Ruling::Failed,
            false => Ruling::CannotTell,
        });
        let checks = self.checks.iter().map(|check| check.ruling);
        // Nothing asked is nothing answered.
        checks.chain(missing).max().unwrap_or(Ruling::CannotTell)
    }
}

/// The noise of a machine: repeated measurements of the same model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// When it was measured, in microseconds since the epoch.
    pub measured_at: i64,
    /// How long that took.
    pub elapsed: Duration,
    /// What was run.
    pub cell: GateCell,
    /// How much of a processor's time went to others while a program only counted: mean and longest pause.
    pub jitter: Jitter,
    /// A comparison of a model with itself, interleaved: how different the two sides looked.
    pub itself: Itself,
    /// The median latency of each process in order, in seconds.
    pub medians: Vec<f64>,
    /// How far two medians differ that were taken at this interval.
    pub drift: Vec<Drifted>,
}

/// The time that a busy loop loses to other work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Jitter {
    /// How long the test loop ran.
    pub watched: Seconds,
    /// The share of the time that other work took.
    pub lost: f64,
    /// The longest single pause.
    pub longest: Seconds,
    /// Pauses above 0.1 ms, per second.
    pub pauses: f64,
}

/// A comparison of a model with itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Itself {
    /// Fresh processes per side.
    pub rounds: u64,
    /// The expected ratio, which is 1.
    pub ratio: f64,
    /// Its 99 % interval.
    pub interval: Interval,
    /// The scatter of a round, as a share.
    pub scatter: f64,
    /// Changes smaller than this are not reported on this machine.
    pub floor: f64,
}

/// How far the medians differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drifted {
    /// The interval between them.
    pub apart: Seconds,
    /// The 95th percentile of their distance, as a share.
    pub share: f64,
}
