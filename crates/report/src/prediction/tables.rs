//! An answer from tables of times that other tools measured.

use super::{
    LearnedCells,
    document::{AnswerDocument, BacktestRow, Range, answers, rows},
    words::times_and_divided,
};
use crate::{
    clean::clean,
    result::{Block, Fact, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use number::{percent, seconds};
use predict::{Hardware, Observation, PictureCase, Predicted, Refused, Score, Situation};
use std::collections::BTreeMap;

/// Fewer machines do not tell how much another one differs.
const FEW: usize = 3;

/// What an answer from tables of other tools rests on.
#[derive(Debug)]
pub struct TableRows<'a> {
    /// Measured times.
    pub times: usize,
    /// The machines with such tests.
    pub machines: Vec<&'a str>,
    /// Rows of the tables that were left out: why, and how many.
    pub left_out: &'a BTreeMap<String, usize>,
}

/// An answer from tables of timm.
#[must_use]
pub fn table_prediction_document(
    case: &PictureCase,
    hardware: &Hardware,
    said: &Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    from: &TableRows<'_>,
) -> ResultDocument {
    let PictureCase { observation: one, engine, precision, batch } = case;
    let range = said.as_ref().ok().map(|(_, said)| {
        let at = |shift: f64| batch * (said.log_seconds + shift).exp();
        Range { value: at(0.0), low: at(-said.log_half), high: at(said.log_half) }
    });
    let physics = batch * one.physics;
    let learned = LearnedCells { cells: from.times, left_out: from.left_out, not_valid: None };
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
    blocks.push(Block::Facts(facts(one, said, score, from)));
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
        engine: (*engine).to_owned(),
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
            Some(_) => from.machines.iter().map(|machine| (*machine).to_owned()).collect(),
            None => Vec::new(),
        },
        backtest,
        next: None,
        refused: said.as_ref().err().map(|refused| refused.why.clone()),
        nearest: said.as_ref().err().map(|refused| refused.nearest.clone()),
    };
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
        data: Some(rows([&document])),
        json: answers(&learned, vec![document], None),
        ..ResultDocument::default()
    }
}

fn facts(
    one: &Observation,
    said: &Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    from: &TableRows<'_>,
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
    let machines = match from.machines.as_slice() {
        [machine] => format!("1 machine, {}", clean(machine)),
        several => format!("{} machines: {}", several.len(), clean(&several.join(", "))),
    };
    let mut facts = vec![
        Fact::new("new", situation.words()),
        Fact::new("rests on", format!("{} times of {machines}", from.times)),
    ];
    if *situation == Situation::NewMachine && from.machines.len() < FEW {
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
