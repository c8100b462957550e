//! A proof as a result: sizes, answers, times, and the verdict at the end.

use super::document::proof_json;
use super::words::{
    blocks, cosine, layer_cells, layers, moved, place, sentences, sizes, speed, title,
};
use crate::analysis::words::counted;
use crate::csv::{number, text};
use crate::result::{Block, DataTable, Fact, Note, ResultDocument, Tone};
use crate::sheet::{Grid, Side};
use crate::table::Column;
use number::{MISSING, fixed, milliseconds};
use types::{Drift, ProofReport, SpeedProof, SpeedVerdict};

/// More layers than this are shown as the first and the last of them.
const MOST_LAYERS: usize = 14;
/// Pairs of texts that are shown.
const MOST_PAIRS: usize = 6;

/// A changed model beside the one before.
#[must_use]
pub fn proof_document(report: &ProofReport) -> ResultDocument {
    let mut facts = place(report);
    facts.extend(self::blocks(report));
    let mut parts = vec![table("sizes", size_table(report))];
    parts.extend(report.drift.iter().flat_map(answers));
    parts.extend(by_layer(report));
    parts.extend(times(report));
    let mut ends: Vec<Fact> = peaks(report).into_iter().collect();
    ends.extend(
        sentences(report)
            .into_iter()
            .map(|(verdict, text)| Fact { tone: tone(verdict), ..Fact::new("verdict", text) }),
    );
    if !ends.is_empty() {
        parts.push(Block::Facts(ends));
    }
    if !report.remarks.is_empty() {
        parts.push(Block::Notes(report.remarks.iter().map(Note::warning).collect()));
    }
    ResultDocument {
        title: title(report),
        is_list: false,
        facts,
        verdict: None,
        blocks: parts,
        json: proof_json(report),
        data: Some(data(report)),
        ..ResultDocument::default()
    }
}

fn table(name: &str, grid: Grid) -> Block {
    Block::table(name, grid)
}

fn tone(verdict: SpeedVerdict) -> Tone {
    match verdict {
        SpeedVerdict::Faster => Tone::Good,
        SpeedVerdict::NoFaster | SpeedVerdict::CannotTell | SpeedVerdict::Unmeasured => {
            Tone::Warning
        }
        SpeedVerdict::Slower => Tone::Bad,
    }
}

fn size_table(report: &ProofReport) -> Grid {
    let mut grid = Grid::new(&[
        ("", Side::Left),
        ("before", Side::Right),
        ("after", Side::Right),
        ("after ÷ before", Side::Right),
    ]);
    sizes(report).into_iter().for_each(|row| grid.row(row));
    grid
}

/// How far the outputs moved, and pairs of texts where there are sentence vectors.
fn answers(drift: &Drift) -> Vec<Block> {
    let inputs = if drift.given { "given texts" } else { "random inputs" };
    let mut grid = Grid::of([
        Column::left("output").shrinks(),
        Column::right("cosine"),
        Column::right("relative error"),
        Column::right("same top entry"),
    ]);
    drift.outputs.iter().for_each(|one| grid.row(moved(one)));
    let computed = format!("on {} {inputs}, computed by {}", drift.samples, drift.engine);
    let mut notes = vec![Note::new(computed)];
    notes.extend(drift.outputs.iter().filter_map(|one| {
        let why = one.why.as_ref()?;
        Some(Note::new(format!("{}: {why}", one.output)))
    }));
    let mut blocks = vec![table("output drift", grid), Block::Notes(notes)];
    let apart = drift.similarities.iter().map(|one| (one.after - one.before).abs());
    if let Some(most) = apart.reduce(f64::max) {
        blocks.push(table("pairs of texts", pairs(drift)));
        let count = counted(drift.similarities.len() as u64, "pair");
        let text = format!("{count}, changed by at most {}", fixed(most, 3));
        blocks.push(Block::Notes(vec![Note::new(text)]));
    }
    blocks
}

fn pairs(drift: &Drift) -> Grid {
    let mut grid = Grid::of([
        Column::left("similarity of two texts").shrinks(),
        Column::left("").shrinks(),
        Column::right("before"),
        Column::right("after"),
    ]);
    for one in drift.similarities.iter().take(MOST_PAIRS) {
        let (before, after) = (fixed(one.before, 3), fixed(one.after, 3));
        grid.row([one.first.clone(), one.second.clone(), before, after]);
    }
    grid
}

fn by_layer(report: &ProofReport) -> Option<Block> {
    let rows = layers(report);
    if rows.is_empty() {
        return None;
    }
    // Columns in which nothing would stand are left out.
    let has_weights = rows.iter().any(|row| row.before > 0);
    let has_drift = rows.iter().any(|row| row.drift.is_some());
    let shown = [true, has_weights, has_weights, has_drift, has_drift];
    let columns = [
        Column::left("layer").shrinks(),
        Column::right("weights"),
        Column::right("removed or zero"),
        Column::right("cosine"),
        Column::right("relative error"),
    ];
    let columns = columns.into_iter().zip(&shown).filter(|(_, shown)| **shown);
    let mut grid = Grid::of(columns.map(|(column, _)| column));
    let half = MOST_LAYERS / 2;
    let is_long = rows.len() > MOST_LAYERS;
    for (at, row) in rows.iter().enumerate() {
        if is_long && at >= half && at + half < rows.len() {
            if at == half {
                grid.row([format!("… {} more", rows.len() - 2 * half)]);
            }
            continue;
        }
        let cells = layer_cells(row).into_iter().zip(&shown).filter(|(_, shown)| **shown);
        grid.row(cells.map(|(cell, _)| cell));
    }
    Some(table("layers", grid))
}

fn times(report: &ProofReport) -> Option<Block> {
    if report.speed.is_empty() {
        return None;
    }
    let mut grid = Grid::of([
        Column::left("engine"),
        Column::right("before"),
        Column::right("after"),
        Column::right("before ÷ after"),
        Column::left("verdict"),
    ]);
    for one in &report.speed {
        let [engine, before, after, ratio, verdict, _] = speed(one);
        grid.row([engine, before, after, ratio, verdict]);
    }
    Some(table("times", grid))
}

/// The largest memory before and after, engine by engine.
fn peaks(report: &ProofReport) -> Option<Fact> {
    let measured = report.speed.iter().filter(|one| one.memory_before.is_some());
    let pieces: Vec<String> = measured
        .map(|one| {
            let [.., peaks] = speed(one);
            format!("{} {peaks}", one.engine)
        })
        .collect();
    (!pieces.is_empty()).then(|| Fact { pieces, ..Fact::new("peak memory", "") })
}

fn data(report: &ProofReport) -> DataTable {
    const COLUMNS: [&str; 12] = [
        "model",
        "parameters_before",
        "parameters_after",
        "size_before_bytes",
        "size_after_bytes",
        "worst_cosine",
        "engine",
        "latency_median_before_ms",
        "latency_median_after_ms",
        "speed_up",
        "speed_up_ci95_low",
        "speed_up_ci95_high",
    ];
    let worst = report.drift.as_ref().and_then(Drift::worst).map(|worst| 1.0 - worst);
    let row = |one: Option<&SpeedProof>| {
        let median = |summary: Option<&types::Summary>| {
            summary.and_then(|summary| number(milliseconds(summary.median)))
        };
        let factor = one.and_then(|one| one.speed_up.as_ref());
        let ends = factor.and_then(|factor| factor.interval);
        vec![
            text(&report.model.name),
            Some(report.before.parameters.to_string()),
            Some(report.after.parameters.to_string()),
            Some(report.before.size.0.to_string()),
            Some(report.after.size.0.to_string()),
            worst.and_then(number),
            one.and_then(|one| text(&one.engine)),
            median(one.and_then(|one| one.before.as_ref())),
            median(one.and_then(|one| one.after.as_ref())),
            factor.and_then(|factor| number(factor.ratio)),
            ends.and_then(|ends| number(ends.low)),
            ends.and_then(|ends| number(ends.high)),
        ]
    };
    match report.speed.as_slice() {
        [] => DataTable::new(COLUMNS, [row(None)]),
        engines => DataTable::new(COLUMNS, engines.iter().map(|one| row(Some(one)))),
    }
}

/// The drift in one number, for a search's table.
pub(super) fn worst(report: &ProofReport) -> String {
    let worst = report.drift.as_ref().and_then(Drift::worst);
    worst.map_or_else(|| MISSING.to_owned(), |worst| cosine(1.0 - worst))
}
