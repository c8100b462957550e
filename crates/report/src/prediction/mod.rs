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

use crate::{clean::clean, result::Note};
use predict::{Answer, Case, Next, Refused};
use std::collections::BTreeMap;

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
}

fn left_out(from: &LearnedCells<'_>) -> Vec<Note> {
    let all = from.left_out.iter();
    all.map(|(why, cells)| Note::new(format!("{cells} cells: {}", clean(why)))).collect()
}
