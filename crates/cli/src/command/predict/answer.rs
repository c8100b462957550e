//! An answer as a result: always labelled as predicted, with its interval, what it rests on and how good such answers were.

use modelmeter::{Experience, Fits};
use number::{bytes, percent, seconds};
use predict::{
    Answer, Calibrated, Case, Hardware, Known, Next, Observation, Predicted, Reach, Refused, Score,
    Situation,
};
use report::{Block, Column, DataTable, Fact, Grid, Note, ResultDocument, Tone, clean};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the document.
pub(crate) const PREDICTION_SCHEMA: &str = "modelmeter.prediction/1";

/// Runs that an answer names.
const NAMED: usize = 3;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
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
struct BacktestRow {
    /// `processors` or `GPUs`; absent for the question's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware: Option<String>,
    /// What was held out: `new setting`, `new pair`, `new family`, `new machine`.
    held_out: String,
    /// Cells that were predicted.
    cells: usize,
    /// Groups that were held out.
    groups: usize,
    /// Median of |predicted ÷ measured − 1|.
    median_error: f64,
    /// Mean of the same.
    mean_error: f64,
    /// Share of cells within their interval.
    coverage: f64,
    /// The interval is the prediction × and ÷ this number: the median; null if it is endless.
    width: Option<f64>,
    /// The median error of the roofline; null where no peak is known.
    physics_median_error: Option<f64>,
}

/// One question and its answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
struct AnswerDocument {
    model: String,
    hardware: String,
    engine: String,
    precision: String,
    mode: String,
    batch_size: f64,
    sequence_length: Option<f64>,
    /// `predicted`, `measured` (the database has this cell) or `refused`.
    status: &'static str,
    /// What is new about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    situation: Option<&'static str>,
    /// Seconds of one inference, step, prompt or token.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<Range>,
    /// Samples per second; tokens per second in a generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput: Option<Range>,
    /// Peak memory in bytes; null where none was measured of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<Range>,
    /// The roofline: seconds; null where no peak is known.
    physics_seconds: Option<f64>,
    /// Runs that say most of it.
    rests_on: Vec<String>,
    /// How good answers to such questions were, on cells that were held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    backtest: Option<BacktestRow>,
    /// What to measure next, if it would narrow the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<NextDocument>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The nearest question that can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<String>,
}

/// A number with its 90 % interval.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct Range {
    value: f64,
    low: f64,
    high: f64,
}

/// The measurement that would narrow the interval most.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Next")]
struct NextDocument {
    command: String,
    /// The logarithmic width of the interval afterwards, as a share of that now.
    width_left: f64,
}

impl Range {
    fn of(reach: &Reach) -> Range {
        Range { value: reach.middle, low: reach.low, high: reach.high }
    }

    /// So much work in this time.
    fn rate(self, work: f64) -> Range {
        Range { value: work / self.value, low: work / self.high, high: work / self.low }
    }
}

/// A question, and what is said to it.
pub(super) struct Asked {
    pub(super) case: Case,
    pub(super) answer: Result<Answer, Refused>,
    pub(super) next: Option<Next>,
}

impl Asked {
    /// Samples or tokens in one unit of time.
    fn work(&self) -> f64 {
        match self.case.mode.strip_prefix("generate pp") {
            Some(rest) => {
                let tokens = rest.split(' ').next().and_then(|count| count.parse().ok());
                self.case.batch * tokens.unwrap_or(1.0)
            }
            None => self.case.batch,
        }
    }

    fn unit(&self) -> &'static str {
        if self.case.mode.starts_with("generate") { "tokens/s" } else { "samples/s" }
    }

    fn document(&self) -> AnswerDocument {
        let Asked { case, answer, next } = self;
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
                Some(backtest(found.situation.words(), found.calibrated.as_ref()?))
            }),
            next: next
                .as_ref()
                .filter(|_| found.is_some_and(|found| !found.is_measured))
                .map(|next| NextDocument { command: command(&next.case), width_left: next.left }),
            refused: answer.as_ref().err().map(|refused| refused.why.clone()),
            nearest: answer.as_ref().err().map(|refused| refused.nearest.clone()),
        }
    }
}

fn runs(answer: &Answer) -> Vec<String> {
    answer.rests_on.iter().flat_map(|known| known.runs.first().cloned()).collect()
}

fn backtest(situation: &str, one: &Calibrated) -> BacktestRow {
    BacktestRow {
        hardware: None,
        held_out: situation.to_owned(),
        cells: one.cells,
        groups: one.groups,
        median_error: one.median_error,
        mean_error: one.mean_error,
        coverage: one.coverage,
        width: Some(one.width).filter(|width| width.is_finite()),
        physics_median_error: one.physics_error,
    }
}

/// The document of what was learned, without a question.
pub(super) fn trained(
    experience: &Experience,
    found: &[(&str, Situation, Calibrated)],
) -> serde_json::Value {
    let rows = found.iter().map(|(hardware, situation, one)| BacktestRow {
        hardware: Some((*hardware).to_owned()),
        ..backtest(situation.words(), one)
    });
    serde_json::to_value(PredictionDocument {
        schema: PREDICTION_SCHEMA,
        label: "predicted",
        kind: "trained",
        level: Some(predict::LEVEL),
        cells: experience.processors.len() + experience.gpus.len(),
        left_out: &experience.left_out,
        anchor: None,
        answers: Vec::new(),
        backtest: rows.collect(),
        exploration: None,
    })
    .unwrap_or_default()
}

/// The document of an exploration, with every cell of its plan.
pub(super) fn explored(
    experience: &Experience,
    all: &[Asked],
    exploration: ExplorationDocument,
) -> serde_json::Value {
    serde_json::to_value(PredictionDocument {
        schema: PREDICTION_SCHEMA,
        label: "predicted",
        kind: "explored",
        level: Some(predict::LEVEL),
        cells: experience.processors.len() + experience.gpus.len(),
        left_out: &experience.left_out,
        anchor: None,
        answers: all.iter().map(Asked::document).collect(),
        backtest: Vec::new(),
        exploration: Some(exploration),
    })
    .unwrap_or_default()
}

/// An answer from tables of timm.
pub(super) fn of_tables(
    one: &Observation,
    hardware: &Hardware,
    precision: &str,
    said: Result<(Situation, Predicted), Refused>,
    score: Option<&Score>,
    rows: usize,
) -> ResultDocument {
    let answer = said.as_ref().ok();
    let range = answer.map(|(_, said)| {
        let at = |shift: f64| (said.log_seconds + shift).exp();
        Range { value: at(0.0), low: at(-said.log_half), high: at(said.log_half) }
    });
    let held_out = answer.map(|(situation, _)| situation.words());
    let backtest = held_out.zip(score).map(|(held_out, score)| BacktestRow {
        hardware: None,
        held_out: held_out.to_owned(),
        cells: score.rows,
        groups: score.machines,
        median_error: score.median_error,
        mean_error: score.mean_error,
        coverage: score.coverage,
        width: Some(score.width).filter(|width| width.is_finite()),
        physics_median_error: None,
    });
    let mut facts = Vec::new();
    match &said {
        Err(refused) => {
            facts.push(Fact::new("not predicted", clean(&refused.why)));
            facts.push(Fact::new("can be answered", clean(&refused.nearest)));
        }
        Ok((situation, _)) => {
            facts.push(Fact::new("new", situation.words()));
            facts.push(Fact::new(
                "rests on",
                format!("{rows} times of the tables; kind of test: {}", one.test),
            ));
            facts.extend(score.map(|score| {
                Fact::new(
                    "backtest",
                    format!(
                        "{} held out: mean error {}, median {}, {} of {} times within the interval",
                        situation.words(),
                        percent(score.mean_error),
                        percent(score.median_error),
                        percent(score.coverage),
                        score.rows
                    ),
                )
            }));
        }
    }
    let rate = |rate: f64| format!("{} samples/s", number::rate(rate));
    let mut grid = Grid::of([
        Column::left(""),
        Column::right("predicted"),
        Column::right("90 % interval"),
        Column::right("physics alone"),
    ]);
    if let Some(range) = range {
        let words = format!("{} to {}", seconds(range.low), seconds(range.high));
        grid.row([
            "time of a sample".to_owned(),
            seconds(range.value),
            words,
            seconds(one.physics),
        ]);
        let rates = range.rate(1.0);
        let words = format!("{} to {}", rate(rates.low), rate(rates.high));
        grid.row(["throughput".to_owned(), rate(rates.value), words, rate(1.0 / one.physics)]);
    }
    let verdict = match range {
        Some(range) => Note::of(
            Tone::Warning,
            format!("predicted, not measured: {} for a sample", seconds(range.value)),
        ),
        None => Note::of(Tone::Bad, "not predicted: the question is outside of what was measured"),
    };
    let document = AnswerDocument {
        model: one.model.clone(),
        hardware: hardware.name.clone(),
        engine: "torch".into(),
        precision: precision.to_owned(),
        mode: one.test.split(' ').next().unwrap_or("infer").replace("infer", "inference"),
        batch_size: 1.0,
        sequence_length: None,
        status: if range.is_some() { "predicted" } else { "refused" },
        situation: held_out,
        seconds: range,
        throughput: range.map(|range| range.rate(1.0)),
        memory_bytes: None,
        physics_seconds: Some(one.physics),
        rests_on: Vec::new(),
        backtest,
        next: None,
        refused: said.as_ref().err().map(|refused| refused.why.clone()),
        nearest: said.as_ref().err().map(|refused| refused.nearest.clone()),
    };
    let data = DataTable::new(COLUMNS, [row(&document)]);
    ResultDocument {
        title: vec![
            clean(&one.model),
            "predicted, not measured".into(),
            format!("on {}", clean(&hardware.name)),
        ],
        facts: vec![format!("timm, {}", one.test), format!("peaks: {}", clean(&hardware.source))],
        verdict: Some(verdict),
        blocks: vec![Block::table("predicted", grid), Block::Facts(facts)],
        json: serde_json::to_value(PredictionDocument {
            schema: PREDICTION_SCHEMA,
            label: "predicted",
            kind: "answers",
            level: Some(predict::LEVEL),
            cells: rows,
            left_out: &BTreeMap::new(),
            anchor: None,
            answers: vec![document],
            backtest: Vec::new(),
            exploration: None,
        })
        .unwrap_or_default(),
        data: Some(data),
        ..ResultDocument::default()
    }
}

/// Several answers as a document of their own.
pub(super) fn several(experience: &Experience, all: &[Asked]) -> serde_json::Value {
    serde_json::to_value(PredictionDocument {
        schema: PREDICTION_SCHEMA,
        label: "predicted",
        kind: "answers",
        level: Some(predict::LEVEL),
        cells: experience.processors.len() + experience.gpus.len(),
        left_out: &experience.left_out,
        anchor: None,
        answers: all.iter().map(Asked::document).collect(),
        backtest: Vec::new(),
        exploration: None,
    })
    .unwrap_or_default()
}

/// The same as rows for programs.
pub(super) fn rows(all: &[Asked]) -> DataTable {
    DataTable::new(COLUMNS, all.iter().map(|one| row(&one.document())))
}

/// The command that measures a cell.
fn command(case: &Case) -> String {
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
                "modelmeter generate {model} -p {read} -n {written} -b {batch} --engines {engine} --precisions {precision}{device}"
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

pub(super) fn document(
    all: &[Asked],
    experience: &Experience,
    wants_next: bool,
    anchor: Option<&Known>,
) -> ResultDocument {
    let answers: Vec<AnswerDocument> = all.iter().map(Asked::document).collect();
    let mut blocks = Vec::new();
    let mut rows = Vec::new();
    for (asked, document) in all.iter().zip(&answers) {
        rows.push(row(document));
        blocks.extend(part(asked, document, wants_next, anchor, all.len() > 1));
    }
    let left_out = super::learned::left_out(experience);
    if !left_out.is_empty() {
        blocks.push(Block::Notes(left_out));
    }
    let first = &all[0].case;
    let length = first.length.map(|length| format!("length {length}"));
    let mut facts =
        vec![format!("{} {}", first.engine, first.precision), format!("batch {}", first.batch)];
    facts.extend(length);
    ResultDocument {
        title: vec![
            clean(&first.model),
            "predicted, not measured".into(),
            format!("on {}", clean(&first.hardware)),
        ],
        facts,
        verdict: Some(verdict(all)),
        blocks,
        json: serde_json::to_value(PredictionDocument {
            schema: PREDICTION_SCHEMA,
            label: "predicted",
            kind: "answers",
            level: Some(predict::LEVEL),
            cells: experience.processors.len() + experience.gpus.len(),
            left_out: &experience.left_out,
            anchor: anchor.and_then(|anchor| anchor.runs.first().cloned()),
            answers,
            backtest: Vec::new(),
            exploration: None,
        })
        .unwrap_or_default(),
        data: Some(DataTable::new(COLUMNS, rows)),
        ..ResultDocument::default()
    }
}

fn verdict(all: &[Asked]) -> Note {
    let refused = all.iter().filter(|one| one.answer.is_err()).count();
    if refused == all.len() {
        return Note::of(Tone::Bad, "not predicted: the question is outside of what was measured");
    }
    let measured = all.iter().all(|one| one.answer.as_ref().is_ok_and(|one| one.is_measured));
    if measured {
        return Note::of(
            Tone::Good,
            "measured: the database has this cell, nothing had to be predicted",
        );
    }
    let words: Vec<String> = all
        .iter()
        .filter_map(|one| {
            let found = one.answer.as_ref().ok()?;
            let Reach { middle, low, high } = found.seconds;
            Some(format!("{} (90 %: {} to {})", seconds(middle), seconds(low), seconds(high)))
        })
        .collect();
    Note::of(Tone::Warning, format!("predicted, not measured: {}", words.join("; ")))
}

fn part(
    asked: &Asked,
    document: &AnswerDocument,
    wants_next: bool,
    anchor: Option<&Known>,
    is_one_of_several: bool,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    if is_one_of_several {
        blocks.push(Block::Heading(asked.case.mode.clone()));
    }
    let mut facts = Vec::new();
    match &asked.answer {
        Err(refused) => {
            facts.push(Fact::new("not predicted", clean(&refused.why)));
            facts.push(Fact::new("can be answered", clean(&refused.nearest)));
            if let Some(physics) = asked.case.physics() {
                facts.push(Fact::new(
                    "physics alone",
                    format!("{}, by the roofline: no prediction", seconds(physics)),
                ));
            }
        }
        Ok(found) => {
            blocks.push(Block::table("predicted", table(asked, document)));
            if found.is_measured {
                facts.push(Fact::new("measured by", runs(found).join(", ")));
            } else {
                facts.push(Fact::new("new", found.situation.words()));
                let near: Vec<String> = found
                    .rests_on
                    .iter()
                    .take(NAMED)
                    .map(|known| {
                        let id = known.runs.first().map_or("", |id| &id[..id.len().min(8)]);
                        format!(
                            "{} ({} {} at batch {}, {id})",
                            clean(&known.case.model),
                            known.case.engine,
                            known.case.precision,
                            known.case.batch
                        )
                    })
                    .collect();
                facts.push(Fact::new(
                    "rests on",
                    format!("{} cells; nearest: {}", found.cells, near.join("; ")),
                ));
                if let Some(anchor) = anchor {
                    let id = anchor.runs.first().cloned().unwrap_or_default();
                    facts.push(Fact::new(
                        "anchor",
                        format!("{id}: {}", clean(&anchor.case.words())),
                    ));
                }
                if let Some(own) = &found.calibrated {
                    facts.push(Fact::new(
                        "backtest",
                        format!(
                            "{} held out: median error {}, mean {}, {} of {} cells within the interval ({} groups){}",
                            found.situation.words(),
                            percent(own.median_error),
                            percent(own.mean_error),
                            percent(own.coverage),
                            own.cells,
                            own.groups,
                            own.physics_error
                                .map(|error| format!("; physics alone {}", percent(error)))
                                .unwrap_or_default()
                        ),
                    ));
                }
            }
        }
    }
    if let Some(next) = document.next.as_ref().filter(|_| wants_next) {
        facts.push(Fact::command("measure next", next.command.clone()));
        facts.push(Fact::new(
            "then",
            format!("the interval keeps {} of its width", percent(next.width_left)),
        ));
    }
    blocks.push(Block::Facts(facts));
    blocks
}

fn table(asked: &Asked, document: &AnswerDocument) -> Grid {
    let measured = document.status == "measured";
    let mut grid = Grid::of([
        Column::left(""),
        Column::right(if measured { "measured" } else { "predicted" }),
        Column::right("90 % interval"),
        Column::right("physics alone"),
    ]);
    let mut add =
        |name: &str, range: Option<Range>, physics: Option<f64>, words: &dyn Fn(f64) -> String| {
            let Some(range) = range else { return };
            let interval = match measured {
                true => String::new(),
                false => format!("{} to {}", words(range.low), words(range.high)),
            };
            let physics = physics.map(words).unwrap_or_default();
            grid.row([name.to_owned(), words(range.value), interval, physics]);
        };
    let physics = document.physics_seconds;
    add("latency", document.seconds, physics, &seconds);
    let unit = asked.unit();
    let rate = |rate: f64| format!("{} {unit}", number::rate(rate));
    add("throughput", document.throughput, physics.map(|time| asked.work() / time), &rate);
    add("peak memory", document.memory_bytes, None, &|amount| bytes(amount as u64));
    grid
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

/// Models × hardware and engines: measured, predicted and unknown told apart.
pub(super) fn matrix(fits: &Fits) -> String {
    let experience = &fits.experience;
    let mut columns: Vec<(String, String, bool)> = Vec::new();
    let mut models: Vec<String> = Vec::new();
    let mut cells = Vec::new();
    let all = || experience.processors.iter().chain(&experience.gpus);
    let inferences = || all().filter(|known| known.case.mode == "inference");
    for known in inferences() {
        let column = (known.case.hardware.clone(), known.case.engine.clone(), known.case.is_gpu);
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !models.contains(&known.case.model) {
            models.push(known.case.model.clone());
        }
    }
    columns.sort();
    models.sort();
    let learned = [fits.processors.as_ref().ok(), fits.gpus.as_ref().ok()];
    for model in &models {
        for (hardware, engine, is_gpu) in &columns {
            let rate = |known: &&Known| known.case.batch / known.seconds;
            let here =
                |known: &&Known| known.case.hardware == *hardware && known.case.engine == *engine;
            let own = inferences().filter(here).filter(|known| known.case.model == *model);
            if let Some(best) = own.max_by(|a, b| rate(a).total_cmp(&rate(b))) {
                cells.push(draw::MatrixCell::Measured(rate(&best)));
                continue;
            }
            // Asked as the model was measured elsewhere, on the hardware as others were measured there.
            let asked = inferences().find(|known| known.case.model == *model);
            let place = inferences().find(here);
            let answer = asked.zip(place).zip(learned[usize::from(*is_gpu)]).and_then(
                |((asked, place), learned)| {
                    let case = Case {
                        engine: engine.clone(),
                        machine: place.case.machine.clone(),
                        hardware: hardware.clone(),
                        is_gpu: *is_gpu,
                        peak: place.case.peak,
                        bandwidth: place.case.bandwidth,
                        cache: place.case.cache,
                        threads: place.case.threads,
                        ..asked.case.clone()
                    };
                    let found = learned.answer(&case).ok()?;
                    let of = |seconds: f64| case.batch / seconds;
                    Some((of(found.seconds.middle), of(found.seconds.high), of(found.seconds.low)))
                },
            );
            cells.push(match answer {
                Some((rate, low, high)) => draw::MatrixCell::Predicted { rate, low, high },
                None => draw::MatrixCell::Unknown,
            });
        }
    }
    let columns =
        columns.into_iter().map(|(hardware, engine, _)| (hardware, engine)).collect::<Vec<_>>();
    draw::matrix(&models, &columns, &cells)
}
