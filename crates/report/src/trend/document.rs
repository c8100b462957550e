//! Histories as the document `modelmeter.trend/1`; `docs/schema/README.md` says what its keys are.

use crate::analysis::KeyDocument;
use crate::document::{Ends, FirstAndLast, Timestamp, finite, to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use types::{
    Direction, InvalidRuns, Remark, RunId, Trend, TrendBy, TrendChange, TrendMetric, TrendPoint,
    TrendSeries, TrendStanding, TrendSuspicion, Unit,
};

/// The name and version of the document.
pub const TREND_SCHEMA: &str = "modelmeter.trend/1";

/// The histories as a JSON value of `modelmeter.trend/1`, with how they stand where somebody asked; numbers in SI base units.
#[must_use]
pub fn trend_json(found: &Trend, standings: Option<&[TrendStanding]>) -> Value {
    to_json(&TrendDocument::new(found, standings))
}

/// Histories of cells: points, level changes, noise; numbers in SI base units.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrendDocument<'a> {
    #[schemars(extend("const" = TREND_SCHEMA))]
    schema: &'static str,
    metric: TrendMetric,
    unit: Unit,
    better: Direction,
    /// What a point represents.
    by: TrendBy,
    /// The share of false alarms that is accepted.
    false_alarms: f64,
    /// The smallest change that is reported, as a share.
    smallest_change: f64,
    /// One history per cell.
    series: Vec<SeriesDocument<'a>>,
    /// Host names by machine keys.
    machines: &'a BTreeMap<String, String>,
    /// Runs that are not valid or lack the number, so not counted.
    runs_left_out: u64,
    /// How many of the selected runs are not valid.
    not_valid: &'a InvalidRuns,
    cells_without_valid_runs: u64,
    /// The command that repeats the newest run that is not valid.
    measure_again: Option<&'a str>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
}

impl<'a> TrendDocument<'a> {
    fn new(found: &'a Trend, standings: Option<&'a [TrendStanding]>) -> TrendDocument<'a> {
        let history = |(number, series)| {
            let standing = standings.and_then(|standings| standings.get(number));
            SeriesDocument::new(series, found.metric, standing)
        };
        TrendDocument {
            schema: TREND_SCHEMA,
            metric: found.metric,
            unit: found.metric.unit(),
            better: found.metric.direction(),
            by: found.by,
            false_alarms: found.level,
            smallest_change: found.smallest,
            series: found.series.iter().enumerate().map(history).collect(),
            machines: &found.machines,
            runs_left_out: found.left_out,
            not_valid: &found.invalid_reasons,
            cells_without_valid_runs: found.without_valid,
            measure_again: found.again.as_deref(),
            remarks: &found.remarks,
        }
    }
}

/// The history of one cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Series")]
struct SeriesDocument<'a> {
    #[serde(flatten)]
    key: KeyDocument<'a>,
    /// Oldest first.
    points: Vec<PointDocument<'a>>,
    /// Where the level changed, oldest first.
    changes: Vec<ChangeDocument<'a>>,
    /// Scatter of points around their level, as a share.
    noise: Option<f64>,
    /// Gradual change within the newest segment, as a ratio.
    drift: Option<f64>,
    /// Points missing before a change can be detected.
    needs_points: u64,
    /// Newest points that are off and too few.
    suspicion: Option<&'a TrendSuspicion>,
    /// The result of `--alert`.
    standing: Option<&'a TrendStanding>,
}

impl<'a> SeriesDocument<'a> {
    fn new(
        series: &'a TrendSeries,
        metric: TrendMetric,
        standing: Option<&'a TrendStanding>,
    ) -> SeriesDocument<'a> {
        let change = |change| ChangeDocument::new(change, series, metric);
        SeriesDocument {
            key: KeyDocument::from(&series.key),
            points: series.points.iter().map(PointDocument::from).collect(),
            changes: series.changes.iter().map(change).collect(),
            noise: series.noise.and_then(finite),
            drift: series.drift.and_then(finite),
            needs_points: series.needs,
            suspicion: series.suspicion.as_ref(),
            standing,
        }
    }
}

/// One point of a history.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Point")]
struct PointDocument<'a> {
    commit: Option<&'a str>,
    branch: Option<&'a str>,
    started_at: FirstAndLast,
    runs: &'a [RunId],
    /// `false` if it has no valid run and runs that are not valid were requested.
    valid: bool,
    value: Option<f64>,
    ci95: Option<Ends>,
}

impl<'a> From<&'a TrendPoint> for PointDocument<'a> {
    fn from(point: &'a TrendPoint) -> PointDocument<'a> {
        PointDocument {
            commit: point.commit.as_deref(),
            branch: point.branch.as_deref(),
            started_at: point.began.into(),
            runs: &point.runs,
            valid: point.valid,
            value: finite(point.value.value),
            ci95: point.value.interval.map(Ends::from),
        }
    }
}

/// A point where the level changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Change")]
pub(super) struct ChangeDocument<'a> {
    /// Index of the first point after it.
    at: usize,
    /// The commit of that point.
    commit: Option<&'a str>,
    /// When that point began: RFC 3339, UTC.
    started_at: Option<Timestamp>,
    /// The level before.
    before: Option<f64>,
    /// The level after.
    after: Option<f64>,
    /// After ÷ before.
    ratio: Option<f64>,
    ci95: Option<Ends>,
    /// As text.
    #[schemars(extend("enum" = [
        "faster", "slower", "more memory", "less memory", "more energy", "less energy"
    ]))]
    direction: &'static str,
    worse: bool,
    /// The chance that noise alone looks like such a change.
    adjusted_p: Option<f64>,
    /// What else changed, as text.
    together_with: &'a [String],
}

impl<'a> ChangeDocument<'a> {
    pub(super) fn new(
        change: &'a TrendChange,
        series: &'a TrendSeries,
        metric: TrendMetric,
    ) -> ChangeDocument<'a> {
        let first = series.points.get(change.at);
        ChangeDocument {
            at: change.at,
            commit: first.and_then(|point| point.commit.as_deref()),
            started_at: first.map(|point| point.began.0.into()),
            before: finite(change.before),
            after: finite(change.after),
            ratio: finite(change.ratio.value),
            ci95: change.ratio.interval.map(Ends::from),
            direction: metric.direction_words(change.ratio.value),
            worse: metric.worsening(change.ratio.value) > 1.0,
            adjusted_p: finite(change.adjusted_p),
            together_with: &change.coincides,
        }
    }
}
