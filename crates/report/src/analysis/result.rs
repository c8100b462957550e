//! An analysis as a result: the cells of each model, its best batches, and what a reader must know.

use super::against::against_blocks;
use super::csv::analysis_data;
use super::document::analysis_json;
use super::tables::{self, FRONT};
use super::words::{Machines, counted, work};
use crate::clean::clean;
use crate::invalid::{NOT_VALID_MARK, not_valid, remedies};
use crate::result::{Block, Note, ResultDocument, Tone};
use crate::wrap::DOT;
use types::{Against, AnalysedCell, Analysis, BatchSeries, CellKey, LengthSeries, Tally};

/// An analysis as a result, and how its cells compare with those of a file.
#[must_use]
pub fn analysis_document(found: &Analysis, against: Option<(&Against, &str)>) -> ResultDocument {
    let machines = Machines::new(&found.machines);
    let mut blocks = Vec::new();
    let mut has_front = false;
    for group in found.cells.chunk_by(|a, b| is_same_work(&a.cell.key, &b.cell.key)) {
        let group: Vec<&AnalysedCell> = group.iter().collect();
        let key = &group[0].cell.key;
        has_front |= group.iter().any(|one| one.on_front.value == Some(true));
        blocks.push(Block::Heading(heading(key, true)));
        blocks.push(Block::table("cells", tables::cells(&group, &machines)));
        blocks.push(Block::Notes(missing(&group).into_iter().map(Note::new).collect()));
        let series = found.batches.iter().filter(|one| is_same_work(&one.best, key));
        let series: Vec<&BatchSeries> = series.filter(|one| one.scaling.value.is_some()).collect();
        if !series.is_empty() {
            blocks.push(Block::table("best batches", tables::batches(&series, &machines)));
        }
    }
    let is_same_model = |a: &LengthSeries, b: &LengthSeries| {
        let shorter = CellKey { sequence_length: a.shortest.sequence_length, ..b.shortest.clone() };
        is_same_work(&a.shortest, &shorter)
    };
    for group in found.lengths.chunk_by(is_same_model) {
        let group: Vec<&LengthSeries> = group.iter().collect();
        let name = heading(&group[0].shortest, false);
        blocks.push(Block::Heading(format!("{name} · by length")));
        blocks.push(Block::table("growth with the length", tables::lengths(&group, &machines)));
    }
    blocks.push(Block::Notes(notes(found, has_front)));
    if let Some((against, file)) = against {
        blocks.extend(against_blocks(against, file, &machines));
    }
    let nothing = || Note::of(Tone::Bad, "no valid run matches this query");
    ResultDocument {
        title: vec!["Analysis".into()],
        facts: tally(&found.tally, found.cells.len()),
        verdict: found.cells.is_empty().then(nothing),
        blocks,
        json: analysis_json(found, against),
        data: Some(analysis_data(found)),
        ..ResultDocument::default()
    }
}

/// What the marks mean, and what a reader must know.
fn notes(found: &Analysis, has_front: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    if found.cells.iter().any(|one| one.cell.invalid.is_some()) {
        let text = "no valid run: do not rely on these numbers";
        notes.push(Note::marked(NOT_VALID_MARK, Tone::Bad, text));
    }
    if has_front {
        let text =
            "no other cell of this model is at least as good in latency, throughput and memory";
        notes.push(Note::marked(FRONT, Tone::Good, text));
    }
    let remarks = found.remarks.iter().map(|remark| clean(&remark.text));
    notes.extend(remarks.chain(remedies_of(found)).map(Note::warning));
    notes
}

/// What to do about cells without a valid run.
fn remedies_of(found: &Analysis) -> Vec<String> {
    let is_included = found.cells.iter().any(|one| one.cell.invalid.is_some());
    remedies(found.not_valid.len() as u64, found.again.as_deref(), is_included)
}

/// Whether two cells do the same work and were measured by the same hand, so that one table holds them.
fn is_same_work(left: &CellKey, right: &CellKey) -> bool {
    let of = |key: &CellKey| (key.random_weights, key.mode, key.sequence_length, key.imported);
    left.model == right.model && of(left) == of(right)
}

/// The model and what all cells of a table share.
fn heading(key: &CellKey, with_length: bool) -> String {
    let length = key.sequence_length.filter(|_| with_length);
    let mut words = work(&key.model, key.random_weights, key.mode, length);
    words.extend(key.imported.then(|| "imported".to_owned()));
    words.join(DOT)
}

/// Why there are dashes, each reason once with how many cells it is about.
fn missing(cells: &[&AnalysedCell]) -> Vec<String> {
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
    said.into_iter().map(text).collect()
}

/// What happened to the runs, with counts.
fn tally(tally: &Tally, cells: usize) -> Vec<String> {
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
