//! An alert: what it says, and how it is remembered that it was told.

use crate::Failure;
use modelmeter::Store;
use serde_json::Value;
use types::{InvalidRuns, Trend, TrendChange, TrendMetric, TrendSeries};

/// So many points before a change count as its own: with more runs its place may move a little.
const NEAR: usize = 2;

/// What is told: a sentence, the same for programs, and as variables of a command.
pub(super) struct Message {
    pub(super) text: String,
    pub(super) document: Value,
    pub(super) variables: Vec<(&'static str, String)>,
}

impl From<&Alert<'_>> for Message {
    fn from(alert: &Alert<'_>) -> Message {
        Message { text: alert.text(), document: alert.document(), variables: alert.variables() }
    }
}

/// A turn after which nothing could be judged, because none of its runs is valid.
pub(super) struct Blind<'a> {
    pub(super) plan: &'a str,
    pub(super) metric: TrendMetric,
    pub(super) cells: usize,
    pub(super) reasons: &'a InvalidRuns,
}

impl From<&Blind<'_>> for Message {
    fn from(blind: &Blind<'_>) -> Message {
        let Blind { plan, metric, cells, reasons } = blind;
        let which = if *cells == 1 { "the cell".into() } else { format!("the {cells} cells") };
        let text = format!(
            "plan {}: nothing could be judged, no run of {which} is valid ({})",
            report::clean(plan),
            report::not_valid(reasons)
        );
        let document = report::blind_alert_json(&text, plan, *metric, *cells, reasons);
        let variables = vec![
            ("MODELMETER_ALERT", text.clone()),
            ("MODELMETER_KIND", "cannot-tell".to_owned()),
            ("MODELMETER_PLAN", (*plan).to_owned()),
            ("MODELMETER_METRIC", metric.name().to_owned()),
        ];
        Message { text, document, variables }
    }
}

/// A change for the worse.
pub(super) struct Alert<'a> {
    pub(super) plan: &'a str,
    pub(super) trend: &'a Trend,
    pub(super) series: &'a TrendSeries,
    pub(super) change: &'a TrendChange,
}

impl Alert<'_> {
    /// In a sentence.
    pub(super) fn text(&self) -> String {
        let Alert { trend, series, change, .. } = self;
        let point = &series.points[change.at];
        let commit = point.commit.as_ref().map(|commit| {
            format!(", commit {}", report::clean(commit).chars().take(9).collect::<String>())
        });
        let with = match change.coincides.as_slice() {
            [] => String::new(),
            together => format!(", together with {}", report::clean(&together.join("; "))),
        };
        format!(
            "{} ({}): {} is {} since {}{}{with}",
            report::clean(&series.key.model),
            report::trend_name(&series.key),
            trend.metric.words(),
            report::trend_change(change, trend.metric),
            report::minute(point.began.0),
            commit.unwrap_or_default()
        )
    }

    /// For programs; `text` is what Slack and its likes show.
    pub(super) fn document(&self) -> Value {
        report::alert_json(&self.text(), self.plan, self.trend, self.series)
    }

    /// As variables of a command.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let Alert { plan, trend, series, change } = self;
        let point = &series.points[change.at];
        vec![
            ("MODELMETER_ALERT", self.text()),
            ("MODELMETER_KIND", "worse".to_owned()),
            ("MODELMETER_PLAN", (*plan).to_owned()),
            ("MODELMETER_METRIC", trend.metric.name().to_owned()),
            ("MODELMETER_MODEL", series.key.model.clone()),
            ("MODELMETER_ENGINE", series.key.engine.clone()),
            ("MODELMETER_DEVICE", series.key.device.to_string()),
            ("MODELMETER_RATIO", change.ratio.value.to_string()),
            ("MODELMETER_COMMIT", point.commit.clone().unwrap_or_default()),
            ("MODELMETER_SINCE", report::rfc3339(point.began.0)),
        ]
    }
}

/// The label that a change's first run bears once it was told.
fn label(metric: TrendMetric) -> String {
    format!("alerted:{metric}")
}

/// Whether this change was told before: a run of it, or right before it, bears the label.
pub(super) fn is_told(
    store: &Store,
    series: &TrendSeries,
    change: &TrendChange,
    metric: TrendMetric,
) -> Result<bool, Failure> {
    let label = label(metric);
    let from = change.at.saturating_sub(NEAR);
    for id in series.points[from..].iter().flat_map(|point| &point.runs) {
        if store.run_without_samples(id)?.tags.contains(&label) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Remembers that this change was told.
pub(super) fn remember(
    store: &Store,
    series: &TrendSeries,
    change: &TrendChange,
    metric: TrendMetric,
) -> Result<(), Failure> {
    if let Some(first) = series.points[change.at].runs.first() {
        store.tag(first, &label(metric))?;
    }
    Ok(())
}
