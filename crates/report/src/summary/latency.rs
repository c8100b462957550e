//! The latency table: one row a phase, as many columns as fit, and what its marks mean.

use super::grid::{GridColumn, Spacing, grid_lines, grid_width};
use crate::number::{Spread, TimeUnit, count, decimals_for, fixed};
use crate::style::{Colour, Style};
use crate::wrap::{pad_right, wrap};
use types::{PERCENTILE_FLOORS, Phase, ReasonCode, Run, Summary};

const INDENT: &str = "  ";

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

const USUAL: [Figure; 6] =
    [Figure::Median, Figure::Mean, Figure::Range, Figure::P90, Figure::P95, Figure::P99];
/// With room to spare: how sure the median is, the far tail, and how many samples stood apart.
const WIDE: [Figure; 9] = [
    Figure::Median,
    Figure::Interval,
    Figure::Mean,
    Figure::Range,
    Figure::P90,
    Figure::P95,
    Figure::P99,
    Figure::P999,
    Figure::Outliers,
];

/// A phase with the unit and decimals its numbers are shown in.
struct Row<'a> {
    summary: &'a Summary,
    unit: TimeUnit,
    decimals: usize,
}

pub(super) fn lines(run: &Run, style: &Style) -> Vec<String> {
    let phases: Vec<(Phase, &Summary)> =
        Phase::ALL.iter().filter_map(|phase| Some((*phase, run.summaries.get(phase)?))).collect();
    if phases.is_empty() {
        return vec![format!("{INDENT}no samples")];
    }
    let labels = phases.iter().map(|(phase, _)| phase.name().len()).max().unwrap_or(0);
    let room = style.columns() - INDENT.len() - labels;
    let (blocks, wide) = fit(&phases, room);
    let mut lines = Vec::new();
    for block in blocks {
        for (index, line) in block.into_iter().enumerate() {
            let header = index == 0;
            let label = if header { "" } else { phases[index - 1].0.name() };
            let label = style.paint(&pad_right(label, labels), Colour::Label);
            let line = if header { style.paint(&line, Colour::Label) } else { line };
            lines.push(format!("{INDENT}{label}{line}"));
        }
    }
    lines.extend(marks(run, &phases, wide, style));
    lines
}

/// The best layout that fits: all in one block where possible, several blocks otherwise.
fn fit(phases: &[(Phase, &Summary)], room: usize) -> (Vec<Vec<String>>, bool) {
    const ROOMY: Spacing = Spacing { gap: 3, loose: true };
    const CLOSE: Spacing = Spacing { gap: 2, loose: true };
    const TIGHT: Spacing = Spacing { gap: 2, loose: false };
    let (aligned, single) = (aligned_rows(phases), single_rows(phases));
    let attempts: [(&[Row<'_>], &[Figure], Spacing); 8] = [
        (&aligned, &WIDE, ROOMY),
        (&single, &WIDE, ROOMY),
        (&aligned, &USUAL, ROOMY),
        (&aligned, &USUAL, CLOSE),
        (&single, &USUAL, ROOMY),
        (&single, &USUAL, CLOSE),
        (&aligned, &USUAL, TIGHT),
        (&single, &USUAL, TIGHT),
    ];
    for (rows, figures, spacing) in attempts {
        let columns: Vec<GridColumn> = figures.iter().map(|figure| column(rows, *figure)).collect();
        if grid_width(&columns, spacing) <= room {
            return (vec![grid_lines(&columns, spacing)], figures.len() == WIDE.len());
        }
    }
    let mut blocks = Vec::new();
    let mut block: Vec<GridColumn> = Vec::new();
    for figure in USUAL {
        block.push(column(&single, figure));
        if block.len() > 1 && grid_width(&block, CLOSE) > room {
            let next = block.pop();
            blocks.push(grid_lines(&block, CLOSE));
            block = next.into_iter().collect();
        }
    }
    blocks.push(grid_lines(&block, CLOSE));
    (blocks, false)
}

/// One unit and the same decimals in every row, unless the phases lie so far apart that the largest would get
/// more than one digit too many.
fn aligned_rows<'a>(phases: &[(Phase, &'a Summary)]) -> Vec<Row<'a>> {
    let spread = Spread::of(phases.iter().map(|(_, summary)| summary.median), 2);
    if !spread.shared || spread.excess > 1 {
        return single_rows(phases);
    }
    let Spread { unit, decimals, .. } = spread;
    phases.iter().map(|(_, summary)| Row { summary, unit, decimals }).collect()
}

/// Each row with four significant digits of its own, in the common unit where there is one.
fn single_rows<'a>(phases: &[(Phase, &'a Summary)]) -> Vec<Row<'a>> {
    let spread = Spread::of(phases.iter().map(|(_, summary)| summary.median), 2);
    let row = |(_, summary): &(Phase, &'a Summary)| {
        let unit = if spread.shared { spread.unit } else { TimeUnit::fitting(summary.median) };
        let decimals = decimals_for(unit.of(summary.median), 4).min(3);
        Row { summary, unit, decimals }
    };
    phases.iter().map(row).collect()
}

fn column(rows: &[Row<'_>], figure: Figure) -> GridColumn {
    let units = rows.iter().map(|row| row.unit.name().chars().count()).max().unwrap_or(0);
    let show = |row: &Row<'_>, seconds: f64| fixed(row.unit.of(seconds), row.decimals);
    let pair = |sign, names: &[&str], of: &dyn Fn(&Summary) -> [f64; 2]| GridColumn {
        sign,
        header: names.iter().map(ToString::to_string).collect(),
        cells: rows.iter().map(|row| of(row.summary).map(|s| show(row, s)).to_vec()).collect(),
    };
    let percentile = |name: &str, of: &dyn Fn(&Summary) -> f64| {
        let mark = star(rows, name);
        let cell = |row: &Row<'_>| vec![format!("{}{}", show(row, of(row.summary)), mark(row))];
        let header = format!("{name}{}", if mark(&rows[0]).is_empty() { "" } else { " " });
        GridColumn { sign: "", header: vec![header], cells: rows.iter().map(cell).collect() }
    };
    match figure {
        Figure::Median => {
            let mark = star(rows, "p50");
            let cell = |row: &Row<'_>| {
                let unit = pad_right(row.unit.name(), units);
                vec![format!("{}{} {unit}", show(row, row.summary.median), mark(row))]
            };
            let cells = rows.iter().map(cell).collect();
            GridColumn { sign: "", header: vec!["median".into()], cells }
        }
        Figure::Interval => pair("…", &["95 % of median"], &|summary| {
            [summary.ci95_median.low, summary.ci95_median.high]
        }),
        Figure::Mean => pair("±", &["mean", "std"], &|summary| [summary.mean, summary.std]),
        Figure::Range => pair("…", &["min", "max"], &|summary| [summary.min, summary.max]),
        Figure::P90 => percentile("p90", &|summary| summary.p90),
        Figure::P95 => percentile("p95", &|summary| summary.p95),
        Figure::P99 => percentile("p99", &|summary| summary.p99),
        Figure::P999 => percentile("p99.9", &|summary| summary.p999),
        Figure::Outliers => GridColumn {
            sign: "",
            header: vec!["outliers".into()],
            cells: rows.iter().map(|row| vec![count(row.summary.outliers)]).collect(),
        },
    }
}

/// The mark beside a percentile: a star without support, a space where another row has one, else nothing.
fn star(rows: &[Row<'_>], percentile: &str) -> impl Fn(&Row<'_>) -> &'static str {
    let any = rows.iter().any(|row| !row.summary.supports(percentile));
    move |row| match (any, row.summary.supports(percentile)) {
        (false, _) => "",
        (true, true) => " ",
        (true, false) => "*",
    }
}

/// What the stars mean that the verdict does not explain.
fn marks(run: &Run, phases: &[(Phase, &Summary)], wide: bool, style: &Style) -> Vec<String> {
    let shown = PERCENTILE_FLOORS.iter().filter(|floor| wide || floor.name != "p99.9");
    let unexplained = shown.filter(|floor| !explained(run, floor.name));
    let needs: Vec<String> = unexplained
        .filter_map(|floor| {
            let entries = phases.iter().flat_map(|(_, summary)| &summary.unsupported);
            let mine = entries.filter(|entry| entry.percentile == floor.name);
            let needs = mine.map(|entry| entry.needs).max()?;
            let name = if floor.name == "p50" { "median" } else { floor.name };
            Some(format!("{name} needs {}", count(needs)))
        })
        .collect();
    if needs.is_empty() {
        return Vec::new();
    }
    let text = format!("* too few runs to claim it: {}", needs.join(", "));
    let lines = wrap(&text, style.columns() - INDENT.len());
    lines.into_iter().map(|line| format!("{INDENT}{line}")).collect()
}

/// Whether a reason of the verdict names this percentile.
fn explained(run: &Run, percentile: &str) -> bool {
    run.verdict.reasons.iter().any(|reason| match reason.code {
        ReasonCode::TooFewSamples => percentile == "p50",
        ReasonCode::UnsupportedPercentile => {
            let mut words = reason.text.split([' ', ',', ';']);
            words.any(|word| word == percentile)
        }
        _ => false,
    })
}
