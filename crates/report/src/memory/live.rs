//! What was live at the peak: by layer, the same place in every layer as one row, and the largest tensors.

use super::{INDENT, indented, why};
use crate::clean::clean;
use crate::number::{MISSING, bytes, bytes_column, count, percent};
use crate::sheet::{Grid, GridRow, Side};
use crate::style::Style;
use crate::table::{Column, Table};
use crate::wrap::wrap;
use types::{Bytes, LayerMemory, LiveBlocks, MemoryReport, pooled_path};

/// Rows that a table shows.
const ROWS: usize = 10;

/// Tensors that are named.
const TENSORS: usize = 5;

/// A row of the table.
#[derive(Default)]
struct Row {
    name: String,
    at_peak: u64,
    allocated: u64,
    count: u64,
}

/// Who allocated, and what of it was live at the peak; empty where nothing is known.
pub(super) fn layers(report: &MemoryReport, style: &Style) -> String {
    let width = style.columns() - INDENT.len();
    let Some(layers) = &report.allocator.layers.value else {
        if report.allocator.peak.value.is_none() {
            return String::new();
        }
        let sentence = format!("layers {}", why(&report.allocator.layers));
        return indented(&wrap(&sentence, width).join("\n")) + "\n";
    };
    let columns = [
        Column::left("layer").shrinks(),
        Column::right("at the peak"),
        Column::right("share"),
        Column::right("allocated"),
        Column::right("times").leaves(1),
    ];
    let mut table = Table::new(columns).painted(style);
    rows(layers).into_iter().for_each(|(row, _)| table.push(row));
    let mut text = indented(&table.render(Some(width)));
    text.push('\n');
    text
}

/// The same as a table for other media; `None` where nothing is known.
pub(super) fn grid(report: &MemoryReport) -> Option<Grid> {
    let layers = report.allocator.layers.value.as_ref()?;
    let mut grid = Grid::new(&[
        ("layer", Side::Left),
        ("at the peak", Side::Right),
        ("share", Side::Right),
        ("allocated", Side::Right),
        ("times", Side::Right),
    ]);
    for (row, share) in rows(layers) {
        grid.push(GridRow { depth: 0, share, cells: row.into(), ..GridRow::default() });
    }
    Some(grid)
}

/// The rows with the most first, the cells of each, and its share.
fn rows(layers: &[LayerMemory]) -> Vec<([String; 5], Option<f64>)> {
    let mut rows: Vec<Row> = Vec::new();
    for layer in layers {
        let name = match layer.path.as_str() {
            "" => "in no layer".to_owned(),
            path => pooled_path(path),
        };
        let at = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            rows.push(Row { name, ..Row::default() });
            rows.len() - 1
        });
        rows[at].at_peak += layer.at_peak.0;
        rows[at].allocated += layer.allocated.0;
        rows[at].count += layer.count;
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.at_peak, row.allocated)));
    let total: u64 = rows.iter().map(|row| row.at_peak).sum();
    let rest = rows.split_off(ROWS.min(rows.len()));
    if !rest.is_empty() {
        rows.push(Row {
            name: format!("{} more", count(rest.len() as u64)),
            at_peak: rest.iter().map(|row| row.at_peak).sum(),
            allocated: rest.iter().map(|row| row.allocated).sum(),
            count: rest.iter().map(|row| row.count).sum(),
        });
    }
    let peaks = bytes_column(&rows.iter().map(|row| Some(row.at_peak)).collect::<Vec<_>>());
    let sums = bytes_column(&rows.iter().map(|row| Some(row.allocated)).collect::<Vec<_>>());
    let row = |(at, row): (usize, &Row)| {
        let share = (total > 0).then(|| row.at_peak as f64 / total as f64);
        let shown = share.map_or_else(|| MISSING.into(), percent);
        let cells =
            [row.name.clone(), peaks[at].clone(), shown, sums[at].clone(), count(row.count)];
        (cells, share)
    };
    rows.iter().enumerate().map(row).collect()
}

/// The largest blocks at the peak, in words.
pub(super) fn largest(report: &MemoryReport, style: &Style) -> String {
    let Some(largest) = largest_blocks(report) else { return String::new() };
    let sentence = format!("largest at the peak: {largest}");
    indented(&wrap(&sentence, style.columns() - INDENT.len()).join("\n")) + "\n"
}

pub(super) fn largest_blocks(report: &MemoryReport) -> Option<String> {
    let live = &report.allocator.live;
    let one = |blocks: &LiveBlocks| {
        let Bytes(size) = blocks.bytes;
        let times = if blocks.count > 1 { format!("{} × ", blocks.count) } else { String::new() };
        let node = if blocks.node.is_empty() { "in no layer" } else { &blocks.node };
        format!("{times}{} {}", bytes(size), clean(node))
    };
    let largest = live.iter().take(TENSORS).map(one).collect::<Vec<_>>();
    (!largest.is_empty()).then(|| largest.join(", "))
}
