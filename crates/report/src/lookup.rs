//! Where a run keeps what reports ask for: metrics by key, its main phase.

use types::{Metric, Run};

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    Known(f64),
    Missing(String),
}

impl Reading {
    pub(crate) fn of(metric: &Metric) -> Reading {
        match metric.value {
            Some(value) if value.is_finite() => Reading::Known(value),
            Some(_) => Reading::Missing("the value is not a finite number".into()),
            None => {
                Reading::Missing(metric.why.clone().unwrap_or_else(|| "no reason given".into()))
            }
        }
    }

    pub(crate) fn known(&self) -> Option<f64> {
        match self {
            Reading::Known(value) => Some(*value),
            Reading::Missing(_) => None,
        }
    }

    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Reading::Known(_) => None,
            Reading::Missing(why) => Some(why),
        }
    }
}

/// Every metric of the run: its own, then what its probes saw.
pub(crate) fn metrics(run: &Run) -> impl Iterator<Item = &Metric> {
    run.metrics.iter().chain(run.probes.iter().flat_map(|probe| &probe.metrics))
}

/// The metric with this key; `None` if nobody tried to measure it.
pub(crate) fn reading(run: &Run, key: &str) -> Option<Reading> {
    metrics(run).find(|metric| metric.key == key).map(Reading::of)
}

/// The metric with this key, or that nobody measured it.
pub(crate) fn reading_or_why(run: &Run, key: &str) -> Reading {
    reading(run, key).unwrap_or_else(|| Reading::Missing("not measured in this run".into()))
}

/// What stands in the field at this path, unless nobody could count it or the file it was imported from does not tell.
pub(crate) fn told<T>(run: &Run, path: &str, value: T) -> Option<T> {
    run.tells(path).then_some(value)
}
