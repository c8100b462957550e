//! Many runs, a row each.

use super::grid::{Grid, GridRow, Side};
use crate::clean::clean;
use crate::runs::RunLine;
use number::{MISSING, bytes_column, durations_column, plus_minus, rate};
use types::{Mode, Run};

/// A row per run, in the order given: what it is, what came out, and whether to believe it.
///
/// `names` are what the runs are called, one each; they stand in the first column. What all runs have in common has no
/// column, and stands in the second part of the answer.
#[must_use]
pub fn overview_grid(runs: &[&Run], names: &[String]) -> (Grid, Vec<String>) {
    let lines: Vec<RunLine> = runs.iter().map(|run| RunLine::from(*run)).collect();
    let each = |of: &dyn Fn(&RunLine) -> Option<f64>| lines.iter().map(of).collect::<Vec<_>>();
    let medians = durations_column(&each(&|line| line.median_seconds.or(line.mean_seconds)));
    let tails: Vec<Option<f64>> =
        runs.iter().map(|run| Some(run.summaries.get(&run.main_phase())?.p95)).collect();
    let tails = durations_column(&tails);
    let peaks: Vec<Option<u64>> =
        lines.iter().map(|line| line.memory_peak.map(|peak| peak.0)).collect();
    let peaks = bytes_column(&peaks);
    let mut grid = Grid::new(&[
        ("run", Side::Left),
        ("verdict", Side::Left),
        ("model", Side::Left),
        ("weights", Side::Left),
        ("engine", Side::Left),
        ("device", Side::Left),
        ("format", Side::Left),
        ("batch", Side::Right),
        ("median", Side::Right),
        ("±", Side::Right),
        ("p95", Side::Right),
        ("samples/s", Side::Right),
        ("peak", Side::Right),
        ("mode", Side::Left),
        ("source", Side::Left),
        ("tags", Side::Left),
    ]);
    let is_mixed = runs.iter().any(|run| run.cell.mode != Mode::Inference);
    for (at, (run, line)) in runs.iter().zip(&lines).enumerate() {
        let summary = run.summaries.get(&run.main_phase());
        let half = summary.and_then(|one| one.ci95_median.relative_half_width(one.median));
        let half = half.filter(|half| half.is_finite()).map(plus_minus);
        let star = summary.is_some_and(|summary| !summary.supports("p95"));
        let batch = match (line.batch, line.length) {
            (Some(batch), Some(length)) => format!("{batch} × {length}"),
            (Some(batch), None) => batch.to_string(),
            _ => MISSING.into(),
        };
        let mean = if line.mean_seconds.is_some() { " (mean)" } else { "" };
        let weights = line.random_weights.map(|random| if random { "random" } else { "real" });
        let shown = |text: Option<String>| text.unwrap_or_else(|| MISSING.into());
        grid.push(GridRow {
            depth: 0,
            share: None,
            is_heading: false,
            cells: vec![
                names.get(at).cloned().unwrap_or_else(|| clean(&run.id.0)),
                if line.valid { "valid".into() } else { "not valid".into() },
                clean(&line.model),
                weights.unwrap_or(MISSING).to_owned(),
                clean(&line.engine),
                shown(line.device.map(|device| device.to_string())),
                shown(line.precision.map(|precision| precision.to_string())),
                batch,
                format!("{}{mean}", medians[at]),
                half.map(|half| half.trim_start_matches("± ").to_owned()).unwrap_or_default(),
                format!("{}{}", tails[at], if star { "*" } else { "" }),
                line.samples_per_second.map_or_else(|| MISSING.into(), rate),
                peaks[at].clone(),
                if is_mixed { clean(&line.mode_words()) } else { String::new() },
                line.imported.as_deref().map(clean).unwrap_or_default(),
                clean(&line.tags.join(" ")),
            ],
        });
    }
    let common = common(&mut grid);
    (grid, common)
}

/// Takes what all rows agree on out of the columns of words.
fn common(grid: &mut Grid) -> Vec<String> {
    const SHARED: [&str; 8] =
        ["model", "weights", "engine", "device", "format", "mode", "source", "tags"];
    let mut told = Vec::new();
    for (at, column) in grid.columns.iter().enumerate() {
        let name = column.name();
        let first = grid.rows.first().map(|row| row.cells[at].clone()).unwrap_or_default();
        let agrees = grid.rows.iter().all(|row| row.cells[at] == first);
        if !agrees || grid.rows.len() < 2 || !SHARED.contains(&name) {
            continue;
        }
        grid.rows.iter_mut().for_each(|row| row.cells[at].clear());
        if !first.is_empty() && first != MISSING {
            told.push(match name {
                "weights" => format!("{first} weights"),
                "tags" => format!("#{}", first.replace(' ', " #")),
                _ => first,
            });
        }
    }
    told
}
