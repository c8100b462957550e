//! Whether the numbers of a load can be believed.

use crate::Account;
use number::{count, milliseconds, percent};
use types::{
    GeneratorReport, LoadMetric, LoadWindow, PERCENTILE_FLOORS, Reason, ReasonCode, Verdict,
};

/// The lag that nobody minds: below it a generator is not late, however short the answers are.
const LAG: f64 = 1e-3;
/// The lag that is allowed as a share of the median latency.
const LAG_SHARE: f64 = 0.05;
/// From this share of its processor on, a generator measures itself.
const BUSY: f64 = 0.8;
/// Loads shorter than this, in seconds, say nothing of their generator.
const SHORTEST: f64 = 0.5;
/// How far the sent rate may lie from the offered one.
const RATE: f64 = 0.01;
/// How many times the 99th percentile a window must last: shorter ones cut the slow requests off.
const WINDOWS: f64 = 10.0;
/// The share of the prompts that may come from a cache beyond what all of them begin with.
const CACHED: f64 = 0.01;

/// What a verdict is based on.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What the requests say.
    pub account: &'a Account,
    /// The part that counts.
    pub window: LoadWindow,
    /// What the generator did.
    pub generator: GeneratorReport,
    /// Whether there is a schedule that does not wait for answers.
    pub is_open: bool,
    /// Whether all requests came at once: then the load is as long as its slowest answer, and what counts is the rate.
    pub is_offline: bool,
    /// Whether requests had to wait in the generator because of a limit of those in flight.
    pub is_capped: bool,
    /// Whether the load ended because too many requests waited.
    pub is_overrun: bool,
    /// Whether it was stopped from outside.
    pub is_stopped: bool,
    /// The share of failed requests that is allowed.
    pub errors_allowed: f64,
    /// Words of a prompt on average, if they are random, so that no cache can know them.
    pub random_words: Option<f64>,
    /// Whether the server runs on the same machine.
    pub is_local: bool,
}

/// The verdict on a load.
#[must_use]
pub fn judge(judged: &Judged<'_>) -> Verdict {
    let rules: [fn(&Judged<'_>) -> Option<Reason>; 12] =
        [lag, busy, rate, errors, window, few, cached, overrun, stopped, closed, local, estimated];
    let mut reasons: Vec<Reason> = rules.iter().filter_map(|rule| rule(judged)).collect();
    reasons.extend(percentiles(judged));
    Verdict::from_reasons(reasons)
}

fn against(code: ReasonCode, text: String, hint: &str) -> Reason {
    Reason { code, invalidates: true, text, hint: Some(hint.into()), about: None }
}

fn remark(code: ReasonCode, text: String) -> Reason {
    Reason { code, invalidates: false, text, hint: None, about: None }
}

fn median(judged: &Judged<'_>, metric: LoadMetric) -> Option<f64> {
    let row = judged.account.latencies.iter().find(|row| row.metric == metric)?;
    Some(row.summary.value.as_ref()?.median)
}

fn p99(judged: &Judged<'_>, metric: LoadMetric) -> Option<f64> {
    let row = judged.account.latencies.iter().find(|row| row.metric == metric)?;
    Some(row.summary.value.as_ref()?.p99)
}

fn ms(seconds: f64) -> String {
    format!("{} ms", number::significant(milliseconds(seconds), 3))
}

fn lag(judged: &Judged<'_>) -> Option<Reason> {
    let lag = p99(judged, LoadMetric::Lag)?;
    let typical = median(judged, LoadMetric::Ttft).or_else(|| median(judged, LoadMetric::E2e));
    let allowed = LAG.max(LAG_SHARE * typical.unwrap_or(0.0));
    (lag > allowed).then(|| {
        against(
            ReasonCode::GeneratorLate,
            format!(
                "the generator was late: 99 % of requests were sent within {} of their time, {} are allowed",
                ms(lag),
                ms(allowed)
            ),
            "lower the rate, or run the generator on a machine with a free processor",
        )
    })
}

fn busy(judged: &Judged<'_>) -> Option<Reason> {
    let share = judged.generator.share();
    // Of a load that ended at once, nearly all is the start of the generator.
    (share >= BUSY && judged.generator.elapsed.0 >= SHORTEST).then(|| {
        against(
            ReasonCode::GeneratorLate,
            format!("the generator used {} of its processor: it measures itself", percent(share)),
            "lower the rate, or run the generator on a machine with a free processor",
        )
    })
}

fn rate(judged: &Judged<'_>) -> Option<Reason> {
    if judged.is_capped || judged.is_overrun || judged.is_stopped {
        return None;
    }
    let rates = &judged.account.rates;
    let (offered, sent) = (rates.offered.value?, rates.sent.value?);
    // One request more or less at the edges of the window is no error of the rate.
    let edge = 2.0 / judged.window.length().max(f64::MIN_POSITIVE);
    ((sent - offered).abs() > (RATE * offered).max(edge)).then(|| {
        against(
            ReasonCode::RateNotKept,
            format!(
                "{} requests/s were sent where {} were scheduled",
                number::significant(sent, 4),
                number::significant(offered, 4)
            ),
            "lower the rate, or run the generator on a machine with a free processor",
        )
    })
}

fn errors(judged: &Judged<'_>) -> Option<Reason> {
    let counts = &judged.account.counts;
    // A load that was ended early leaves requests behind, and none of them failed.
    let is_whole = !judged.is_overrun && !judged.is_stopped;
    let left = |number: u64| if is_whole { number } else { 0 };
    let left = [(left(counts.unanswered), "unanswered"), (left(counts.not_sent), "never sent")];
    let failed = counts.failed + left.iter().map(|(number, _)| number).sum::<u64>();
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / counts.scheduled.max(1) as f64;
    let kinds = judged.account.errors.iter().map(|kind| (kind.count, kind.outcome.name()));
    let kinds: Vec<String> = kinds
        .chain(left)
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", count(number)))
        .collect();
    let first = judged.account.errors.first().map(|kind| kind.example.as_str());
    let first = first.filter(|text| !text.is_empty()).map(|text| format!("; the first: {text}"));
    let text = format!(
        "{} of {} requests failed ({}){}",
        count(failed),
        count(counts.scheduled),
        kinds.join(", "),
        first.unwrap_or_default()
    );
    Some(Reason {
        code: ReasonCode::RequestsFailed,
        invalidates: share > judged.errors_allowed,
        text,
        hint: (share > judged.errors_allowed).then(|| {
            "if these failures are expected, allow a share of them: `--max-errors 5%`".into()
        }),
        about: None,
    })
}

fn window(judged: &Judged<'_>) -> Option<Reason> {
    if judged.is_offline {
        return None;
    }
    let needed = WINDOWS * p99(judged, LoadMetric::E2e)?;
    let length = judged.window.length();
    (length < needed).then(|| {
        against(
            ReasonCode::ShortWindow,
            format!(
                "the window of {} s is shorter than ten times the 99th percentile ({})",
                number::significant(length, 3),
                ms(needed / WINDOWS)
            ),
            "measure longer: `--duration`",
        )
    })
}

fn few(judged: &Judged<'_>) -> Option<Reason> {
    let completed = judged.account.counts.completed;
    let needed = PERCENTILE_FLOORS[0].samples;
    (completed < needed).then(|| {
        against(
            ReasonCode::TooFewSamples,
            format!(
                "{} answered requests are too few: the median needs {needed}",
                count(completed)
            ),
            "measure longer, or at a higher rate",
        )
    })
}

fn cached(judged: &Judged<'_>) -> Option<Reason> {
    let tokens = judged.account.tokens.as_ref()?;
    let (cached, prompt) = (tokens.cached.value?, tokens.prompt.value?);
    // What stands around the words of every prompt, such as the template of a chat, may well be in a cache. A word is at least
    // one token, so all the rest is an upper bound of it.
    let words = judged.random_words? * judged.account.counts.completed as f64;
    let around = (prompt as f64 - words).max(0.0);
    let prompt = prompt.max(1) as f64;
    let share = cached as f64 / prompt;
    (cached as f64 - around > CACHED * prompt).then(|| {
        against(
            ReasonCode::CachedPrompts,
            format!(
                "the server took {} of the prompts from a cache, although they are random: what was measured is the cache",
                percent(share)
            ),
            "switch the prefix cache of the server off, or give prompts of your own with `--prompts`",
        )
    })
}

fn overrun(judged: &Judged<'_>) -> Option<Reason> {
    judged.is_overrun.then(|| {
        remark(
            ReasonCode::Drift,
            "the load was ended early: requests waited for longer and longer".into(),
        )
    })
}

fn stopped(judged: &Judged<'_>) -> Option<Reason> {
    judged.is_stopped.then(|| {
        remark(ReasonCode::Assumption, "stopped by hand: the window is shorter than asked".into())
    })
}

fn closed(judged: &Judged<'_>) -> Option<Reason> {
    (!judged.is_open).then(|| {
        remark(
            ReasonCode::Assumption,
            "closed loop: a slow answer delays the next question, so the response under a load of many users is not in these numbers"
                .into(),
        )
    })
}

fn local(judged: &Judged<'_>) -> Option<Reason> {
    judged.is_local.then(|| {
        remark(
            ReasonCode::SharedProcessors,
            "the server runs on this machine: it shares processors with the generator".into(),
        )
    })
}

fn estimated(judged: &Judged<'_>) -> Option<Reason> {
    let tokens = judged.account.tokens.as_ref().filter(|tokens| tokens.estimated > 0)?;
    Some(remark(
        ReasonCode::Assumption,
        format!(
            "in {} answers events hold several tokens; how many the first one holds was estimated by its share of the text",
            count(tokens.estimated)
        ),
    ))
}

/// Percentiles that are shown without enough requests.
fn percentiles(judged: &Judged<'_>) -> Option<Reason> {
    let row = judged.account.latencies.iter().find(|row| row.metric == LoadMetric::E2e)?;
    let summary = row.summary.value.as_ref()?;
    let first = summary.unsupported.first()?;
    let names: Vec<&str> =
        summary.unsupported.iter().map(|entry| entry.percentile.as_str()).collect();
    Some(remark(
        ReasonCode::UnsupportedPercentile,
        format!(
            "{} requests do not support {} ({} needs {})",
            count(summary.count),
            names.join(", "),
            first.percentile,
            count(first.needs)
        ),
    ))
}
