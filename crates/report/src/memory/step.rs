//! What a training step holds, by module: weights, gradients, what the optimiser remembers, activations.

use crate::clean::clean;
use crate::sheet::{Grid, GridRow};
use crate::table::Column;
use analysis::{pool_step_memory, step_memory_sum};
use number::{bytes_column, percent};
use types::{Bytes, MemoryReport, StepMemory, TrainingMemory};

/// Rows that a table shows.
const ROWS: usize = 12;

/// The table; `None` for an inference.
pub(super) fn grid(report: &MemoryReport) -> Option<Grid> {
    let step = report.step.as_ref()?;
    let mut grid = Grid::of([
        Column::left("held by a step").shrinks(),
        Column::right("weights"),
        Column::right("gradients"),
        Column::right("optimiser"),
        Column::right("activations"),
        Column::right("share").leaves(1),
    ]);
    for (row, share) in rows(step) {
        grid.push(GridRow { share, cells: row.into(), ..GridRow::default() });
    }
    Some(grid)
}

/// The same place in every layer as one row, the largest first, then all together.
fn rows(step: &StepMemory) -> Vec<([String; 6], Option<f64>)> {
    let pools = pool_step_memory(&step.modules);
    let (shown, rest) = pools.split_at(ROWS.min(pools.len()));
    let name = |path: &str| if path.is_empty() { "in no module".into() } else { clean(path) };
    let mut rows: Vec<(String, TrainingMemory)> =
        shown.iter().map(|pool| (name(&pool.path), pool.held)).collect();
    if !rest.is_empty() {
        rows.push((format!("{} more", rest.len()), step_memory_sum(rest)));
    }
    let whole = step.total();
    rows.push(("together".into(), whole));
    let column = |of: fn(&TrainingMemory) -> Bytes| {
        bytes_column(&rows.iter().map(|(_, held)| Some(of(held).0)).collect::<Vec<_>>())
    };
    let columns = [
        column(|held| held.weights),
        column(|held| held.gradients),
        column(|held| held.optimizer),
        column(|held| held.activations),
    ];
    let row = |(at, (name, held)): (usize, &(String, TrainingMemory))| {
        let share = held.all().0 as f64 / whole.all().0.max(1) as f64;
        let [weights, gradients, optimizer, activations] =
            [0, 1, 2, 3].map(|column: usize| columns[column][at].clone());
        let cells = [name.clone(), weights, gradients, optimizer, activations, percent(share)];
        (cells, (at + 1 < rows.len()).then_some(share))
    };
    rows.iter().enumerate().map(row).collect()
}
