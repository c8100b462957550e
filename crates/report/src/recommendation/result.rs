//! Recommendations as a result: what to use, what comes next and by how much, and what that rests on.

use super::csv::recommendations_data;
use super::document::recommendations_json;
use super::overview::overview;
use super::words::{
    bare, brief, cell, choice, further_numbers, gap, heading, lead_of, left_out, short_id, wish,
    worth,
};
use crate::analysis::words::{Machines, Unlike, counted, work};
use crate::capacity::capacity_document;
use crate::clean::clean;
use crate::invalid::remedies;
use crate::result::{Block, Fact, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use number::MISSING;
use types::{Candidate, CapacityReport, CellKey, Exclusion, LeftOut, Recommendation};

/// Rows of one list; JSON and CSV hold all of it.
const MOST_ROWS: usize = 8;

/// More models than that are a table: nobody reads so many of them one by one.
const MOST_MODELS: usize = 3;

/// Recommendations: one after the other where they are few, a row each otherwise.
#[must_use]
pub fn recommendations_document(found: &[Recommendation]) -> ResultDocument {
    let json = recommendations_json(found, &[]);
    let data = Some(recommendations_data(found));
    let whole = match found {
        [] => ResultDocument {
            title: vec!["Recommendations".into()],
            verdict: Some(Note::of(Tone::Bad, "no stored run matches this query")),
            ..ResultDocument::default()
        },
        [only] => ResultDocument {
            title: title(only),
            facts: vec![wish(&only.wish)],
            blocks: blocks(only),
            ..ResultDocument::default()
        },
        few if few.len() <= MOST_MODELS => ResultDocument {
            title: vec!["Recommendations".into()],
            facts: vec![wish(&few[0].wish)],
            blocks: few.iter().flat_map(under_its_name).collect(),
            ..ResultDocument::default()
        },
        many => ResultDocument {
            title: vec!["Recommendations".into(), counted(many.len() as u64, "model")],
            facts: vec![wish(&many[0].wish)],
            blocks: overview(many),
            ..ResultDocument::default()
        },
    };
    ResultDocument { json, data, ..whole }
}

/// The same with what a rate of requests takes: how many replicas of each way to serve the model.
#[must_use]
pub fn recommendations_with_capacity(
    found: &[Recommendation],
    capacity: &[CapacityReport],
) -> ResultDocument {
    let mut document = recommendations_document(found);
    for report in capacity {
        let asked = capacity_document(report);
        let heading = [&asked.title[..], &asked.facts[..]].concat().join(crate::wrap::DOT);
        document.blocks.push(Block::Heading(heading));
        document.blocks.extend(asked.blocks);
        document.blocks.push(Block::Notes(asked.verdict.into_iter().collect()));
    }
    document.json = recommendations_json(found, capacity);
    document
}

fn title(found: &Recommendation) -> Vec<String> {
    let mut words = work(&found.model, found.random_weights, found.mode, found.sequence_length);
    words.extend(test(found));
    words
}

/// The test of generating or the load that all configurations share.
pub(super) fn test(found: &Recommendation) -> Option<String> {
    Some(clean(&found.work().words())).filter(|words| !words.is_empty())
}

fn under_its_name(found: &Recommendation) -> Vec<Block> {
    let mut all = vec![Block::Heading(title(found).join(crate::wrap::DOT))];
    all.extend(blocks(found));
    all
}

fn blocks(found: &Recommendation) -> Vec<Block> {
    let machines = Machines::new(&found.machines);
    let unlike = unlike(found);
    let mut blocks = Vec::new();
    match found.best() {
        Some(best) => blocks.push(Block::Facts(chosen(found, best, &machines, unlike))),
        None => {
            let text = match is_only_invalid(found) {
                true => "no measured configuration is valid; the reasons are below",
                false => "no measured configuration meets the limits; the reasons are below",
            };
            blocks.push(Block::Notes(vec![Note::of(Tone::Bad, text)]));
        }
    }
    let mut notes = Vec::new();
    if found.candidates.len() > 2 {
        let grid = candidates(found, &machines, unlike);
        blocks.push(Block::table("all configurations", grid));
        notes.extend(more(found.candidates.len(), "configurations"));
    }
    let gaps: Vec<(String, String)> =
        found.gaps.iter().map(|one| gap(one, &machines, unlike.machines)).collect();
    let outs = found.left_out.iter().map(|one| (cell(&one.cell, &machines, unlike), left_out(one)));
    for (name, pairs) in [("not measured", gaps), ("left out", outs.collect())] {
        if !pairs.is_empty() {
            notes.extend(more(pairs.len(), name));
            blocks.push(Block::table(name, list(name, pairs)));
        }
    }
    notes.extend(
        found.remarks.iter().map(String::from).chain(remedies_of(found)).map(Note::warning),
    );
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
    blocks
}

/// That a list goes on.
fn more(count: usize, what: &str) -> Option<Note> {
    let more = count.checked_sub(MOST_ROWS).filter(|more| *more > 0)?;
    Some(Note::new(format!("{what}: {more} more; `--json` has all")))
}

/// Whether the only thing against everything that was measured is that it is not valid.
pub(super) fn is_only_invalid(found: &Recommendation) -> bool {
    let is_invalid = |one: &LeftOut| matches!(one.why, Exclusion::Invalid { .. });
    !found.left_out.is_empty() && found.left_out.iter().all(is_invalid)
}

/// What to do about cells without a valid run.
fn remedies_of(found: &Recommendation) -> Vec<String> {
    let lacks = |one: &&LeftOut| {
        matches!(one.why, Exclusion::Invalid { .. })
            && found.candidates.iter().all(|known| known.cell.key != one.cell)
    };
    let cells = found.left_out.iter().filter(lacks).count() as u64;
    let is_included = found.candidates.iter().any(|one| one.cell.invalid.is_some());
    remedies(cells, found.again.as_deref(), is_included)
}

/// In what everything that is named differs.
fn unlike(found: &Recommendation) -> Unlike {
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
) -> Vec<Fact> {
    let objective = found.wish.objective;
    let pieces = |label: &str, pieces: Vec<String>| Fact { pieces, ..Fact::new(label, "") };
    let mut numbers = vec![worth(&found.wish, &best.value)];
    numbers.extend(further_numbers(&best.cell, objective));
    let mut facts = vec![pieces("use", choice(&best.cell, machines, unlike)), pieces("", numbers)];
    let ids = |one: &Candidate, whose: &str| {
        let ids: Vec<String> = one.cell.runs.iter().map(|id| short_id(&id.0)).collect();
        let plural = if ids.len() == 1 { "" } else { "s" };
        format!("run{plural} {}{whose}", ids.join(", "))
    };
    match found.runner_up() {
        Some(next) => facts.extend([
            pieces("runner-up", choice(&next.cell, machines, unlike)),
            pieces("", vec![lead_of(objective, next), worth(&found.wish, &next.value)]),
            Fact::new("based on", ids(best, " for the first")),
            Fact::new("", ids(next, " for the runner-up")),
        ]),
        None => facts.extend([
            Fact::new("runner-up", "none: no other configuration was measured or meets the limits"),
            Fact::new("based on", ids(best, "")),
        ]),
    }
    facts
}

/// Every way to run at its best batch.
fn candidates(found: &Recommendation, machines: &Machines<'_>, unlike: Unlike) -> Grid {
    let mut grid = Grid::of([
        Column::left("all configurations").shrinks(),
        Column::right(&heading(&found.wish)),
        Column::left("behind").leaves_late(1),
    ]);
    for one in found.candidates.iter().take(MOST_ROWS) {
        let behind = one.behind.as_ref();
        let behind = behind.map_or_else(|| MISSING.into(), |it| brief(found.wish.objective, it));
        let name = choice(&one.cell, machines, unlike).join(" · ");
        grid.row([name, bare(&found.wish, one.value.value), behind]);
    }
    grid
}

/// Pairs below a heading.
fn list(heading: &str, pairs: Vec<(String, String)>) -> Grid {
    let mut grid = Grid::of([Column::left(heading).shrinks(), Column::left("").wraps()]);
    pairs.into_iter().take(MOST_ROWS).for_each(|(name, text)| grid.row([name, text]));
    grid
}
