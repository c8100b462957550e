//! Answers as people see them: the number with its interval, what it rests on and how good such answers were.

use super::answer::{
    self, AnswerDocument, Asked, BacktestRow, COLUMNS, PredictionDocument, Range, row, runs,
};
use modelmeter::Experience;
use number::{bytes, percent, seconds};
use predict::{Hardware, Known, Observation, Predicted, Reach, Refused, Score, Situation};
use report::{Block, Column, DataTable, Fact, Grid, Note, ResultDocument, Tone, clean};
use std::collections::BTreeMap;

/// Runs that an answer names.
const NAMED: usize = 3;

/// Answers to one question, or to several that were asked together.
pub(super) fn document(
    all: &[Asked],
    experience: &Experience,
    wants_next: bool,
    anchor: Option<&Known>,
) -> ResultDocument {
    let answers: Vec<AnswerDocument> = all.iter().map(Asked::document).collect();
    let mut blocks = Vec::new();
    let mut rows = Vec::new();
    for (asked, document) in all.iter().zip(&answers) {
        rows.push(row(document));
        blocks.extend(part(asked, document, wants_next, anchor, all.len() > 1));
    }
    let left_out = super::learned::left_out(experience);
    if !left_out.is_empty() {
        blocks.push(Block::Notes(left_out));
    }
    let first = &all[0].case;
    let length = first.length.map(|length| format!("length {length}"));
    let mut facts =
        vec![format!("{} {}", first.engine, first.precision), format!("batch {}", first.batch)];
    facts.extend(length);
    ResultDocument {
        title: vec![
            clean(&first.model),
            "predicted, not measured".into(),
            format!("on {}", clean(&first.hardware)),
        ],
        facts,
        verdict: Some(verdict(all)),
        blocks,
        json: answer::answers(
            experience,
            answers,
            anchor.and_then(|anchor| anchor.runs.first().cloned()),
        ),
        data: Some(DataTable::new(COLUMNS, rows)),
        ..ResultDocument::default()
    }
}

fn verdict(all: &[Asked]) -> Note {
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
    asked: &Asked,
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

fn table(asked: &Asked, document: &AnswerDocument) -> Grid {
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

/// An answer from tables of timm.
pub(super) fn of_tables(
    one: &Observation,
    hardware: &Hardware,
    precision: &str,
    said: Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    rows: usize,
) -> ResultDocument {
    let answer = said.as_ref().ok();
    let range = answer.map(|(_, said)| {
        let at = |shift: f64| (said.log_seconds + shift).exp();
        Range { value: at(0.0), low: at(-said.log_half), high: at(said.log_half) }
    });
    let held_out = answer.map(|(situation, _)| situation.words());
    let backtest = held_out.zip(score).map(|(held_out, score)| BacktestRow {
        hardware: None,
        held_out: held_out.to_owned(),
        cells: score.rows,
        groups: score.machines,
        median_error: score.median_error,
        mean_error: score.mean_error,
        coverage: score.coverage,
        width: Some(score.width).filter(|width| width.is_finite()),
        physics_median_error: None,
    });
    let mut facts = Vec::new();
    match &said {
        Err(refused) => {
            facts.push(Fact::new("not predicted", clean(&refused.why)));
            facts.push(Fact::new("can be answered", clean(&refused.nearest)));
        }
        Ok((situation, _)) => {
            facts.push(Fact::new("new", situation.words()));
            facts.push(Fact::new(
                "rests on",
                format!("{rows} times of the tables; kind of test: {}", one.test),
            ));
            facts.extend(score.map(|score| {
                Fact::new(
                    "backtest",
                    format!(
                        "{} held out: mean error {}, median {}, {} of {} times within the interval",
                        situation.words(),
                        percent(score.mean_error),
                        percent(score.median_error),
                        percent(score.coverage),
                        score.rows
                    ),
                )
            }));
        }
    }
    let rate = |rate: f64| format!("{} samples/s", number::rate(rate));
    let mut grid = Grid::of([
        Column::left(""),
        Column::right("predicted"),
        Column::right("90 % interval"),
        Column::right("physics alone"),
    ]);
    if let Some(range) = range {
        let words = format!("{} to {}", seconds(range.low), seconds(range.high));
        grid.row([
            "time of a sample".to_owned(),
            seconds(range.value),
            words,
            seconds(one.physics),
        ]);
        let rates = range.rate(1.0);
        let words = format!("{} to {}", rate(rates.low), rate(rates.high));
        grid.row(["throughput".to_owned(), rate(rates.value), words, rate(1.0 / one.physics)]);
    }
    let verdict = match range {
        Some(range) => Note::of(
            Tone::Warning,
            format!("predicted, not measured: {} for a sample", seconds(range.value)),
        ),
        None => Note::of(Tone::Bad, "not predicted: the question is outside of what was measured"),
    };
    let document = AnswerDocument {
        model: one.model.clone(),
        hardware: hardware.name.clone(),
        engine: "torch".into(),
        precision: precision.to_owned(),
        mode: one.test.split(' ').next().unwrap_or("infer").replace("infer", "inference"),
        batch_size: 1.0,
        sequence_length: None,
        status: if range.is_some() { "predicted" } else { "refused" },
        situation: held_out,
        seconds: range,
        throughput: range.map(|range| range.rate(1.0)),
        memory_bytes: None,
        physics_seconds: Some(one.physics),
        rests_on: Vec::new(),
        backtest,
        next: None,
        refused: said.as_ref().err().map(|refused| refused.why.clone()),
        nearest: said.as_ref().err().map(|refused| refused.nearest.clone()),
    };
    let data = DataTable::new(COLUMNS, [row(&document)]);
    ResultDocument {
        title: vec![
            clean(&one.model),
            "predicted, not measured".into(),
            format!("on {}", clean(&hardware.name)),
        ],
        facts: vec![format!("timm, {}", one.test), format!("peaks: {}", clean(&hardware.source))],
        verdict: Some(verdict),
        blocks: vec![Block::table("predicted", grid), Block::Facts(facts)],
        json: PredictionDocument::new("answers", rows, &BTreeMap::new())
            .answering(vec![document])
            .json(),
        data: Some(data),
        ..ResultDocument::default()
    }
}
