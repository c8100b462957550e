//! Metrics one by one, and the probes that took them.

use super::values::Milliseconds;
use crate::lookup::Reading;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::json;
use types::{Direction, Metric, ProbeReport, Provenance, Unit};

/// The readings of one probe.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ProbeDocument<'a> {
    probe: &'a str,
    /// Why it has no readings.
    unavailable: Option<&'a str>,
    readings: u64,
    /// Processor time used by its own readings.
    cost: Milliseconds,
    /// Time between readings; null for counters read only at both ends.
    period: Option<Milliseconds>,
    metrics: Vec<MetricDocument<'a>>,
}

/// Says in a schema that `why` is present exactly if `value` is null.
pub(super) fn reason_where_null(schema: &mut Schema) {
    schema.insert("if".into(), json!({ "properties": { "value": { "type": "null" } } }));
    schema.insert("then".into(), json!({ "properties": { "why": { "type": "string" } } }));
    schema.insert("else".into(), json!({ "properties": { "why": { "type": "null" } } }));
}

/// A number with its unit and the better direction; if it is null, `why` has the reason.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = reason_where_null)]
pub(super) struct MetricDocument<'a> {
    #[schemars(length(min = 1))]
    key: &'a str,
    value: Option<f64>,
    unit: Unit,
    direction: Direction,
    provenance: Provenance,
    why: Option<String>,
}

impl<'a> From<&'a Metric> for MetricDocument<'a> {
    fn from(metric: &'a Metric) -> MetricDocument<'a> {
        let reading = Reading::of(metric);
        MetricDocument {
            key: &metric.key,
            value: reading.known(),
            unit: metric.unit,
            direction: metric.direction,
            provenance: metric.provenance,
            why: reading.why().map(String::from),
        }
    }
}

impl<'a> From<&'a ProbeReport> for ProbeDocument<'a> {
    fn from(probe: &'a ProbeReport) -> ProbeDocument<'a> {
        ProbeDocument {
            probe: &probe.probe,
            unavailable: probe.unavailable.as_deref(),
            readings: probe.readings,
            cost: probe.cost.into(),
            period: probe.period.map(Milliseconds::from),
            metrics: probe.metrics.iter().map(MetricDocument::from).collect(),
        }
    }
}
