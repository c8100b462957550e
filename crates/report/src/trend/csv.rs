//! Histories as CSV: one row per point, in SI base units, with the change it begins.

use crate::csv::{number, text};
use crate::result::DataTable;
use crate::timestamp::rfc3339;
use types::{CellKey, Trend, TrendChange, TrendMetric, TrendPoint, TrendSeries};

/// A point of a history.
struct Row<'a> {
    metric: TrendMetric,
    series: &'a TrendSeries,
    place: usize,
    point: &'a TrendPoint,
}

impl Row<'_> {
    fn key(&self) -> &CellKey {
        &self.series.key
    }

    /// The change that this point is the first after.
    fn change(&self) -> Option<&TrendChange> {
        self.series.changes.iter().find(|change| change.at == self.place)
    }
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
    ("precision", |row| text(row.key().precision.name())),
    ("batch_size", |row| Some(row.key().batch_size.to_string())),
    ("sequence_length", |row| row.key().sequence_length.map(|length| length.to_string())),
    ("mode", |row| text(row.key().mode.name())),
    ("threads", |row| Some(row.key().threads.to_string())),
    ("variant", |row| text(&row.key().variant)),
    ("metric", |row| text(row.metric.name())),
    ("point", |row| Some(row.place.to_string())),
    ("commit", |row| text(row.point.commit.as_ref()?)),
    ("branch", |row| text(row.point.branch.as_ref()?)),
    ("started_at", |row| Some(rfc3339(row.point.began.0))),
    ("runs", |row| Some(row.point.runs.len().to_string())),
    ("valid", |row| Some(row.point.valid.to_string())),
    ("value", |row| number(row.point.value.value)),
    ("ci95_low", |row| number(row.point.value.interval?.low)),
    ("ci95_high", |row| number(row.point.value.interval?.high)),
    ("change_ratio", |row| number(row.change()?.ratio.value)),
    ("change_ci95_low", |row| number(row.change()?.ratio.interval?.low)),
    ("change_ci95_high", |row| number(row.change()?.ratio.interval?.high)),
    ("change_adjusted_p", |row| number(row.change()?.adjusted_p)),
    ("change_direction", |row| text(row.metric.direction_words(row.change()?.ratio.value))),
];

/// The names of the columns in order.
#[must_use]
pub fn trend_csv_columns() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

/// The histories as rows for programs, points in their order.
pub(super) fn trend_data(found: &Trend) -> DataTable {
    let metric = found.metric;
    let rows = found.series.iter().flat_map(|series| {
        let row = move |(place, point)| Row { metric, series, place, point };
        series.points.iter().enumerate().map(row)
    });
    let rows = rows.map(|row| COLUMNS.iter().map(|(_, cell)| cell(&row)).collect());
    DataTable::new(trend_csv_columns(), rows)
}
