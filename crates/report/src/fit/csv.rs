//! What fits as CSV: one row a precision and batch that was tried, quoted as runs are.

use super::words::{remark, share};
use crate::csv::{number, text};
use crate::result::DataTable;
use number::milliseconds;
use types::{FitCell, FitOutcome, FitReport, FitWay};

/// A cell, and where it belongs.
struct Row<'a> {
    report: &'a FitReport,
    way: &'a FitWay,
    cell: &'a FitCell,
}

impl Row<'_> {
    fn is_best(&self) -> bool {
        self.report.best().is_some_and(|best| {
            best.cell.engine == self.way.engine
                && best.cell.precision == self.way.precision
                && best.cell.batch_size == self.cell.batch
        })
    }
}

type Cell = fn(&Row<'_>) -> Option<String>;

/// Every column in order; a new one goes to the end of its group.
const COLUMNS: &[(&str, Cell)] = &[
    ("model", |row| text(&row.report.model.name)),
    ("sequence_length", |row| row.report.sequence_length.map(|length| length.to_string())),
    ("device", |row| Some(row.report.device.to_string())),
    ("engine", |row| text(&row.way.engine)),
    ("engine_version", |row| text(row.way.engine_version.as_deref()?)),
    ("precision", |row| text(row.way.precision.name())),
    ("threads", |row| Some(row.report.threads.to_string())),
    ("batch_size", |row| Some(row.cell.batch.to_string())),
    ("memory_limit_bytes", |row| Some(row.report.limit.0.to_string())),
    ("limited_by", |row| text(row.report.limited_by?.name())),
    ("outcome", |row| {
        text(match &row.cell.outcome {
            FitOutcome::Fits => "fits",
            FitOutcome::Refused(refusal) => refusal.kind.name(),
            FitOutcome::NotTimed { .. } => "not-timed",
        })
    }),
    ("best", |row| text(if row.is_best() { "true" } else { "false" })),
    ("memory_estimate_bytes", |row| row.cell.estimate.map(|bytes| bytes.0.to_string())),
    ("memory_peak_bytes", |row| row.cell.peak.map(|bytes| bytes.0.to_string())),
    ("memory_share_of_limit", |row| number(share(row.cell.peak, row.report.limit)?)),
    ("throughput_samples_per_second", |row| number(row.cell.throughput?.value)),
    ("throughput_ci95_low", |row| number(row.cell.throughput?.interval?.low)),
    ("throughput_ci95_high", |row| number(row.cell.throughput?.interval?.high)),
    ("latency_median_ms", |row| number(milliseconds(row.cell.latency?.value))),
    ("samples", |row| Some(row.cell.samples.to_string())),
    ("remark", |row| text(&remark(row.cell))),
];

/// What fits as rows for programs.
pub(super) fn fit_data(report: &FitReport) -> DataTable {
    let rows = report.ways.iter().flat_map(|way| {
        way.cells.iter().map(move |cell| {
            let row = Row { report, way, cell };
            COLUMNS.iter().map(|(_, cell)| cell(&row)).collect()
        })
    });
    DataTable::new(COLUMNS.iter().map(|(name, _)| *name), rows)
}
