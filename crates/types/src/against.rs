//! Cells held against the rows of a file that was written earlier.

use crate::{CellKey, Pooled};
use serde::{Deserialize, Serialize};

/// A cell as a file tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileCell {
    /// Which one.
    pub key: CellKey,
    /// Median latency in seconds.
    pub latency: Pooled,
    /// How many runs that rests on.
    pub runs: u64,
    /// Their names, where the file has them.
    pub run_ids: Vec<String>,
}

/// What may be said of a cell against a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum AgainstOutcome {
    /// It is faster.
    Better,
    /// It is not slower by more than is accepted.
    Held,
    /// It is slower by more than is accepted.
    Worse,
    /// The numbers do not decide.
    CannotTell,
    /// The file holds the very same runs.
    Same,
}

/// Where an allowance for drift comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllowanceFrom {
    /// The caller gave it.
    Given,
    /// The cell's own history of sessions.
    History,
    /// The scatter of the runs on both sides.
    Runs,
    /// What an idle machine was seen to drift.
    Drift,
}

/// A cell against its row in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgainstCell {
    /// Which one.
    pub key: CellKey,
    /// The file's latency in seconds.
    pub file: Pooled,
    /// Runs behind it.
    pub file_runs: u64,
    /// Today's latency in seconds.
    pub now: Pooled,
    /// Runs behind it.
    pub now_runs: u64,
    /// Now ÷ file: above 1 is slower.
    pub ratio: Pooled,
    /// The share by which either end of the interval may be off for what the numbers cannot show.
    pub allowance: f64,
    /// Where that comes from.
    pub allowance_from: AllowanceFrom,
    /// What may be said.
    pub outcome: AgainstOutcome,
}

/// Cells against a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Against {
    /// The cells with a row in the file.
    pub cells: Vec<AgainstCell>,
    /// The worsening that is accepted, as a share.
    pub accepted: f64,
    /// Cells without a row in the file.
    pub only_now: Vec<CellKey>,
    /// Rows of the file without a cell that is looked at.
    pub only_file: u64,
    /// Rows that would fit but for their machine.
    pub other_machines: u64,
}
