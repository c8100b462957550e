//! Predictions: answers, what they rest on, how good they are, and the hardware whose peaks are known.

mod backtest;
mod backtest_document;
mod document;
mod exploration;
mod gaps;
mod hardware;
mod result;
mod tables;
mod trained;
mod words;

pub use backtest::backtest_document;
pub use backtest_document::BACKTEST_SCHEMA;
pub use document::PREDICTION_SCHEMA;
pub use exploration::{ExplorationView, exploration_document};
pub use gaps::with_gap_predictions;
pub use hardware::{HARDWARE_SCHEMA, hardware_document};
pub use result::predictions_document;
pub use tables::{TableRows, table_prediction_document};
pub use trained::{LearnedKind, trained_document};

pub(crate) use backtest_document::BacktestDocument;
pub(crate) use document::PredictionDocument;
pub(crate) use hardware::HardwareListDocument;

use crate::{clean::clean, invalid::not_valid, result::Note};
use predict::{Answer, Case, Next, Refused};
use std::collections::BTreeMap;
use types::InvalidRuns;

/// A question, and what is said to it.
#[derive(Debug)]
pub struct Prediction {
    /// What was asked.
    pub case: Case,
    /// The answer, or why there is none.
    pub answer: Result<Answer, Refused>,
    /// What would narrow the interval most.
    pub next: Option<Next>,
}

/// What predictions were learned from.
#[derive(Debug, Clone, Copy)]
pub struct LearnedCells<'a> {
    /// Cells of the database, or times of tables.
    pub cells: usize,
    /// What was left out or is doubtful: why, and how many.
    pub left_out: &'a BTreeMap<String, usize>,
    /// Runs that nothing was learned from, because they are not valid.
    pub not_valid: Option<&'a InvalidRuns>,
}

fn left_out(from: &LearnedCells<'_>) -> Vec<Note> {
    let cells = |cells| if cells == 1 { "1 cell".into() } else { format!("{cells} cells") };
    let all = from.left_out.iter();
    let mut notes: Vec<Note> =
        all.map(|(why, count)| Note::new(format!("{}: {}", cells(*count), clean(why)))).collect();
    if let Some(runs) = from.not_valid.filter(|runs| !runs.is_empty()) {
        notes.push(Note::new(format!("runs that nothing is learned from: {}", not_valid(runs))));
    }
    notes
}
