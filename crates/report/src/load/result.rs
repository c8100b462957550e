//! Loads as a result: one load with all its times, or one row a load.

use super::document::load_json;
use crate::clean::clean;
use crate::result::{Block, DataTable, Fact, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::table::Column;
use number::{MISSING, count, percent, seconds, significant};
use types::{
    LimitOutcome, LoadBatching, LoadComparison, LoadErrors, LoadMetric, LoadReport, Protocol,
    RateSearch, Reading, Reason, Run, Summary,
};

/// Loads on one server: what users would have waited, and how many requests a second it answered.
#[must_use]
pub fn load_document(runs: &[Run], search: Option<&RateSearch>) -> ResultDocument {
    let mut blocks = Vec::new();
    let loaded: Vec<(&Run, &LoadReport)> =
        runs.iter().filter_map(|run| Some((run, run.load.as_deref()?))).collect();
    match loaded.as_slice() {
        [(_, only)] => {
            let times = latencies(only);
            if !times.rows.is_empty() {
                blocks.push(Block::table("latency", times));
            }
            blocks.push(Block::Facts(facts(only)));
        }
        several => blocks.push(Block::table("loads", overview(several))),
    }
    let mut notes = notes(&loaded);
    notes.extend(no_answer(&loaded));
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
    let first = loaded.first();
    ResultDocument {
        title: first
            .map(|(run, report)| vec![clean(&run.model.name), clean(&report.target)])
            .unwrap_or_default(),
        facts: first.map(|(run, _)| setting(run, loaded.len())).unwrap_or_default(),
        verdict: verdict(&loaded, search),
        blocks,
        json: load_json(runs, search, None),
        data: Some(data(&loaded)),
        ..ResultDocument::default()
    }
}

/// Two targets by turns, and every load of them.
#[must_use]
pub fn load_comparison_document(runs: &[Run], comparison: &LoadComparison) -> ResultDocument {
    let mut document = load_document(runs, None);
    document.title = vec![clean(&comparison.first), clean(&comparison.second)];
    document.blocks.insert(0, Block::table("second against first", ratios(comparison)));
    document.verdict = Some(compared(comparison));
    document.json = load_json(runs, None, Some(comparison));
    document
}

fn ratios(comparison: &LoadComparison) -> Grid {
    let mut grid = Grid::of([
        Column::left("number"),
        Column::right("first"),
        Column::right("second"),
        Column::right("better by"),
        Column::left("95 %"),
        Column::left("").shrinks(),
    ]);
    for row in &comparison.ratios {
        let value = |value: f64| match row.key.starts_with("rate") {
            true => format!("{}/s", significant(value, 4)),
            false => seconds(value),
        };
        let interval = row.interval.as_ref().map(|interval| {
            format!("[{}, {}]", significant(interval.low, 3), significant(interval.high, 3))
        });
        let said = match row.second_is_better {
            Some(true) => "the second is better",
            Some(false) => "the first is better",
            None => "no difference was found",
        };
        grid.row([
            row.key.clone(),
            value(row.first),
            value(row.second),
            format!("{} ×", significant(row.ratio, 3)),
            interval.unwrap_or_else(|| MISSING.into()),
            said.to_owned(),
        ]);
    }
    grid
}

fn compared(comparison: &LoadComparison) -> Note {
    let named = |better: bool| {
        let rows = comparison.ratios.iter().filter(|row| row.second_is_better == Some(better));
        rows.map(|row| row.key.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (better, worse) = (named(true), named(false));
    match (better.is_empty(), worse.is_empty()) {
        (true, true) => {
            Note::new(format!("no difference was found in {} rounds", comparison.rounds))
        }
        (false, true) => Note::of(Tone::Good, format!("the second is better: {better}")),
        (true, false) => Note::of(Tone::Bad, format!("the first is better: {worse}")),
        (false, false) => {
            Note::warning(format!("the second is better: {better}; the first is better: {worse}"))
        }
    }
}

/// What is asked; the scenario only if all loads have the same.
fn setting(run: &Run, loads: usize) -> Vec<String> {
    let Some(load) = &run.cell.load else { return Vec::new() };
    let mut words = match load.protocol {
        Protocol::InProcess => {
            vec![
                clean(&run.engine.id),
                clean(&run.engine.placement),
                run.cell.precision.to_string(),
            ]
        }
        protocol => vec![protocol.to_string()],
    };
    if loads == 1 {
        words.insert(0, load.scenario.to_string());
    }
    words.push(clean(&load.content));
    words.extend(load.batching.and_then(batching));
    if let Some(most) = load.max_in_flight {
        words.push(format!("at most {} in flight", count(most.into())));
    }
    words
}

/// How requests are put together; nothing where they are not.
fn batching(batching: LoadBatching) -> Option<String> {
    let LoadBatching { most, wait_micros } = batching;
    let wait = match wait_micros {
        0 => String::new(),
        micros => format!(" after at most {}", seconds(micros as f64 / 1e6)),
    };
    (most > 1).then(|| format!("batches of up to {}{wait}", count(most.into())))
}

/// The name and what it counts, for a table.
fn words(metric: LoadMetric) -> &'static str {
    match metric {
        LoadMetric::Ttft => "first token",
        LoadMetric::TtftService => "first token, from the sending",
        LoadMetric::TtftVisible => "first visible text",
        LoadMetric::Itl => "between tokens, mean of a request",
        LoadMetric::Gap => "between events",
        LoadMetric::E2e => "whole answer",
        LoadMetric::E2eService => "whole answer, from the sending",
        LoadMetric::Lag => "lag of the generator",
    }
}

/// A percentile, with a star if the requests do not support it.
fn percentile(summary: &Summary, name: &str, value: f64) -> String {
    format!("{}{}", seconds(value), if summary.supports(name) { "" } else { "*" })
}

/// One row a time; those that have no meaning for this server are left out.
fn latencies(report: &LoadReport) -> Grid {
    let mut grid = Grid::of([
        Column::left("time"),
        Column::right("median"),
        Column::right("mean").leaves(2),
        Column::right("p90").leaves(3),
        Column::right("p95"),
        Column::right("p99"),
        Column::right("max").leaves(1),
        Column::left("").shrinks(),
    ]);
    for row in &report.latencies {
        let Some(summary) = &row.summary.value else { continue };
        grid.row([
            row.metric.to_string(),
            percentile(summary, "p50", summary.median),
            seconds(summary.mean),
            percentile(summary, "p90", summary.p90),
            percentile(summary, "p95", summary.p95),
            percentile(summary, "p99", summary.p99),
            seconds(summary.max),
            words(row.metric).to_owned(),
        ]);
    }
    grid
}

fn per_second(rate: &Reading<f64>) -> Option<String> {
    rate.value.map(|rate| format!("{}/s", significant(rate, 4)))
}

fn facts(report: &LoadReport) -> Vec<Fact> {
    rows(report)
        .into_iter()
        .filter(|(_, pieces)| !pieces.is_empty())
        .map(|(label, pieces)| Fact { label: label.into(), pieces, ..Fact::default() })
        .collect()
}

/// What a load adds to the facts of its run.
pub(crate) fn labelled(report: &LoadReport) -> Vec<(&'static str, Vec<String>)> {
    let target = ("target", vec![clean(&report.target)]);
    std::iter::once(target).chain(rows(report)).collect()
}

fn rows(report: &LoadReport) -> Vec<(&'static str, Vec<String>)> {
    let rates = &report.rates;
    let named = [
        ("offered", &rates.offered),
        ("sent", &rates.sent),
        ("answered", &rates.completed),
        ("good", &rates.good),
    ];
    let mut pieces: Vec<String> = named
        .into_iter()
        .filter_map(|(word, rate)| Some(format!("{word} {}", per_second(rate)?)))
        .collect();
    pieces.extend(rates.tokens.value.map(|rate| format!("{} tokens/s", significant(rate, 4))));
    vec![
        ("rate", pieces),
        ("requests", requests(report)),
        ("errors", errors(report)),
        ("tokens", tokens(report)),
        ("batches", batches(report)),
        ("limits", report.limits.iter().map(limit).collect()),
        ("generator", generator(report)),
        ("server", server(report)),
    ]
}

/// Failures by kind, with the first of each.
fn errors(report: &LoadReport) -> Vec<String> {
    let one = |kind: &LoadErrors| match kind.example.is_empty() {
        true => format!("{} {}", count(kind.count), kind.outcome.name()),
        false => {
            format!("{} {}: {}", count(kind.count), kind.outcome.name(), clean(&kind.example))
        }
    };
    report.errors.iter().map(one).collect()
}

fn requests(report: &LoadReport) -> Vec<String> {
    let counts = &report.counts;
    let mut pieces = vec![format!(
        "{} in {} s after {} of warm-up",
        count(counts.scheduled),
        significant(report.window.length(), 3),
        count(counts.warmup)
    )];
    let rest = [
        (counts.completed, "answered"),
        (counts.failed, "failed"),
        (counts.unanswered, "unanswered at the end"),
        (counts.not_sent, "never sent"),
        (counts.drained, "answered after the last arrival"),
    ];
    let told = rest.into_iter().filter(|(number, _)| *number > 0);
    pieces.extend(told.map(|(number, word)| format!("{} {word}", count(number))));
    pieces
}

fn tokens(report: &LoadReport) -> Vec<String> {
    let Some(tokens) = &report.tokens else { return Vec::new() };
    let piece = |reading: &Reading<u64>, word: &str| {
        reading.value.map(|number| format!("{} {word}", count(number)))
    };
    let mut pieces: Vec<String> = [
        piece(&tokens.prompt, "in prompts"),
        piece(&tokens.cached, "of them from a cache"),
        piece(&tokens.completion, "generated"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let (None, Some(why)) = (tokens.completion.value, &tokens.completion.why) {
        pieces.push(format!("generated: {}", clean(why)));
    }
    pieces.push(format!("{} events", count(tokens.events)));
    pieces
}

fn batches(report: &LoadReport) -> Vec<String> {
    let Some(batches) = &report.batches else { return Vec::new() };
    let padding = batches.padding.filter(|padding| padding.padding > 0).map(|padding| {
        format!(
            "{} of {} tokens are padding",
            percent(padding.share()),
            count(padding.tokens + padding.padding)
        )
    });
    if batches.sizes.len() < 2 {
        return padding.into_iter().collect();
    }
    let all: u64 = batches.sizes.iter().map(|(_, batches)| batches).sum();
    let piece = |(size, number): &(u64, u64)| {
        format!("{} with {}", percent(*number as f64 / all.max(1) as f64), count(*size))
    };
    // The most frequent sizes; all of them stand in the JSON.
    let mut frequent = batches.sizes.clone();
    frequent.sort_by_key(|(size, number)| (std::cmp::Reverse(*number), *size));
    frequent.truncate(3);
    let mean = format!("{} requests on average", significant(batches.mean, 3));
    std::iter::once(mean).chain(frequent.iter().map(piece)).chain(padding).collect()
}

fn limit(outcome: &LimitOutcome) -> String {
    let said = match outcome.holds {
        Some(true) => "holds",
        Some(false) => "broken",
        None => "too few requests to tell",
    };
    let value = outcome.value.value.map_or_else(|| MISSING.to_owned(), seconds);
    format!("{} ≤ {}: {value}, {said}", outcome.limit.key(), seconds(outcome.limit.seconds))
}

fn generator(report: &LoadReport) -> Vec<String> {
    let lag = report.latency(LoadMetric::Lag);
    let lag = lag.map(|lag| format!("99 % sent within {} of their time", seconds(lag.p99)));
    let used = format!("{} of a processor", percent(report.generator.share()));
    let connections = report.generator.connections;
    let connections = (connections > 0).then(|| format!("{} connections", count(connections)));
    let several = report.generator.generators;
    let several = (several > 1).then(|| format!("{} generators", count(several)));
    several.into_iter().chain(lag).chain([used]).chain(connections).collect()
}

/// How many of its own numbers changed; all of them stand in the JSON.
fn server(report: &LoadReport) -> Vec<String> {
    let changed = report.server.iter().filter(|one| one.before != Some(one.after)).count();
    let is_told = !report.server.is_empty();
    is_told
        .then(|| {
            format!(
                "{} of its own {} numbers changed",
                count(changed as u64),
                count(report.server.len() as u64)
            )
        })
        .into_iter()
        .collect()
}

/// One row a load.
fn overview(loads: &[(&Run, &LoadReport)]) -> Grid {
    let differ = loads.iter().any(|(_, report)| report.target != loads[0].1.target);
    let mut grid = Grid::of([
        Column::left("load").shrinks(),
        Column::right("answered"),
        Column::right("good").leaves(2),
        Column::right("tokens/s").leaves(1),
        Column::right("TTFT p50"),
        Column::right("TTFT p99"),
        Column::right("answer p50"),
        Column::right("answer p99"),
        Column::left("limits"),
    ]);
    for (run, report) in loads {
        let of = |metric, name: &str, value: fn(&Summary) -> f64| {
            let summary = report.latency(metric);
            summary.map_or_else(|| MISSING.into(), |one| percentile(one, name, value(one)))
        };
        let rate = |rate: &Reading<f64>| per_second(rate).unwrap_or_else(|| MISSING.into());
        let mark = if run.verdict.valid { "" } else { "*" };
        let load = run.cell.load.as_ref().map(|load| load.scenario.to_string());
        let target = match differ {
            true => format!(" at {}", clean(&report.target)),
            false => String::new(),
        };
        grid.row([
            format!("{}{mark}{target}", load.unwrap_or_default()),
            rate(&report.rates.completed),
            rate(&report.rates.good),
            report.rates.tokens.value.map_or_else(|| MISSING.into(), |rate| significant(rate, 4)),
            of(LoadMetric::Ttft, "p50", |one| one.median),
            of(LoadMetric::Ttft, "p99", |one| one.p99),
            of(LoadMetric::E2e, "p50", |one| one.median),
            of(LoadMetric::E2e, "p99", |one| one.p99),
            held(report),
        ]);
    }
    // Only answers that come token by token have tokens, and a time of the first one.
    grid.without_silent_columns()
}

/// All limits of a load together.
fn held(report: &LoadReport) -> String {
    let all = &report.limits;
    if all.is_empty() {
        return MISSING.into();
    }
    if all.iter().any(|one| one.holds == Some(false)) {
        return "broken".into();
    }
    let every = all.iter().all(|one| one.holds == Some(true));
    if every { "hold".into() } else { "cannot tell".into() }
}

/// A load so far above what can be answered that no answer falls into the window has no times; the answered rate is then that of
/// requests from before.
fn no_answer(loads: &[(&Run, &LoadReport)]) -> Option<Note> {
    let [(_, only)] = loads else { return None };
    let is_late =
        only.counts.completed == 0 && only.rates.completed.value.is_some_and(|rate| rate > 0.0);
    is_late.then(|| {
        Note::warning(
            "no request of the window was answered in time, so that there are no times: what was answered within it is of the warm-up",
        )
    })
}

/// What is said against loads, each remark once: loads of one search often have the same.
fn notes(loads: &[(&Run, &LoadReport)]) -> Vec<Note> {
    let several = loads.len() > 1;
    let mut said: Vec<(String, &Reason, &Run, usize)> = Vec::new();
    for (run, _) in loads {
        for reason in &run.verdict.reasons {
            let key = without_numbers(&reason.text);
            let same = said.iter_mut().find(|(of, first, ..)| {
                *of == key && first.code == reason.code && first.invalidates == reason.invalidates
            });
            match same {
                Some((.., count)) => *count += 1,
                None => said.push((key, reason, run, 1)),
            }
        }
    }
    let mut notes: Vec<Note> = Vec::new();
    for (_, reason, run, number) in said {
        let text = clean(&reason.text);
        let which = run.cell.load.as_ref().filter(|_| several);
        let which = which.map(|load| format!("{}: ", load.scenario)).unwrap_or_default();
        let more = match number {
            1 => String::new(),
            number => format!(" (so in {number} of {} loads)", loads.len()),
        };
        notes.push(match reason.invalidates {
            true => Note::of(Tone::Bad, format!("{which}not valid: {text}{more}")),
            // What holds for all loads alike needs no name of a load.
            false if number == 1 || number == loads.len() => Note::new(text),
            false => Note::new(format!("{text}{more}")),
        });
        if let Some(hint) = reason.hint.as_ref().filter(|_| reason.invalidates) {
            let hint = Note::new(format!("hint: {}", clean(hint)));
            if !notes.contains(&hint) {
                notes.push(hint);
            }
        }
    }
    notes
}

/// What two remarks share that differ in their numbers alone.
fn without_numbers(text: &str) -> String {
    let is_word = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
        !bare.contains(|c: char| c.is_ascii_digit()) && !["s", "ms", "µs", "%"].contains(&bare)
    };
    text.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ")
}

/// What it comes to: the search, otherwise the limits, otherwise nothing.
fn verdict(loads: &[(&Run, &LoadReport)], search: Option<&RateSearch>) -> Option<Note> {
    if let Some(search) = search {
        return Some(found(search));
    }
    if loads.iter().any(|(run, _)| !run.verdict.valid) {
        return Some(Note::of(Tone::Bad, "not valid"));
    }
    let all: Vec<String> = loads.iter().map(|(_, report)| held(report)).collect();
    if loads.iter().all(|(_, report)| report.limits.is_empty()) {
        return None;
    }
    Some(match all.as_slice() {
        all if all.iter().any(|one| one == "broken") => Note::of(Tone::Bad, "a limit is broken"),
        all if all.iter().all(|one| one == "hold") => Note::of(Tone::Good, "every limit holds"),
        _ => Note::warning("cannot tell: too few requests for a limit"),
    })
}

fn found(search: &RateSearch) -> Note {
    let rate = |rate: f64| format!("{}/s", significant(rate, 3));
    match (search.passed, search.failed) {
        (Some(passed), _) if search.confirmed != Some(passed) => Note::warning(format!(
            "not confirmed: the limits held at {}, but not a second time",
            rate(passed)
        )),
        (Some(passed), Some(failed)) => Note::of(
            Tone::Good,
            format!("the limits hold up to {}, and are broken at {}", rate(passed), rate(failed)),
        ),
        (Some(passed), None) => Note::of(
            Tone::Good,
            format!("the limits hold at {}, the highest rate that was tried", rate(passed)),
        ),
        (None, Some(failed)) if !search.lowest_broke() => Note::warning(format!(
            "cannot tell below {}: it breaks the limits, and no lower rate could be decided; try a longer `--duration`",
            rate(failed)
        )),
        (None, Some(failed)) => Note::of(
            Tone::Bad,
            format!("no rate was found that keeps the limits; {} breaks them", rate(failed)),
        ),
        (None, None) => Note::warning(
            "cannot tell: no rate could be decided; try a longer `--duration`, or a higher `--start-rate`",
        ),
    }
}

/// One row a load and time.
fn data(loads: &[(&Run, &LoadReport)]) -> DataTable {
    let columns = [
        "run",
        "load",
        "valid",
        "metric",
        "count",
        "mean_s",
        "p50_s",
        "p90_s",
        "p95_s",
        "p99_s",
        "p99_9_s",
        "max_s",
        "offered_per_s",
        "sent_per_s",
        "completed_per_s",
        "good_per_s",
        "tokens_per_s",
        "failed",
    ];
    let mut rows = Vec::new();
    for (run, report) in loads {
        for row in &report.latencies {
            let summary = row.summary.value.as_ref();
            let of = |value: fn(&Summary) -> f64| summary.map(|one| value(one).to_string());
            let rate = |rate: &Reading<f64>| rate.value.map(|rate| rate.to_string());
            rows.push(vec![
                Some(run.id.0.clone()),
                run.cell.load.as_ref().map(|load| load.scenario.to_string()),
                Some(run.verdict.valid.to_string()),
                Some(row.metric.to_string()),
                summary.map(|one| one.count.to_string()),
                of(|one| one.mean),
                of(|one| one.median),
                of(|one| one.p90),
                of(|one| one.p95),
                of(|one| one.p99),
                of(|one| one.p999),
                of(|one| one.max),
                rate(&report.rates.offered),
                rate(&report.rates.sent),
                rate(&report.rates.completed),
                rate(&report.rates.good),
                rate(&report.rates.tokens),
                Some(report.counts.failed.to_string()),
            ]);
        }
    }
    DataTable::new(columns, rows)
}
