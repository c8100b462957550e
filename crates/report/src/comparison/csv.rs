//! A comparison as CSV: one row per side, flat columns with their unit in the name, quoted as runs are.

use crate::csv::{number, text};
use crate::result::DataTable;
use number::milliseconds;
use types::{Comparison, ComparisonReport, Design, Outcome, SideReport, SpeedUp, Summary, Weights};

/// One side of a report, and how it fares against the baseline.
struct Row<'a> {
    report: &'a ComparisonReport,
    side: &'a SideReport,
    comparison: Option<&'a Comparison>,
}

impl Row<'_> {
    fn speed_up(&self) -> Option<&SpeedUp> {
        self.comparison?.speed_up.as_ref()
    }

    fn latency_ms(&self, of: fn(&Summary) -> f64) -> Option<String> {
        number(milliseconds(of(self.side.latency.as_ref()?)))
    }
}

type Cell = fn(&Row<'_>) -> Option<String>;

/// Every column in order; a new one goes to the end of its group.
const COLUMNS: &[(&str, Cell)] = &[
    ("model", |row| text(&row.report.model.name)),
    ("weights", |row| match row.report.model.weights {
        Weights::Real => text("real"),
        Weights::Random { .. } => text("random"),
    }),
    ("batch_size", |row| Some(row.report.batch_size.to_string())),
    ("sequence_length", |row| row.report.sequence_length.map(|length| length.to_string())),
    ("mode", |row| text(row.side.info.mode.name())),
    ("side", |row| text(&row.side.info.label)),
    ("engine", |row| text(&row.side.info.engine.id)),
    ("engine_version", |row| text(&row.side.info.engine.version)),
    ("device", |row| Some(row.side.info.device.to_string())),
    ("precision", |row| text(row.side.info.precision.name())),
    ("threads", |row| Some(row.side.info.threads.to_string())),
    ("design", |row| match row.report.design {
        Design::Interleaved { .. } => text("interleaved"),
        Design::Stored => text("stored"),
    }),
    ("processes", |row| Some(row.side.processes.to_string())),
    ("samples", |row| row.side.latency.as_ref().map(|latency| latency.count.to_string())),
    ("latency_mean_ms", |row| row.latency_ms(|latency| latency.mean)),
    ("latency_std_ms", |row| row.latency_ms(|latency| latency.std)),
    ("latency_min_ms", |row| row.latency_ms(|latency| latency.min)),
    ("latency_max_ms", |row| row.latency_ms(|latency| latency.max)),
    ("latency_median_ms", |row| row.latency_ms(|latency| latency.median)),
    ("load_ms", |row| number(milliseconds(row.side.load?.0))),
    ("first_inference_ms", |row| number(milliseconds(row.side.first?.0))),
    ("memory_peak_bytes", |row| row.side.info.peak_memory.map(|peak| peak.0.to_string())),
    ("baseline", |row| text(&row.report.baseline)),
    ("verdict", |row| text(row.comparison?.outcome.name())),
    ("speed_up", |row| number(row.speed_up()?.ratio)),
    ("speed_up_ci95_low", |row| number(row.speed_up()?.interval?.low)),
    ("speed_up_ci95_high", |row| number(row.speed_up()?.interval?.high)),
    ("speed_up_best", |row| number(row.speed_up()?.best)),
    ("speed_up_worst", |row| number(row.speed_up()?.worst)),
    ("p_value", |row| number(row.speed_up()?.p_value?)),
    ("p_value_adjusted", |row| number(row.speed_up()?.adjusted_p?)),
    ("detectable", |row| number(row.speed_up()?.detectable?)),
    ("refused", |row| match &row.comparison?.outcome {
        Outcome::Refused { why, .. } => text(why),
        _ => None,
    }),
    ("pairs_disturbed", |row| {
        let disturbed = row.comparison?.disturbed.as_ref();
        Some(disturbed.map_or(0, |disturbed| disturbed.left_out).to_string())
    }),
    ("processes_at_most", |row| Some(row.report.looks.as_ref()?.at_most.to_string())),
    ("ended", |row| text(row.report.looks.as_ref()?.ended.name())),
    ("valid", |row| Some(row.side.info.verdict.valid.to_string())),
    ("machine", |row| text(&row.report.environment.machine.key)),
];

/// The names of the columns in order.
#[must_use]
pub fn comparison_csv_columns() -> Vec<&'static str> {
    COLUMNS.iter().map(|(name, _)| *name).collect()
}

/// Comparisons as rows for programs, sides in the order they were given.
pub(super) fn comparisons_data(reports: &[ComparisonReport]) -> DataTable {
    let sides =
        reports.iter().flat_map(|report| report.sides.iter().map(move |side| (report, side)));
    let rows = sides.map(|(report, side)| {
        let row = Row { report, side, comparison: report.comparison(&side.info.label) };
        COLUMNS.iter().map(|(_, cell)| cell(&row)).collect()
    });
    DataTable::new(comparison_csv_columns(), rows)
}
