//! Rows of the database as lines of a list of runs.

use report::RunLine;
use std::collections::BTreeMap;
use store::{RunRow, Store, StoreError};
use types::{Import, Machine, Phase, RunId};

/// A line for each of these runs.
///
/// # Errors
/// Where the database cannot be read.
pub fn run_lines(store: &Store, rows: &[RunRow]) -> Result<Vec<RunLine>, StoreError> {
    let sources = sources(store, rows)?;
    Ok(rows.iter().map(|row| line(row, sources.get(&row.id))).collect())
}

/// Where runs come from that other tools measured.
fn sources(store: &Store, rows: &[RunRow]) -> Result<BTreeMap<RunId, Import>, StoreError> {
    let imported = rows.iter().filter(|row| Machine::is_imported_key(&row.machine));
    let ids: Vec<RunId> = imported.map(|row| row.id.clone()).collect();
    store.sources(&ids)
}

fn line(row: &RunRow, import: Option<&Import>) -> RunLine {
    let tells =
        |path: &str| import.is_none_or(|import| import.untold.iter().all(|name| name != path));
    // As in a run's own page: of the model alone where the tool says it, of everything otherwise.
    let stated = import.and_then(|import| {
        let of = |phase| import.stated.get(&phase);
        of(Phase::Inference).or_else(|| of(Phase::Total))
    });
    let stated = stated.copied().unwrap_or_default();
    let median = row.median.or(stated.median);
    RunLine {
        id: row.id.0.clone(),
        started_at: tells("started_at").then_some(row.started_at),
        model: row.model.clone(),
        random_weights: tells("model.weights").then_some(row.random_weights),
        engine: row.engine.clone(),
        device: tells("cell.device").then_some(row.device),
        precision: tells("cell.precision").then_some(row.precision),
        batch: tells("cell.batch_size").then_some(row.batch_size as usize),
        length: row.sequence_length.map(|length| length as usize),
        mode: row.mode,
        test: report::test_words(row.generation, row.scenario.as_ref()),
        median_seconds: median,
        mean_seconds: stated.mean.filter(|_| median.is_none()),
        samples_per_second: row.samples_per_second,
        memory_peak: row.memory_peak,
        valid: row.valid,
        reason: row.reason,
        imported: import.map(|import| import.tool.clone()),
        tags: row.tags.clone(),
    }
}
