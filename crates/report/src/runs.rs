//! Many runs, a line each: what `runs list` shows and its JSON.

use crate::lookup::{main_phase, reading};
use crate::number::{MISSING, bytes_column, durations_column, milliseconds, rate};
use crate::style::Style;
use crate::table::{Column, Table};
use crate::timestamp::{minute, rfc3339, short_column};
use crate::wrap::wrap;
use serde_json::{Value, json};
use types::{Bytes, Device, Precision, Run, Weights};

/// The name and version of the list's JSON.
pub const RUNS_SCHEMA: &str = "modelmeter.runs/1";

/// Stands behind the name of a model whose weights were drawn.
const RANDOM: char = '~';

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
            Some(length) => format!("{}×{length}", self.batch),
            None => self.batch.to_string(),
        }
    }

    fn weights(&self) -> &'static str {
        if self.random_weights { "random" } else { "real" }
    }

    /// The name, with the mark of random weights at the end, which shortening keeps.
    fn marked_model(&self) -> String {
        if self.random_weights { format!("{} {RANDOM}", self.model) } else { self.model.clone() }
    }

    fn samples(&self) -> String {
        self.samples_per_second.map_or_else(|| MISSING.into(), rate)
    }

    fn verdict(&self) -> &'static str {
        if self.valid { "valid" } else { "NOT VALID" }
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
///
/// Where not everything fits, dates are short, `~` stands for random weights, and columns leave.
#[must_use]
pub fn runs_table(lines: &[RunLine], style: &Style, width: Option<usize>) -> String {
    let full = full_table(lines).painted(style);
    match width {
        Some(width) if full.full_width() > width => {
            let mut text = short_table(lines).painted(style).render(Some(width));
            if lines.iter().any(|line| line.random_weights) {
                let notes = wrap(&format!("{RANDOM} random weights"), width);
                text.push_str(&format!("{}\n", notes.join("\n")));
            }
            text
        }
        _ => full.render(width),
    }
}

fn full_table(lines: &[RunLine]) -> Table {
    let shared = Shared::of(lines);
    let mut table = Table::new(with_tags(
        lines,
        [
            Column::left("run"),
            Column::left("when UTC"),
            Column::left("model"),
            Column::left("weights"),
            Column::left("engine"),
            Column::left("device"),
            Column::left("format"),
            Column::right("batch"),
            Column::right("median"),
            Column::right("samples/s"),
            Column::right("peak"),
            Column::left("verdict"),
        ],
    ));
    for (at, line) in lines.iter().enumerate() {
        table.push([
            line.id.as_str(),
            &minute(line.started_at),
            &line.model,
            line.weights(),
            &line.engine,
            &line.device.to_string(),
            &line.precision.to_string(),
            &line.batch_and_length(),
            &shared.medians[at],
            &line.samples(),
            &shared.peaks[at],
            line.verdict(),
            &line.tags.join(" "),
        ]);
    }
    table
}

fn short_table(lines: &[RunLine]) -> Table {
    let shared = Shared::of(lines);
    let when = short_column(&each(lines, |line| line.started_at));
    let mut table = Table::new(with_tags(
        lines,
        [
            Column::left("run"),
            Column::left("when UTC").leaves_late(2),
            Column::left("model").shrinks(),
            Column::left("engine").leaves(3),
            Column::left("device").leaves(2),
            Column::left("format").leaves(1),
            Column::right("batch").leaves_late(3),
            Column::right("median"),
            Column::right("samples/s").leaves(5),
            Column::right("peak").leaves(4),
            Column::left("verdict").leaves_late(1),
        ],
    ));
    for (at, line) in lines.iter().enumerate() {
        table.push([
            line.id.as_str(),
            &when[at],
            &line.marked_model(),
            &line.engine,
            &line.device.to_string(),
            &line.precision.to_string(),
            &line.batch_and_length(),
            &shared.medians[at],
            &line.samples(),
            &shared.peaks[at],
            line.verdict(),
            &line.tags.join(" "),
        ]);
    }
    table
}

/// Cells whose unit depends on the whole column.
struct Shared {
    medians: Vec<String>,
    peaks: Vec<String>,
}

impl Shared {
    fn of(lines: &[RunLine]) -> Shared {
        Shared {
            medians: durations_column(&each(lines, |line| line.median_seconds)),
            peaks: bytes_column(&each(lines, |line| line.memory_peak.map(|peak| peak.0))),
        }
    }
}

/// A column for tags, unless nobody has any.
fn with_tags(lines: &[RunLine], columns: impl IntoIterator<Item = Column>) -> Vec<Column> {
    let any = lines.iter().any(|line| !line.tags.is_empty());
    let tags = any.then(|| Column::left("tags").shrinks().leaves_late(4));
    columns.into_iter().chain(tags).collect()
}

/// The runs as JSON: `modelmeter.runs/1`.
#[must_use]
pub fn runs_list_json(lines: &[RunLine]) -> Value {
    json!({ "schema": RUNS_SCHEMA, "runs": lines.iter().map(RunLine::json).collect::<Vec<_>>() })
}

fn each<T>(lines: &[RunLine], of: impl Fn(&RunLine) -> T) -> Vec<T> {
    lines.iter().map(of).collect()
}
