//! Answers as people see them: the number with its interval, what it rests on and how good such answers were.

use super::{
    answer::{
        self, AnswerDocument, Asked, BacktestRow, COLUMNS, PredictionDocument, Range, row, runs,
    },
    show::times_and_divided,
};
use modelmeter::Experience;
use number::{bytes, percent, seconds};
use predict::{
    Hardware, Known, Observation, PictureCase, Predicted, Reach, Refused, Score, Situation,
};
use report::{Block, Column, DataTable, Fact, Grid, Note, ResultDocument, Tone, clean};
use std::collections::BTreeMap;

/// Runs that an answer names.
const NAMED: usize = 3;
/// Fewer machines do not tell how much another one differs.
const FEW: usize = 3;

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

/// What an answer from tables rests on.
pub(super) struct Rests<'a> {
    /// Measured times.
    pub(super) times: usize,
    /// The machines with such tests.
    pub(super) machines: Vec<&'a str>,
    /// Rows of the tables that were left out: why, and how many.
    pub(super) left_out: &'a BTreeMap<String, usize>,
}

/// An answer from tables of timm.
pub(super) fn of_tables(
    case: &PictureCase,
    hardware: &Hardware,
    said: Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    rests: &Rests<'_>,
) -> ResultDocument {
    let PictureCase { observation: one, precision, batch } = case;
    let range = said.as_ref().ok().map(|(_, said)| {
        let at = |shift: f64| batch * (said.log_seconds + shift).exp();
        Range { value: at(0.0), low: at(-said.log_half), high: at(said.log_half) }
    });
    let physics = batch * one.physics;
    let held_out = said.as_ref().ok().map(|(situation, _)| situation.words());
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
    let rate = |rate: f64| format!("{} samples/s", number::rate(rate));
    let mut blocks = Vec::new();
    if let Some(range) = range {
        let rates = range.rate(*batch);
        let mut grid = Grid::of([
            Column::left(""),
            Column::right("predicted"),
            Column::right("90 % interval"),
            Column::right("physics alone"),
        ]);
        grid.row([
            "latency".to_owned(),
            seconds(range.value),
            format!("{} to {}", seconds(range.low), seconds(range.high)),
            seconds(physics),
        ]);
        grid.row([
            "throughput".to_owned(),
            rate(rates.value),
            format!("{} to {}", rate(rates.low), rate(rates.high)),
            rate(batch / physics),
        ]);
        blocks.push(Block::table("predicted", grid));
    }
    blocks.push(Block::Facts(facts_of_tables(one, &said, score, rests)));
    let verdict = match range {
        Some(range) => {
            let rates = range.rate(*batch);
            let words = format!(
                "predicted, not measured: {} (90 %: {} to {})",
                rate(rates.value),
                rate(rates.low),
                rate(rates.high)
            );
            Note::of(Tone::Warning, words)
        }
        None => Note::of(Tone::Bad, "not predicted: the question is outside of what was measured"),
    };
    let document = AnswerDocument {
        model: one.model.clone(),
        hardware: hardware.name.clone(),
        engine: "torch".into(),
        precision: precision.clone(),
        mode: if one.test.starts_with("train") { "training" } else { "inference" }.into(),
        batch_size: *batch,
        sequence_length: None,
        status: if range.is_some() { "predicted" } else { "refused" },
        situation: held_out,
        seconds: range,
        throughput: range.map(|range| range.rate(*batch)),
        memory_bytes: None,
        physics_seconds: Some(physics),
        rests_on: match range {
            Some(_) => rests.machines.iter().map(|machine| (*machine).to_owned()).collect(),
            None => Vec::new(),
        },
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
        facts: vec![
            format!("timm, {}", one.test),
            format!("batch {batch}"),
            format!("peaks: {}", clean(&hardware.source)),
        ],
        verdict: Some(verdict),
        blocks,
        json: PredictionDocument::new("answers", rests.times, rests.left_out)
            .answering(vec![document])
            .json(),
        data: Some(data),
        ..ResultDocument::default()
    }
}

fn facts_of_tables(
    one: &Observation,
    said: &Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    rests: &Rests<'_>,
) -> Vec<Fact> {
    let (situation, said) = match said {
        Err(refused) => {
            return vec![
                Fact::new("not predicted", clean(&refused.why)),
                Fact::new("can be answered", clean(&refused.nearest)),
            ];
        }
        Ok(said) => said,
    };
    let machines = match rests.machines.as_slice() {
        [machine] => format!("1 machine, {}", clean(machine)),
        several => format!("{} machines: {}", several.len(), clean(&several.join(", "))),
    };
    let mut facts = vec![
        Fact::new("new", situation.words()),
        Fact::new("rests on", format!("{} times of {machines}", rests.times)),
    ];
    if *situation == Situation::NewMachine && rests.machines.len() < FEW {
        facts.push(Fact::new(
            "interval",
            format!(
                "{}, wider by how far the hardware is from the nearest of these; so few machines say little of another",
                times_and_divided(said.log_half.exp())
            ),
        ));
    }
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
    facts.push(Fact::new("kind of test", one.test.clone()));
    facts
}
