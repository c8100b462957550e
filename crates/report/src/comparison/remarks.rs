//! What stands around the tables: parity, the design, and what a reader must know.

use super::words::name;
use crate::clean::clean;
use crate::number::percent;
use crate::style::{Colour, Style};
use crate::wrap::{text_width, wrap};
use types::{Agreement, ComparisonReport, Design, Outcome, Parity};

const PARITY: &str = "parity   ";
const GAP: &str = "   ";

/// Which outputs are equal, in as many lines as it takes.
pub(super) fn parity(report: &ComparisonReport, style: &Style, width: usize) -> Vec<String> {
    let room = width - PARITY.len();
    let mut lines: Vec<String> = Vec::new();
    for entry in report.parity.iter().flat_map(|entry| wrap(&pair(entry), room)) {
        match lines.last_mut() {
            Some(line) if text_width(line) + GAP.len() + text_width(&entry) <= room => {
                line.push_str(GAP);
                line.push_str(&entry);
            }
            _ => lines.push(entry),
        }
    }
    let indent = " ".repeat(PARITY.len());
    let label =
        |at: usize| if at == 0 { style.paint(PARITY, Colour::Label) } else { indent.clone() };
    lines.iter().enumerate().map(|(at, line)| format!("{}{line}", label(at))).collect()
}

/// `torch = rten (max 3.1e-6)`.
fn pair(parity: &Parity) -> String {
    let (reference, side) = (clean(&parity.reference), clean(&parity.side));
    let sign = parity.agreement().sign();
    match parity.max_abs() {
        Some(found) => format!("{reference} {sign} {side} (max {found:.1e})"),
        None => format!("{reference} {sign} {side}"),
    }
}

/// How it was measured and what that could have seen.
pub(super) fn design(report: &ComparisonReport, width: usize) -> Vec<String> {
    let mut facts = vec![match report.design {
        Design::Interleaved { rounds, .. } => {
            format!("{}, {} a side", order(report.sides.len()), counted(rounds, "process"))
        }
        Design::Stored => format!("stored runs, {} a side", runs(report)),
    }];
    let mut threads: Vec<u32> = report.sides.iter().map(|side| side.info.threads).collect();
    threads.dedup();
    facts.push(match threads.as_slice() {
        [all] => format!("{} each", counted(u64::from(*all), "thread")),
        each => {
            let each: Vec<String> = each.iter().map(u32::to_string).collect();
            format!("threads {}", each.join(", "))
        }
    });
    let mut text = facts.join(", ");
    if let Some(detectable) = report.detectable {
        text.push_str(&format!("; this design could have seen {}", percent(detectable)));
    }
    wrap(&text, width)
}

/// `ABBA`, `ABCCBA`: the order of turns.
fn order(sides: usize) -> String {
    const LETTERS: [char; 5] = ['A', 'B', 'C', 'D', 'E'];
    match LETTERS.get(..sides) {
        Some(letters) => letters.iter().chain(letters.iter().rev()).collect(),
        None => "turns forward and backward".into(),
    }
}

fn runs(report: &ComparisonReport) -> String {
    let counts = || report.sides.iter().map(|side| side.processes);
    match (counts().min(), counts().max()) {
        (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
        (_, most) => most.unwrap_or(0).to_string(),
    }
}

fn counted(count: u64, thing: &str) -> String {
    let many = if thing.ends_with('s') { "es" } else { "s" };
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}{many}") }
}

/// Refusals first, then everything a reader must know, each once.
pub(super) fn remarks(report: &ComparisonReport, style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (is_refusal, text) in sentences(report) {
        let (mark, colour) = if is_refusal { ("!", Colour::Bad) } else { ("-", Colour::Warning) };
        for (at, line) in wrap(&text, width - 2).into_iter().enumerate() {
            let mark = if at == 0 { style.paint(mark, colour) } else { " ".into() };
            lines.push(format!("{mark} {line}"));
        }
    }
    lines
}

/// The same in sentences, and whether each is a refusal.
pub(crate) fn sentences(report: &ComparisonReport) -> Vec<(bool, String)> {
    let mut said: Vec<(bool, String)> = Vec::new();
    let mut say = |is_refusal: bool, text: String| {
        if said.iter().all(|(_, known)| *known != text) {
            said.push((is_refusal, text));
        }
    };
    for comparison in &report.comparisons {
        if let Outcome::Refused { why } = &comparison.outcome {
            let info = report.side(&comparison.side).map(|side| &side.info);
            let failed = info.is_some_and(|info| info.failed.is_some());
            let what = if failed { "could not be measured" } else { "no speed-up is claimed" };
            let name = info.map_or_else(|| clean(&comparison.side), name);
            say(true, format!("{name}: {what}: {}", clean(why)));
        }
    }
    for comparison in &report.comparisons {
        comparison.remarks.iter().for_each(|remark| say(false, clean(remark)));
    }
    for entry in report.parity.iter().filter(|entry| entry.agreement() == Agreement::Equal) {
        for output in &entry.outputs {
            if let Some(note) = &output.note {
                let (side, name) = (clean(&entry.side), clean(&output.output));
                say(false, format!("{side}: output `{name}`: {}", clean(note)));
            }
        }
    }
    report.remarks.iter().for_each(|remark| say(false, clean(remark)));
    for side in &report.sides {
        for remark in &side.info.remarks {
            say(false, format!("{}: {}", clean(&side.info.label), clean(remark)));
        }
    }
    said
}
