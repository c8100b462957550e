//! What fits, on a screen: every precision and batch with what it took, then the winner and how to run it.

use super::words::{
    choice, equals, latency, limit, mebibytes, need, numbers, of_limit, place, refused, remark,
    several_engines, size, throughput, top, verdict, way_name, work,
};
use crate::analysis::{hanging_indent, joined};
use crate::clean::clean;
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::wrap::{flow, pad_right, shorten, text_width, wrap};
use types::{Confirmation, FitReport};

/// The winner's row.
pub(super) const BEST: &str = "*";
const LABEL: usize = 11;

/// The terminal's view of what fits.
#[must_use]
pub fn fit(report: &FitReport, style: &Style) -> String {
    let width = style.columns();
    let mut lines: Vec<String> = flow(&work(report), width)
        .into_iter()
        .map(|line| style.paint(&line, Colour::Title))
        .collect();
    let mut facts = vec![limit(report)];
    facts.extend(place(report));
    lines.extend(flow(&facts, width));
    lines.push(String::new());
    lines.extend(cells(report, style, width).lines().map(String::from));
    lines.push(String::new());
    lines.extend(tops(report, style, width));
    lines.push(String::new());
    match report.best() {
        Some(best) => lines.extend(winner(report, best, style, width)),
        None => lines.extend(nothing(report, style, width)),
    }
    for remark in &report.remarks {
        lines.extend(hanging_indent("-", &clean(remark), Colour::Warning, style, width));
    }
    joined(lines)
}

/// Every cell that was tried.
fn cells(report: &FitReport, style: &Style, width: usize) -> String {
    let several = several_engines(report);
    let mut columns: Vec<Column> =
        several.then(|| Column::left("engine").shrinks()).into_iter().collect();
    columns.extend([
        Column::left("format"),
        Column::right("batch"),
        Column::right("estimate").leaves(2),
        Column::right("peak"),
        Column::right("limit"),
        Column::right("samples/s"),
        Column::right("±").leaves(1),
        Column::right("median"),
        Column::left("").shrinks(),
    ]);
    let mut table = Table::new(columns).painted(style);
    let best = report.best().map(|best| &best.cell);
    for way in &report.ways {
        for cell in &way.cells {
            let is_best = best.is_some_and(|best| {
                (best.engine == way.engine && best.precision == way.precision)
                    && best.batch_size == cell.batch
            });
            let mut row: Vec<String> = several.then(|| way.engine.clone()).into_iter().collect();
            let mark = if is_best { format!("{BEST} ") } else { String::new() };
            let [rate, interval] = throughput(cell.throughput);
            row.extend([
                way.precision.to_string(),
                format!("{mark}{}", cell.batch),
                size(cell.estimate),
                size(cell.peak),
                of_limit(cell.peak, report.limit),
                rate,
                interval,
                latency(cell.latency),
                remark(cell),
            ]);
            table.push(row);
        }
    }
    table.render(Some(width))
}

/// How each way ended at its top, and what was not tried.
fn tops(report: &FitReport, style: &Style, width: usize) -> Vec<String> {
    let several = several_engines(report);
    let name = |engine: &str, precision| way_name(engine, precision, several);
    let mut pairs: Vec<(String, String)> = report
        .ways
        .iter()
        .map(|way| {
            let text = top(way, report.most);
            (name(&way.engine, way.precision), text)
        })
        .collect();
    pairs.extend(report.left_out.iter().map(|one| {
        let engines = report.ways.iter().map(|way| &way.engine);
        let several = several || engines.into_iter().any(|engine| *engine != one.engine);
        let name = way_name(&one.engine, one.precision, several);
        (name, format!("not tried: {}", clean(&one.why)))
    }));
    let label = pairs.iter().map(|(name, _)| text_width(name)).max().unwrap_or(0) + 2;
    let label = label.min(width / 2);
    let mut lines = Vec::new();
    for (name, text) in pairs {
        for (at, line) in wrap(&text, width - label).into_iter().enumerate() {
            let name = if at == 0 { shorten(&name, label - 2) } else { String::new() };
            let name = pad_right(&name, label);
            lines.push(format!("{}{line}", style.paint(&name, Colour::Label)));
        }
    }
    lines
}

/// The winner, how sure that is, and how to run it.
fn winner(report: &FitReport, best: &Confirmation, style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let room = width - LABEL;
    let mut label = |name: &str, text: Vec<String>| {
        for (at, line) in text.iter().enumerate() {
            let name = pad_right(if at == 0 { name } else { "" }, LABEL);
            lines.push(format!("{}{line}", style.paint(&name, Colour::Label)));
        }
    };
    label("best", wrap(&choice(best), room));
    label("", flow(&numbers(best, report.limit), room));
    let confirmed = match &best.run {
        Some(run) => format!("measured again under the limit, stored as run {}", clean(&run.0)),
        None => "measured again under the limit, not stored".into(),
    };
    label("confirmed", wrap(&confirmed, room));
    if let Some(found) = &best.verdict {
        let colour = if found.valid { Colour::Good } else { Colour::Bad };
        let words = wrap(&verdict(found), room);
        label("verdict", words.iter().map(|line| style.paint(line, colour)).collect());
    }
    for one in equals(report) {
        let text = format!("{}: cannot be told apart from the best", choice(one));
        label("as good", wrap(&text, room));
    }
    for one in report.confirmations.iter().filter(|one| one.refused.is_some()) {
        let kind = one.refused.as_ref().map(|refusal| refused(refusal.kind)).unwrap_or_default();
        let text = format!("{}: {kind} when it was measured whole", choice(one));
        label("dropped", wrap(&text, room));
    }
    label("run it", continued(&clean(&best.command), room));
    lines
}

/// A command over several lines that a shell takes as one.
fn continued(command: &str, width: usize) -> Vec<String> {
    const BREAK: &str = " \\";
    let mut lines: Vec<String> = Vec::new();
    for (at, piece) in command.split(" --").enumerate() {
        let piece = if at == 0 { piece.to_owned() } else { format!("--{piece}") };
        match lines.last_mut() {
            Some(last) if text_width(last) + text_width(&piece) + 1 + BREAK.len() <= width => {
                last.push_str(&format!(" {piece}"));
            }
            _ => lines.extend(wrap(&piece, width - BREAK.len())),
        }
    }
    let last = lines.len().saturating_sub(1);
    for line in &mut lines[..last] {
        line.push_str(BREAK);
    }
    lines
}

fn nothing(report: &FitReport, style: &Style, width: usize) -> Vec<String> {
    let text = format!("nothing fits under {}", mebibytes(report.limit));
    let mut lines = vec![style.paint(&text, Colour::Bad)];
    lines.extend(report.smallest_need.iter().flat_map(|found| wrap(&need(found), width)));
    lines
}
