//! A gate as a result: every question with its answer, then what to do about those that are not held.

use super::document::gate_json;
use super::words::{
    against, amount, between, cell, change, effort, held_beside, limit, only_cell, raised, ruling,
    sentence, verdict, worth,
};
use crate::csv::{number, text};
use crate::result::{Block, DataTable, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, percent};
use types::{Check, GateReport, Question, Ruling};

/// A gate.
#[must_use]
pub fn gate_document(report: &GateReport) -> ResultDocument {
    let mut facts: Vec<String> = against(report).into_iter().collect();
    facts.extend(effort(report));
    let tables = [("limits", limits(report)), ("changes", changes(report))];
    let mut blocks: Vec<Block> = tables
        .into_iter()
        .filter(|(_, grid)| !grid.rows.is_empty())
        .map(|(name, grid)| Block::table(name, grid))
        .collect();
    let mut notes: Vec<Note> = report
        .missing
        .iter()
        .map(|one| Note::warning(format!("{} was not measured: {}", one.what, one.why)))
        .collect();
    let open = report.checks.iter().filter(|check| check.ruling != Ruling::Held);
    notes.extend(open.map(|check| self::open(check, report)));
    notes.extend(held_beside(report).into_iter().map(Note::warning));
    notes.extend(
        raised(report)
            .into_iter()
            .chain(report.remarks.iter().map(String::from))
            .map(Note::warning),
    );
    notes.push(Note::new(worth(report)));
    blocks.push(Block::Notes(notes));
    ResultDocument {
        title: only_cell(report).map_or_else(|| vec!["Modelmeter check".into()], cell),
        is_list: false,
        facts,
        verdict: Some(Note::of(tone(report.ruling()), verdict(report))),
        blocks,
        json: gate_json(report),
        data: Some(data(report)),
        ..ResultDocument::default()
    }
}

fn tone(ruling: Ruling) -> Tone {
    match ruling {
        Ruling::Held => Tone::Good,
        Ruling::CannotTell => Tone::Warning,
        Ruling::Failed => Tone::Bad,
    }
}

/// What is not held, why, and what would settle it.
fn open(check: &Check, report: &GateReport) -> Note {
    let whose = match only_cell(report) {
        Some(_) => String::new(),
        None => format!("{}: ", check.cell.words()),
    };
    let word = if check.ruling == Ruling::Failed { "failed" } else { "cannot tell" };
    let mut text = format!("{whose}{word}: {}", sentence(check));
    if let Some(settle) = &check.settle {
        text.push_str(&format!("; {settle}"));
    }
    Note::of(tone(check.ruling), text)
}

/// Adds a row below the name of its cell, if there are several.
fn add<const N: usize>(
    grid: &mut Grid,
    last: &mut String,
    report: &GateReport,
    check: &Check,
    cells: [String; N],
) {
    let name = check.cell.words();
    if only_cell(report).is_none() && *last != name {
        grid.heading(&name);
        *last = name;
    }
    grid.row(cells);
}

fn limits(report: &GateReport) -> Grid {
    let columns = [
        Column::left("metric"),
        Column::right("limit"),
        Column::right("now"),
        Column::left("99 % interval").leaves(1),
        Column::left("ruling"),
    ];
    let (mut grid, mut last) = (Grid::of(columns), String::new());
    for check in &report.checks {
        let Question::Limit { limit: asked } = check.question else { continue };
        let ends = check.evidence.map(|evidence| between(check.gauge, evidence.interval));
        let cells = [
            check.gauge.key().to_owned(),
            limit(check.gauge, asked),
            amount(check.gauge, check.value),
            ends.unwrap_or_default(),
            ruling(check.ruling).to_owned(),
        ];
        add(&mut grid, &mut last, report, check, cells);
    }
    grid
}

fn changes(report: &GateReport) -> Grid {
    let columns = [
        Column::left("metric"),
        Column::right("baseline").leaves(1),
        Column::right("now"),
        Column::left("change"),
        Column::right("alert"),
        Column::left("ruling"),
    ];
    let (mut grid, mut last) = (Grid::of(columns), String::new());
    for check in &report.checks {
        let Question::Change { effective, .. } = check.question else { continue };
        let found = check.evidence.as_ref().map(|evidence| change(check, evidence));
        let cells = [
            check.gauge.key().to_owned(),
            amount(check.gauge, check.baseline),
            amount(check.gauge, check.value),
            found.unwrap_or_else(|| MISSING.into()),
            percent(effective),
            ruling(check.ruling).to_owned(),
        ];
        add(&mut grid, &mut last, report, check, cells);
    }
    grid
}

fn data(report: &GateReport) -> DataTable {
    const COLUMNS: [&str; 14] = [
        "model",
        "engine",
        "device",
        "precision",
        "batch_size",
        "sequence_length",
        "mode",
        "metric",
        "question",
        "threshold",
        "baseline",
        "value",
        "ruling",
        "why",
    ];
    let row = |check: &Check| {
        let cell = &check.cell;
        let (question, threshold) = match check.question {
            Question::Limit { limit } => ("limit", limit),
            Question::Change { effective, .. } => ("change", effective),
        };
        vec![
            text(&cell.model),
            text(&cell.engine),
            Some(cell.device.to_string()),
            Some(cell.precision.to_string()),
            Some(cell.batch_size.to_string()),
            cell.sequence_length.map(|length| length.to_string()),
            text(cell.mode.name()),
            text(check.gauge.key()),
            text(question),
            number(threshold),
            check.baseline.and_then(number),
            check.value.and_then(number),
            text(check.ruling.name()),
            check.why.as_deref().and_then(text),
        ]
    };
    DataTable::new(COLUMNS, report.checks.iter().map(row))
}
