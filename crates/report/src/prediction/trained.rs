//! What was learned from a database, and how good answers are: `predict --train`.

use super::{
    LearnedCells,
    document::{BacktestRow, trained},
    left_out,
    words::{tenths, times_and_divided},
};
use crate::{
    result::{Block, DataTable, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use predict::{Calibrated, Learned, Situation};

/// Columns of the rows for programs.
const COLUMNS: [&str; 9] = [
    "hardware",
    "held_out",
    "cells",
    "groups",
    "median_error",
    "mean_error",
    "coverage",
    "width",
    "physics_median_error",
];

/// What was learned of one kind of hardware.
#[derive(Debug)]
pub struct LearnedKind<'a> {
    /// Whether these are GPUs.
    pub is_gpu: bool,
    /// Cells of the database.
    pub cells: usize,
    /// What was learned; why nothing was.
    pub learned: Result<&'a Learned, &'a str>,
}

/// What was learned, and how good answers are.
#[must_use]
pub fn trained_document(kinds: &[LearnedKind<'_>], from: &LearnedCells<'_>) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("hardware"),
        Column::left("held out"),
        Column::right("cells").leaves(2),
        Column::right("groups").leaves(3),
        Column::right("median error"),
        Column::right("mean error").leaves(4),
        Column::right("coverage"),
        Column::right("interval"),
        Column::right("physics alone").leaves(1),
    ]);
    let mut notes = Vec::new();
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for LearnedKind { is_gpu, cells, learned } in kinds {
        let words = if *is_gpu { "GPUs" } else { "processors" };
        match learned {
            Ok(learned) => {
                for (situation, one) in learned.calibrated() {
                    grid.row(told(words, *situation, one));
                    rows.push(plain(words, *situation, one));
                    found.push(BacktestRow::of(Some(words), *situation, one));
                }
                if learned.calibrated().is_empty() {
                    notes.push(Note::warning(format!(
                        "{words}: {cells} cells, but too few groups to hold any out"
                    )));
                }
            }
            Err(error) => notes.push(Note::warning(format!("{words}: {error}"))),
        }
    }
    notes.push(Note::new(
        "held out: what is new about a question. A setting is one cell, a pair all cells of one model on one engine, a \
         family all models of one architecture, a machine all of its cells. Coverage: share of cells within their 90 % interval",
    ));
    notes.extend(left_out(from));
    ResultDocument {
        title: vec!["What predictions rest on".into()],
        facts: vec![format!("{} cells of the database", from.cells)],
        verdict: Some(match found.is_empty() {
            false => Note::of(Tone::Good, "cells were predicted while their group was held out"),
            true => {
                Note::of(Tone::Warning, "too little is measured to know how good a prediction is")
            }
        }),
        blocks: vec![Block::table("backtest", grid), Block::Notes(notes)],
        json: trained(from, found),
        data: Some(DataTable::new(COLUMNS, rows)),
        ..ResultDocument::default()
    }
}

fn told(words: &str, situation: Situation, one: &Calibrated) -> Vec<String> {
    vec![
        words.to_owned(),
        situation.words().to_owned(),
        one.cells.to_string(),
        one.groups.to_string(),
        tenths(one.median_error),
        tenths(one.mean_error),
        tenths(one.coverage),
        times_and_divided(one.width),
        one.physics_error.map(tenths).unwrap_or_default(),
    ]
}

/// The same for programs.
fn plain(words: &str, situation: Situation, one: &Calibrated) -> Vec<Option<String>> {
    let number = |number: f64| number.is_finite().then(|| number.to_string());
    vec![
        Some(words.to_owned()),
        Some(situation.words().to_owned()),
        Some(one.cells.to_string()),
        Some(one.groups.to_string()),
        number(one.median_error),
        number(one.mean_error),
        number(one.coverage),
        number(one.width),
        one.physics_error.and_then(number),
    ]
}
