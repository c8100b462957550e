//! Which batch is best, and how time grows with batch and length.

use stats::power_law;
use types::{BatchSeries, CellKey, LengthSeries, MissingCode, PooledCell, Reading, Scaling};

/// A smaller batch that reaches this share of the highest throughput is enough.
pub const NEARLY: f64 = 0.95;

/// The best batch of each set of cells that differ in their batch alone; cells come in the order of their keys.
pub(super) fn batches(cells: &[&PooledCell]) -> Vec<BatchSeries> {
    let is_like = |a: &&PooledCell, b: &&PooledCell| {
        let one = CellKey { batch_size: b.key.batch_size, ..a.key.clone() };
        one == b.key
    };
    cells.chunk_by(is_like).filter_map(series).collect()
}

fn series(cells: &[&PooledCell]) -> Option<BatchSeries> {
    let rate = |cell: &PooledCell| Some(cell.throughput.value?.value);
    let known: Vec<(&PooledCell, f64)> =
        cells.iter().filter_map(|cell| Some((*cell, rate(cell)?))).collect();
    // Of equal ones the smallest batch, which comes first.
    let best =
        known.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let enough = known.iter().find(|(_, rate)| *rate >= NEARLY * best.1)?;
    let points: Vec<(u64, f64)> =
        cells.iter().map(|cell| (cell.key.batch_size, cell.latency.value)).collect();
    let scaling = scaling(&points).map(|scaling| Scaling {
        efficiency: scaling.gain * scaling.from as f64 / scaling.to as f64,
        ..scaling
    });
    Some(BatchSeries {
        best: best.0.key.clone(),
        throughput: best.0.throughput.value?,
        enough: enough.0.key.batch_size,
        scaling: Reading::or_missing(
            scaling,
            MissingCode::TooFewValues,
            "one batch size was measured",
        ),
    })
}

/// How time grows with the length where cells differ in nothing else.
pub(super) fn lengths(cells: &[&PooledCell]) -> Vec<LengthSeries> {
    let without = |cell: &PooledCell| CellKey { sequence_length: None, ..cell.key.clone() };
    let mut sorted: Vec<(CellKey, u64, &PooledCell)> = cells
        .iter()
        .filter_map(|cell| Some((without(cell), cell.key.sequence_length?, *cell)))
        .collect();
    sorted.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let each = sorted.chunk_by(|a, b| a.0 == b.0).filter_map(|group| {
        let points: Vec<(u64, f64)> =
            group.iter().map(|(_, length, cell)| (*length, cell.latency.value)).collect();
        let shortest = group.first()?.2.key.clone();
        Some(LengthSeries { shortest, scaling: scaling(&points)? })
    });
    each.collect()
}

/// From sizes and times, smallest size first; `None` if there is one size.
fn scaling(points: &[(u64, f64)]) -> Option<Scaling> {
    let (first, last) = (points.first()?, points.last()?);
    let sizes: Vec<(f64, f64)> = points.iter().map(|(size, time)| (*size as f64, *time)).collect();
    let exponent = power_law(&sizes)?;
    let gain = last.0 as f64 / last.1 / (first.0 as f64 / first.1);
    let points = points.len() as u64;
    Some(Scaling { from: first.0, to: last.0, points, exponent, gain, efficiency: gain })
}
