//! Runs as CSV: one header, one row per run, flat columns with their unit in the name.
//!
//! Quoting follows RFC 4180. Missing is an empty cell. Numbers are written with every digit they have. Text that
//! a spreadsheet would take for a formula (it begins with `=`, `+`, `-` or `@`) gets an apostrophe in front, since
//! names come from outside; control characters are removed from text for the same reason.

use crate::clean::clean;
use crate::energy::energy;
use crate::lookup::{reading, told};
use crate::result::DataTable;
use crate::timestamp::rfc3339;
use number::milliseconds;
use std::io::{self, Write};
use std::time::Duration;
use types::{Phase, Run, Stated, Summary, Weights, key};

/// One column of the CSV.
pub struct CsvColumn {
    /// Its name with its unit: `latency_median_ms`.
    pub name: &'static str,
    cell: fn(&Run) -> Option<String>,
}

const fn column(name: &'static str, cell: fn(&Run) -> Option<String>) -> CsvColumn {
    CsvColumn { name, cell }
}

/// Every column in order; a new one goes to the end of its group.
const COLUMNS: &[CsvColumn] = &[
    column("run_id", |run| text(&run.id.0)),
    column("started_at", |run| told(run, "started_at", rfc3339(run.started_at))),
    column("model", |run| text(&run.model.name)),
    column("weights", |run| match told(run, "model.weights", &run.model.weights)? {
        Weights::Real => text("real"),
        Weights::Random { .. } => text("random"),
    }),
    column("category", |run| text(told(run, "model.category", run.model.category.name())?)),
    column("architecture", |run| text(&run.model.architecture)),
    column("engine", |run| text(&run.engine.id)),
    column("engine_version", |run| text(told(run, "engine.version", run.engine.version.as_str())?)),
    column("device", |run| told(run, "cell.device", run.cell.device.to_string())),
    column("precision", |run| text(told(run, "cell.precision", run.cell.precision.name())?)),
    column("batch_size", |run| told(run, "cell.batch_size", run.cell.batch_size.to_string())),
    column("sequence_length", |run| run.cell.sequence_length.map(|length| length.to_string())),
    column("mode", |run| text(run.cell.mode.name())),
    column("threads", |run| told(run, "cell.threads", run.cell.threads.to_string())),
    column("seed", |run| told(run, "cell.seed", run.cell.seed.to_string())),
    column("process_start_ms", |run| cold(run, "cold.process_start", run.cold.process_start)),
    column("load_ms", |run| cold(run, "cold.load", run.cold.load)),
    column("first_inference_ms", |run| cold(run, "cold.first_inference", run.cold.first_inference)),
    column("warmup_runs", |run| told(run, "warmup", run.warmup.runs.to_string())),
    column("warmup_settled", |run| run.imported.is_none().then(|| run.warmup.settled.to_string())),
    column("latency_phase", |run| text(run.main_phase().name())),
    column("latency_samples", |run| {
        let stated = run.stated(run.main_phase()).and_then(|stated| stated.count);
        main(run).map(|summary| summary.count).or(stated).map(|count| count.to_string())
    }),
    column("latency_mean_ms", |run| {
        main_or_stated(run, |summary| summary.mean, |stated| stated.mean)
    }),
    column("latency_std_ms", |run| main_or_stated(run, |summary| summary.std, |stated| stated.std)),
    column("latency_min_ms", |run| main_or_stated(run, |summary| summary.min, |stated| stated.min)),
    column("latency_max_ms", |run| main_or_stated(run, |summary| summary.max, |stated| stated.max)),
    column("latency_median_ms", |run| {
        main_or_stated(run, |summary| summary.median, |stated| stated.median)
    }),
    column("latency_p90_ms", |run| main_or_stated(run, |summary| summary.p90, |stated| stated.p90)),
    column("latency_p95_ms", |run| main_or_stated(run, |summary| summary.p95, |stated| stated.p95)),
    column("latency_p99_ms", |run| main_or_stated(run, |summary| summary.p99, |stated| stated.p99)),
    column("latency_p99_9_ms", |run| {
        main_or_stated(run, |summary| summary.p999, |stated| stated.p999)
    }),
    column("latency_ci95_low_ms", |run| main_ms(run, |summary| summary.ci95_median.low)),
    column("latency_ci95_high_ms", |run| main_ms(run, |summary| summary.ci95_median.high)),
    column("latency_unsupported", |run| {
        let names = main(run)?.unsupported.iter().map(|entry| entry.percentile.as_str());
        text(&names.collect::<Vec<_>>().join(" "))
    }),
    column("preprocess_median_ms", |run| median_ms(run, Phase::Preprocess)),
    column("tokenise_median_ms", |run| median_ms(run, Phase::Tokenise)),
    column("inference_median_ms", |run| median_ms(run, Phase::Inference)),
    column("postprocess_median_ms", |run| median_ms(run, Phase::Postprocess)),
    column("forward_median_ms", |run| median_ms(run, Phase::Forward)),
    column("loss_median_ms", |run| median_ms(run, Phase::Loss)),
    column("backward_median_ms", |run| median_ms(run, Phase::Backward)),
    column("optimizer_median_ms", |run| median_ms(run, Phase::Optimizer)),
    column("total_median_ms", |run| median_ms(run, Phase::Total)),
    column("throughput_samples_per_second", |run| metric(run, key::THROUGHPUT_SAMPLES)),
    column("throughput_tokens_per_second", |run| metric(run, key::THROUGHPUT_TOKENS)),
    column("throughput_images_per_second", |run| metric(run, key::THROUGHPUT_IMAGES)),
    column("memory_peak_bytes", |run| metric(run, key::MEMORY_PEAK)),
    column("memory_average_bytes", |run| metric(run, key::MEMORY_AVERAGE)),
    column("memory_activation_bytes", |run| {
        run.work.activation_peak.map(|peak| peak.0.to_string())
    }),
    column("memory_host_peak_bytes", |run| metric(run, key::MEMORY_HOST_PEAK)),
    column("disk_read_bytes", |run| metric(run, key::DISK_READ)),
    column("disk_written_bytes", |run| metric(run, key::DISK_WRITTEN)),
    column("network_received_bytes", |run| metric(run, key::NETWORK_RECEIVED)),
    column("network_sent_bytes", |run| metric(run, key::NETWORK_SENT)),
    column("compute_flops", |run| told(run, "work.flops", run.work.flops.0.to_string())),
    column("compute_coverage", |run| number(told(run, "work.coverage", run.work.coverage.0)?)),
    column("compute_flops_per_second", |run| metric(run, key::FLOPS_PER_SECOND)),
    column("compute_ceiling_share", |run| metric(run, key::CEILING_SHARE)),
    column("parameters", |run| told(run, "model.parameters", run.model.parameters.to_string())),
    column("model_size_bytes", |run| told(run, "model.size", run.model.size.0.to_string())),
    column("energy_joules", |run| number(energy(run).ok()?.first()?.joules)),
    column("energy_of", |run| text(&energy(run).ok()?.first()?.whose)),
    column("cpu_process_utilisation", |run| metric(run, "cpu.process.utilisation")),
    column("valid", |run| Some(run.verdict.valid.to_string())),
    column("reasons", |run| {
        let texts = run.verdict.reasons.iter().map(|reason| reason.text.as_str());
        text(&texts.collect::<Vec<_>>().join("; "))
    }),
    column("machine", |run| text(&run.environment.machine.key)),
    column("cpu", |run| {
        text(told(run, "environment.machine.cpu", &run.environment.machine.cpu.model)?)
    }),
    column("tags", |run| text(&run.tags.join(" "))),
    column("imported_from", |run| text(&run.imported.as_ref()?.tool)),
];

/// Every column of the CSV in order.
#[must_use]
pub fn csv_columns() -> &'static [CsvColumn] {
    COLUMNS
}

/// The runs as CSV.
#[must_use]
pub fn runs_csv(runs: &[Run]) -> String {
    let mut out = Vec::new();
    write_csv(runs, &mut out).expect("a vector takes every write");
    String::from_utf8(out).expect("every cell is a string")
}

/// The runs as rows for programs.
pub(crate) fn runs_table(runs: &[Run]) -> DataTable {
    let names = COLUMNS.iter().map(|column| column.name);
    let cells = |run: &Run| COLUMNS.iter().map(|column| (column.cell)(run)).collect();
    DataTable::new(names, runs.iter().map(cells))
}

/// Writes the runs as CSV.
///
/// # Errors
/// Where the writer fails.
pub fn write_csv(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let rows = runs
        .iter()
        .map(|run| COLUMNS.iter().map(|column| (column.cell)(run).unwrap_or_default()).collect());
    write_rows(&names, rows, out)
}

/// Writes a header and rows of cells, quoted where they need it.
pub(crate) fn write_rows(
    names: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(names)?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.flush()
}

pub(crate) fn text(text: &str) -> Option<String> {
    let text = clean(text);
    let formula = text.starts_with(['=', '+', '-', '@']);
    Some(if formula { format!("'{text}") } else { text })
}

/// Shortest digits that give the same number back.
pub(crate) fn number(value: f64) -> Option<String> {
    value.is_finite().then(|| value.to_string())
}

fn main(run: &Run) -> Option<&Summary> {
    run.summaries.get(&run.main_phase())
}

fn main_ms(run: &Run, of: fn(&Summary) -> f64) -> Option<String> {
    number(milliseconds(of(main(run)?)))
}

/// A number that another tool may state without giving its samples.
fn main_or_stated(
    run: &Run,
    of: fn(&Summary) -> f64,
    stated: fn(&Stated) -> Option<f64>,
) -> Option<String> {
    let told = run.stated(run.main_phase()).and_then(stated);
    main_ms(run, of).or_else(|| number(milliseconds(told?)))
}

fn cold(run: &Run, path: &str, time: Duration) -> Option<String> {
    number(milliseconds(told(run, path, time.as_secs_f64())?))
}

fn median_ms(run: &Run, phase: Phase) -> Option<String> {
    number(milliseconds(run.summaries.get(&phase)?.median))
}

fn metric(run: &Run, key: &str) -> Option<String> {
    number(reading(run, key)?.known()?)
}
