//! Histories as the document `modelmeter.trend/1`; `docs/schema/README.md` says what its keys are.

use crate::analysis::{finite, interval, key};
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{Trend, TrendChange, TrendMetric, TrendPoint, TrendSeries, TrendStanding};

/// The name and version of the document.
pub const TREND_SCHEMA: &str = "modelmeter.trend/1";

/// The histories as a JSON value of `modelmeter.trend/1`, with how they stand where somebody asked; numbers in SI base units.
#[must_use]
pub fn trend_json(found: &Trend, standings: Option<&[TrendStanding]>) -> Value {
    let one = |(number, series): (usize, &TrendSeries)| {
        let standing = standings.and_then(|standings| standings.get(number));
        history(series, found.metric, standing)
    };
    json!({
        "schema": TREND_SCHEMA,
        "metric": found.metric,
        "unit": found.metric.unit(),
        "better": found.metric.direction(),
        "by": found.by,
        "false_alarms": found.level,
        "smallest_change": found.smallest,
        "series": found.series.iter().enumerate().map(one).collect::<Vec<_>>(),
        "machines": found.machines,
        "runs_left_out": found.left_out,
        "not_valid": found.invalid_reasons,
        "cells_without_valid_runs": found.without_valid,
        "measure_again": found.again,
        "remarks": found.remarks,
    })
}

fn history(series: &TrendSeries, metric: TrendMetric, standing: Option<&TrendStanding>) -> Value {
    let mut document = key(&series.key);
    let rest = json!({
        "points": series.points.iter().map(point).collect::<Vec<_>>(),
        "changes": series.changes.iter().map(|one| change(one, series, metric)).collect::<Vec<_>>(),
        "noise": series.noise.and_then(finite),
        "drift": series.drift.and_then(finite),
        "needs_points": series.needs,
        "suspicion": series.suspicion,
        "standing": standing,
    });
    if let (Value::Object(map), Value::Object(rest)) = (&mut document, rest) {
        map.extend(rest);
    }
    document
}

fn point(point: &TrendPoint) -> Value {
    json!({
        "commit": point.commit,
        "branch": point.branch,
        "started_at": { "first": rfc3339(point.began.0), "last": rfc3339(point.began.1) },
        "runs": point.runs,
        "valid": point.valid,
        "value": finite(point.value.value),
        "ci95": interval(point.value.interval),
    })
}

/// One change; its point is the first after.
pub(crate) fn change(change: &TrendChange, series: &TrendSeries, metric: TrendMetric) -> Value {
    let first = series.points.get(change.at);
    json!({
        "at": change.at,
        "commit": first.and_then(|point| point.commit.clone()),
        "started_at": first.map(|point| rfc3339(point.began.0)),
        "before": finite(change.before),
        "after": finite(change.after),
        "ratio": finite(change.ratio.value),
        "ci95": interval(change.ratio.interval),
        "direction": metric.direction_words(change.ratio.value),
        "worse": metric.worsening(change.ratio.value) > 1.0,
        "adjusted_p": finite(change.adjusted_p),
        "together_with": change.coincides,
    })
}
