//! What the samples of each phase say, and which percentiles may be claimed.

use super::grid::{Grid, Side};
use number::{MISSING, count, durations_column, seconds};
use types::{PERCENTILE_FLOORS, Phase, Run, Stated, Summary};

const PHASES: [(&str, Side); 12] = [
    ("phase", Side::Left),
    ("median", Side::Right),
    ("95 % of median", Side::Right),
    ("mean", Side::Right),
    ("std", Side::Right),
    ("min", Side::Right),
    ("p90", Side::Right),
    ("p95", Side::Right),
    ("p99", Side::Right),
    ("p99.9", Side::Right),
    ("max", Side::Right),
    ("outliers", Side::Right),
];

/// A row a phase; one unit in each.
pub(super) fn phases(run: &Run) -> Grid {
    let mut grid = Grid::new(&PHASES);
    for phase in Phase::ALL {
        if let Some(summary) = run.summaries.get(&phase) {
            grid.row(measured(phase, summary));
        } else if let Some(stated) = run.stated(phase) {
            grid.row(told(phase, stated));
        }
    }
    grid
}

fn measured(phase: Phase, summary: &Summary) -> Vec<String> {
    let Summary { median, mean, std, min, max, p90, p95, p99, p999, .. } = *summary;
    let interval = summary.ci95_median;
    let far = summary.supports("p99.9").then_some(p999);
    let values = [median, interval.low, interval.high, mean, std, min, p90, p95, p99].map(Some);
    let shown = durations_column(&[&values[..], &[far, Some(max)]].concat());
    let star = |name: &str| if summary.supports(name) { "" } else { "*" };
    let bare = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    vec![
        phase.name().to_owned(),
        format!("{}{}", shown[0], star("p50")),
        format!("{} … {}", bare(&shown[1]), shown[2]),
        shown[3].clone(),
        shown[4].clone(),
        shown[5].clone(),
        format!("{}{}", shown[6], star("p90")),
        format!("{}{}", shown[7], star("p95")),
        format!("{}{}", shown[8], star("p99")),
        shown[9].clone(),
        shown[10].clone(),
        count(summary.outliers),
    ]
}

fn told(phase: Phase, stated: &Stated) -> Vec<String> {
    let Stated { median, mean, std, min, max, p90, p95, p99, p999, .. } = *stated;
    let shown = durations_column(&[median, mean, std, min, p90, p95, p99, p999, max]);
    let [median, rest @ ..] = shown.as_slice() else { return Vec::new() };
    let mut cells = vec![format!("{} (stated)", phase.name()), median.clone(), MISSING.into()];
    cells.extend(rest.iter().cloned());
    cells.push(MISSING.into());
    cells
}

/// The percentiles of the main phase with how far they are supported.
pub(super) fn percentiles(run: &Run) -> Grid {
    let mut grid = Grid::new(&[
        ("percentile", Side::Left),
        ("value", Side::Right),
        ("samples above", Side::Right),
        ("needs", Side::Right),
        ("support", Side::Left),
    ]);
    let phase = run.main_phase();
    let Some(summary) = run.summaries.get(&phase) else { return grid };
    let samples = run.samples_of(phase).unwrap_or_default();
    let values = [summary.median, summary.p90, summary.p95, summary.p99, summary.p999];
    for (floor, value) in PERCENTILE_FLOORS.iter().zip(values) {
        let above = samples.iter().filter(|nanos| **nanos as f64 / 1e9 > value).count() as u64;
        let above = if samples.is_empty() { MISSING.into() } else { count(above) };
        let is_sure = summary.supports(floor.name);
        let support = match is_sure {
            true => "supported".into(),
            false => format!("too few: {} taken", count(summary.count)),
        };
        let name = if floor.name == "p50" { "median" } else { floor.name };
        let star = if is_sure { "" } else { "*" };
        let needs = format!("{} runs", count(floor.samples));
        grid.row([name.to_owned(), format!("{}{star}", seconds(value)), above, needs, support]);
    }
    grid
}
