//! Which cells a picture shows where there are more than can be read: the best of every model in turn.

use crate::{
    Absent, growth, latency, load, material::Material, memory, page::left_out, roofline, training,
};
use std::collections::{BTreeMap, BTreeSet};
use types::{CellKey, GenerationTest, InvalidRuns, Mode, PooledCell, Variant};

/// So many rows can be read.
pub(crate) const MOST_ROWS: usize = 12;

/// Cells that are shown, in the order they are shown, and how many are not.
pub(crate) struct Choice<'a> {
    pub(crate) cells: Vec<&'a PooledCell>,
    pub(crate) more: usize,
    /// Pages that all cells take; 1 where they all find room.
    pub(crate) pages: usize,
}

impl Choice<'_> {
    /// What is said of cells that are not shown.
    pub(crate) fn note(&self, material: &Material) -> String {
        page_note(material, self.more, self.pages)
    }
}

/// Which page this is, where cells are that are not on it, or how to see them.
pub(crate) fn page_note(material: &Material, more: usize, pages: usize) -> String {
    match material.page {
        Some(page) => format!("Page {} of {pages}.", page + 1),
        None if more > 0 && material.has_pages => format!(
            "The best of every model; all cells are on {pages} pages, in the numbered files."
        ),
        None => left_out(more),
    }
}

/// Why there is nothing to draw: that what was measured is not valid, where it was.
pub(crate) fn absent(material: &Material, why: &str, hint: &str) -> Absent {
    let is_load = |cell: &PooledCell| cell.key.mode == Mode::Load;
    if !material.cells.is_empty() && material.cells.iter().all(is_load) {
        let why = "every valid run is a load, and loads have a picture of their own: `load`";
        return Absent::new(why, "modelmeter load ADDRESS --concurrency 1,2,4,8");
    }
    absent_here(material, why, hint)
}

/// The same for a picture of loads too.
pub(crate) fn absent_here(material: &Material, why: &str, hint: &str) -> Absent {
    let mut reasons = InvalidRuns::default();
    material.not_valid.iter().for_each(|one| reasons.merge(&one.reasons));
    if reasons.is_empty() {
        return Absent::new(why, hint);
    }
    let hint = material.again.as_deref().unwrap_or(hint);
    Absent::new(format!("{why}; {}", report::not_valid(&reasons)), hint)
}

/// The cells whose samples pictures show.
#[must_use]
pub fn wanted_samples(material: &Material) -> Vec<CellKey> {
    let keys = on_all_pages(material, |page| Some(latency::choice(material, page)));
    keys.into_iter().collect()
}

/// The cells on every page that is drawn.
fn on_all_pages<'a>(
    material: &Material,
    choice: impl Fn(Option<usize>) -> Option<Choice<'a>>,
) -> BTreeSet<CellKey> {
    let Some(first) = choice(None) else { return BTreeSet::new() };
    let pages = if material.has_pages && first.pages > 1 { first.pages } else { 0 };
    let others = (0..pages).filter_map(|page| choice(Some(page)));
    let all = std::iter::once(first).chain(others).flat_map(|choice| choice.cells);
    all.map(|cell| cell.key.clone()).collect()
}

/// The cells of which pictures show more than what is pooled.
#[must_use]
pub fn wanted_details(material: &Material) -> Vec<CellKey> {
    let mut keys = on_all_pages(material, |page| Some(memory::choice(material, page)));
    keys.extend(on_all_pages(material, |page| Some(training::choice(material, page))));
    keys.extend(on_all_pages(material, |page| Some(growth::choice(material, page))));
    keys.extend(on_all_pages(material, |page| Some(load::choice(material, page))));
    let roofline = |page| Some(roofline::choice(material, page)?.1);
    keys.extend(on_all_pages(material, roofline));
    keys.into_iter().collect()
}

/// Inferences; where there are none trainings, and then tests of generating.
pub(crate) fn inferences(material: &Material) -> Vec<&PooledCell> {
    let of = |mode: Mode| -> Vec<&PooledCell> {
        material.cells.iter().filter(|cell| cell.key.mode == mode).collect()
    };
    let modes = [Mode::Inference, Mode::Training, Mode::Generate];
    modes.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// What one sample of these cells is.
pub(crate) fn sample_of(cells: &[&PooledCell]) -> &'static str {
    match cells.first().map(|cell| cell.key.mode) {
        Some(Mode::Training) => "training step",
        Some(Mode::Generate) => "prompt or step",
        _ => "inference",
    }
}

/// Whether a cell writes token by token.
pub(crate) fn writes(key: &CellKey) -> bool {
    let generation = Variant::parse(&key.variant).and_then(|variant| variant.generation);
    generation.is_some_and(|generation| generation.test == GenerationTest::Decode)
}

/// The key without the tokens in the cache: what is left when only the depth differs.
pub(crate) fn without_depth(key: &CellKey) -> CellKey {
    let Some(mut variant) = Variant::parse(&key.variant) else { return key.clone() };
    if let Some(generation) = &mut variant.generation {
        (generation.depth, generation.tokens) = (0, 0);
    }
    CellKey { variant: variant.canonical(), ..key.clone() }
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

/// So many cells that every model has its best before any has its second; models by name, in each the best first. A page has
/// those that come at its place where all are written one after the other.
pub(crate) fn fairly<'a>(
    cells: Vec<&'a PooledCell>,
    page: Option<usize>,
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
    let pages = count.div_ceil(most).max(1);
    if let Some(page) = page {
        let all = models.into_values().flatten();
        let cells: Vec<&PooledCell> = all.skip(page * most).take(most).collect();
        return Choice { more: count - cells.len(), cells, pages };
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
    Choice { more: count - chosen.len(), cells: chosen, pages }
}

/// Samples a second, where they are known.
pub(crate) fn throughput(cell: &PooledCell) -> Option<f64> {
    let value = cell.throughput.value.as_ref()?.value;
    (value.is_finite() && value > 0.0).then_some(value)
}
