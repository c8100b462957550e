//! From the records of all requests to counts, rates, latencies and limits: the definitions of docs/LOAD.md, in one place.

mod limits;

use crate::{NANOS, Record, nanoseconds};
use stats::summarise;
use std::collections::BTreeMap;
use types::{
    LatencyRow, LimitOutcome, LoadCounts, LoadErrors, LoadLimit, LoadMetric, LoadRates,
    LoadRequests, LoadTokens, LoadWindow, MissingCode, Phase, Reading, RequestOutcome, Samples,
};

/// What is accounted for.
#[derive(Debug, Clone, Copy)]
pub struct Accounting<'a> {
    /// Every request, in the order of the schedule.
    pub records: &'a [Record],
    /// The part that counts.
    pub window: LoadWindow,
    /// Limits that a good request keeps.
    pub limits: &'a [LoadLimit],
    /// Whether there is a schedule that does not wait for answers.
    pub is_open: bool,
    /// Whether answers are text of a language model.
    pub generates: bool,
    /// Whether answers come in pieces.
    pub streaming: bool,
}

/// What the requests of a load say.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// How many.
    pub counts: LoadCounts,
    /// How many a second.
    pub rates: LoadRates,
    /// Every time.
    pub latencies: Vec<LatencyRow>,
    /// The samples of every time that there is, in the order of the schedule.
    pub samples: Vec<Samples>,
    /// Tokens; `None` if the server does not generate.
    pub tokens: Option<LoadTokens>,
    /// Failures by kind.
    pub errors: Vec<LoadErrors>,
    /// Whether each limit was kept.
    pub limits: Vec<LimitOutcome>,
}

/// Accounts for every request of the window. What is not answered is never left out: it counts against every limit.
#[must_use]
pub fn account(asked: &Accounting<'_>) -> Account {
    let (from, to) = (nanoseconds(asked.window.from.0), nanoseconds(asked.window.to.0));
    let steady: Vec<&Record> =
        asked.records.iter().filter(|one| (from..=to).contains(&one.scheduled)).collect();
    let counts = counts(asked, &steady, from, to);
    let mut latencies = Vec::new();
    let mut samples = Vec::new();
    for metric in LoadMetric::ALL {
        let nanos: Vec<u64> = steady.iter().flat_map(|one| times(one, metric)).collect();
        let summary = match why_missing(asked, metric) {
            Some(why) => Reading::missing(MissingCode::NotApplicable, why),
            None => {
                let why = format!("no request has {}", metric.with_article());
                Reading::or_missing(summarise(&nanos, 0), MissingCode::TooFewValues, why)
            }
        };
        if summary.value.is_some() {
            samples.push(Samples { phase: phase(metric), nanos });
        }
        latencies.push(LatencyRow { metric, summary });
    }
    Account {
        counts,
        rates: rates(asked, &counts, from, to),
        latencies,
        samples,
        tokens: asked.generates.then(|| tokens(&steady)),
        errors: errors(&steady),
        limits: limits::outcomes(asked, &steady),
    }
}

/// The times of one request: none if it was not answered, several only for gaps.
pub(crate) fn times(record: &Record, metric: LoadMetric) -> Vec<u64> {
    if metric == LoadMetric::Lag {
        return record.lag.into_iter().collect();
    }
    if !record.is_completed() {
        return Vec::new();
    }
    let since = |begin: Option<u64>, end: Option<u64>| Some(end?.saturating_sub(begin?));
    let scheduled = Some(record.scheduled);
    let time = match metric {
        LoadMetric::Ttft => since(scheduled, record.first()),
        LoadMetric::TtftService => since(record.sent, record.first()),
        LoadMetric::TtftVisible => since(scheduled, record.first_visible()),
        LoadMetric::E2e => since(scheduled, record.last()),
        LoadMetric::E2eService => since(record.sent, record.last()),
        LoadMetric::Itl => record.token_interval().map(|(interval, _)| interval),
        LoadMetric::Gap => {
            let pairs = record.events.windows(2);
            return pairs.map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
        }
        LoadMetric::Lag => record.lag,
    };
    time.into_iter().collect()
}

/// Under which phase the samples of a time are stored.
fn phase(metric: LoadMetric) -> Phase {
    match metric {
        LoadMetric::Ttft => Phase::Ttft,
        LoadMetric::TtftService => Phase::TtftService,
        LoadMetric::TtftVisible => Phase::TtftVisible,
        LoadMetric::Itl => Phase::Itl,
        LoadMetric::Gap => Phase::Gap,
        LoadMetric::E2e => Phase::Total,
        LoadMetric::E2eService => Phase::Service,
        LoadMetric::Lag => Phase::Lag,
    }
}

/// Why a time has no meaning for these answers.
fn why_missing(asked: &Accounting<'_>, metric: LoadMetric) -> Option<&'static str> {
    let of_pieces = matches!(
        metric,
        LoadMetric::Ttft
            | LoadMetric::TtftService
            | LoadMetric::TtftVisible
            | LoadMetric::Itl
            | LoadMetric::Gap
    );
    match (of_pieces, asked.generates, asked.streaming) {
        (true, false, _) => Some("the server does not answer token by token"),
        (true, true, false) => Some("answers come whole (`--no-stream`)"),
        _ => None,
    }
}

fn counts(asked: &Accounting<'_>, steady: &[&Record], from: u64, to: u64) -> LoadCounts {
    let of = |test: &dyn Fn(&Record) -> bool| steady.iter().filter(|one| test(one)).count() as u64;
    let is = |outcome| move |one: &Record| one.outcome == outcome;
    LoadCounts {
        warmup: asked.records.iter().filter(|one| one.scheduled < from).count() as u64,
        scheduled: steady.len() as u64,
        sent: of(&|one| one.sent.is_some()),
        completed: of(&Record::is_completed),
        failed: of(&|one| one.outcome.is_error()),
        unanswered: of(&is(RequestOutcome::Unanswered)),
        not_sent: of(&is(RequestOutcome::NotSent)),
        drained: of(&|one| one.is_completed() && one.ended.is_some_and(|ended| ended > to)),
        good: (!asked.limits.is_empty()).then(|| of(&|one| limits::is_good(one, asked.limits))),
    }
}

fn rates(asked: &Accounting<'_>, counts: &LoadCounts, from: u64, to: u64) -> LoadRates {
    let length = asked.window.length();
    let rate = |count: f64| match length > 0.0 {
        true => Reading::of(count / length),
        false => Reading::missing(MissingCode::Underivable, "the window has no length"),
    };
    let within = |moment: Option<u64>| moment.is_some_and(|moment| (from..=to).contains(&moment));
    let sent = asked.records.iter().filter(|one| within(one.sent)).count();
    let answered: Vec<&Record> =
        asked.records.iter().filter(|one| one.is_completed() && within(one.ended)).collect();
    let generated: Option<u64> = answered.iter().map(|one| one.tokens.completion).sum();
    LoadRates {
        offered: match asked.is_open {
            true => rate(counts.scheduled as f64),
            false => Reading::missing(
                MissingCode::NotApplicable,
                "there is no schedule: a request follows an answer",
            ),
        },
        sent: rate(sent as f64),
        completed: rate(answered.len() as f64),
        good: match counts.good {
            Some(good) => rate(good as f64),
            None => Reading::missing(MissingCode::NotApplicable, "no limits were given (`--slo`)"),
        },
        tokens: match (asked.generates, generated) {
            (false, _) => Reading::missing(MissingCode::NotApplicable, "no text is generated"),
            (true, None) => {
                Reading::missing(MissingCode::NotReported, "the server does not count its tokens")
            }
            (true, Some(tokens)) => rate(tokens as f64),
        },
    }
}

fn tokens(steady: &[&Record]) -> LoadTokens {
    let completed: Vec<&&Record> = steady.iter().filter(|one| one.is_completed()).collect();
    let sum = |of: fn(&Record) -> Option<u64>| match completed.is_empty() {
        true => Reading::missing(MissingCode::TooFewValues, "no request was answered"),
        false => {
            let all: Option<u64> = completed.iter().map(|one| of(one)).sum();
            let why = "the server does not state it in every answer";
            Reading::or_missing(all, MissingCode::NotReported, why)
        }
    };
    let estimated =
        completed.iter().filter(|one| one.token_interval().is_some_and(|(_, guess)| guess)).count();
    LoadTokens {
        prompt: sum(|one| one.tokens.prompt),
        cached: sum(|one| one.tokens.cached),
        completion: sum(|one| one.tokens.completion),
        events: completed.iter().map(|one| one.events.len() as u64).sum(),
        estimated: estimated as u64,
    }
}

fn errors(steady: &[&Record]) -> Vec<LoadErrors> {
    let mut kinds: BTreeMap<RequestOutcome, LoadErrors> = BTreeMap::new();
    for record in steady.iter().filter(|one| one.outcome.is_error()) {
        let kind = kinds.entry(record.outcome).or_insert_with(|| LoadErrors {
            outcome: record.outcome,
            count: 0,
            example: record.why.clone().unwrap_or_default(),
        });
        kind.count += 1;
    }
    let mut kinds: Vec<LoadErrors> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    kinds
}

/// Every request as columns, to be kept.
#[must_use]
pub fn columns(records: &[Record]) -> LoadRequests {
    LoadRequests {
        scheduled: records.iter().map(|one| one.scheduled).collect(),
        sent: records.iter().map(|one| one.sent).collect(),
        first: records.iter().map(Record::first).collect(),
        last: records.iter().map(Record::last).collect(),
        tokens: records.iter().map(|one| one.tokens.completion).collect(),
        outcome: records.iter().map(|one| one.outcome).collect(),
    }
}

/// The part of a load that counts: from the end of the warm-up to the last arrival of the schedule. Without a schedule, and
/// where all requests come at once, it ends with the last answer.
#[must_use]
pub fn window(records: &[Record], warmup: f64, is_schedule: bool, until: u64) -> LoadWindow {
    let last = match is_schedule {
        true => records.iter().map(|one| one.scheduled).max(),
        false => records.iter().filter_map(|one| one.ended).max().map(|ended| ended.min(until)),
    };
    let to = last.unwrap_or(0) as f64 / NANOS;
    LoadWindow { from: types::Seconds(warmup.min(to)), to: types::Seconds(to) }
}
