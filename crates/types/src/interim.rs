//! What is known of a comparison while it is measured.

use crate::{Interval, Outcome, Seconds};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table of a comparison as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interim {
    /// What it is compared with: a side's label, or the name of a baseline.
    pub baseline: String,
    /// One row per side or question, in the order they were given.
    pub rows: Vec<InterimRow>,
    /// Fresh processes of each side that are finished.
    pub processes: u32,
    /// The most there will be.
    pub at_most: u32,
    /// Whether a process of each side has just finished, as opposed to a turn.
    pub is_round: bool,
    /// How much longer it takes if what was seen so far stays so; `None` while nothing is known.
    pub left: Option<Duration>,
    /// How much longer it takes at most.
    pub left_at_most: Option<Duration>,
}

/// One side or question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterimRow {
    /// Its name.
    pub label: String,
    /// Fresh processes of it that were or are being measured.
    pub processes: u32,
    /// The median of its times; `None` while there are none, or if it is a number of another kind.
    pub median: Option<Seconds>,
    /// The ratio to the baseline; `None` for the baseline itself and while there is none.
    pub ratio: Option<f64>,
    /// The interval of the moment.
    pub interval: Option<Interval>,
    /// What may be said of it.
    pub state: InterimState,
}

/// What may be said of a side or question for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum InterimState {
    /// The others are compared with it.
    Baseline,
    /// It is measured further.
    Open,
    /// It is answered, and not measured further.
    Answered {
        /// The answer.
        outcome: Outcome,
    },
    /// It is settled in other words: `held`, `failed`.
    Settled {
        /// The words.
        words: String,
    },
    /// It dropped out.
    Failed,
}
