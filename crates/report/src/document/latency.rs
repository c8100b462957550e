//! What the samples of a phase say.

use super::values::Ends;
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use types::{Phase, Summary, Unsupported};

/// One value for each phase that was timed, in the order of the phases.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ByPhase<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    preprocess: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenise: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<T>,
    /// The part that the device timed by its own events.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postprocess: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backward: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    optimizer: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<T>,
    /// Under load: from the schedule to the first event with content.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttft: Option<T>,
    /// Under load: from the sending to the first event with content.
    #[serde(rename = "ttft.service", skip_serializing_if = "Option::is_none")]
    ttft_service: Option<T>,
    /// Under load: from the schedule to the first text that is not reasoning.
    #[serde(rename = "ttft.visible", skip_serializing_if = "Option::is_none")]
    ttft_visible: Option<T>,
    /// Under load: the mean time between tokens, one value a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    itl: Option<T>,
    /// Under load: between events with content.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<T>,
    /// Under load: from the sending to the last event.
    #[serde(rename = "e2e.service", skip_serializing_if = "Option::is_none")]
    service: Option<T>,
    /// Under load: from the schedule to the sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<T>,
}

impl<T> ByPhase<T> {
    pub(super) fn from_each(of: impl Fn(Phase) -> Option<T>) -> ByPhase<T> {
        ByPhase {
            preprocess: of(Phase::Preprocess),
            tokenise: of(Phase::Tokenise),
            inference: of(Phase::Inference),
            device: of(Phase::Device),
            postprocess: of(Phase::Postprocess),
            forward: of(Phase::Forward),
            loss: of(Phase::Loss),
            backward: of(Phase::Backward),
            optimizer: of(Phase::Optimizer),
            total: of(Phase::Total),
            ttft: of(Phase::Ttft),
            ttft_service: of(Phase::TtftService),
            ttft_visible: of(Phase::TtftVisible),
            itl: of(Phase::Itl),
            gap: of(Phase::Gap),
            service: of(Phase::Service),
            lag: of(Phase::Lag),
        }
    }
}

/// Summary of the samples of one phase, in milliseconds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Latency<'a> {
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    /// Arithmetic mean.
    mean: Option<f64>,
    /// Standard deviation of the samples; null if there is only one.
    #[schemars(range(min = 0))]
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    median: Option<f64>,
    /// Median absolute deviation from the median, unscaled.
    #[schemars(range(min = 0))]
    mad: Option<f64>,
    /// The median, as a percentile.
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    /// The 99.9th percentile.
    p99_9: Option<f64>,
    /// Bootstrap 95 % interval of the median.
    ci95: Ends,
    /// Bootstrap 95 % interval of the mean.
    ci95_mean: Ends,
    /// How many samples.
    samples: u64,
    /// Outliers; counted, never removed.
    outliers: u64,
    /// Percentiles above that have too few samples to be reliable.
    unsupported: &'a [Unsupported],
}

impl<'a> From<&'a Summary> for Latency<'a> {
    fn from(summary: &'a Summary) -> Latency<'a> {
        let ms = |seconds: f64| seconds.is_finite().then(|| milliseconds(seconds));
        Latency {
            unit: "ms",
            mean: ms(summary.mean),
            std: ms(summary.std),
            min: ms(summary.min),
            max: ms(summary.max),
            median: ms(summary.median),
            mad: ms(summary.mad),
            p50: ms(summary.median),
            p90: ms(summary.p90),
            p95: ms(summary.p95),
            p99: ms(summary.p99),
            p99_9: ms(summary.p999),
            ci95: Ends::in_milliseconds(summary.ci95_median),
            ci95_mean: Ends::in_milliseconds(summary.ci95_mean),
            samples: summary.count,
            outliers: summary.outliers,
            unsupported: &summary.unsupported,
        }
    }
}
