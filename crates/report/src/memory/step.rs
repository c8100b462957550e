//! What a training step holds, by module: weights, gradients, what the optimiser remembers, activations.

use super::{INDENT, indented};
use crate::clean::clean;
use crate::number::{bytes_column, percent};
use crate::sheet::{Grid, GridRow, Side};
use crate::style::Style;
use crate::table::{Column, Table};
use types::{Bytes, MemoryReport, StepMemory, TrainingMemory, pooled_path};

/// Rows that a table shows.
const ROWS: usize = 12;

/// The table; empty for an inference.
pub(super) fn held(report: &MemoryReport, style: &Style) -> String {
    let Some(step) = &report.step else { return String::new() };
    let columns = [
        Column::left("held by a step").shrinks(),
        Column::right("weights"),
        Column::right("gradients"),
        Column::right("optimiser"),
        Column::right("activations"),
        Column::right("share").leaves(1),
    ];
    let mut table = Table::new(columns).painted(style);
    rows(step).into_iter().for_each(|(row, _)| table.push(row));
    indented(&table.render(Some(style.columns() - INDENT.len()))) + "\n"
}

/// The same as a table for other media.
pub(super) fn grid(report: &MemoryReport) -> Option<Grid> {
    let step = report.step.as_ref()?;
    let mut grid = Grid::new(&[
        ("held by a step", Side::Left),
        ("weights", Side::Right),
        ("gradients", Side::Right),
        ("optimiser", Side::Right),
        ("activations", Side::Right),
        ("share", Side::Right),
    ]);
    for (row, share) in rows(step) {
        grid.push(GridRow { depth: 0, share, cells: row.into(), ..GridRow::default() });
    }
    Some(grid)
}

/// The same place in every layer as one row, the largest first, then all together.
fn rows(step: &StepMemory) -> Vec<([String; 6], Option<f64>)> {
    let mut rows: Vec<(String, TrainingMemory)> = Vec::new();
    for module in &step.modules {
        let name = match module.path.as_str() {
            "" => "in no module".to_owned(),
            path => clean(&pooled_path(path)),
        };
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, held)) => *held = held.plus(module.held),
            None => rows.push((name, module.held)),
        }
    }
    rows.sort_by_key(|(_, held)| std::cmp::Reverse(held.all()));
    let rest = rows.split_off(ROWS.min(rows.len()));
    if !rest.is_empty() {
        let sum = rest.iter().fold(TrainingMemory::default(), |sum, (_, held)| sum.plus(*held));
        rows.push((format!("{} more", rest.len()), sum));
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
