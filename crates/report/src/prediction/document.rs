//! The document `modelmeter.prediction/1` and its rows: always labelled as predicted, with the interval, what an answer rests on
//! and how good such answers were.

use super::{LearnedCells, Prediction};
use crate::{document::to_json, result::DataTable};
use predict::{Answer, Calibrated, Case, Reach, Situation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The name and version of the document.
pub const PREDICTION_SCHEMA: &str = "modelmeter.prediction/1";

/// Predictions: never measured, never stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PredictionDocument<'a> {
    #[schemars(extend("const" = PREDICTION_SCHEMA))]
    schema: &'static str,
    /// Always `predicted`.
    label: &'static str,
    /// `answers`; `trained` where the database was learned from without a question; `explored` by `bench --explore`.
    kind: &'static str,
    /// The share of cells that every interval should hold.
    level: f64,
    /// Cells of the database that were learned from.
    cells: usize,
    /// Cells that were left out or are doubtful: why, and how many.
    left_out: &'a BTreeMap<String, usize>,
    answers: Vec<AnswerDocument>,
    /// The run that corrected the answers, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<String>,
    /// How good answers were, by kind of hardware and what was held out; of `trained`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    backtest: Vec<BacktestRow>,
    /// How cells were chosen; of `explored`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exploration: Option<ExplorationDocument>,
}

/// Which cells of a plan were measured, and what that was worth.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Exploration")]
pub(super) struct ExplorationDocument {
    /// Cells of the plan.
    pub(super) planned: usize,
    /// Cells that were in the database before.
    pub(super) before: usize,
    /// Cells that were measured now.
    pub(super) measured: usize,
    /// Typical width of the intervals of cells that were open: × and ÷ this number, at first.
    pub(super) width_before: Option<f64>,
    /// The same at the end.
    pub(super) width_after: Option<f64>,
    /// The same if as many cells had been drawn at random, as expected at first.
    pub(super) width_by_chance: Option<f64>,
}

/// How good answers of one kind were.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Backtest")]
pub(super) struct BacktestRow {
    /// `processors` or `GPUs`; absent for the question's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hardware: Option<String>,
    /// What was held out: `new setting`, `new pair`, `new family`, `new machine`.
    pub(super) held_out: String,
    /// Cells that were predicted.
    pub(super) cells: usize,
    /// Groups that were held out.
    pub(super) groups: usize,
    /// Median of |predicted ÷ measured − 1|.
    pub(super) median_error: f64,
    /// Mean of the same.
    pub(super) mean_error: f64,
    /// Share of cells within their interval.
    pub(super) coverage: f64,
    /// The interval is the prediction × and ÷ this number: the median; null if it is endless.
    pub(super) width: Option<f64>,
    /// The median error of the roofline; null where no peak is known.
    pub(super) physics_median_error: Option<f64>,
}

/// One question and its answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub(super) struct AnswerDocument {
    pub(super) model: String,
    pub(super) hardware: String,
    pub(super) engine: String,
    pub(super) precision: String,
    pub(super) mode: String,
    pub(super) batch_size: f64,
    pub(super) sequence_length: Option<f64>,
    /// `predicted`, `measured` (the database has this cell) or `refused`.
    pub(super) status: &'static str,
    /// What is new about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) situation: Option<&'static str>,
    /// Seconds of one inference, step, prompt or token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<Range>,
    /// Samples per second; tokens per second in a generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) throughput: Option<Range>,
    /// Peak memory in bytes; null where none was measured of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_bytes: Option<Range>,
    /// The roofline: seconds; null where no peak is known.
    pub(super) physics_seconds: Option<f64>,
    /// Runs that say most of it; of tables, the machines whose times they hold.
    pub(super) rests_on: Vec<String>,
    /// How good answers to such questions were, on cells that were held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backtest: Option<BacktestRow>,
    /// What to measure next, if it would narrow the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<NextDocument>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    /// The nearest question that can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nearest: Option<String>,
}

/// A number with its 90 % interval.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(super) struct Range {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The measurement that would narrow the interval most.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Next")]
pub(super) struct NextDocument {
    pub(super) command: String,
    /// The logarithmic width of the interval afterwards, as a share of that now.
    pub(super) width_left: f64,
}

impl Range {
    fn of(reach: &Reach) -> Range {
        Range { value: reach.middle, low: reach.low, high: reach.high }
    }

    /// So much work in this time.
    pub(super) fn rate(self, work: f64) -> Range {
        Range { value: work / self.value, low: work / self.high, high: work / self.low }
    }
}

impl Prediction {
    /// Samples or tokens in one unit of time.
    pub(super) fn work(&self) -> f64 {
        match self.case.mode.strip_prefix("generate pp") {
            Some(rest) => {
                let tokens = rest.split(' ').next().and_then(|count| count.parse().ok());
                self.case.batch * tokens.unwrap_or(1.0)
            }
            None => self.case.batch,
        }
    }

    pub(super) fn unit(&self) -> &'static str {
        if self.case.mode.starts_with("generate") { "tokens/s" } else { "samples/s" }
    }

    pub(super) fn document(&self) -> AnswerDocument {
        let Prediction { case, answer, next } = self;
        let found = answer.as_ref().ok();
        let seconds = found.map(|found| Range::of(&found.seconds));
        AnswerDocument {
            model: case.model.clone(),
            hardware: case.hardware.clone(),
            engine: case.engine.clone(),
            precision: case.precision.clone(),
            mode: case.mode.clone(),
            batch_size: case.batch,
            sequence_length: case.length,
            status: match found {
                Some(found) if found.is_measured => "measured",
                Some(_) => "predicted",
                None => "refused",
            },
            situation: found.filter(|found| !found.is_measured).map(|one| one.situation.words()),
            seconds,
            throughput: seconds.map(|seconds| seconds.rate(self.work())),
            memory_bytes: found.and_then(|found| found.memory.as_ref()).map(Range::of),
            physics_seconds: case.physics(),
            rests_on: found.map(runs).unwrap_or_default(),
            backtest: found.and_then(|found| {
                Some(BacktestRow::of(None, found.situation, found.calibrated.as_ref()?))
            }),
            next: next
                .as_ref()
                .filter(|_| found.is_some_and(|found| !found.is_measured))
                .map(|next| NextDocument { command: measuring(&next.case), width_left: next.left }),
            refused: answer.as_ref().err().map(|refused| refused.why.clone()),
            nearest: answer.as_ref().err().map(|refused| refused.nearest.clone()),
        }
    }
}

pub(super) fn runs(answer: &Answer) -> Vec<String> {
    answer.rests_on.iter().flat_map(|known| known.runs.first().cloned()).collect()
}

impl BacktestRow {
    pub(super) fn of(
        hardware: Option<&str>,
        situation: Situation,
        one: &Calibrated,
    ) -> BacktestRow {
        BacktestRow {
            hardware: hardware.map(str::to_owned),
            held_out: situation.words().to_owned(),
            cells: one.cells,
            groups: one.groups,
            median_error: one.median_error,
            mean_error: one.mean_error,
            coverage: one.coverage,
            width: Some(one.width).filter(|width| width.is_finite()),
            physics_median_error: one.physics_error,
        }
    }
}

impl<'a> PredictionDocument<'a> {
    fn of(kind: &'static str, from: &LearnedCells<'a>) -> PredictionDocument<'a> {
        PredictionDocument {
            schema: PREDICTION_SCHEMA,
            label: "predicted",
            kind,
            level: predict::LEVEL,
            cells: from.cells,
            left_out: from.left_out,
            answers: Vec::new(),
            anchor: None,
            backtest: Vec::new(),
            exploration: None,
        }
    }
}

/// The document of answers, one after the other.
pub(super) fn answers(
    from: &LearnedCells<'_>,
    answers: Vec<AnswerDocument>,
    anchor: Option<String>,
) -> Value {
    to_json(&PredictionDocument { answers, anchor, ..PredictionDocument::of("answers", from) })
}

/// The document of what was learned, without a question.
pub(super) fn trained(from: &LearnedCells<'_>, backtest: Vec<BacktestRow>) -> Value {
    to_json(&PredictionDocument { backtest, ..PredictionDocument::of("trained", from) })
}

/// The document of an exploration, with every cell of its plan.
pub(super) fn explored(
    from: &LearnedCells<'_>,
    answers: Vec<AnswerDocument>,
    exploration: ExplorationDocument,
) -> Value {
    to_json(&PredictionDocument {
        answers,
        exploration: Some(exploration),
        ..PredictionDocument::of("explored", from)
    })
}

/// The same as rows for programs.
pub(super) fn rows<'a>(all: impl IntoIterator<Item = &'a AnswerDocument>) -> DataTable {
    DataTable::new(COLUMNS, all.into_iter().map(row))
}

/// The command that measures a cell.
fn measuring(case: &Case) -> String {
    let model = match case.model.contains(' ') {
        true => format!("\"{}\"", case.model),
        false => case.model.clone(),
    };
    let length =
        case.length.map(|length| format!(" --sequence-length {length}")).unwrap_or_default();
    let device = if case.is_gpu { " --device cuda" } else { "" };
    let Case { engine, precision, batch, .. } = case;
    match case.mode.strip_prefix("generate ") {
        Some(test) => {
            let tokens: String = test.chars().filter(char::is_ascii_digit).collect();
            let (read, written) = if test.starts_with("pp") {
                (tokens.as_str(), "0")
            } else {
                ("0", tokens.as_str())
            };
            format!(
                "modelmeter generate {model} --prompt-tokens {read} --new-tokens {written} -b {batch} --engines {engine} --precisions {precision}{device}"
            )
        }
        None => {
            let train = if case.mode == "training" { " --train" } else { "" };
            format!(
                "modelmeter profile {model}{train} --engine {engine} --precision {precision} --batch-size {batch}{length}{device}"
            )
        }
    }
}

const COLUMNS: [&str; 19] = [
    "label",
    "status",
    "model",
    "hardware",
    "engine",
    "precision",
    "mode",
    "batch_size",
    "sequence_length",
    "situation",
    "seconds",
    "seconds_low",
    "seconds_high",
    "samples_per_second",
    "memory_bytes",
    "memory_low",
    "memory_high",
    "physics_seconds",
    "refused",
];

fn row(one: &AnswerDocument) -> Vec<Option<String>> {
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    vec![
        Some("predicted".into()),
        Some(one.status.into()),
        Some(one.model.clone()),
        Some(one.hardware.clone()),
        Some(one.engine.clone()),
        Some(one.precision.clone()),
        Some(one.mode.clone()),
        number(Some(one.batch_size)),
        number(one.sequence_length),
        one.situation.map(str::to_owned),
        number(one.seconds.map(|range| range.value)),
        number(one.seconds.map(|range| range.low)),
        number(one.seconds.map(|range| range.high)),
        number(one.throughput.map(|range| range.value)),
        number(one.memory_bytes.map(|range| range.value)),
        number(one.memory_bytes.map(|range| range.low)),
        number(one.memory_bytes.map(|range| range.high)),
        number(one.physics_seconds),
        one.refused.clone(),
    ]
}
