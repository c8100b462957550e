//! The latency table: one row a phase, as many columns as fit, and what its marks mean.

use super::grid::{GridColumn, grid_lines, grid_width};
use super::imported;
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

pub(super) fn lines(run: &Run, style: &Style) -> Vec<String> {
    let phases: Vec<(Phase, &Summary)> =
        Phase::ALL.iter().filter_map(|phase| Some((*phase, run.summaries.get(phase)?))).collect();
    if phases.is_empty() {
        let stated = imported::stated(run, style);
        return if stated.is_empty() { vec![format!("{INDENT}no samples")] } else { stated };
    }
    let labels = phases.iter().map(|(phase, _)| phase.name().len()).max().unwrap_or(0);
    let room = style.columns() - INDENT.len() - labels;
    let (table, figures) = fit(&phases, room);
    let mut lines = Vec::new();
    for (index, line) in table.into_iter().enumerate() {
        let header = index == 0;
        let label = if header { "" } else { phases[index - 1].0.name() };
        let label = style.paint(&pad_right(label, labels), Colour::Label);
        let line = if header { style.paint(&line, Colour::Label) } else { line };
        lines.push(format!("{INDENT}{label}{line}"));
    }
    lines.extend(marks(run, &phases, &figures, style));
    // Of some phases another tool gives samples, of others only what it made of them.
    lines.extend(imported::stated(run, style));
    lines
}

/// The best layout that fits, aligned where possible; a single column is shown whether it fits or not.
fn fit(phases: &[(Phase, &Summary)], room: usize) -> (Vec<String>, Vec<Figure>) {
    // Few runs reach so far; a column full of stars would tell nothing.
    let far = phases.iter().all(|(_, summary)| summary.supports("p99.9"));
    let attempt = |layout: &[Figure], rows: &[Row<'_>]| {
        let figures = layout.iter().copied().filter(|figure| far || *figure != Figure::P999);
        let figures: Vec<Figure> = figures.collect();
        let columns: Vec<GridColumn> = figures.iter().map(|figure| column(rows, *figure)).collect();
        (grid_width(&columns), grid_lines(&columns), figures)
    };
    let (aligned, single) = (aligned_rows(phases), single_rows(phases));
    for layout in LAYOUTS {
        for rows in [&aligned, &single] {
            let (width, lines, figures) = attempt(layout, rows);
            if width <= room {
                return (lines, figures);
            }
        }
    }
    let (_, lines, figures) = attempt(&[Figure::Median], &single);
    (lines, figures)
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

/// This unit, or the next larger where it is crowded; `None` where a median would not keep two digits in that.
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

/// What the stars mean, unless a remark of the verdict, which begins with a star too, says it.
fn marks(
    run: &Run,
    phases: &[(Phase, &Summary)],
    figures: &[Figure],
    style: &Style,
) -> Vec<String> {
    let remark = ReasonCode::UnsupportedPercentile;
    if run.verdict.reasons.iter().any(|reason| reason.code == remark) {
        return Vec::new();
    }
    let shown = PERCENTILE_FLOORS.iter().filter(|floor| is_shown(floor.name, figures));
    let needs: Vec<String> = shown
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
    let text = format!("too few runs to claim it: {}", needs.join(", "));
    let lines = wrap(&text, style.columns() - INDENT.len() - 2).into_iter().enumerate();
    let mark = |index: usize| if index == 0 { '*' } else { ' ' };
    lines.map(|(index, line)| format!("{INDENT}{} {line}", mark(index))).collect()
}

fn is_shown(percentile: &str, figures: &[Figure]) -> bool {
    let figure = match percentile {
        "p50" => Figure::Median,
        "p90" => Figure::P90,
        "p95" => Figure::P95,
        "p99" => Figure::P99,
        _ => Figure::P999,
    };
    figures.contains(&figure)
}
