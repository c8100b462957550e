//! The tests of a language model as a result: one row a test.

use super::document::generation_json;
use super::words::{cache, first_token, growth, growth_between, name, rate, step};
use crate::analysis::words::counted;
use crate::clean::clean;
use crate::comparison::words::short_version;
use crate::result::{Block, DataTable, Fact, Note, ResultDocument};
use crate::sheet::Grid;
use crate::summary::{View, inner_blocks, processor, size, title};
use crate::table::Column;
use number::{MISSING, bytes, seconds};
use types::{Device, GenerationTest, Run, key};

/// A test that could not be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRefused {
    /// The engine.
    pub engine: String,
    /// The test: `tg128 @ d4096`.
    pub test: String,
    /// Why.
    pub why: String,
}

/// The tests of one language model.
#[must_use]
pub fn generation_document(
    runs: &[Run],
    refused: &[GenerationRefused],
    view: &View,
) -> ResultDocument {
    let first = runs.first();
    let mut blocks = vec![Block::table("tests", tests(runs))];
    let facts = facts(runs);
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    blocks.extend(runs.iter().flat_map(|run| inside(run, view)));
    let mut notes: Vec<Note> = refused
        .iter()
        .map(|one| {
            let test = if one.test.is_empty() { String::new() } else { format!(" {}", one.test) };
            Note::warning(format!("{}{test}: not measured: {}", one.engine, clean(&one.why)))
        })
        .collect();
    notes.extend(not_valid(runs).into_iter().map(Note::warning));
    for text in said(runs) {
        notes.push(Note::new(text));
    }
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
    ResultDocument {
        title: first.map(title).unwrap_or_default(),
        facts: first.map(setting).unwrap_or_default(),
        blocks,
        footer: Vec::new(),
        json: generation_json(runs, refused),
        data: Some(data(runs)),
        ..ResultDocument::default()
    }
}

/// Where the time and the memory of a test go, where that was asked for.
fn inside(run: &Run, view: &View) -> Vec<Block> {
    let of = match run.cell.generation.map(|generation| generation.test) {
        Some(GenerationTest::Decode) => "a step of ",
        _ => "",
    };
    let named = |block: Block| match block {
        Block::Details { title, blocks } => {
            let (engine, test) = (clean(&run.cell.engine), name(run));
            Block::Details { title: format!("{title}: {of}{test} on {engine}"), blocks }
        }
        other => other,
    };
    inner_blocks(run, view).into_iter().map(named).collect()
}

/// Tests that are named of those with one reason.
const NAMED: usize = 3;

/// Why tests are not valid: one line for each kind of reason, with the words of the first of its tests.
fn not_valid(runs: &[Run]) -> Vec<String> {
    let mut kinds: Vec<(types::ReasonCode, &str, Vec<String>)> = Vec::new();
    for run in runs {
        for reason in run.verdict.reasons.iter().filter(|reason| reason.invalidates) {
            let test = format!("{} {}", clean(&run.cell.engine), name(run));
            match kinds.iter_mut().find(|(code, ..)| *code == reason.code) {
                Some((_, _, tests)) if tests.contains(&test) => {}
                Some((_, _, tests)) => tests.push(test),
                None => kinds.push((reason.code, &reason.text, vec![test])),
            }
        }
    }
    let line = |(_, text, tests): (types::ReasonCode, &str, Vec<String>)| {
        let more = match tests.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "more test")),
        };
        let for_all = if tests.len() > 1 { "the first of them: " } else { "" };
        let named = tests[..tests.len().min(NAMED)].join(", ");
        format!("{named}{more}: not valid: {for_all}{}", clean(text))
    };
    kinds.into_iter().map(line).collect()
}

/// What all tests share: the model's size, the hardware and the threads.
fn setting(run: &Run) -> Vec<String> {
    let mut words: Vec<String> = size(run).into_iter().take(1).collect();
    let machine = &run.environment.machine;
    let hardware = match run.cell.device {
        Device::Cuda(index) | Device::Rocm(index) => {
            machine.gpus.iter().find(|gpu| gpu.index == index).map(|gpu| clean(&gpu.name))
        }
        _ => Some(processor(&machine.cpu.model)),
    };
    let hardware = hardware.filter(|name| !name.is_empty());
    words.push(match hardware {
        Some(name) => format!("{} ({name})", run.cell.device),
        None => run.cell.device.to_string(),
    });
    words.push(counted(u64::from(run.cell.threads), "thread"));
    words
}

/// What engines said of several tests is said once.
fn said(runs: &[Run]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for run in runs {
        let remarks =
            run.verdict.reasons.iter().filter(|reason| {
                !reason.invalidates && reason.code == types::ReasonCode::Assumption
            });
        for reason in remarks {
            let text = clean(&reason.text);
            if !said.contains(&text) {
                said.push(text);
            }
        }
    }
    said
}

/// One row a test.
fn tests(runs: &[Run]) -> Grid {
    let mut grid = Grid::of([
        Column::left("engine").shrinks(),
        Column::left("format").leaves(2),
        Column::left("test"),
        Column::right("tokens/s"),
        Column::left("95 %"),
        Column::right("TTFT"),
        Column::right("step"),
        Column::right("cache").leaves(1),
        Column::right("peak").leaves(3),
    ]);
    for run in runs {
        let (tokens, interval) = match rate(run) {
            Some((rate, interval)) => (
                number::rate(rate),
                format!("[{}, {}]", number::rate(interval.low), number::rate(interval.high)),
            ),
            None => (MISSING.into(), String::new()),
        };
        let mark = if run.verdict.valid { "" } else { "*" };
        let of = |value: Option<f64>| value.map_or_else(|| MISSING.into(), seconds);
        let memory = |key: &str| {
            let value = run.metric(key).and_then(|metric| metric.value);
            value.map_or_else(|| MISSING.into(), |value| bytes(value as u64))
        };
        grid.row([
            format!("{} {}", clean(&run.engine.id), short_version(&clean(&run.engine.version))),
            run.cell.precision.to_string(),
            name(run),
            format!("{tokens}{mark}"),
            interval,
            of(first_token(run)),
            of(step(run)),
            memory(key::CACHE),
            memory(key::MEMORY_PEAK),
        ]);
    }
    grid
}

/// What each engine's cache is, how its steps grow, and what it wrote.
fn facts(runs: &[Run]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    let mut engines: Vec<&str> = runs.iter().map(|run| run.cell.engine.as_str()).collect();
    engines.dedup();
    for engine in engines {
        let own = || runs.iter().filter(|run| run.cell.engine == engine);
        // The deepest test says most of the cache, the longest of how a step grows.
        let deepest =
            own().max_by_key(|run| run.generation.as_ref().map_or(0, |report| report.cache_tokens));
        let pieces = deepest.map(cache).unwrap_or_default();
        if !pieces.is_empty() {
            facts.push(Fact { label: engine.to_owned(), pieces, ..Fact::default() });
        }
        let grown = own().filter(|run| run.cell.batch_size == 1).filter_map(growth).next_back();
        // Few tokens tell nothing by themselves; tests at several depths do.
        let grown = grown.or_else(|| growth_between(&own().collect::<Vec<_>>()));
        facts.extend(grown.map(|text| Fact::new("", text)));
        let share = own().filter_map(|run| {
            let share = run.metric(key::STEP_BANDWIDTH_SHARE)?.value?;
            Some((share, name(run)))
        });
        facts.extend(share.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(share, test)| {
            let beyond = match share > 1.0 {
                true => ", more than was measured of it: a cache may have served a part, or `modelmeter calibrate` measured too little",
                false => "",
            };
            let text = format!(
                "{test} reads weights and cache at {} of the memory's bandwidth{beyond}",
                number::percent(share)
            );
            Fact::new("", text)
        }));
        let answer = own().filter_map(|run| run.generation.as_ref()?.answer.clone());
        let longest = answer.max_by_key(String::len).filter(|answer| !answer.trim().is_empty());
        facts.extend(longest.map(|answer| Fact::new("wrote", clean(&answer))));
    }
    facts
}

type Cell = fn(&Run) -> Option<String>;

/// Every column for programs, in order; a new one goes to the end.
const COLUMNS: &[(&str, Cell)] = &[
    ("run", |run| Some(run.id.0.clone())),
    ("model", |run| Some(run.model.name.clone())),
    ("engine", |run| Some(run.engine.id.clone())),
    ("engine_version", |run| Some(run.engine.version.clone())),
    ("device", |run| Some(run.cell.device.to_string())),
    ("precision", |run| Some(run.cell.precision.to_string())),
    ("threads", |run| Some(run.cell.threads.to_string())),
    ("batch_size", |run| Some(run.cell.batch_size.to_string())),
    ("test", |run| Some(run.cell.generation?.test.name().to_owned())),
    ("tokens", |run| Some(run.cell.generation?.tokens.to_string())),
    ("depth", |run| Some(run.cell.generation?.depth.to_string())),
    ("tokens_per_second", |run| crate::csv::number(rate(run)?.0)),
    ("tokens_per_second_ci95_low", |run| crate::csv::number(rate(run)?.1.low)),
    ("tokens_per_second_ci95_high", |run| crate::csv::number(rate(run)?.1.high)),
    ("first_token_ms", |run| crate::csv::number(number::milliseconds(first_token(run)?))),
    ("step_median_ms", |run| crate::csv::number(number::milliseconds(step(run)?))),
    ("cache_bytes_per_token", |run| Some(run.generation.as_ref()?.cache_per_token.0.to_string())),
    ("cache_bytes", |run| crate::csv::number(run.metric(key::CACHE)?.value?)),
    ("memory_peak_bytes", |run| crate::csv::number(run.metric(key::MEMORY_PEAK)?.value?)),
    ("samples", |run| Some(run.headline()?.count.to_string())),
    ("valid", |run| Some(run.verdict.valid.to_string())),
    ("tokens_per_second_of_one_text", |run| {
        crate::csv::number(rate(run)?.0 / run.cell.batch_size.max(1) as f64)
    }),
];

fn data(runs: &[Run]) -> DataTable {
    let row = |run: &Run| COLUMNS.iter().map(|(_, cell)| cell(run)).collect();
    DataTable::new(COLUMNS.iter().map(|(name, _)| *name), runs.iter().map(row))
}
