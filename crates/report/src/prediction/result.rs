//! Answers as people see them: the number with its interval, what it rests on and how good such answers were.

use super::{
    LearnedCells, Prediction,
    document::{AnswerDocument, Range, answers, rows, runs},
    left_out,
};
use crate::{
    clean::clean,
    result::{Block, Fact, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use number::{bytes, percent, seconds};
use predict::{Known, Reach};

/// Runs that an answer names.
const NAMED: usize = 3;

/// Answers to one question, or to several that were asked together.
#[must_use]
pub fn predictions_document(
    all: &[Prediction],
    from: &LearnedCells<'_>,
    wants_next: bool,
    anchor: Option<&Known>,
) -> ResultDocument {
    let documents: Vec<AnswerDocument> = all.iter().map(Prediction::document).collect();
    let mut blocks = Vec::new();
    for (asked, document) in all.iter().zip(&documents) {
        blocks.extend(part(asked, document, wants_next, anchor, all.len() > 1));
    }
    let left_out = left_out(from);
    if !left_out.is_empty() {
        blocks.push(Block::Notes(left_out));
    }
    let mut title = Vec::new();
    let mut facts = Vec::new();
    if let Some(Prediction { case, .. }) = all.first() {
        title = vec![
            clean(&case.model),
            "predicted, not measured".into(),
            format!("on {}", clean(&case.hardware)),
        ];
        facts.push(format!("{} {}", case.engine, case.precision));
        facts.push(format!("batch {}", case.batch));
        facts.extend(case.length.map(|length| format!("length {length}")));
    }
    ResultDocument {
        title,
        facts,
        verdict: Some(verdict(all)),
        blocks,
        data: Some(rows(&documents)),
        json: answers(from, documents, anchor.and_then(|anchor| anchor.runs.first().cloned())),
        ..ResultDocument::default()
    }
}

fn verdict(all: &[Prediction]) -> Note {
    let refused = all.iter().filter(|one| one.answer.is_err()).count();
    if refused == all.len() {
        return Note::of(Tone::Bad, "not predicted: the question is outside of what was measured");
    }
    let measured = all.iter().all(|one| one.answer.as_ref().is_ok_and(|one| one.is_measured));
    if measured {
        return Note::of(
            Tone::Good,
            "measured: the database has this cell, nothing had to be predicted",
        );
    }
    let words: Vec<String> = all
        .iter()
        .filter_map(|one| {
            let found = one.answer.as_ref().ok()?;
            let Reach { middle, low, high } = found.seconds;
            Some(format!("{} (90 %: {} to {})", seconds(middle), seconds(low), seconds(high)))
        })
        .collect();
    Note::of(Tone::Warning, format!("predicted, not measured: {}", words.join("; ")))
}

fn part(
    asked: &Prediction,
    document: &AnswerDocument,
    wants_next: bool,
    anchor: Option<&Known>,
    is_one_of_several: bool,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    if is_one_of_several {
        blocks.push(Block::Heading(asked.case.mode.clone()));
    }
    let mut facts = Vec::new();
    match &asked.answer {
        Err(refused) => {
            facts.push(Fact::new("not predicted", clean(&refused.why)));
            facts.push(Fact::new("can be answered", clean(&refused.nearest)));
            if let Some(physics) = asked.case.physics() {
                facts.push(Fact::new(
                    "physics alone",
                    format!("{}, by the roofline: no prediction", seconds(physics)),
                ));
            }
        }
        Ok(found) => {
            blocks.push(Block::table("predicted", table(asked, document)));
            if found.is_measured {
                facts.push(Fact::new("measured by", runs(found).join(", ")));
            } else {
                facts.push(Fact::new("new", found.situation.words()));
                let near: Vec<String> = found
                    .rests_on
                    .iter()
                    .take(NAMED)
                    .map(|known| {
                        let id = known.runs.first().map_or("", |id| &id[..id.len().min(8)]);
                        format!(
                            "{} ({} {} at batch {}, {id})",
                            clean(&known.case.model),
                            known.case.engine,
                            known.case.precision,
                            known.case.batch
                        )
                    })
                    .collect();
                facts.push(Fact::new(
                    "rests on",
                    format!("{} cells; nearest: {}", found.cells, near.join("; ")),
                ));
                if let Some(anchor) = anchor {
                    let id = anchor.runs.first().cloned().unwrap_or_default();
                    facts.push(Fact::new(
                        "anchor",
                        format!("{id}: {}", clean(&anchor.case.words())),
                    ));
                }
                if let Some(own) = &found.calibrated {
                    facts.push(Fact::new(
                        "backtest",
                        format!(
                            "{} held out: median error {}, mean {}, {} of {} cells within the interval ({} groups){}",
                            found.situation.words(),
                            percent(own.median_error),
                            percent(own.mean_error),
                            percent(own.coverage),
                            own.cells,
                            own.groups,
                            own.physics_error
                                .map(|error| format!("; physics alone {}", percent(error)))
                                .unwrap_or_default()
                        ),
                    ));
                }
            }
        }
    }
    if let Some(next) = document.next.as_ref().filter(|_| wants_next) {
        facts.push(Fact::command("measure next", next.command.clone()));
        facts.push(Fact::new(
            "then",
            format!("the interval keeps {} of its width", percent(next.width_left)),
        ));
    }
    blocks.push(Block::Facts(facts));
    blocks
}

fn table(asked: &Prediction, document: &AnswerDocument) -> Grid {
    let measured = document.status == "measured";
    let mut grid = Grid::of([
        Column::left(""),
        Column::right(if measured { "measured" } else { "predicted" }),
        Column::right("90 % interval"),
        Column::right("physics alone"),
    ]);
    let mut add =
        |name: &str, range: Option<Range>, physics: Option<f64>, words: &dyn Fn(f64) -> String| {
            let Some(range) = range else { return };
            let interval = match measured {
                true => String::new(),
                false => format!("{} to {}", words(range.low), words(range.high)),
            };
            let physics = physics.map(words).unwrap_or_default();
            grid.row([name.to_owned(), words(range.value), interval, physics]);
        };
    let physics = document.physics_seconds;
    add("latency", document.seconds, physics, &seconds);
    let unit = asked.unit();
    let rate = |rate: f64| format!("{} {unit}", number::rate(rate));
    add("throughput", document.throughput, physics.map(|time| asked.work() / time), &rate);
    add("peak memory", document.memory_bytes, None, &|amount| bytes(amount as u64));
    grid
}
