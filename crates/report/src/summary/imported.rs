//! What a page says of a run that another tool measured: where it was read, and what it states without samples.

use crate::clean::clean;
use crate::lookup::told;
use crate::sheet::Grid;
use crate::table::Column;
use number::{count, durations_column, value};
use types::{Metric, Phase, Run, Stated, Unit};

/// Metrics that have a row of their own on the page.
const SHOWN: [&str; 7] = [
    "throughput.samples",
    "throughput.images",
    "throughput.tokens",
    "memory.peak",
    "memory.average",
    "compute.flops_per_second",
    "compute.ceiling_share",
];

/// The tool, its version and the file.
pub(super) fn source(run: &Run) -> Vec<String> {
    let Some(import) = &run.imported else { return Vec::new() };
    let tool = match &import.version {
        Some(version) => format!("{} {version}", import.tool),
        None => import.tool.clone(),
    };
    vec![format!("measured by {}", clean(&tool)), format!("read from {}", clean(&import.file))]
}

/// How many runs were warmed up with and how many counted, as far as the file says.
pub(super) fn warm(run: &Run) -> Vec<String> {
    let warmup = told(run, "warmup", run.warmup.runs);
    let phase = run.main_phase();
    let samples = run.summaries.get(&phase).map(|summary| summary.count);
    let samples = samples.or_else(|| run.stated(phase)?.count);
    let warmup = warmup.map(|runs| match runs {
        0 => "no warm-up".into(),
        1 => "after 1 run".into(),
        runs => format!("after {} runs", count(runs)),
    });
    let samples = samples.map(|samples| format!("{} measured", count(samples)));
    warmup.into_iter().chain(samples).collect()
}

/// Numbers of the file that have no row of their own.
pub(super) fn further_numbers(run: &Run) -> Vec<String> {
    if run.imported.is_none() {
        return Vec::new();
    }
    let is_other =
        |metric: &&Metric| metric.unit != Unit::Joules && !SHOWN.contains(&metric.key.as_str());
    let show = |metric: &Metric| {
        let number = metric.value.filter(|number| number.is_finite())?;
        Some(format!("{} {}", clean(&metric.key), value(number, metric.unit)))
    };
    run.metrics.iter().filter(is_other).filter_map(show).collect()
}

/// The table of what the tool states; only columns that have something in them.
pub(super) fn stated(run: &Run) -> Option<Grid> {
    type Figure = (&'static str, fn(&Stated) -> Option<f64>);
    const FIGURES: [Figure; 9] = [
        ("median", |stated| stated.median),
        ("mean", |stated| stated.mean),
        ("std", |stated| stated.std),
        ("min", |stated| stated.min),
        ("max", |stated| stated.max),
        ("p90", |stated| stated.p90),
        ("p95", |stated| stated.p95),
        ("p99", |stated| stated.p99),
        ("p99.9", |stated| stated.p999),
    ];
    let phases: Vec<(Phase, &Stated)> =
        Phase::ALL.iter().filter_map(|phase| Some((*phase, run.stated(*phase)?))).collect();
    if phases.is_empty() {
        return None;
    }
    let figures: Vec<(&str, Vec<String>)> = FIGURES
        .iter()
        .map(|(name, of)| (*name, phases.iter().map(|(_, stated)| of(stated)).collect::<Vec<_>>()))
        .filter(|(_, column)| column.iter().any(Option::is_some))
        .map(|(name, column)| (name, durations_column(&column)))
        .collect();
    let columns = figures.iter().enumerate().map(|(rank, (name, _))| {
        let column = Column::right(name);
        // The last ones say least.
        if rank == 0 { column } else { column.leaves(rank as u8) }
    });
    let mut grid = Grid::of(std::iter::once(Column::left("stated")).chain(columns));
    for (at, (phase, _)) in phases.iter().enumerate() {
        let cells = figures.iter().map(|(_, column)| column[at].as_str());
        grid.row(std::iter::once(phase.name()).chain(cells));
    }
    Some(grid)
}
