//! What a gate was asked, what it found and how it ruled.

use crate::{
    Device, Environment, Gauge, Interval, LengthUnit, Mode, Precision, Reason, Revision, Run,
    RunId, Seconds,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a gate rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// What was asked holds.
    Held,
    /// The data do not decide.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub batch_size: usize,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<usize>,
    /// What the length counts.
    #[serde(default, skip_serializing_if = "LengthUnit::is_tokens")]
    pub length_unit: LengthUnit,
    /// Threads the engine was told to use.
    pub threads: u32,
    /// Inference or training.
    pub mode: Mode,
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
        words.extend(self.sequence_length.map(|length| format!("length={length}")));
        if self.mode == Mode::Training {
            words.push("training".into());
        }
        words.join(" ")
    }
}

/// How a baseline and what is held against it were timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateDesign {
    /// Both took turns in one session.
    Interleaved,
    /// The baseline was stored before; it has fewer sessions than tell how this machine drifts.
    Stored,
    /// The baseline was stored in several sessions, whose scatter tells how this machine drifts.
    History,
}

/// What a gate asks of a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Question {
    /// Does it keep a limit?
    Limit {
        /// The limit in the gauge's own unit.
        limit: f64,
    },
    /// Has it got worse than a baseline?
    Change {
        /// What people want to be told of: 0.05 is 5 % worse.
        alert: f64,
        /// The same, but never below what this machine shows where nothing changed.
        effective: f64,
        /// How the two were timed.
        design: GateDesign,
        /// What drift alone may make, as a share; it must be passed before anything is called worse.
        drift: f64,
    },
}

/// What the measurements say to a question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateEvidence {
    /// The value itself, or for a change how many times worse it is: above 1 is worse, whatever the gauge.
    pub estimate: f64,
    /// Where the truth lies, missed at either end with the design's chance.
    pub interval: Interval,
    /// The chance of such a value if the question's answer were yes, it holds.
    pub p_value: f64,
    /// The same, corrected for all questions asked together (Benjamini and Hochberg).
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
    /// What was asked.
    pub question: Question,
    /// The value now, in the gauge's own unit.
    pub value: Option<f64>,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// What the measurements say; `None` where they say nothing.
    pub evidence: Option<GateEvidence>,
    /// Processes it rests on, on the side with fewer.
    pub processes: u64,
    /// How many times worse each round of a duel was; empty where nobody took turns.
    pub rounds: Vec<f64>,
    /// The ruling.
    pub ruling: Ruling,
    /// Why it is so, where numbers do not say it.
    pub why: Option<String>,
    /// What would settle it, where it is not settled.
    pub settle: Option<String>,
    /// What speaks against the measurements, each thing once.
    pub reasons: Vec<Reason>,
    /// The stored runs of it.
    pub runs: Vec<RunId>,
}

/// How the gate measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GatePlan {
    /// After how many processes a side it looked, in order; it stopped as soon as everything was settled.
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

/// What a gate was asked, found and ruled.
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
    /// What everything was held against, in words; `None` where only limits were asked.
    pub baseline: Option<String>,
    /// The baseline's source, where it is known.
    pub baseline_revision: Option<Revision>,
    /// Every question.
    pub checks: Vec<Check>,
    /// What could not be measured at all.
    pub missing: Vec<Missing>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// A cell that gave no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// Which one.
    pub what: String,
    /// Why.
    pub why: String,
    /// Whether that is a failure of what was asked for, and not just nothing to hold it against.
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

/// What a machine does to measurements of one and the same thing.
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
    /// One thing held against itself, by turns: how unlike it looked.
    pub itself: Itself,
    /// The median latency of each process in order, in seconds.
    pub medians: Vec<f64>,
    /// How far two medians lie apart that were taken so long after each other.
    pub drift: Vec<Drifted>,
}

/// What a busy loop loses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// How long it counted.
    pub watched: Seconds,
    /// The share of time that was not its own.
    pub lost: f64,
    /// The longest single pause.
    pub longest: Seconds,
    /// Pauses above a tenth of a millisecond, a second.
    pub pauses: f64,
}

/// A thing held against itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Itself {
    /// Fresh processes a side.
    pub rounds: u64,
    /// The quotient, which is 1.
    pub ratio: f64,
    /// Its 99 % interval.
    pub interval: Interval,
    /// How much a round scatters, as a share.
    pub scatter: f64,
    /// No change below this is called on this machine.
    pub floor: f64,
}

/// How far medians lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drifted {
    /// So long after each other.
    pub apart: Seconds,
    /// The 95th percentile of their distance, as a share.
    pub share: f64,
}
