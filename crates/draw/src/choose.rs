//! Which cells a picture shows where there are more than can be read: the best of every model in turn.

use crate::{latency, material::Material, memory, roofline, training};
use std::collections::BTreeMap;
use types::{CellKey, Mode, PooledCell};

/// So many rows can be read.
pub(crate) const MOST_ROWS: usize = 12;

/// Cells that are shown, in the order they are shown, and how many are not.
pub(crate) struct Choice<'a> {
    pub(crate) cells: Vec<&'a PooledCell>,
    pub(crate) more: usize,
}

/// The cells whose samples pictures show.
#[must_use]
pub fn wanted_samples(material: &Material) -> Vec<CellKey> {
    latency::choice(material).cells.iter().map(|cell| cell.key.clone()).collect()
}

/// The cells of which pictures show more than what is pooled.
#[must_use]
pub fn wanted_details(material: &Material) -> Vec<CellKey> {
    let mut keys: Vec<CellKey> = Vec::new();
    let mut add =
        |choice: Choice<'_>| keys.extend(choice.cells.iter().map(|cell| cell.key.clone()));
    add(memory::choice(material));
    add(training::choice(material));
    if let Some((_, choice)) = roofline::choice(material) {
        add(choice);
    }
    keys.sort();
    keys.dedup();
    keys
}

/// Inferences; trainings where there is nothing else.
pub(crate) fn inferences(material: &Material) -> Vec<&PooledCell> {
    let of = |mode: Mode| -> Vec<&PooledCell> {
        material.cells.iter().filter(|cell| cell.key.mode == mode).collect()
    };
    let found = of(Mode::Inference);
    if found.is_empty() { of(Mode::Training) } else { found }
}

/// Of cells that differ in their batch alone the one with the highest rank; what has none stays away.
pub(crate) fn best_of_series<'a>(
    cells: impl IntoIterator<Item = &'a PooledCell>,
    rank: impl Fn(&PooledCell) -> Option<f64>,
) -> Vec<&'a PooledCell> {
    let mut best: BTreeMap<CellKey, (f64, &PooledCell)> = BTreeMap::new();
    for cell in cells {
        let Some(rank) = rank(cell).filter(|rank| rank.is_finite()) else { continue };
        let series = CellKey { batch_size: 0, ..cell.key.clone() };
        let entry = best.entry(series).or_insert((rank, cell));
        if rank > entry.0 {
            *entry = (rank, cell);
        }
    }
    best.into_values().map(|(_, cell)| cell).collect()
}

/// So many cells that every model has its best before any has its second; models by name, in each the best first.
pub(crate) fn fairly<'a>(
    cells: Vec<&'a PooledCell>,
    most: usize,
    rank: impl Fn(&PooledCell) -> Option<f64>,
) -> Choice<'a> {
    let count = cells.len();
    let mut models: BTreeMap<&str, Vec<&PooledCell>> = BTreeMap::new();
    for cell in cells {
        models.entry(&cell.key.model).or_default().push(cell);
    }
    let of = |cell: &PooledCell| rank(cell).filter(|rank| !rank.is_nan()).unwrap_or(f64::MIN);
    for cells in models.values_mut() {
        cells.sort_by(|one, other| of(other).total_cmp(&of(one)).then(one.key.cmp(&other.key)));
    }
    let mut shares: Vec<usize> = vec![0; models.len()];
    let mut left = most.min(count);
    while left > 0 {
        for (share, cells) in shares.iter_mut().zip(models.values()) {
            if *share < cells.len() && left > 0 {
                *share += 1;
                left -= 1;
            }
        }
    }
    let chosen = models.into_values().zip(shares);
    let chosen: Vec<&PooledCell> =
        chosen.flat_map(|(cells, share)| cells.into_iter().take(share)).collect();
    Choice { more: count - chosen.len(), cells: chosen }
}

/// Samples a second, where they are known.
pub(crate) fn throughput(cell: &PooledCell) -> Option<f64> {
    let value = cell.throughput.value.as_ref()?.value;
    (value.is_finite() && value > 0.0).then_some(value)
}
