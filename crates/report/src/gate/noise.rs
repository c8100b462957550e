//! The noise of a machine: repeated measurements of the same model.

use super::words::cell;
use crate::csv::{number, text};
use crate::document::{Timestamp, to_json};
use crate::result::{Block, DataTable, Fact, ResultDocument};
use crate::sheet::{Grid, Side};
use crate::timestamp::{minute, rfc3339};
use analysis::gate::typical_median;
use number::{duration, fixed, percent, seconds};
use schemars::JsonSchema;
use serde::Serialize;
use types::{Drifted, GateCell, Interval, Itself, Jitter, Noise};

/// The name and version of the document.
pub const NOISE_SCHEMA: &str = "modelmeter.noise/1";

/// How many earlier tests are shown.
const EARLIER: usize = 5;

/// A test of the machine's noise; earlier ones follow, the newest first.
#[must_use]
pub fn noise_document(test: &Noise, earlier: &[Noise]) -> ResultDocument {
    let jitter = &test.jitter;
    let Interval { low, high } = test.itself.interval;
    let off = |ratio: f64| fixed(100.0 * (ratio - 1.0), 1);
    let mut facts = vec![
        Fact {
            pieces: vec![
                format!("{} of the processors' time was used by other work", percent(jitter.lost)),
                format!("longest pause {}", seconds(jitter.longest.0)),
                format!("{} pauses per second above 0.1 ms", fixed(jitter.pauses, 1)),
            ],
            ..Fact::new("jitter", "")
        },
        Fact::new(
            "itself",
            format!(
                "looked {} % slower than itself [{}, {}] over {} processes per side, which scatter by {}",
                off(test.itself.ratio),
                off(low),
                off(high),
                test.itself.rounds,
                percent(test.itself.scatter)
            ),
        ),
    ];
    facts.extend(test.drift.iter().map(|drift| {
        let apart = seconds(drift.apart.0);
        let share = percent(drift.share);
        Fact::new(
            "drift",
            format!("two processes {apart} apart differ by up to {share} (19 in 20)"),
        )
    }));
    let floor = percent(test.itself.floor);
    facts.push(Fact::new(
        "noise floor",
        format!("no gate on this machine reports a change below {floor}"),
    ));
    let mut blocks = vec![Block::Facts(facts)];
    if !earlier.is_empty() {
        blocks.push(Block::Heading("Earlier tests".into()));
        blocks.push(Block::table("earlier tests", earlier_tests(earlier)));
    }
    ResultDocument {
        title: cell(&test.cell),
        facts: vec!["compared with itself, interleaved".into(), duration(test.elapsed)],
        is_list: false,
        verdict: None,
        blocks,
        json: to_json(&NoiseDocument::from(test)),
        data: Some(data(test, earlier)),
        ..ResultDocument::default()
    }
}

fn earlier_tests(earlier: &[Noise]) -> Grid {
    let columns = [("when UTC", Side::Left), ("floor", Side::Right), ("median", Side::Right)];
    let mut grid = Grid::new(&columns);
    for test in earlier.iter().take(EARLIER) {
        grid.row([
            minute(test.measured_at),
            percent(test.itself.floor),
            seconds(typical_median(test)),
        ]);
    }
    grid
}

fn data(test: &Noise, earlier: &[Noise]) -> DataTable {
    const COLUMNS: [&str; 9] = [
        "measured_at",
        "model",
        "engine",
        "device",
        "processor_time_lost_share",
        "itself_ratio",
        "itself_ratio_low",
        "itself_ratio_high",
        "noise_floor_share",
    ];
    let row = |test: &Noise| {
        vec![
            Some(rfc3339(test.measured_at)),
            text(&test.cell.model),
            text(&test.cell.engine),
            Some(test.cell.device.to_string()),
            number(test.jitter.lost),
            number(test.itself.ratio),
            number(test.itself.interval.low),
            number(test.itself.interval.high),
            number(test.itself.floor),
        ]
    };
    DataTable::new(COLUMNS, std::iter::once(test).chain(earlier).map(row))
}

/// The noise of a machine: repeated measurements of the same model; numbers in SI base units.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoiseDocument<'a> {
    #[schemars(extend("const" = NOISE_SCHEMA))]
    schema: &'static str,
    measured_at: Timestamp,
    /// How long the test took.
    #[schemars(range(min = 0))]
    seconds: f64,
    /// What was measured against itself.
    cell: &'a GateCell,
    jitter: &'a Jitter,
    itself: &'a Itself,
    /// The median of every process, in seconds.
    medians: &'a [f64],
    drift: &'a [Drifted],
}

impl<'a> From<&'a Noise> for NoiseDocument<'a> {
    fn from(test: &'a Noise) -> NoiseDocument<'a> {
        NoiseDocument {
            schema: NOISE_SCHEMA,
            measured_at: test.measured_at.into(),
            seconds: test.elapsed.as_secs_f64(),
            cell: &test.cell,
            jitter: &test.jitter,
            itself: &test.itself,
            medians: &test.medians,
            drift: &test.drift,
        }
    }
}
