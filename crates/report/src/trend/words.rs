//! Names, numbers and changes of histories in the fewest words.

use crate::analysis::words::{Machines, counted, work};
use crate::clean::clean;
use crate::timestamp::minute;
use crate::variant::variant;
use number::{fixed, percent, value};
use types::{CellKey, Interval, Mode, TrendChange, TrendMetric, TrendPoint, TrendSeries, Unit};

/// So much of a commit's hash as people write.
const HASH: usize = 9;

/// What tells a history from others: `rten on cpu, fp32, batch 4, 2 threads`.
#[must_use]
pub fn trend_name(key: &CellKey) -> String {
    let mut words = vec![
        format!("{} on {}", clean(&key.engine), key.device),
        key.precision.name().to_owned(),
        format!("batch {}", key.batch_size),
        counted(u64::from(key.threads), "thread"),
    ];
    words.extend(Some(variant(&key.variant)).filter(|variant| !variant.is_empty()));
    words.extend(key.imported.then(|| "imported".to_owned()));
    words.join(", ")
}

/// Gradual change within the newest segment, if there is one.
#[must_use]
pub fn trend_slide(series: &TrendSeries, metric: TrendMetric) -> Option<String> {
    let ratio = series.drift?;
    let since = series.points.get(series.newest_from());
    Some(format!(
        "drifted by {} since {}, without a single change point",
        size(ratio, None, metric),
        since.map_or_else(String::new, |point| minute(point.began.0))
    ))
}

/// The model and its work: `gpt2`, `random weights`, `128 tokens`.
pub(super) fn title(key: &CellKey) -> Vec<String> {
    work(&key.model, key.random_weights, key.mode, key.sequence_length)
}

/// The whole name on one line, for alerts.
pub(super) fn whole_name(key: &CellKey, machines: &Machines<'_>) -> String {
    let length = key.sequence_length.map(|length| format!(", {}", counted(length, "token")));
    let mode = match key.mode {
        Mode::Inference => String::new(),
        other => format!(", {other}"),
    };
    format!(
        "{} ({}{}{mode}) on {}",
        clean(&key.model),
        trend_name(key),
        length.unwrap_or_default(),
        machines.name(&key.machine)
    )
}

/// A number of this metric with its unit: `12.4 ms`, `323 samples/s`.
#[must_use]
pub fn trend_value(number: f64, metric: TrendMetric) -> String {
    match metric.unit() {
        Unit::PerSecond => format!("{}/s", number::rate(number)),
        unit => value(number, unit),
    }
}

/// Where a point stands: its commit and its date.
pub(super) fn commit(point: &TrendPoint) -> String {
    let hash = point.commit.as_deref().map(clean).unwrap_or_default();
    hash.chars().take(HASH).collect()
}

/// `23 % slower [21, 25]`; beyond twice as much `2.31 × slower [2.20, 2.41]`.
#[must_use]
pub fn trend_change(change: &TrendChange, metric: TrendMetric) -> String {
    size(change.ratio.value, change.ratio.interval, metric)
}

/// The size of a ratio with its direction.
pub(super) fn size(ratio: f64, interval: Option<Interval>, metric: TrendMetric) -> String {
    let word = metric.direction_words(ratio);
    if !(0.5..=2.0).contains(&ratio) {
        let up = |value: f64| if ratio > 1.0 { value } else { 1.0 / value };
        let ends = interval.map(|Interval { low, high }| {
            let (one, other) = (up(low), up(high));
            format!(" [{}, {}]", fixed(one.min(other), 2), fixed(one.max(other), 2))
        });
        return format!("{} × {word}{}", fixed(up(ratio), 2), ends.unwrap_or_default());
    }
    // Towards which side is said in words; the ends keep their sign where they lie on the other one.
    let side = if ratio > 1.0 { 1.0 } else { -1.0 };
    let share = |value: f64| side * 100.0 * (value - 1.0);
    let decimals = if share(ratio) < 9.95 { 1 } else { 0 };
    let ends = interval.map(|Interval { low, high }| {
        let (one, other) = (share(low), share(high));
        format!(" [{}, {}]", fixed(one.min(other), decimals), fixed(one.max(other), decimals))
    });
    format!("{} % {word}{}", fixed(share(ratio), decimals), ends.unwrap_or_default())
}

/// How sure a change is: `p 0.0003`.
pub(super) fn chance(p: f64) -> String {
    match p {
        tiny if tiny < 0.001 => "p < 0.001".into(),
        p => format!("p {}", fixed(p, 3)),
    }
}

/// The newest level, the noise and what is missing, in short.
pub(super) fn facts(series: &TrendSeries, metric: TrendMetric) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(newest) = series.points.last() {
        let text = trend_value(newest.value.value, metric);
        facts.push(format!("newest {text} at {}", minute(newest.began.1)));
    }
    facts.extend(series.noise.map(|noise| format!("noise {}", percent(noise))));
    if series.needs > 0 {
        facts.push(format!("needs {} to detect a change", counted(series.needs, "more point")));
    }
    facts
}
