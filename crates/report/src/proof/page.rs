//! A proof on a screen: sizes, answers, times, and the verdict at the end.

use super::words::{
    blocks, cosine, layer_cells, layers, moved, place, sentences, sizes, speed, title,
};
use crate::analysis::{hanging_indent, joined};
use crate::clean::clean;
use crate::number::fixed;
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::wrap::{flow, pad_right, shorten, wrap};
use types::{Drift, ProofReport, SpeedVerdict};

const LABEL: usize = 9;
/// More layers than this are shown as the first and the last of them.
const MOST_LAYERS: usize = 14;
/// Pairs of texts that are shown.
const MOST_PAIRS: usize = 6;

/// The terminal's view of a proof.
#[must_use]
pub fn proof(report: &ProofReport, style: &Style) -> String {
    let width = style.columns();
    let paint = |line: String| style.paint(&line, Colour::Title);
    let mut lines: Vec<String> = flow(&title(report), width).into_iter().map(paint).collect();
    lines.extend(flow(&place(report), width));
    lines.extend(flow(&blocks(report), width));
    lines.push(String::new());
    let mut table = Table::new([
        Column::left(""),
        Column::right("before"),
        Column::right("after"),
        Column::right("after ÷ before"),
    ])
    .painted(style);
    sizes(report).into_iter().for_each(|row| table.push(row));
    lines.extend(table.render(Some(width)).lines().map(String::from));
    if let Some(drift) = &report.drift {
        lines.push(String::new());
        lines.extend(answers(drift, style, width));
    }
    lines.extend(by_layer(report, style, width));
    if !report.speed.is_empty() {
        lines.push(String::new());
        lines.extend(times(report, style, width));
        lines.push(String::new());
    }
    for (verdict, text) in sentences(report) {
        let colour = match verdict {
            SpeedVerdict::Faster => Colour::Good,
            SpeedVerdict::NoFaster | SpeedVerdict::CannotTell | SpeedVerdict::Unmeasured => {
                Colour::Warning
            }
            SpeedVerdict::Slower => Colour::Bad,
        };
        for (at, line) in wrap(&text, width - LABEL).into_iter().enumerate() {
            let label = pad_right(if at == 0 { "verdict" } else { "" }, LABEL);
            let label = style.paint(&label, Colour::Label);
            lines.push(format!("{label}{}", style.paint(&line, colour)));
        }
    }
    for remark in &report.remarks {
        lines.extend(hanging_indent("-", &clean(remark), Colour::Warning, style, width));
    }
    joined(lines)
}

/// How far the outputs moved, and pairs of texts where there are sentence vectors.
fn answers(drift: &Drift, style: &Style, width: usize) -> Vec<String> {
    let inputs = if drift.given { "given texts" } else { "drawn inputs" };
    let mut table = Table::new([
        Column::left("output").shrinks(),
        Column::right("cosine"),
        Column::right("relative error"),
        Column::right("same top entry"),
    ])
    .painted(style);
    drift.outputs.iter().for_each(|one| table.push(moved(one)));
    let mut lines: Vec<String> = table.render(Some(width)).lines().map(String::from).collect();
    let engine = clean(&drift.engine);
    lines.push(format!("on {} {inputs}, computed by {engine}", drift.samples));
    for one in drift.outputs.iter().filter_map(|one| one.why.as_ref().map(|why| (one, why))) {
        lines.extend(wrap(&format!("{}: {}", clean(&one.0.output), clean(one.1)), width));
    }
    if !drift.similarities.is_empty() {
        lines.push(String::new());
        let mut table = Table::new([
            Column::left("alike to the model").shrinks(),
            Column::left("").shrinks(),
            Column::right("before"),
            Column::right("after"),
        ])
        .painted(style);
        let room = (width.saturating_sub(24)) / 2;
        for one in drift.similarities.iter().take(MOST_PAIRS) {
            let text = |text: &str| shorten(&clean(text), room);
            let (before, after) = (fixed(one.before, 3), fixed(one.after, 3));
            table.push([text(&one.first), text(&one.second), before, after]);
        }
        lines.extend(table.render(Some(width)).lines().map(String::from));
        let apart = drift.similarities.iter().map(|one| (one.after - one.before).abs());
        if let Some(most) = apart.reduce(f64::max) {
            let pairs = drift.similarities.len();
            lines.push(format!("{pairs} pairs, moved by at most {}", fixed(most, 3)));
        }
    }
    lines
}

fn by_layer(report: &ProofReport, style: &Style, width: usize) -> Vec<String> {
    let rows = layers(report);
    if rows.is_empty() {
        return Vec::new();
    }
    // Columns in which nothing would stand are left out.
    let has_weights = rows.iter().any(|row| row.before > 0);
    let has_drift = rows.iter().any(|row| row.drift.is_some());
    let shown = [true, has_weights, has_weights, has_drift, has_drift];
    let columns = [
        Column::left("layer").shrinks(),
        Column::right("weights"),
        Column::right("gone or zero"),
        Column::right("cosine"),
        Column::right("relative error"),
    ];
    let pick = |shown: &bool| *shown;
    let columns = columns.into_iter().zip(&shown).filter(|(_, shown)| pick(shown));
    let mut table = Table::new(columns.map(|(column, _)| column)).painted(style);
    let half = MOST_LAYERS / 2;
    let is_long = rows.len() > MOST_LAYERS;
    for (at, row) in rows.iter().enumerate() {
        if is_long && at >= half && at + half < rows.len() {
            if at == half {
                table.push([format!("… {} more", rows.len() - 2 * half)]);
            }
            continue;
        }
        let cells = layer_cells(row).into_iter().zip(&shown).filter(|(_, shown)| pick(shown));
        table.push(cells.map(|(cell, _)| cell));
    }
    let mut lines = vec![String::new()];
    lines.extend(table.render(Some(width)).lines().map(String::from));
    lines
}

fn times(report: &ProofReport, style: &Style, width: usize) -> Vec<String> {
    let mut table = Table::new([
        Column::left("engine"),
        Column::right("before"),
        Column::right("after"),
        Column::right("before ÷ after"),
        Column::left("verdict"),
    ])
    .painted(style);
    let mut memory = Vec::new();
    for one in &report.speed {
        let [engine, before, after, ratio, verdict, peaks] = speed(one);
        if one.memory_before.is_some() {
            memory.push(format!("{} {peaks}", clean(&one.engine)));
        }
        table.push([engine, before, after, ratio, verdict]);
    }
    let mut lines: Vec<String> = table.render(Some(width)).lines().map(String::from).collect();
    if !memory.is_empty() {
        memory[0].insert_str(0, "peak memory: ");
        lines.extend(flow(&memory, width));
    }
    lines
}

/// The drift in one number with its name, for a search's table.
pub(super) fn worst(report: &ProofReport) -> String {
    let worst = report.drift.as_ref().and_then(|drift| drift.worst());
    worst.map_or_else(|| crate::number::MISSING.to_owned(), |worst| cosine(1.0 - worst))
}
