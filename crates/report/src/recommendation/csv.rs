//! Recommendations as CSV: one row a way to run, the best of each model first, quoted as runs are.

use crate::csv::{number, text};
use crate::result::DataTable;
use number::milliseconds;
use types::{Candidate, Pooled, Recommendation};

/// A candidate and its place, from 1.
struct Row<'a> {
    found: &'a Recommendation,
    place: usize,
    one: &'a Candidate,
}

impl Row<'_> {
    fn factor(&self) -> Option<Pooled> {
        self.one.behind.map(|behind| behind.factor)
    }
}

type Cell = fn(&Row<'_>) -> Option<String>;

/// Every column in order; a new one goes to the end of its group.
const COLUMNS: &[(&str, Cell)] = &[
    ("model", |row| text(&row.found.model)),
    ("weights", |row| text(if row.found.random_weights { "random" } else { "real" })),
    ("mode", |row| text(row.found.mode.name())),
    ("sequence_length", |row| row.found.sequence_length.map(|length| length.to_string())),
    ("objective", |row| text(row.found.wish.objective.name())),
    ("place", |row| Some(row.place.to_string())),
    ("machine", |row| text(&row.one.cell.key.machine)),
    ("device", |row| Some(row.one.cell.key.device.to_string())),
    ("engine", |row| text(&row.one.cell.key.engine)),
    ("engine_version", |row| text(&row.one.cell.engine_version)),
    ("precision", |row| text(row.one.cell.key.precision.name())),
    ("batch_size", |row| Some(row.one.cell.key.batch_size.to_string())),
    ("threads", |row| Some(row.one.cell.key.threads.to_string())),
    ("variant", |row| text(&row.one.cell.key.variant)),
    ("provenance", |row| text(if row.one.cell.key.imported { "imported" } else { "measured" })),
    ("valid", |row| Some(row.one.cell.invalid.is_none().to_string())),
    ("value", |row| number(row.one.value.value)),
    ("value_ci95_low", |row| number(row.one.value.interval?.low)),
    ("value_ci95_high", |row| number(row.one.value.interval?.high)),
    ("behind_factor", |row| number(row.factor()?.value)),
    ("behind_ci95_low", |row| number(row.factor()?.interval?.low)),
    ("behind_ci95_high", |row| number(row.factor()?.interval?.high)),
    ("verdict", |row| text(if row.one.behind?.told_apart { "worse" } else { "cannot-tell" })),
    ("latency_median_ms", |row| number(milliseconds(row.one.cell.latency.value))),
    ("latency_p95_ms", |row| number(milliseconds(row.one.cell.percentiles.p95?))),
    ("throughput_samples_per_second", |row| number(row.one.cell.throughput.value?.value)),
    ("memory_peak_bytes", |row| row.one.cell.memory.value.map(|peak| peak.0.to_string())),
    ("energy_joules_per_sample", |row| number(row.one.cell.energy.value?.value)),
    ("run_ids", |row| {
        let ids = row.one.cell.runs.iter().map(|id| id.0.as_str());
        text(&ids.collect::<Vec<_>>().join(" "))
    }),
];

/// The recommendations as rows for programs.
pub(super) fn recommendations_data(found: &[Recommendation]) -> DataTable {
    let candidates = found.iter().flat_map(|found| {
        let each = found.candidates.iter().enumerate();
        each.map(move |(at, one)| Row { found, place: at + 1, one })
    });
    let rows = candidates.map(|row| COLUMNS.iter().map(|(_, cell)| cell(&row)).collect());
    DataTable::new(COLUMNS.iter().map(|(name, _)| *name), rows)
}
