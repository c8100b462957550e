//! What somebody is told of a history, as the document `modelmeter.alert/1`.

use super::document::ChangeDocument;
use crate::analysis::KeyDocument;
use crate::document::{finite, to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{InvalidRuns, Trend, TrendMetric, TrendSeries, Unit};

/// The name and version of the document.
pub const ALERT_SCHEMA: &str = "modelmeter.alert/1";

/// The newest change of a history for the worse as a JSON value of `modelmeter.alert/1`; `text` is what Slack and its likes
/// show.
#[must_use]
pub fn alert_json(text: &str, plan: &str, trend: &Trend, series: &TrendSeries) -> Value {
    let change = |change| ChangeDocument::new(change, series, trend.metric);
    to_json(&AlertDocument::Worse(Box::new(WorseAlert {
        text,
        schema: ALERT_SCHEMA,
        kind: "worse",
        plan,
        metric: trend.metric,
        unit: trend.metric.unit(),
        cell: AlertCell {
            key: KeyDocument::from(&series.key),
            noise: series.noise.and_then(finite),
            drift: series.drift.and_then(finite),
            needs_points: series.needs,
        },
        change: series.changes.last().map(change),
        host: trend.machines.get(&series.key.machine).map(String::as_str),
    })))
}

/// That nothing could be judged, because no run of so many cells is valid, as a JSON value of `modelmeter.alert/1`.
#[must_use]
pub fn blind_alert_json(
    text: &str,
    plan: &str,
    metric: TrendMetric,
    cells: usize,
    not_valid: &InvalidRuns,
) -> Value {
    to_json(&AlertDocument::CannotTell(CannotTellAlert {
        text,
        schema: ALERT_SCHEMA,
        kind: "cannot-tell",
        plan,
        metric,
        cells,
        not_valid,
    }))
}

/// One worsening, or the message that nothing could be judged.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum AlertDocument<'a> {
    Worse(Box<WorseAlert<'a>>),
    CannotTell(CannotTellAlert<'a>),
}

/// A number became worse.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorseAlert<'a> {
    /// In a sentence.
    text: &'a str,
    #[schemars(extend("const" = ALERT_SCHEMA))]
    schema: &'static str,
    #[schemars(extend("const" = "worse"))]
    kind: &'static str,
    plan: &'a str,
    metric: TrendMetric,
    unit: Unit,
    cell: AlertCell<'a>,
    change: Option<ChangeDocument<'a>>,
    /// The host name of the machine.
    host: Option<&'a str>,
}

/// Nothing could be judged, because no run is valid.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CannotTellAlert<'a> {
    /// In a sentence.
    text: &'a str,
    #[schemars(extend("const" = ALERT_SCHEMA))]
    schema: &'static str,
    #[schemars(extend("const" = "cannot-tell"))]
    kind: &'static str,
    plan: &'a str,
    metric: TrendMetric,
    /// How many cells have no valid run.
    cells: usize,
    not_valid: &'a InvalidRuns,
}

/// The cell that changed.
#[derive(Debug, Serialize, JsonSchema)]
struct AlertCell<'a> {
    #[serde(flatten)]
    key: KeyDocument<'a>,
    /// Scatter of points around their level, as a share.
    noise: Option<f64>,
    /// Gradual change within the newest segment, as a ratio.
    drift: Option<f64>,
    /// Points missing before a change can be detected.
    needs_points: u64,
}
