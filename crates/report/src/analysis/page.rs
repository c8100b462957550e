//! An analysis on a screen: the cells of each model, its best batches, and what a reader must know.

use super::tables::{self, FRONT};
use super::words::{Machines, counted, work};
use crate::clean::clean;
use crate::invalid::{NOT_VALID, not_valid, remedies};
use crate::style::{Colour, Style};
use crate::wrap::{flow, hanging_indent, joined, wrap};
use types::{AnalysedCell, Analysis, BatchSeries, CellKey, LengthSeries, Tally};

/// The terminal's view of an analysis.
#[must_use]
pub fn analysis(found: &Analysis, style: &Style) -> String {
    let width = style.columns();
    let machines = Machines::new(&found.machines);
    let mut lines: Vec<String> = Vec::new();
    let mut has_front = false;
    for group in found.cells.chunk_by(|a, b| is_same_work(&a.cell.key, &b.cell.key)) {
        let group: Vec<&AnalysedCell> = group.iter().collect();
        let key = &group[0].cell.key;
        has_front |= group.iter().any(|one| one.on_front.value == Some(true));
        lines.extend(title(key, true, style, width));
        lines.extend(block(&tables::cells(&group, &machines, style, width)));
        lines.extend(missing(&group, width));
        lines.push(String::new());
        let series = found.batches.iter().filter(|one| is_same_work(&one.best, key));
        let series: Vec<&BatchSeries> = series.filter(|one| one.scaling.value.is_some()).collect();
        if !series.is_empty() {
            lines.extend(block(&tables::batches(&series, &machines, style, width)));
            lines.push(String::new());
        }
    }
    let is_same_model = |a: &LengthSeries, b: &LengthSeries| {
        let shorter = CellKey { sequence_length: a.shortest.sequence_length, ..b.shortest.clone() };
        is_same_work(&a.shortest, &shorter)
    };
    for group in found.lengths.chunk_by(is_same_model) {
        let group: Vec<&LengthSeries> = group.iter().collect();
        lines.extend(title(&group[0].shortest, false, style, width));
        lines.extend(block(&tables::lengths(&group, &machines, style, width)));
        lines.push(String::new());
    }
    if found.cells.is_empty() {
        lines.extend(wrap("no valid run answers this question", width));
    }
    if found.cells.iter().any(|one| one.cell.invalid.is_some()) {
        let text = "no valid run: these numbers cannot be believed";
        lines.extend(hanging_indent(&NOT_VALID.to_string(), text, Colour::Bad, style, width));
    }
    if has_front {
        let text =
            "no other cell of this model is at least as good in latency, throughput and memory";
        lines.extend(hanging_indent(FRONT, text, Colour::Good, style, width));
    }
    lines.extend(flow(&tally(&found.tally, found.cells.len()), width));
    let notes = found.remarks.iter().map(|remark| clean(remark));
    for note in notes.chain(remedies_of(found)) {
        lines.extend(hanging_indent("-", &note, Colour::Warning, style, width));
    }
    joined(lines)
}

/// What to do about cells without a valid run.
pub(super) fn remedies_of(found: &Analysis) -> Vec<String> {
    let is_included = found.cells.iter().any(|one| one.cell.invalid.is_some());
    remedies(found.not_valid.len() as u64, found.again.as_deref(), is_included)
}

/// Whether two cells do the same work and were measured by the same hand, so that one table holds them.
fn is_same_work(left: &CellKey, right: &CellKey) -> bool {
    let of = |key: &CellKey| (key.random_weights, key.mode, key.sequence_length, key.imported);
    left.model == right.model && of(left) == of(right)
}

/// The model and what all cells of a table share.
fn title(key: &CellKey, with_length: bool, style: &Style, width: usize) -> Vec<String> {
    let length = key.sequence_length.filter(|_| with_length);
    let mut words = work(&key.model, key.random_weights, key.mode, length);
    words.extend(key.imported.then(|| "imported".to_owned()));
    let lines = flow(&words, width);
    lines.into_iter().map(|line| style.paint(&line, Colour::Title)).collect()
}

/// Why there are dashes, each reason once with how many cells it is about.
fn missing(cells: &[&AnalysedCell], width: usize) -> Vec<String> {
    let reasons = cells.iter().flat_map(|one| {
        let AnalysedCell { cell, speed_up, .. } = *one;
        // That the cpu has no speed-up against itself need not be said.
        let speed_up = speed_up.why.as_ref().filter(|_| cell.key.device != types::Device::Cpu);
        [
            ("speed-up", speed_up),
            ("throughput", cell.throughput.why.as_ref()),
            ("memory", cell.memory.why.as_ref()),
            ("energy", cell.energy.why.as_ref()),
            ("efficiency", cell.efficiency.why.as_ref()),
        ]
    });
    let mut said: Vec<(&str, &str, usize)> = Vec::new();
    for (what, why) in reasons.filter_map(|(what, why)| Some((what, why?.as_str()))) {
        match said.iter_mut().find(|known| (known.0, known.1) == (what, why)) {
            Some((_, _, count)) => *count += 1,
            None => said.push((what, why, 1)),
        }
    }
    let all = cells.len();
    let text = |(what, why, count): (&str, &str, usize)| match count == all {
        true => format!("no {what}: {}", clean(why)),
        false => format!("no {what} for {count} of {all}: {}", clean(why)),
    };
    said.into_iter().flat_map(|one| wrap(&text(one), width)).collect()
}

/// How many runs went where.
pub(super) fn tally(tally: &Tally, cells: usize) -> Vec<String> {
    let mut facts =
        vec![format!("{} in {}", counted(tally.pooled, "run"), counted(cells as u64, "cell"))];
    let mut more = |count: u64, what: &str| {
        facts.extend((count > 0).then(|| format!("{} {what}", counted(count, "run"))));
    };
    more(tally.older, "older or of another version");
    more(tally.untimed, "without a time");
    more(tally.predicted, "predicted");
    facts.extend((!tally.invalid_reasons.is_empty()).then(|| not_valid(&tally.invalid_reasons)));
    facts
}

/// A rendered table as lines.
fn block(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}
