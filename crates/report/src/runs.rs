//! Many runs, a line each: what `runs list` shows and its JSON.

use crate::lookup::{main_phase, reading};
use crate::number::{MISSING, bytes_column, durations_column, milliseconds, rate};
use crate::table::{Column, Table};
use crate::timestamp::{minute, rfc3339};
use serde_json::{Value, json};
use types::{Bytes, Device, Precision, Run, Weights};

/// The name and version of the list's JSON.
pub const RUNS_SCHEMA: &str = "modelmeter.runs/1";

/// A run in one line; the id is shown as given, so the caller decides how much of it is unique.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// Its name.
    pub id: String,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub random_weights: bool,
    /// The engine's id.
    pub engine: String,
    /// Where it ran.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    pub batch: usize,
    /// Tokens in each sample; `None` for models without a length.
    pub length: Option<usize>,
    /// Median latency in seconds.
    pub median_seconds: Option<f64>,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Peak memory.
    pub memory_peak: Option<Bytes>,
    /// Whether the numbers can be believed.
    pub valid: bool,
    /// Labels given by people.
    pub tags: Vec<String>,
}

impl From<&Run> for RunLine {
    fn from(run: &Run) -> RunLine {
        let known = |key: &str| reading(run, key)?.known();
        RunLine {
            id: run.id.0.clone(),
            started_at: run.started_at,
            model: run.model.name.clone(),
            random_weights: matches!(run.model.weights, Weights::Random { .. }),
            engine: run.engine.id.clone(),
            device: run.cell.device,
            precision: run.cell.precision,
            batch: run.cell.batch_size,
            length: run.cell.sequence_length,
            median_seconds: run.summaries.get(&main_phase(run)).map(|summary| summary.median),
            samples_per_second: known("throughput.samples"),
            memory_peak: known("memory.peak").map(|peak| Bytes(peak.max(0.0) as u64)),
            valid: run.verdict.valid,
            tags: run.tags.clone(),
        }
    }
}

impl RunLine {
    fn batch_and_length(&self) -> String {
        match self.length {
            Some(length) => format!("{} × {length}", self.batch),
            None => self.batch.to_string(),
        }
    }

    fn weights(&self) -> &'static str {
        if self.random_weights { "random" } else { "real" }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "started_at": rfc3339(self.started_at),
            "model": self.model,
            "weights": self.weights(),
            "engine": self.engine,
            "device": self.device,
            "precision": self.precision,
            "batch_size": self.batch,
            "sequence_length": self.length,
            "latency": { "median": self.median_seconds.map(milliseconds), "unit": "ms" },
            "throughput": { "samples_per_second": self.samples_per_second },
            "memory": { "peak": self.memory_peak, "unit": "bytes" },
            "verdict": { "valid": self.valid },
            "tags": self.tags,
        })
    }
}

/// The runs as a table, in the order given; `None` as the width shows everything.
#[must_use]
pub fn runs_table(lines: &[RunLine], width: Option<usize>) -> String {
    let medians = durations_column(&each(lines, |line| line.median_seconds));
    let peaks = bytes_column(&each(lines, |line| line.memory_peak.map(|peak| peak.0)));
    let mut table = Table::new([
        Column::left("run"),
        Column::left("when UTC").leaves(4),
        Column::left("model").shrinks(),
        Column::left("weights"),
        Column::left("engine").leaves(2),
        Column::left("device").leaves(5),
        Column::left("format").leaves(6),
        Column::left("batch").leaves(3),
        Column::right("median"),
        Column::right("samples/s").leaves(7),
        Column::right("peak").leaves(1),
        Column::left("verdict"),
        Column::left("tags").shrinks().leaves(8),
    ]);
    for (at, line) in lines.iter().enumerate() {
        let samples = line.samples_per_second.map_or_else(|| MISSING.into(), rate);
        table.push([
            line.id.as_str(),
            &minute(line.started_at),
            &line.model,
            line.weights(),
            &line.engine,
            &line.device.to_string(),
            &line.precision.to_string(),
            &line.batch_and_length(),
            &medians[at],
            &samples,
            &peaks[at],
            if line.valid { "valid" } else { "NOT VALID" },
            &line.tags.join(" "),
        ]);
    }
    table.render(width)
}

/// The runs as JSON: `modelmeter.runs/1`.
#[must_use]
pub fn runs_list_json(lines: &[RunLine]) -> Value {
    json!({ "schema": RUNS_SCHEMA, "runs": lines.iter().map(RunLine::json).collect::<Vec<_>>() })
}

fn each<T>(lines: &[RunLine], of: impl Fn(&RunLine) -> T) -> Vec<T> {
    lines.iter().map(of).collect()
}
