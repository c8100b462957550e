//! Recommendations on a screen: what to use, what comes next and by how much, and what that rests on.

use super::overview::overview;
use super::words::{
    bare, brief, cell, choice, gap, heading, lead_of, left_out, others, short_id, wish, worth,
};
use crate::analysis::words::{Machines, Unlike, work};
use crate::analysis::{hanging_indent, joined};
use crate::clean::clean;
use crate::invalid::remedies;
use crate::number::MISSING;
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::wrap::{flow, pad_right, wrap};
use types::{Candidate, CellKey, Exclusion, LeftOut, Recommendation};

const LABEL: usize = 11;
const INDENT: usize = 2;
/// A screen has room for so many lines of a list; documents hold all of it.
const MOST_LINES: usize = 8;

/// More models than that are a table: nobody reads so many pages.
const MOST_PAGES: usize = 3;

/// The terminal's view of recommendations: a page each where they are few, a line each otherwise.
#[must_use]
pub fn recommendations(found: &[Recommendation], style: &Style) -> String {
    let width = style.columns();
    if found.len() > MOST_PAGES {
        return overview(found, style, width);
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, one) in found.iter().enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        lines.extend(page(one, style, width));
    }
    if found.is_empty() {
        lines.extend(wrap("no run answers this question", width));
    }
    joined(lines)
}

fn page(found: &Recommendation, style: &Style, width: usize) -> Vec<String> {
    let machines = Machines::new(&found.machines);
    let unlike = unlike(found);
    let words = work(&found.model, found.random_weights, found.mode, found.sequence_length);
    let title = flow(&words, width);
    let mut lines: Vec<String> =
        title.iter().map(|line| style.paint(line, Colour::Title)).collect();
    lines.extend(wrap(&wish(&found.wish), width));
    lines.push(String::new());
    match found.best() {
        Some(best) => lines.extend(chosen(found, best, &machines, unlike, style, width)),
        None => {
            let text = match is_only_invalid(found) {
                true => "nothing that was measured is valid; what was left out is below",
                false => "nothing that was measured will do; what was left out is below",
            };
            lines.extend(hanging_indent("!", text, Colour::Bad, style, width));
        }
    }
    if found.candidates.len() > 2 {
        lines.push(String::new());
        let table = candidates(found, &machines, unlike, style, width - INDENT);
        lines.extend(table.lines().map(|line| format!("{:INDENT$}{line}", "")));
    }
    let gaps = found.gaps.iter().map(|one| gap(one, &machines, unlike.machines)).collect();
    lines.extend(list("not measured", gaps, style, width));
    let outs = found.left_out.iter().map(|one| (cell(&one.cell, &machines, unlike), left_out(one)));
    lines.extend(list("left out", outs.collect(), style, width));
    if !found.remarks.is_empty() {
        lines.push(String::new());
    }
    let remedies = remedies_of(found);
    if found.remarks.is_empty() && !remedies.is_empty() {
        lines.push(String::new());
    }
    for remark in found.remarks.iter().map(|remark| clean(remark)).chain(remedies) {
        lines.extend(hanging_indent("-", &remark, Colour::Warning, style, width));
    }
    lines
}

/// Whether the only thing against everything that was measured is that it is not valid.
pub(super) fn is_only_invalid(found: &Recommendation) -> bool {
    let is_invalid = |one: &LeftOut| matches!(one.why, Exclusion::Invalid { .. });
    !found.left_out.is_empty() && found.left_out.iter().all(is_invalid)
}

/// What to do about cells without a valid run.
pub(super) fn remedies_of(found: &Recommendation) -> Vec<String> {
    let lacks = |one: &&LeftOut| {
        matches!(one.why, Exclusion::Invalid { .. })
            && found.candidates.iter().all(|known| known.cell.key != one.cell)
    };
    let cells = found.left_out.iter().filter(lacks).count() as u64;
    let is_included = found.candidates.iter().any(|one| one.cell.invalid.is_some());
    remedies(cells, found.again.as_deref(), is_included)
}

/// In what everything on the page differs.
pub(super) fn unlike(found: &Recommendation) -> Unlike {
    let candidates = found.candidates.iter().map(|one| &one.cell.key);
    let keys: Vec<&CellKey> =
        candidates.chain(found.left_out.iter().map(|one| &one.cell)).collect();
    let unlike = Unlike::of(keys.iter().copied());
    let mut machines: Vec<&str> = keys.iter().map(|key| key.machine.as_str()).collect();
    machines.extend(found.gaps.iter().map(|gap| gap.machine.as_str()));
    machines.sort_unstable();
    machines.dedup();
    Unlike { machines: machines.len() > 1, ..unlike }
}

/// What to use, what comes next, and the runs behind both.
fn chosen(
    found: &Recommendation,
    best: &Candidate,
    machines: &Machines<'_>,
    unlike: Unlike,
    style: &Style,
    width: usize,
) -> Vec<String> {
    let objective = found.wish.objective;
    let room = width - INDENT - LABEL;
    let mut lines = Vec::new();
    let mut label = |name: &str, text: Vec<String>| {
        for (at, line) in text.iter().enumerate() {
            let name = pad_right(if at == 0 { name } else { "" }, LABEL);
            lines.push(format!("{:INDENT$}{}{line}", "", style.paint(&name, Colour::Label)));
        }
    };
    label("use", flow(&choice(&best.cell, machines, unlike), room));
    let mut numbers = vec![worth(&found.wish, &best.value)];
    numbers.extend(others(&best.cell, objective));
    label("", flow(&numbers, room));
    match found.runner_up() {
        Some(next) => {
            label("runner-up", flow(&choice(&next.cell, machines, unlike), room));
            let numbers = [lead_of(objective, next), worth(&found.wish, &next.value)];
            label("", flow(&numbers, room));
        }
        None => {
            label("runner-up", wrap("none: no other way to run it was measured or will do", room))
        }
    }
    let ids = |one: &Candidate, whose: &str| {
        let ids: Vec<String> = one.cell.runs.iter().map(|id| short_id(&id.0)).collect();
        let plural = if ids.len() == 1 { "" } else { "s" };
        wrap(&format!("run{plural} {}{whose}", ids.join(", ")), room)
    };
    match found.runner_up() {
        Some(next) => {
            label("rests on", ids(best, " for the first"));
            label("", ids(next, " for the runner-up"));
        }
        None => label("rests on", ids(best, "")),
    }
    lines
}

/// Every way to run at its best batch.
fn candidates(
    found: &Recommendation,
    machines: &Machines<'_>,
    unlike: Unlike,
    style: &Style,
    width: usize,
) -> String {
    let mut table = Table::new([
        Column::left("all ways to run").shrinks(),
        Column::right(&heading(&found.wish)),
        Column::left("behind").leaves_late(1),
    ])
    .painted(style);
    for one in found.candidates.iter().take(MOST_LINES) {
        let behind = one.behind.as_ref();
        let behind = behind.map_or_else(|| MISSING.into(), |it| brief(found.wish.objective, it));
        let name = choice(&one.cell, machines, unlike).join(" · ");
        table.push([name, bare(&found.wish, one.value.value), behind]);
    }
    let mut text = table.render(Some(width));
    if let Some(more) = found.candidates.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        text.push_str(&format!("and {more} more; `--json` has all\n"));
    }
    text
}

/// A heading and pairs below it, as many as a screen takes.
fn list(heading: &str, pairs: Vec<(String, String)>, style: &Style, width: usize) -> Vec<String> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new([Column::left(heading).shrinks(), Column::left("").wraps()]);
    for (name, text) in pairs.iter().take(MOST_LINES) {
        table.push([name, text]);
    }
    let mut text = table.painted(style).render(Some(width - INDENT));
    if let Some(more) = pairs.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        text.push_str(&format!("and {more} more; `--json` has all\n"));
    }
    let lines = text.lines().map(|line| format!("{:INDENT$}{line}", ""));
    std::iter::once(String::new()).chain(lines).collect()
}
