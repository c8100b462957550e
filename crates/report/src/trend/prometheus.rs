//! Numbers for Prometheus: its text format, as node_exporter's textfile collector reads it.

use crate::clean::clean;
use crate::variant::variant;
use std::fmt::Write;
use types::{AnalysedCell, Analysis, CellKey, PooledCell, Trend, TrendSeries, TrendStanding};

/// One gauge of a cell: its name, what it says, and its number.
type Gauge<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

const CELLS: &[Gauge<AnalysedCell>] = &[
    ("modelmeter_latency_median_seconds", "Median latency of the newest runs.", |one| {
        Some(one.cell.latency.value)
    }),
    ("modelmeter_latency_median_low_seconds", "Lower end of its 95 % interval.", |one| {
        Some(one.cell.latency.interval?.low)
    }),
    ("modelmeter_latency_median_high_seconds", "Upper end of its 95 % interval.", |one| {
        Some(one.cell.latency.interval?.high)
    }),
    (
        "modelmeter_latency_p95_seconds",
        "95th percentile of the latency, worst of the runs.",
        |one| one.cell.percentiles.p95,
    ),
    ("modelmeter_throughput_samples_per_second", "Samples a second.", |one| {
        Some(one.cell.throughput.value?.value)
    }),
    (
        "modelmeter_memory_peak_bytes",
        "Peak memory where the model computes, largest of the runs.",
        |one| Some(one.cell.memory.value?.0 as f64),
    ),
    ("modelmeter_energy_joules_per_sample", "Energy of one sample above idle.", |one| {
        Some(one.cell.energy.value?.value)
    }),
    ("modelmeter_runs", "Runs that are pooled into these numbers.", |one| {
        Some(one.cell.runs.len() as f64)
    }),
    ("modelmeter_last_run_timestamp_seconds", "Start of the newest of these runs.", |one| {
        Some(one.cell.began.1 as f64 / 1e6)
    }),
];

const HISTORIES: &[Gauge<TrendSeries>] = &[
    ("modelmeter_trend_points", "Points of the history.", |one| Some(one.points.len() as f64)),
    ("modelmeter_trend_noise_ratio", "Scatter of points around their level.", |one| one.noise),
    ("modelmeter_trend_changes", "Level changes in the history.", |one| {
        Some(one.changes.len() as f64)
    }),
    (
        "modelmeter_trend_last_change_ratio",
        "Level after the last change ÷ level before it.",
        |one| Some(one.changes.last()?.ratio.value),
    ),
    ("modelmeter_trend_last_change_timestamp_seconds", "First run after the last change.", |one| {
        Some(one.points.get(one.changes.last()?.at)?.began.0 as f64 / 1e6)
    }),
];

/// The newest numbers of all cells, and how their histories go and stand where somebody asked.
#[must_use]
pub fn prometheus(analysis: &Analysis, trend: Option<(&Trend, &[TrendStanding])>) -> String {
    let mut text = String::new();
    // Numbers that cannot be believed are not exported; that there are none is.
    let believed = || analysis.cells.iter().filter(|one| one.cell.invalid.is_none());
    for (name, help, of) in CELLS {
        let rows = believed().map(|one| (labels(&one.cell.key, ""), of(one)));
        gauge(&mut text, name, help, rows);
    }
    validity(&mut text, analysis);
    let Some((trend, standings)) = trend else { return text };
    let metric = trend.metric.name();
    for (name, help, of) in HISTORIES {
        let rows = trend.series.iter().map(|one| (labels(&one.key, metric), of(one)));
        gauge(&mut text, name, help, rows);
    }
    let standing = |standing: &TrendStanding| match standing {
        TrendStanding::Held => 0.0,
        TrendStanding::Worse => 1.0,
        TrendStanding::CannotTell { .. } => f64::NAN,
    };
    let rows = trend.series.iter().zip(standings);
    let rows = rows.map(|(one, found)| (labels(&one.key, metric), Some(standing(found))));
    let help =
        "1 if the newest level is worse than accepted, 0 if not, NaN if it cannot be decided.";
    gauge(&mut text, "modelmeter_trend_worse", help, rows);
    text
}

/// Which cells have numbers that can be believed, and how many runs of each cannot, by reason.
fn validity(text: &mut String, analysis: &Analysis) {
    let cells = analysis.cells.iter().map(|one| &one.cell);
    let believed: Vec<&PooledCell> = cells.filter(|cell| cell.invalid.is_none()).collect();
    let flag = |holds: bool| Some(f64::from(u8::from(holds)));
    let lacking = || analysis.not_valid.iter().map(|one| (labels(&one.key, ""), flag(false)));
    let rows = believed.iter().map(|cell| (labels(&cell.key, ""), flag(true))).chain(lacking());
    let help = "1 if the cell has a valid run, 0 if it was measured but has none.";
    gauge(text, "modelmeter_valid", help, rows);
    let newest = |cell: &&PooledCell| (labels(&cell.key, ""), flag(cell.newest_is_valid));
    let rows = believed.iter().map(newest).chain(lacking());
    let help = "1 if the newest run of the cell is valid, 0 if its numbers are from older runs.";
    gauge(text, "modelmeter_newest_run_valid", help, rows);
    let each = believed.iter().map(|cell| (&cell.key, &cell.invalid_runs));
    let each = each.chain(analysis.not_valid.iter().map(|one| (&one.key, &one.reasons)));
    let rows = each.flat_map(|(key, reasons)| {
        reasons.by_count().into_iter().map(|(reason, runs)| {
            (format!("{},reason=\"{}\"", labels(key, ""), reason.name()), Some(runs as f64))
        })
    });
    gauge(text, "modelmeter_runs_not_valid", "Runs that are not valid, by main reason.", rows);
}

/// One gauge with a line a cell that has the number.
fn gauge(
    text: &mut String,
    name: &str,
    help: &str,
    rows: impl Iterator<Item = (String, Option<f64>)>,
) {
    let mut rows = rows.filter_map(|(labels, value)| Some((labels, value?))).peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for (labels, value) in rows {
        let value = match value {
            value if value.is_nan() => "NaN".to_owned(),
            value if value.is_infinite() => if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
            value => value.to_string(),
        };
        let _ = writeln!(text, "{name}{{{labels}}} {value}");
    }
}

/// What tells a cell from every other; an empty label is none.
fn labels(key: &CellKey, metric: &str) -> String {
    let length = key.sequence_length.map_or_else(String::new, |length| length.to_string());
    let labels = [
        ("model", key.model.clone()),
        ("engine", key.engine.clone()),
        ("device", key.device.to_string()),
        ("precision", key.precision.name().to_owned()),
        ("batch", key.batch_size.to_string()),
        ("length", length),
        ("mode", key.mode.name().to_owned()),
        ("machine", key.machine.clone()),
        ("threads", key.threads.to_string()),
        ("weights", if key.random_weights { "random" } else { "real" }.to_owned()),
        ("provenance", if key.imported { "imported" } else { "measured" }.to_owned()),
        ("variant", variant(&key.variant)),
        ("metric", metric.to_owned()),
    ];
    let label = |(name, value): (&str, String)| format!("{name}=\"{}\"", escape(&value));
    let told = labels.into_iter().filter(|(_, value)| !value.is_empty());
    told.map(label).collect::<Vec<_>>().join(",")
}

/// A label's value as the format takes it.
fn escape(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
