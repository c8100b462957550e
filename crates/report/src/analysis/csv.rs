//! An analysis as CSV: one row per cell, flat columns with their unit in the name, quoted as runs are.

use crate::csv::{number, text};
use crate::invalid::not_valid;
use crate::result::DataTable;
use number::milliseconds;
use std::collections::HashMap;
use types::{AnalysedCell, Analysis, BatchSeries, CellKey, LengthSeries};

/// A cell, and the series of batches and lengths it belongs to.
struct Row<'a> {
    one: &'a AnalysedCell,
    series: Option<&'a BatchSeries>,
    length: Option<&'a LengthSeries>,
}

type Cell = fn(&Row<'_>) -> Option<String>;

/// Every column in order; a new one goes to the end of its group.
const COLUMNS: &[(&str, Cell)] = &[
    ("model", |row| text(&row.key().model)),
    ("weights", |row| text(if row.key().random_weights { "random" } else { "real" })),
    ("provenance", |row| text(if row.key().imported { "imported" } else { "measured" })),
    ("machine", |row| text(&row.key().machine)),
    ("device", |row| Some(row.key().device.to_string())),
    ("engine", |row| text(&row.key().engine)),
    ("engine_version", |row| text(&row.one.cell.engine_version)),
    ("precision", |row| text(row.key().precision.name())),
    ("batch_size", |row| Some(row.key().batch_size.to_string())),
    ("sequence_length", |row| row.key().sequence_length.map(|length| length.to_string())),
    ("mode", |row| text(row.key().mode.name())),
    ("threads", |row| Some(row.key().threads.to_string())),
    ("variant", |row| text(&row.key().variant)),
    ("runs", |row| Some(row.one.cell.runs.len().to_string())),
    ("valid", |row| Some(row.one.cell.invalid.is_none().to_string())),
    ("not_valid_because", |row| Some(not_valid(row.one.cell.invalid.as_ref()?))),
    ("samples", |row| Some(row.one.cell.samples.to_string())),
    ("latency_median_ms", |row| number(milliseconds(row.one.cell.latency.value))),
    ("latency_ci95_low_ms", |row| number(milliseconds(row.one.cell.latency.interval?.low))),
    ("latency_ci95_high_ms", |row| number(milliseconds(row.one.cell.latency.interval?.high))),
    ("latency_p95_ms", |row| number(milliseconds(row.one.cell.percentiles.p95?))),
    ("latency_p99_ms", |row| number(milliseconds(row.one.cell.percentiles.p99?))),
    ("throughput_samples_per_second", |row| number(row.one.cell.throughput.value?.value)),
    ("throughput_ci95_low", |row| number(row.one.cell.throughput.value?.interval?.low)),
    ("throughput_ci95_high", |row| number(row.one.cell.throughput.value?.interval?.high)),
    ("memory_peak_bytes", |row| row.one.cell.memory.value.map(|peak| peak.0.to_string())),
    ("energy_joules_per_sample", |row| number(row.one.cell.energy.value?.value)),
    ("compute_ceiling_share", |row| number(row.one.cell.efficiency.value?)),
    ("speed_up_over_cpu", |row| number(row.one.speed_up.value?.value)),
    ("speed_up_ci95_low", |row| number(row.one.speed_up.value?.interval?.low)),
    ("speed_up_ci95_high", |row| number(row.one.speed_up.value?.interval?.high)),
    ("speed_up_missing", |row| text(row.one.speed_up.why.as_ref()?)),
    ("pareto", |row| row.one.on_front.value.map(|front| front.to_string())),
    ("best_batch", |row| row.series.map(|series| series.best.batch_size.to_string())),
    ("nearly_best_from_batch", |row| row.series.map(|series| series.enough.to_string())),
    ("batch_exponent", |row| number(row.series?.scaling.value?.exponent.value)),
    ("batch_efficiency", |row| number(row.series?.scaling.value?.efficiency)),
    ("length_exponent", |row| number(row.length?.scaling.exponent.value)),
    ("length_efficiency", |row| number(row.length?.scaling.efficiency)),
    ("run_ids", |row| {
        let ids = row.one.cell.runs.iter().map(|id| id.0.as_str());
        text(&ids.collect::<Vec<_>>().join(" "))
    }),
];

impl Row<'_> {
    fn key(&self) -> &CellKey {
        &self.one.cell.key
    }
}

/// The names of the columns in order.
#[must_use]
pub fn analysis_csv_columns() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

/// The analysis as rows for programs, cells in their order.
pub(super) fn analysis_data(found: &Analysis) -> DataTable {
    // Series come in the order of their cells, so one look along both is enough.
    let mut series = found.batches.iter().peekable();
    let belongs = |series: &BatchSeries, key: &CellKey| {
        CellKey { batch_size: key.batch_size, ..series.best.clone() } == *key
    };
    let mut current: Option<&BatchSeries> = None;
    let bare = |key: &CellKey| CellKey { sequence_length: None, ..key.clone() };
    let lengths: HashMap<CellKey, &LengthSeries> =
        found.lengths.iter().map(|one| (bare(&one.shortest), one)).collect();
    let rows = found.cells.iter().map(|one| {
        let key = &one.cell.key;
        if !current.is_some_and(|known| belongs(known, key)) {
            current = series.next_if(|next| belongs(next, key));
        }
        let row = Row { one, series: current, length: lengths.get(&bare(key)).copied() };
        COLUMNS.iter().map(|(_, cell)| cell(&row)).collect()
    });
    DataTable::new(analysis_csv_columns(), rows)
}
