//! Metrics one by one, and the probes that took them.

use super::latency::Milliseconds;
use crate::lookup::Reading;
use serde::Serialize;
use types::{Direction, Metric, ProbeReport, Provenance, Unit};

#[derive(Debug, Clone, Serialize)]
pub(super) struct ProbeDocument<'a> {
    probe: &'a str,
    unavailable: Option<&'a str>,
    readings: u64,
    cost: Milliseconds,
    period: Option<Milliseconds>,
    metrics: Vec<MetricDocument<'a>>,
}

/// A metric; `why` stands exactly where there is no value.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MetricDocument<'a> {
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
