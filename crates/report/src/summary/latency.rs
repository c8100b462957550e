//! The latency table: one row a phase, as many columns as fit, and what its marks mean.

use super::imported;
use crate::result::{Block, Note, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use crate::wrap::pad_right;
use number::{Spread, TimeUnit, count, decimals_for, fixed};
use types::{PERCENTILE_FLOORS, Phase, ReasonCode, Run, Summary};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Median,
    Interval,
    Mean,
    Range,
    P90,
    P95,
    P99,
    P999,
    Outliers,
}

/// From everything to the least, each as good as its room allows. With room to spare: how sure the median
/// is, the far tail, and how many samples stood apart. With little: fewer percentiles, no range.
const LAYOUTS: [&[Figure]; 6] = [
    &[
        Figure::Median,
        Figure::Interval,
        Figure::Mean,
        Figure::Range,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::P999,
        Figure::Outliers,
    ],
    &[Figure::Median, Figure::Mean, Figure::Range, Figure::P90, Figure::P95, Figure::P99],
    &[Figure::Median, Figure::Mean, Figure::Range, Figure::P95, Figure::P99],
    &[Figure::Median, Figure::Mean, Figure::P95, Figure::P99],
    &[Figure::Median, Figure::P95, Figure::P99],
    &[Figure::Median],
];

/// A phase with the unit and decimals its numbers are shown in.
struct Row<'a> {
    summary: &'a Summary,
    unit: TimeUnit,
    decimals: usize,
}

/// The table, and what its marks mean.
pub(super) fn blocks(run: &Run) -> Vec<Block> {
    let phases: Vec<(Phase, &Summary)> =
        Phase::ALL.iter().filter_map(|phase| Some((*phase, run.summaries.get(phase)?))).collect();
    // Of some phases another tool gives samples, of others only what it made of them.
    let stated = imported::stated(run).map(|grid| Block::table("stated", grid));
    if phases.is_empty() {
        let nothing = || Block::Notes(vec![Note::warning("no samples")]);
        return vec![stated.unwrap_or_else(nothing)];
    }
    let table = table(&phases);
    let notes = (!is_explained(run)).then(|| Block::Notes(marks(&phases)));
    std::iter::once(table).chain(notes).chain(stated).collect()
}

/// Every layout from the widest to the narrowest, aligned where possible.
fn table(phases: &[(Phase, &Summary)]) -> Block {
    // Few runs reach so far; a column full of stars would tell nothing.
    let far = phases.iter().all(|(_, summary)| summary.supports("p99.9"));
    let (aligned, single) = (aligned_rows(phases), single_rows(phases));
    let grid = |layout: &[Figure], rows: &[Row<'_>]| {
        let figures = layout.iter().copied().filter(|figure| far || *figure != Figure::P999);
        let (columns, cells): (Vec<Column>, Vec<Vec<String>>) =
            figures.map(|figure| column(rows, figure)).unzip();
        let mut grid = Grid::of(std::iter::once(Column::left("phase")).chain(columns));
        for (at, (phase, _)) in phases.iter().enumerate() {
            let row = cells.iter().map(|column| column[at].clone());
            grid.row(std::iter::once(phase.name().to_owned()).chain(row));
        }
        grid
    };
    let mut grids =
        LAYOUTS.iter().flat_map(|layout| [grid(layout, &aligned), grid(layout, &single)]);
    let widest = grids.next().unwrap_or_default();
    Block::Table {
        name: "latency".into(),
        grid: widest,
        narrower: grids.map(|grid| vec![grid]).collect(),
    }
}

/// One unit and the same decimals in every row, unless the phases lie so far apart that the largest would get
/// more than one digit too many.
fn aligned_rows<'a>(phases: &[(Phase, &'a Summary)]) -> Vec<Row<'a>> {
    let Spread { unit, decimals, shared, excess } = spread(phases);
    if !shared || excess > 1 || is_crowded(unit, phases) {
        return single_rows(phases);
    }
    phases.iter().map(|(_, summary)| Row { summary, unit, decimals }).collect()
}

/// Each row with four significant digits of its own, in the common unit where there is one.
fn single_rows<'a>(phases: &[(Phase, &'a Summary)]) -> Vec<Row<'a>> {
    let spread = spread(phases);
    let common = if spread.shared { roomy(spread.unit, phases) } else { None };
    let row = |phase: &(Phase, &'a Summary)| {
        let summary = phase.1;
        let own = TimeUnit::fitting(summary.median);
        let unit = common.or_else(|| roomy(own, std::slice::from_ref(phase))).unwrap_or(own);
        let decimals = decimals_for(unit.of(summary.median), 4).min(3);
        Row { summary, unit, decimals }
    };
    phases.iter().map(row).collect()
}

fn spread(phases: &[(Phase, &Summary)]) -> Spread {
    Spread::of(phases.iter().map(|(_, summary)| summary.median), 2)
}

/// This unit, or the next larger where it is crowded; `None` if a median would not keep two digits in that.
fn roomy(unit: TimeUnit, phases: &[(Phase, &Summary)]) -> Option<TimeUnit> {
    if !is_crowded(unit, phases) {
        return Some(unit);
    }
    let larger = match unit {
        TimeUnit::Nanoseconds => TimeUnit::Microseconds,
        TimeUnit::Microseconds => TimeUnit::Milliseconds,
        TimeUnit::Milliseconds => TimeUnit::Seconds,
        TimeUnit::Seconds | TimeUnit::Minutes => return Some(unit),
    };
    let readable = phases.iter().all(|(_, summary)| larger.of(summary.median) >= 0.01);
    readable.then_some(larger)
}

/// Whether numbers grow too long in this unit: one of five whole digits, or a whole tail of four.
fn is_crowded(unit: TimeUnit, phases: &[(Phase, &Summary)]) -> bool {
    let long = |summary: &Summary| {
        unit.of(summary.max) >= 10_000.0 || unit.of(summary.p95.max(summary.mean)) >= 1_000.0
    };
    phases.iter().any(|(_, summary)| long(summary))
}

/// A column of the table and its cells, one a row.
fn column(rows: &[Row<'_>], figure: Figure) -> (Column, Vec<String>) {
    let units = rows.iter().map(|row| row.unit.name().chars().count()).max().unwrap_or(0);
    let show = |row: &Row<'_>, seconds: f64| fixed(row.unit.of(seconds), row.decimals);
    let pair = |name: &str, sign: char, of: &dyn Fn(&Summary) -> [f64; 2]| {
        let cell = |row: &Row<'_>| {
            let [left, right] = of(row.summary).map(|seconds| show(row, seconds));
            format!("{left} {sign} {right}")
        };
        (Column::pair(name, sign), rows.iter().map(cell).collect())
    };
    let percentile = |name: &str, of: &dyn Fn(&Summary) -> f64| {
        let cell = |row: &Row<'_>| format!("{}{}", show(row, of(row.summary)), star(row, name));
        (Column::right(name), rows.iter().map(cell).collect())
    };
    match figure {
        Figure::Median => {
            let marks = rows.iter().map(|row| star(row, "p50").len()).max().unwrap_or(0);
            let cell = |row: &Row<'_>| {
                let unit = pad_right(row.unit.name(), units);
                let mark = pad_right(star(row, "p50"), marks);
                format!("{}{mark} {unit}", show(row, row.summary.median))
            };
            (Column::right("median"), rows.iter().map(cell).collect())
        }
        Figure::Interval => pair("95 % of median", '…', &|summary| {
            [summary.ci95_median.low, summary.ci95_median.high]
        }),
        Figure::Mean => pair("mean ± std", '±', &|summary| [summary.mean, summary.std]),
        Figure::Range => pair("min … max", '…', &|summary| [summary.min, summary.max]),
        Figure::P90 => percentile("p90", &|summary| summary.p90),
        Figure::P95 => percentile("p95", &|summary| summary.p95),
        Figure::P99 => percentile("p99", &|summary| summary.p99),
        Figure::P999 => percentile("p99.9", &|summary| summary.p999),
        Figure::Outliers => (
            Column::right("outliers"),
            rows.iter().map(|row| count(row.summary.outliers)).collect(),
        ),
    }
}

/// The mark beside a percentile without support.
fn star(row: &Row<'_>, percentile: &str) -> &'static str {
    if row.summary.supports(percentile) { "" } else { "*" }
}

/// Whether a remark of the verdict, which has a star too, says what the stars mean.
fn is_explained(run: &Run) -> bool {
    let remark = ReasonCode::UnsupportedPercentile;
    run.verdict.reasons.iter().any(|reason| reason.code == remark)
}

/// What the stars mean.
fn marks(phases: &[(Phase, &Summary)]) -> Vec<Note> {
    let needs: Vec<String> = PERCENTILE_FLOORS
        .iter()
        .filter(|floor| floor.name != "p99.9")
        .filter_map(|floor| {
            let entries = phases.iter().flat_map(|(_, summary)| &summary.unsupported);
            let mine = entries.filter(|entry| entry.percentile == floor.name);
            let needs = mine.map(|entry| entry.needs).max()?;
            let name = if floor.name == "p50" { "median" } else { floor.name };
            Some(format!("{name} needs {}", count(needs)))
        })
        .collect();
    match needs.is_empty() {
        true => Vec::new(),
        false => {
            let text = format!("too few samples: {}", needs.join(", "));
            vec![Note::marked("*", Tone::Warning, text)]
        }
    }
}
