//! A backtest as a result: a table by kind of question, one by machine, and what was refused.

use super::{
    backtest_document::BacktestDocument,
    words::{tenths, times_and_divided},
};
use crate::{
    clean::clean,
    document::to_json,
    result::{Block, DataTable, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use predict::{Backtest, KindScore, MachineScore, Score};

/// The share of an interval that is called right: a tenth of the misses more or less is chance.
const RIGHT: std::ops::RangeInclusive<f64> = 0.85..=0.97;

/// Columns of the rows for programs.
const COLUMNS: [&str; 18] = [
    "by",
    "domain",
    "test",
    "machine",
    "situation",
    "rows",
    "machines",
    "median_error",
    "mean_error",
    "coverage",
    "width",
    "physics_median_error",
    "physics_mean_error",
    "anchored_rows",
    "anchored_median_error",
    "anchored_mean_error",
    "anchored_coverage",
    "anchored_width",
];

/// How good predictions of times were that were held out.
#[must_use]
pub fn backtest_document(found: &Backtest) -> ResultDocument {
    let learned: usize = found.learned.iter().map(|(_, rows)| rows).sum();
    let how = match found.is_cross_validation {
        true => "groups of the same files were held out in turn",
        false => "the second files were predicted",
    };
    let mut blocks = Vec::new();
    if !found.kinds.is_empty() {
        blocks.push(Block::Heading("By kind of question".into()));
        blocks.push(Block::table("Errors by kind of question", kinds(&found.kinds)));
        blocks.push(Block::Heading("By machine that was held out".into()));
        blocks.push(Block::table("Errors by machine", machines(&found.machines)));
    }
    blocks.push(Block::Notes(notes(found)));
    ResultDocument {
        title: vec!["Backtest of predictions".into(), how.into()],
        facts: vec![
            format!("learned from {learned} measured times"),
            format!("{} predicted", found.answered()),
        ],
        verdict: Some(verdict(found)),
        blocks,
        json: to_json(&BacktestDocument::new(found)),
        data: Some(data(found)),
        ..ResultDocument::default()
    }
}

fn kinds(kinds: &[KindScore]) -> Grid {
    let mut grid = Grid::of([
        Column::left("learned from").wraps(),
        Column::left("test").wraps(),
        Column::left("held out"),
        Column::right("times").leaves(3),
        Column::right("median error"),
        Column::right("mean error").leaves(4),
        Column::right("coverage"),
        Column::right("interval"),
        Column::right("physics alone").leaves(2),
        Column::right("anchored").leaves(1),
    ]);
    for kind in kinds {
        // The same statistic as in the first column of errors.
        let anchored = kind.anchored.as_ref().map(|score| tenths(score.median_error));
        let mut row = vec![
            kind.domain.words().to_owned(),
            clean(&kind.test),
            kind.situation.words().to_owned(),
        ];
        row.extend(told(&kind.score));
        row.push(tenths(kind.physics.median_error));
        row.push(anchored.unwrap_or_default());
        grid.row(row);
    }
    grid
}

fn machines(machines: &[MachineScore]) -> Grid {
    let mut grid = Grid::of([
        Column::left("machine").wraps(),
        Column::left("held out"),
        Column::right("times").leaves(2),
        Column::right("median error"),
        Column::right("mean error").leaves(3),
        Column::right("coverage"),
        Column::right("interval"),
        Column::right("physics alone").leaves(1),
    ]);
    for one in machines {
        let mut row = vec![clean(&one.machine), one.situation.words().to_owned()];
        row.extend(told(&one.score));
        row.push(tenths(one.physics.median_error));
        grid.row(row);
    }
    grid
}

fn told(score: &Score) -> [String; 5] {
    [
        score.rows.to_string(),
        tenths(score.median_error),
        tenths(score.mean_error),
        tenths(score.coverage),
        times_and_divided(score.width),
    ]
}

fn verdict(found: &Backtest) -> Note {
    if found.kinds.is_empty() {
        return Note::of(Tone::Bad, "nothing could be predicted; the reasons are below");
    }
    let overall = found.overall();
    let tone = if RIGHT.contains(&overall.coverage) { Tone::Good } else { Tone::Warning };
    Note::of(
        tone,
        format!(
            "median error {} ({} by physics alone); the 90 % interval held {}",
            tenths(overall.median_error),
            tenths(overall.physics_median_error),
            tenths(overall.coverage)
        ),
    )
}

fn notes(found: &Backtest) -> Vec<Note> {
    let mut notes = Vec::new();
    if !found.kinds.is_empty() {
        notes.push(Note::new(
            "error: |predicted ÷ measured − 1|. Coverage: share of times within their 90 % interval, every kind of \
             machine counting alike. Interval: prediction × and ÷ this. Physics alone: a roofline with one learned \
             efficiency per test. Anchored: the median error with one measurement on the target, of another model",
        ));
    }
    for refused in &found.refused {
        notes.push(Note::warning(format!(
            "{} times were not predicted: {}; the nearest that can be: {}",
            refused.rows,
            clean(&refused.why),
            clean(&refused.nearest)
        )));
    }
    for (why, rows) in &found.left_out {
        notes.push(Note::new(format!("{rows} rows of the files were left out: {}", clean(why))));
    }
    notes
}

fn data(found: &Backtest) -> DataTable {
    let number = |number: f64| number.is_finite().then(|| number.to_string());
    let scores = |score: &Score| {
        [
            Some(score.rows.to_string()),
            Some(score.machines.to_string()),
            number(score.median_error),
            number(score.mean_error),
            number(score.coverage),
            number(score.width),
        ]
    };
    let kinds = found.kinds.iter().map(|kind| {
        let mut row = vec![
            Some("test".to_owned()),
            Some(kind.domain.words().to_owned()),
            Some(kind.test.clone()),
            None,
            Some(kind.situation.words().to_owned()),
        ];
        row.extend(scores(&kind.score));
        row.push(number(kind.physics.median_error));
        row.push(number(kind.physics.mean_error));
        let anchored = kind.anchored.as_ref();
        row.push(anchored.map(|score| score.rows.to_string()));
        row.push(anchored.and_then(|score| number(score.median_error)));
        row.push(anchored.and_then(|score| number(score.mean_error)));
        row.push(anchored.and_then(|score| number(score.coverage)));
        row.push(anchored.and_then(|score| number(score.width)));
        row
    });
    let machines = found.machines.iter().map(|one| {
        let mut row = vec![
            Some("machine".to_owned()),
            Some(one.domain.words().to_owned()),
            None,
            Some(one.machine.clone()),
            Some(one.situation.words().to_owned()),
        ];
        row.extend(scores(&one.score));
        row.push(number(one.physics.median_error));
        row.push(number(one.physics.mean_error));
        row.extend([None, None, None, None, None]);
        row
    });
    DataTable::new(COLUMNS, kinds.chain(machines))
}
