//! Many runs, a line each: what `runs list` shows and its JSON.

use crate::analysis::words::counted;
use crate::clean::clean;
use crate::csv::{number, text};
use crate::document::{PeakMemory, Timestamp, WeightsKind, to_json};
use crate::invalid::not_valid;
use crate::lookup::{reading, told};
use crate::result::{Block, DataTable, Note, ResultDocument};
use crate::sheet::Grid;
use crate::table::Column;
use crate::timestamp::{minute, rfc3339, short_column};
use number::{MISSING, bytes_column, durations_column, milliseconds, rate};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use types::{
    Bytes, Device, Generation, InvalidRuns, Mode, Precision, ReasonCode, Run, Scenario, Weights,
    key::{MEMORY_PEAK, THROUGHPUT_SAMPLES},
};

/// The name and version of the list's JSON.
pub const RUNS_SCHEMA: &str = "modelmeter.runs/1";

/// Stands behind the name of a model whose weights were drawn.
const RANDOM: char = '~';

/// Stands behind the name of a model that another tool measured.
const IMPORTED: char = '^';

/// A run in one line; the id is shown as given, so the caller decides how much of it is unique.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// Its name.
    pub id: String,
    /// When it began, in microseconds since the epoch; like device, format and batch `None` if an imported file does not
    /// tell.
    pub started_at: Option<i64>,
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub random_weights: Option<bool>,
    /// The engine's id.
    pub engine: String,
    /// Where it ran.
    pub device: Option<Device>,
    /// The number format.
    pub precision: Option<Precision>,
    /// Samples in one inference.
    pub batch: Option<usize>,
    /// Tokens in each sample; `None` for models without a length.
    pub length: Option<usize>,
    /// What a sample is.
    pub mode: Mode,
    /// The test of a language model, or who asks when under a load: `pp512`, `single-stream`.
    pub test: Option<String>,
    /// Median latency in seconds.
    pub median_seconds: Option<f64>,
    /// Mean latency in seconds, if an imported run has no median.
    pub mean_seconds: Option<f64>,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Peak memory.
    pub memory_peak: Option<Bytes>,
    /// Whether the numbers are valid.
    pub valid: bool,
    /// The main reason why they cannot; `None` if they can.
    pub reason: Option<ReasonCode>,
    /// The tool that measured it, if it was not Modelmeter.
    pub imported: Option<String>,
    /// Labels given by people.
    pub tags: Vec<String>,
}

impl From<&Run> for RunLine {
    fn from(run: &Run) -> RunLine {
        let known = |key: &str| reading(run, key)?.known();
        let median = run.summaries.get(&run.main_phase()).map(|summary| summary.median);
        let stated = run.stated(run.main_phase()).copied().unwrap_or_default();
        let median = median.or(stated.median);
        RunLine {
            id: run.id.0.clone(),
            started_at: told(run, "started_at", run.started_at),
            model: run.model.name.clone(),
            random_weights: told(
                run,
                "model.weights",
                matches!(run.model.weights, Weights::Random { .. }),
            ),
            engine: run.engine.id.clone(),
            device: told(run, "cell.device", run.cell.device),
            precision: told(run, "cell.precision", run.cell.precision),
            batch: told(run, "cell.batch_size", run.cell.batch_size),
            length: run.cell.sequence_length,
            mode: run.cell.mode,
            test: test_words(
                run.cell.generation,
                run.cell.load.as_ref().map(|load| &load.scenario),
            ),
            median_seconds: median,
            mean_seconds: stated.mean.filter(|_| median.is_none()),
            samples_per_second: known(THROUGHPUT_SAMPLES),
            memory_peak: known(MEMORY_PEAK).map(|peak| Bytes(peak.max(0.0) as u64)),
            valid: run.verdict.valid,
            reason: run.verdict.main_reason(),
            imported: run.imported.as_ref().map(|import| import.tool.clone()),
            tags: run.tags.clone(),
        }
    }
}

/// The test of a language model, or who asks when under a load, in words; `None` where neither is asked.
#[must_use]
pub fn test_words(generation: Option<Generation>, scenario: Option<&Scenario>) -> Option<String> {
    let test = generation.map(Generation::name);
    test.or_else(|| scenario.map(Scenario::to_string))
}

impl RunLine {
    /// What a sample is, in words: `inference`, `train`, `tg128 @ d4096`, `load single-stream`.
    #[must_use]
    pub fn mode_words(&self) -> String {
        match (self.mode, &self.test) {
            (Mode::Training, _) => "train".into(),
            (Mode::Generate, Some(test)) => test.clone(),
            (Mode::Load, Some(scenario)) => format!("load {scenario}"),
            (mode, _) => mode.name().into(),
        }
    }

    fn batch_and_length(&self) -> String {
        let batch = shown(self.batch);
        match self.length {
            Some(length) => format!("{batch}×{length}"),
            None => batch,
        }
    }

    /// What stands under `median`: where another tool states none, its mean.
    fn middle(&self) -> Option<f64> {
        self.median_seconds.or(self.mean_seconds)
    }

    fn source(&self) -> String {
        self.imported.as_ref().map_or_else(String::new, |tool| format!("imported ({tool})"))
    }

    fn weights(&self) -> Option<&'static str> {
        self.random_weights.map(|random| if random { "random" } else { "real" })
    }

    /// The name, with the marks of random weights and of imports at the end, which shortening keeps.
    fn marked_model(&self) -> String {
        let random = (self.random_weights == Some(true)).then_some(RANDOM);
        let imported = self.imported.is_some().then_some(IMPORTED);
        let marks: String = random.into_iter().chain(imported).collect();
        if marks.is_empty() { self.model.clone() } else { format!("{} {marks}", self.model) }
    }

    fn samples(&self) -> String {
        self.samples_per_second.map_or_else(|| MISSING.into(), rate)
    }

    fn verdict(&self) -> &'static str {
        if self.valid { "valid" } else { "NOT VALID" }
    }

    /// The verdict with its reason, if there is room for it.
    fn whole_verdict(&self) -> String {
        match self.reason {
            Some(reason) if !self.valid => format!("{}: {}", self.verdict(), reason.words()),
            _ => self.verdict().to_owned(),
        }
    }
}

/// The runs as a list, in the order given; where a table has to be narrower than all of it, dates are short, `~` stands for
/// random weights, `^` for imports, and columns leave.
#[must_use]
pub fn runs_document(lines: &[RunLine], width: Option<usize>) -> ResultDocument {
    let full = full_table(lines);
    let mut notes = Vec::new();
    let grid = match width {
        Some(width) if full.full_width() > width => {
            if lines.iter().any(|line| line.random_weights == Some(true)) {
                notes.push(format!("{RANDOM} random weights"));
            }
            if let Some(tools) = tools(lines) {
                notes.push(format!("{IMPORTED} imported: measured by {tools}"));
            }
            short_table(lines)
        }
        _ => full,
    };
    if lines.iter().any(|line| line.mean_seconds.is_some()) {
        notes.push("* a mean: the tool states no median".into());
    }
    let invalid = invalid(lines);
    notes.extend((!invalid.is_empty()).then(|| not_valid(&invalid)));
    let mut blocks = vec![Block::table("runs", grid)];
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes.into_iter().map(Note::new).collect()));
    }
    ResultDocument {
        title: vec!["Stored runs".into()],
        facts: vec![counted(lines.len() as u64, "run")],
        is_list: true,
        verdict: None,
        blocks,
        json: to_json(&RunsDocument::from(lines)),
        data: Some(data(lines)),
        ..ResultDocument::default()
    }
}

fn data(lines: &[RunLine]) -> DataTable {
    const COLUMNS: [&str; 19] = [
        "run_id",
        "started_at",
        "model",
        "weights",
        "mode",
        "test",
        "engine",
        "device",
        "precision",
        "batch_size",
        "sequence_length",
        "latency_median_ms",
        "latency_mean_ms",
        "throughput_samples_per_second",
        "memory_peak_bytes",
        "valid",
        "reason",
        "imported_from",
        "tags",
    ];
    let row = |line: &RunLine| {
        vec![
            text(&line.id),
            line.started_at.map(rfc3339),
            text(&line.model),
            line.weights().and_then(text),
            text(line.mode.name()),
            line.test.as_deref().and_then(text),
            text(&line.engine),
            line.device.map(|device| device.to_string()),
            line.precision.map(|precision| precision.to_string()),
            line.batch.map(|batch| batch.to_string()),
            line.length.map(|length| length.to_string()),
            line.median_seconds.and_then(|median| number(milliseconds(median))),
            line.mean_seconds.and_then(|mean| number(milliseconds(mean))),
            line.samples_per_second.and_then(number),
            line.memory_peak.map(|peak| peak.0.to_string()),
            Some(line.valid.to_string()),
            line.reason.and_then(|reason| text(reason.name())),
            line.imported.as_deref().and_then(text),
            text(&line.tags.join(" ")),
        ]
    };
    DataTable::new(COLUMNS, lines.iter().map(row))
}

/// Those that are not valid, by their reasons.
fn invalid(lines: &[RunLine]) -> InvalidRuns {
    let invalid = lines.iter().filter(|line| !line.valid);
    invalid.map(|line| line.reason.unwrap_or(ReasonCode::Unstated)).collect()
}

/// The tools that measured what we did not, each once.
fn tools(lines: &[RunLine]) -> Option<String> {
    let tools: BTreeSet<String> =
        lines.iter().filter_map(|line| line.imported.as_deref().map(clean)).collect();
    let tools: Vec<String> = tools.into_iter().collect();
    (!tools.is_empty()).then(|| tools.join(", "))
}

/// What there is, or the sign for nothing.
fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| MISSING.into(), |value| value.to_string())
}

fn full_table(lines: &[RunLine]) -> Grid {
    let shared = Shared::of(lines);
    let source = lines.iter().any(|line| line.imported.is_some());
    let columns = ["run", "when UTC", "model", "weights"].into_iter();
    let columns = columns.chain(shared.has_mode.then_some("mode")).map(Column::left);
    let columns = columns.chain([
        Column::left("engine"),
        Column::left("device"),
        Column::left("format"),
        Column::right("batch"),
        Column::right("median"),
        Column::right("samples/s"),
        Column::right("peak"),
        Column::left("verdict"),
    ]);
    let columns = columns.chain(source.then(|| Column::left("source")));
    let mut table = Grid::of(with_tags(lines, columns));
    for (at, line) in lines.iter().enumerate() {
        let mut cells = vec![
            line.id.clone(),
            line.started_at.map_or_else(|| MISSING.into(), minute),
            line.model.clone(),
            shown(line.weights()),
        ];
        cells.extend(shared.cells(at, line));
        cells.push(line.whole_verdict());
        cells.extend(source.then(|| line.source()));
        cells.push(line.tags.join(" "));
        table.row(cells);
    }
    table
}

fn short_table(lines: &[RunLine]) -> Grid {
    let shared = Shared::of(lines);
    let known: Vec<i64> = lines.iter().filter_map(|line| line.started_at).collect();
    let mut known = short_column(&known).into_iter();
    let when = each(lines, |line| line.started_at.and_then(|_| known.next()));
    let when: Vec<String> = when.into_iter().map(shown).collect();
    let columns = [
        Column::left("run"),
        Column::left("when UTC").leaves_late(4),
        Column::left("model").shrinks(),
    ];
    let columns = columns
        .into_iter()
        .chain(shared.has_mode.then(|| Column::left("mode").shrinks().leaves_late(2)));
    let columns = columns.chain([
        Column::left("engine"),
        Column::left("device").leaves(2),
        Column::left("format").leaves(1),
        Column::right("batch").leaves_late(3),
        Column::right("median"),
        Column::right("samples/s").leaves(5),
        Column::right("peak").leaves(4),
        Column::left("verdict").leaves_late(1),
    ]);
    let mut table = Grid::of(with_tags(lines, columns));
    for (at, line) in lines.iter().enumerate() {
        let mut cells = vec![line.id.clone(), when[at].clone(), line.marked_model()];
        cells.extend(shared.cells(at, line));
        cells.extend([line.verdict().to_owned(), line.tags.join(" ")]);
        table.row(cells);
    }
    table
}

/// Whether a list says what a sample is: where all are inferences, nobody asks.
fn shows_mode(lines: &[RunLine]) -> bool {
    lines.iter().any(|line| line.mode != Mode::Inference)
}

/// What cells of a row owe to the whole column: its unit, and whether it is there.
struct Shared {
    has_mode: bool,
    medians: Vec<String>,
    peaks: Vec<String>,
}

impl Shared {
    fn of(lines: &[RunLine]) -> Shared {
        Shared {
            has_mode: shows_mode(lines),
            medians: medians(lines),
            peaks: bytes_column(&each(lines, |line| line.memory_peak.map(|peak| peak.0))),
        }
    }

    /// What the long and the short form of a row have in common: from the mode to the memory.
    fn cells(&self, at: usize, line: &RunLine) -> Vec<String> {
        let mut cells: Vec<String> = self.has_mode.then(|| line.mode_words()).into_iter().collect();
        cells.extend([
            line.engine.clone(),
            shown(line.device),
            shown(line.precision),
            line.batch_and_length(),
            self.medians[at].clone(),
            line.samples(),
            self.peaks[at].clone(),
        ]);
        cells
    }
}

/// The medians; means in their place are marked, and the others then make room for the mark.
fn medians(lines: &[RunLine]) -> Vec<String> {
    let any = lines.iter().any(|line| line.mean_seconds.is_some());
    let cells = durations_column(&each(lines, RunLine::middle));
    let mark = |(cell, line): (String, &RunLine)| match (any, line.mean_seconds) {
        (false, _) => cell,
        (true, None) => format!("{cell} "),
        (true, Some(_)) => format!("{cell}*"),
    };
    cells.into_iter().zip(lines).map(mark).collect()
}

/// A column for tags, unless nobody has any.
fn with_tags(lines: &[RunLine], columns: impl IntoIterator<Item = Column>) -> Vec<Column> {
    let any = lines.iter().any(|line| !line.tags.is_empty());
    let tags = any.then(|| Column::left("tags").shrinks().leaves_late(5));
    columns.into_iter().chain(tags).collect()
}

/// Stored runs, newest first, a few numbers each.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunsDocument<'a> {
    #[schemars(extend("const" = RUNS_SCHEMA))]
    schema: &'static str,
    runs: Vec<LineDocument<'a>>,
    /// How many of them are not valid, by main reason.
    not_valid: InvalidRuns,
}

impl<'a> From<&'a [RunLine]> for RunsDocument<'a> {
    fn from(lines: &'a [RunLine]) -> RunsDocument<'a> {
        let runs = lines.iter().map(LineDocument::from).collect();
        RunsDocument { schema: RUNS_SCHEMA, runs, not_valid: invalid(lines) }
    }
}

/// A run; what an imported file does not contain is null.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
struct LineDocument<'a> {
    /// The full id of the run; commands accept any unique prefix.
    id: &'a str,
    started_at: Option<Timestamp>,
    /// The model's name.
    model: &'a str,
    weights: Option<WeightsKind>,
    mode: Mode,
    /// The test of a language model, or who asks when under a load: `pp512`, `single-stream`; null for other modes.
    test: Option<&'a str>,
    engine: &'a str,
    device: Option<Device>,
    precision: Option<Precision>,
    /// Samples in one inference.
    batch_size: Option<usize>,
    /// Tokens in each sample; null for models without a length.
    sequence_length: Option<usize>,
    latency: LatencyDocument,
    throughput: ThroughputDocument,
    /// Peak memory where the model computes: of the worker, or of a device with its own memory.
    memory: PeakMemory,
    verdict: VerdictDocument,
    /// The tool that measured it; null if Modelmeter did.
    imported: Option<&'a str>,
    /// Labels given by people.
    tags: &'a [String],
}

/// The latency of an inference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Latency")]
struct LatencyDocument {
    median: Option<f64>,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    /// Present only if another tool measured and reports no median.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
}

/// Work per second.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Throughput")]
struct ThroughputDocument {
    samples_per_second: Option<f64>,
}

/// Whether the numbers are valid.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
struct VerdictDocument {
    valid: bool,
    /// The main reason why not; null if they can.
    reason: Option<ReasonCode>,
}

impl<'a> From<&'a RunLine> for LineDocument<'a> {
    fn from(line: &'a RunLine) -> LineDocument<'a> {
        LineDocument {
            id: &line.id,
            started_at: line.started_at.map(Timestamp::from),
            model: &line.model,
            weights: line.random_weights.map(WeightsKind::of),
            mode: line.mode,
            test: line.test.as_deref(),
            engine: &line.engine,
            device: line.device,
            precision: line.precision,
            batch_size: line.batch,
            sequence_length: line.length,
            latency: LatencyDocument {
                median: line.median_seconds.map(milliseconds),
                unit: "ms",
                mean: line.mean_seconds.map(milliseconds),
            },
            throughput: ThroughputDocument { samples_per_second: line.samples_per_second },
            memory: PeakMemory::of(line.memory_peak),
            verdict: VerdictDocument { valid: line.valid, reason: line.reason },
            imported: line.imported.as_deref(),
            tags: &line.tags,
        }
    }
}

fn each<T>(lines: &[RunLine], of: impl FnMut(&RunLine) -> T) -> Vec<T> {
    lines.iter().map(of).collect()
}
