//! A gate on one screen: every question with its answer, then what to do about those that are not held.

use super::words::{
    against, amount, between, cell, change, effort, limit, only_cell, raised, ruling, sentence,
    verdict, worth,
};
use crate::analysis::{hanging_indent, joined};
use crate::clean::clean;
use crate::number::percent;
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::wrap::{flow, shorten, wrap};
use types::{Check, GateReport, Question, Ruling};

/// The terminal's view of a gate.
#[must_use]
pub fn gate(report: &GateReport, style: &Style) -> String {
    let width = style.columns();
    let mut lines: Vec<String> = Vec::new();
    if let Some(only) = only_cell(report) {
        let title = flow(&cell(only), width);
        lines.extend(title.into_iter().map(|line| style.paint(&clean(&line), Colour::Title)));
    }
    let mut facts: Vec<String> = against(report).into_iter().collect();
    facts.extend(effort(report));
    lines.extend(flow(&facts, width));
    for table in [limits(report, style), changes(report, style)].into_iter().flatten() {
        lines.push(String::new());
        lines.extend(table.lines(width));
    }
    lines.push(String::new());
    for missing in &report.missing {
        let text = format!("{} was not measured: {}", missing.what, missing.why);
        lines.extend(hanging_indent("-", &clean(&text), Colour::Warning, style, width));
    }
    for check in report.checks.iter().filter(|check| check.ruling != Ruling::Held) {
        lines.extend(open(check, report, style, width));
    }
    for remark in raised(report).iter().chain(&report.remarks) {
        lines.extend(hanging_indent("-", &clean(remark), Colour::Warning, style, width));
    }
    lines.extend(wrap(&worth(report), width));
    lines.push(String::new());
    let colour = match report.ruling() {
        Ruling::Held => Colour::Good,
        Ruling::CannotTell => Colour::Warning,
        Ruling::Failed => Colour::Bad,
    };
    lines.push(style.paint(&verdict(report), colour));
    joined(lines)
}

/// What is not held, why, and what would settle it.
fn open(check: &Check, report: &GateReport, style: &Style, width: usize) -> Vec<String> {
    let whose = match only_cell(report) {
        Some(_) => String::new(),
        None => format!("{}: ", check.cell.words()),
    };
    let word = if check.ruling == Ruling::Failed { "failed" } else { "cannot tell" };
    let mut text = format!("{whose}{word}: {}", sentence(check));
    if let Some(settle) = &check.settle {
        text.push_str(&format!("; {settle}"));
    }
    let colour = if check.ruling == Ruling::Failed { Colour::Bad } else { Colour::Warning };
    hanging_indent("-", &clean(&text), colour, style, width)
}

/// Rows under the cells they belong to, where there are several.
struct Rows {
    table: Table,
    /// The row before which a cell is named, and its name.
    heads: Vec<(usize, String)>,
    count: usize,
}

impl Rows {
    fn new(columns: impl IntoIterator<Item = Column>, style: &Style) -> Rows {
        Rows { table: Table::new(columns).painted(style), heads: Vec::new(), count: 0 }
    }

    fn push<const N: usize>(&mut self, check: &Check, report: &GateReport, row: [String; N]) {
        let name = clean(&check.cell.words());
        let is_new = self.heads.last().is_none_or(|(_, last)| *last != name);
        if only_cell(report).is_none() && is_new {
            self.heads.push((self.count, name));
        }
        self.table.push(row);
        self.count += 1;
    }

    /// The table with the names of cells between its rows.
    fn lines(&self, width: usize) -> Vec<String> {
        let text = self.table.render(Some(width.saturating_sub(2)));
        let mut lines: Vec<String> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let head = self.heads.iter().find(|(row, _)| at == row + 1);
            if let Some((_, name)) = head {
                lines.push(format!("  {}", shorten(name, width.saturating_sub(2))));
            }
            lines.push(format!("  {line}"));
        }
        lines
    }

    fn some(self) -> Option<Rows> {
        (self.count > 0).then_some(self)
    }
}

fn limits(report: &GateReport, style: &Style) -> Option<Rows> {
    let columns = [
        Column::left("metric"),
        Column::right("limit"),
        Column::right("now"),
        Column::left("").leaves(1),
        Column::left(""),
    ];
    let mut rows = Rows::new(columns, style);
    for check in &report.checks {
        let Question::Limit { limit: asked } = check.question else { continue };
        let ends = check.evidence.map(|evidence| between(check.gauge, evidence.interval));
        let row = [
            check.gauge.key().to_owned(),
            limit(check.gauge, asked),
            amount(check.gauge, check.value),
            ends.unwrap_or_default(),
            ruling(check.ruling).to_owned(),
        ];
        rows.push(check, report, row);
    }
    rows.some()
}

fn changes(report: &GateReport, style: &Style) -> Option<Rows> {
    let columns = [
        Column::left("metric"),
        Column::right("baseline").leaves(1),
        Column::right("now"),
        Column::left("change"),
        Column::right("alert"),
        Column::left(""),
    ];
    let mut rows = Rows::new(columns, style);
    for check in &report.checks {
        let Question::Change { effective, .. } = check.question else { continue };
        let found = check.evidence.as_ref().map(|evidence| change(check, evidence));
        let row = [
            check.gauge.key().to_owned(),
            amount(check.gauge, check.baseline),
            amount(check.gauge, check.value),
            found.unwrap_or_else(|| crate::number::MISSING.into()),
            percent(effective),
            ruling(check.ruling).to_owned(),
        ];
        rows.push(check, report, row);
    }
    rows.some()
}
