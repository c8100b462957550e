//! What many runs say together: cells with their runs pooled, how they scale, and which of them nobody beats.

use crate::{
    Bytes, Device, Interval, InvalidRuns, LengthUnit, Mode, Percentiles, Precision, Reading,
    Remark, RunId, Variant,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The pooled value of several runs, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// The number.
    pub value: f64,
    /// Its interval; `None` if nothing was repeated.
    pub interval: Option<Interval>,
}

/// The settings of the runs that are pooled; runs with different keys are never pooled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub random_weights: bool,
    /// Inference or training.
    pub mode: Mode,
    /// Tokens in each sample; `None` for models without a length.
    pub sequence_length: Option<u64>,
    /// Whether another tool measured it.
    pub imported: bool,
    /// The machine's key.
    pub machine: String,
    /// Where it ran.
    pub device: Device,
    /// The engine's id.
    pub engine: String,
    /// The number format.
    pub precision: Precision,
    /// Threads the engine could use.
    pub threads: u32,
    /// All other settings of the cell, as [`Variant::canonical`] writes them; empty for the defaults.
    pub variant: String,
    /// Samples in one inference.
    pub batch_size: u64,
}

impl CellKey {
    /// What its length counts.
    #[must_use]
    pub fn length_unit(&self) -> LengthUnit {
        Variant::parse(&self.variant).unwrap_or_default().length_unit
    }

    /// What of its variant is the work and not the way to do it.
    #[must_use]
    pub fn work(&self) -> Variant {
        match self.mode {
            // Both have no such part, and there are many of them.
            Mode::Inference | Mode::Training => Variant::default(),
            _ => Variant::parse(&self.variant).unwrap_or_default().work(),
        }
    }
}

/// A cell with its newest valid runs pooled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PooledCell {
    /// Which one.
    pub key: CellKey,
    /// `None` if its runs are valid. Otherwise it has no valid run, others were asked for, and this is why they are not.
    #[serde(default)]
    pub invalid: Option<InvalidRuns>,
    /// All of its runs that are not valid.
    #[serde(default)]
    pub invalid_runs: InvalidRuns,
    /// Whether the newest of all its runs is valid; otherwise its numbers are older than they could be.
    #[serde(default)]
    pub newest_is_valid: bool,
    /// The engine's version: that of the newest valid run, and of all that are pooled.
    pub engine_version: String,
    /// The model's fingerprint, of all that are pooled.
    pub fingerprint: String,
    /// The runs that are pooled, newest first.
    pub runs: Vec<RunId>,
    /// Valid runs that are not: of another version or file, or too old to be among the newest.
    pub older: u64,
    /// When the oldest and the newest of the pooled runs began, in microseconds since the epoch.
    pub began: (i64, i64),
    /// Samples of all pooled runs.
    pub samples: u64,
    /// Samples of the run that has fewest.
    pub fewest_samples: u64,
    /// Median latency in seconds.
    pub latency: Pooled,
    /// The median latency of the slowest of the pooled runs.
    pub slowest: f64,
    /// Percentiles of the latency, each the worst of the pooled runs.
    pub percentiles: Percentiles,
    /// Samples a second.
    pub throughput: Reading<Pooled>,
    /// Peak memory, the largest of the pooled runs.
    pub memory: Reading<Bytes>,
    /// Peak memory with how it scatters over the runs, in bytes.
    pub memory_spread: Reading<Pooled>,
    /// Joules a sample.
    pub energy: Reading<Pooled>,
    /// Operations a second ÷ the machine's ceiling.
    pub efficiency: Reading<f64>,
}

/// A cell, and how it compares with other cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnalysedCell {
    /// Its numbers.
    pub cell: PooledCell,
    /// The processor's time ÷ its own: above 1 is faster.
    pub speed_up: Reading<Pooled>,
    /// Whether no other cell is at least as good in latency, throughput and memory, and better in one.
    pub on_front: Reading<bool>,
}

/// How the time of an inference grows with a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The smallest.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// How many were measured.
    pub points: u64,
    /// The exponent e of time = c · sizeᵉ, fitted in the logarithms: 1 is in proportion.
    pub exponent: Pooled,
    /// What is done in a second at the largest ÷ at the smallest: samples, or tokens where the length grows.
    pub gain: f64,
    /// Against the ideal: `gain` ÷ (`to` ÷ `from`) for batches, whose ideal costs no time; `gain` itself for lengths, whose
    /// ideal grows in proportion.
    pub efficiency: f64,
}

/// Cells that differ in their batch alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchSeries {
    /// The cell with the highest throughput.
    pub best: CellKey,
    /// Its samples per second.
    pub throughput: Pooled,
    /// The smallest batch whose throughput is within 5 % of that.
    pub enough: u64,
    /// How time grows with the batch; missing if only one batch was measured.
    pub scaling: Reading<Scaling>,
}

/// Cells that differ in their length alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LengthSeries {
    /// The cell of the shortest length.
    pub shortest: CellKey,
    /// How time grows with the length.
    pub scaling: Scaling,
}

/// A cell that was measured but has no valid run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotValidCell {
    /// Which one.
    pub key: CellKey,
    /// How many of its runs are not valid for which reason.
    pub reasons: InvalidRuns,
    /// The newest of them.
    pub newest: RunId,
    /// When it began, in microseconds since the epoch.
    pub began: i64,
}

/// What happened to the runs, with counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Runs that were selected.
    pub seen: u64,
    /// Pooled into a cell.
    pub pooled: u64,
    /// Valid, but older than the pooled runs, or of another version.
    pub older: u64,
    /// Not valid: not counted unless requested.
    pub invalid: u64,
    /// Why those are not valid, each counted once by its main reason.
    #[serde(default)]
    pub invalid_reasons: InvalidRuns,
    /// Valid, but without a time.
    pub untimed: u64,
    /// Predicted, so not counted.
    pub predicted: u64,
}

/// What many runs say together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Analysis {
    /// Every cell with a valid run, in the order of their keys; if requested, those without one too.
    pub cells: Vec<AnalysedCell>,
    /// Cells that were measured but have no valid run, in the order of their keys, with why.
    #[serde(default)]
    pub not_valid: Vec<NotValidCell>,
    /// The best batch of everything else that was measured.
    pub batches: Vec<BatchSeries>,
    /// How time grows with the length, if several were measured.
    pub lengths: Vec<LengthSeries>,
    /// What machines are called, by their keys.
    pub machines: BTreeMap<String, String>,
    /// What happened to the runs, with counts.
    pub tally: Tally,
    /// The command that measures the newest cell without a valid run again.
    #[serde(default)]
    pub again: Option<String>,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}
