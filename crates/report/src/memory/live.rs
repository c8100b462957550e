//! What was live at the peak: by layer, the same place in every layer as one row, and the largest tensors.

use crate::clean::clean;
use crate::sheet::{Grid, GridRow};
use crate::table::Column;
use analysis::{layer_memory_sum, pool_layer_memory};
use number::{MISSING, bytes, bytes_column, count, percent};
use types::{Bytes, LayerMemory, LiveBlocks, MemoryReport};

/// Rows that a table shows.
const ROWS: usize = 10;

/// Tensors that are named.
const TENSORS: usize = 5;

/// Who allocated, and what of it was live at the peak; `None` if nothing is known.
pub(super) fn grid(report: &MemoryReport) -> Option<Grid> {
    let layers = report.allocator.layers.value.as_ref()?;
    let mut grid = Grid::of([
        Column::left("layer").shrinks(),
        Column::right("at the peak"),
        Column::right("share"),
        Column::right("allocated"),
        Column::right("times").leaves(1),
    ]);
    for (row, share) in rows(layers) {
        grid.push(GridRow { share, cells: row.into(), ..GridRow::default() });
    }
    Some(grid)
}

/// The rows with the most first, the cells of each, and its share.
fn rows(layers: &[LayerMemory]) -> Vec<([String; 5], Option<f64>)> {
    let mut rows = pool_layer_memory(layers);
    let Bytes(total) = layer_memory_sum(&rows).at_peak;
    let rest = rows.split_off(ROWS.min(rows.len()));
    let mut names: Vec<String> = rows.iter().map(|row| name(&row.path)).collect();
    if !rest.is_empty() {
        names.push(format!("{} more", count(rest.len() as u64)));
        rows.push(layer_memory_sum(&rest));
    }
    let peaks = bytes_column(&rows.iter().map(|row| Some(row.at_peak.0)).collect::<Vec<_>>());
    let sums = bytes_column(&rows.iter().map(|row| Some(row.allocated.0)).collect::<Vec<_>>());
    let row = |(at, row): (usize, &LayerMemory)| {
        let share = (total > 0).then(|| row.at_peak.0 as f64 / total as f64);
        let shown = share.map_or_else(|| MISSING.into(), percent);
        let cells =
            [names[at].clone(), peaks[at].clone(), shown, sums[at].clone(), count(row.count)];
        (cells, share)
    };
    rows.iter().enumerate().map(row).collect()
}

fn name(path: &str) -> String {
    if path.is_empty() { "in no layer".into() } else { path.to_owned() }
}

/// The largest blocks at the peak, in words.
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
