//! Time spans and what the samples of a phase say.

use crate::number::milliseconds;
use serde::Serialize;
use std::time::Duration;
use types::{Interval, Phase, Summary, Unsupported};

/// A time span; the unit stands beside the number.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Milliseconds {
    value: f64,
    unit: &'static str,
}

impl From<Duration> for Milliseconds {
    fn from(duration: Duration) -> Milliseconds {
        // Whole nanoseconds over a power of ten: the nearest number to what was measured.
        Milliseconds { value: duration.as_nanos() as f64 / 1e6, unit: "ms" }
    }
}

/// Something for each phase that was timed, in the order phases happen.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ByPhase<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    preprocess: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenise: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<T>,
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
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct IntervalMs {
    low: Option<f64>,
    high: Option<f64>,
}

/// What the samples of a phase say, in milliseconds; `ci95` is the interval of the median.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Latency<'a> {
    unit: &'static str,
    mean: Option<f64>,
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    median: Option<f64>,
    mad: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
    ci95: IntervalMs,
    ci95_mean: IntervalMs,
    samples: u64,
    outliers: u64,
    unsupported: &'a [Unsupported],
}

impl<'a> From<&'a Summary> for Latency<'a> {
    fn from(summary: &'a Summary) -> Latency<'a> {
        let ms = |seconds: f64| seconds.is_finite().then(|| milliseconds(seconds));
        let interval =
            |interval: Interval| IntervalMs { low: ms(interval.low), high: ms(interval.high) };
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
            ci95: interval(summary.ci95_median),
            ci95_mean: interval(summary.ci95_mean),
            samples: summary.count,
            outliers: summary.outliers,
            unsupported: &summary.unsupported,
        }
    }
}
