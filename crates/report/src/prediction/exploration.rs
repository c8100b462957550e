//! What `bench --explore` found: measured and predicted cells side by side, and what choosing was worth.

use super::{
    LearnedCells, Prediction,
    document::{AnswerDocument, ExplorationDocument, explored, rows},
};
use crate::{
    clean::clean,
    result::{Block, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use number::{rate, seconds};

/// What became of an exploration.
#[derive(Debug)]
pub struct ExplorationView<'a> {
    /// The cells of the plan, and what is known of them at the end.
    pub cells: &'a [Prediction],
    /// Cells that were in the database before.
    pub before: usize,
    /// Cells that were measured now.
    pub measured: usize,
    /// Cells that failed, and why.
    pub failed: &'a [(String, String)],
    /// Typical width of the intervals of cells that were open: × and ÷ this number, at first.
    pub width_before: Option<f64>,
    /// The same at the end, of all cells.
    pub width_after: Option<f64>,
    /// The same if as many cells had been drawn at random, as expected at first.
    pub width_by_chance: Option<f64>,
    /// The database at the end.
    pub learned: LearnedCells<'a>,
}

/// Measured and predicted cells of a plan side by side.
#[must_use]
pub fn exploration_document(found: &ExplorationView<'_>) -> ResultDocument {
    let mut grid = Grid::of([
        Column::left("model").shrinks(),
        Column::left("engine"),
        Column::left("format"),
        Column::right("batch"),
        Column::left(""),
        Column::right("latency"),
        Column::right("90 % interval"),
        Column::right("samples/s"),
    ]);
    for asked in found.cells {
        let case = &asked.case;
        let mut row = vec![
            clean(&case.model),
            case.engine.clone(),
            case.precision.clone(),
            case.batch.to_string(),
        ];
        row.extend(match &asked.answer {
            Ok(answer) => {
                let own = &answer.seconds;
                let interval = match answer.is_measured {
                    true => String::new(),
                    false => format!("{} to {}", seconds(own.low), seconds(own.high)),
                };
                let status = if answer.is_measured { "measured" } else { "predicted" };
                let rate = rate(case.batch / own.middle);
                [status.to_owned(), seconds(own.middle), interval, rate]
            }
            Err(_) => ["unknown".to_owned(), String::new(), String::new(), String::new()],
        });
        grid.row(row);
    }
    let mut notes = Vec::new();
    if let (Some(before), Some(after)) = (found.width_before, found.width_after) {
        let chance = found.width_by_chance.unwrap_or(f64::NAN);
        notes.push(Note::new(format!(
            "intervals of the plan's cells, typical: × ÷ {before:.2} at first, × ÷ {after:.2} now; × ÷ {chance:.2} expected from \
             as many cells drawn at random"
        )));
    }
    notes.push(Note::new("measured cells are runs of the database; predicted ones are not stored"));
    for (what, why) in found.failed {
        notes.push(Note::warning(format!("{}: {}", clean(what), clean(why))));
    }
    let planned = found.cells.len();
    let open = planned.saturating_sub(found.before);
    let exploration = ExplorationDocument {
        planned,
        before: found.before,
        measured: found.measured,
        width_before: found.width_before,
        width_after: found.width_after,
        width_by_chance: found.width_by_chance,
    };
    let documents: Vec<AnswerDocument> = found.cells.iter().map(Prediction::document).collect();
    ResultDocument {
        title: vec![
            "Exploration".into(),
            format!("{} of {open} open cells measured", found.measured),
        ],
        facts: vec![format!("{planned} cells in the plan")],
        verdict: Some(match found.cells.iter().all(|one| one.answer.is_ok()) {
            true => Note::of(Tone::Good, "every cell of the plan is measured or predicted"),
            false => Note::of(
                Tone::Warning,
                "some cells are neither measured nor in reach of a prediction",
            ),
        }),
        blocks: vec![Block::table("cells", grid), Block::Notes(notes)],
        data: Some(rows(&documents)),
        json: explored(&found.learned, documents, exploration),
        ..ResultDocument::default()
    }
}
