//! Cells compared with the rows of a file that was written earlier.

use crate::{CellKey, Pooled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cell as it is stored in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileCell {
    /// Which one.
    pub key: CellKey,
    /// Median latency in seconds.
    pub latency: Pooled,
    /// Number of runs that is based on.
    pub runs: u64,
    /// Their names, where the file has them.
    pub run_ids: Vec<String>,
}

/// The outcome of comparing a cell with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum AgainstOutcome {
    /// It is faster.
    Better,
    /// It is not slower by more than the accepted worsening.
    Held,
    /// It is slower by more than the accepted worsening.
    Worse,
    /// The numbers are not sufficient for a decision.
    CannotTell,
    /// The file contains exactly the same runs.
    Same,
}

/// Where an allowance for drift comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllowanceFrom {
    /// The caller gave it.
    Given,
    /// The cell's own history of sessions.
    History,
    /// The scatter of the runs on both sides.
    Runs,
    /// The drift that was observed on an idle machine.
    Drift,
}

/// A cell compared with its row in the file.
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
    /// Allowance at either end of the interval for effects that the numbers cannot show, as a share.
    pub allowance: f64,
    /// Where that comes from.
    pub allowance_from: AllowanceFrom,
    /// The outcome.
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
    /// Rows of the file without a selected cell.
    pub only_file: u64,
    /// Rows that would match except for their machine.
    pub other_machines: u64,
}
