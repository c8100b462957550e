//! A gate as Markdown, for pull requests and job summaries; and as annotations of continuous integration.

use super::words::{
    against, amount, between, cell, change, effort, limit, only_cell, raised, ruling, sentence,
    verdict, worth,
};
use crate::clean::clean;
use crate::markdown::{Side, plain, table};
use crate::number::percent;
use types::{GateReport, Question, Ruling};

const LIMITS: [(&str, Side); 6] = [
    ("", Side::Left),
    ("cell", Side::Left),
    ("metric", Side::Left),
    ("limit", Side::Right),
    ("now", Side::Right),
    ("99 % interval", Side::Left),
];

const CHANGES: [(&str, Side); 7] = [
    ("", Side::Left),
    ("cell", Side::Left),
    ("metric", Side::Left),
    ("baseline", Side::Right),
    ("now", Side::Right),
    ("change", Side::Left),
    ("alert", Side::Right),
];

/// A gate as Markdown.
#[must_use]
pub fn gate_markdown(report: &GateReport) -> String {
    let sign = match report.ruling() {
        Ruling::Held => "✅",
        Ruling::CannotTell => "❔",
        Ruling::Failed => "❌",
    };
    let mut text = format!("### {sign} Modelmeter: {}\n\n", plain(&verdict(report)));
    let mut facts: Vec<String> =
        only_cell(report).map(|only| cell(only).join(" · ")).into_iter().collect();
    facts.extend(against(report));
    facts.extend(effort(report));
    text.push_str(&format!("{}\n\n", plain(&facts.join(" · "))));
    for (columns, rows) in [(&LIMITS[..], limits(report)), (&CHANGES[..], changes(report))] {
        if !rows.is_empty() {
            text.push_str(&table(columns, &rows));
            text.push('\n');
        }
    }
    for missing in &report.missing {
        text.push_str(&format!(
            "- {} was not measured: {}\n",
            plain(&missing.what),
            plain(&missing.why)
        ));
    }
    for check in report.checks.iter().filter(|check| check.ruling != Ruling::Held) {
        let settle = check.settle.as_ref().map_or_else(String::new, |how| format!("; {how}"));
        let word = if check.ruling == Ruling::Failed { "failed" } else { "cannot tell" };
        let whose = check.cell.words();
        text.push_str(&format!(
            "- **{word}** {}\n",
            plain(&format!("{whose}: {}{settle}", sentence(check)))
        ));
    }
    for remark in raised(report).iter().chain(&report.remarks) {
        text.push_str(&format!("- {}\n", plain(remark)));
    }
    text.push_str(&format!("\n{}\n", plain(&worth(report))));
    text
}

fn mark(found: Ruling) -> String {
    let sign = match found {
        Ruling::Held => "✅",
        Ruling::CannotTell => "❔",
        Ruling::Failed => "❌",
    };
    format!("{sign} {}", ruling(found).to_ascii_lowercase())
}

fn whose(report: &GateReport, check: &types::Check) -> String {
    if only_cell(report).is_some() { String::new() } else { check.cell.words() }
}

fn limits(report: &GateReport) -> Vec<Vec<String>> {
    let row = |check: &types::Check| {
        let Question::Limit { limit: asked } = check.question else { return None };
        let ends = check.evidence.map(|evidence| between(check.gauge, evidence.interval));
        Some(vec![
            mark(check.ruling),
            whose(report, check),
            check.gauge.key().to_owned(),
            limit(check.gauge, asked),
            amount(check.gauge, check.value),
            ends.unwrap_or_default(),
        ])
    };
    report.checks.iter().filter_map(row).collect()
}

fn changes(report: &GateReport) -> Vec<Vec<String>> {
    let row = |check: &types::Check| {
        let Question::Change { effective, .. } = check.question else { return None };
        let found = check.evidence.as_ref().map(|evidence| change(check, evidence));
        Some(vec![
            mark(check.ruling),
            whose(report, check),
            check.gauge.key().to_owned(),
            amount(check.gauge, check.baseline),
            amount(check.gauge, check.value),
            found.unwrap_or_default(),
            percent(effective),
        ])
    };
    report.checks.iter().filter_map(row).collect()
}

/// The lines that GitHub turns into annotations: an error for what failed, a warning for what cannot be told.
#[must_use]
pub fn gate_annotations(report: &GateReport) -> String {
    let mut text = String::new();
    let mut annotate = |level: &str, title: &str, message: &str| {
        text.push_str(&format!(
            "::{level} title={}::{}\n",
            property(&clean(title)),
            data(&clean(message))
        ));
    };
    for check in &report.checks {
        let level = match check.ruling {
            Ruling::Held => continue,
            Ruling::Failed => "error",
            Ruling::CannotTell => "warning",
        };
        let settle = check.settle.as_ref().map_or_else(String::new, |how| format!("; {how}"));
        let message = format!("{}: {}{settle}", check.cell.words(), sentence(check));
        annotate(level, "Modelmeter", &message);
    }
    for missing in &report.missing {
        let level = if missing.fails { "error" } else { "warning" };
        annotate(level, "Modelmeter", &format!("{}: {}", missing.what, missing.why));
    }
    text
}

/// A message of a workflow command: its own marks are written otherwise.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
