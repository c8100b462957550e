//! Limits that a service has to keep: `ttft.p99:200ms`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr};

/// A time of a request that is measured under load.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum LoadMetric {
    /// Time to first token: to the first event with content, from the schedule.
    #[serde(rename = "ttft")]
    Ttft,
    /// The same from the sending.
    #[serde(rename = "ttft.service")]
    TtftService,
    /// To the first text that is not reasoning, from the schedule.
    #[serde(rename = "ttft.visible")]
    TtftVisible,
    /// The mean time between tokens of a request: one value a request.
    #[serde(rename = "itl")]
    Itl,
    /// Between events with content, every one.
    #[serde(rename = "gap")]
    Gap,
    /// To the last event with content, from the schedule.
    #[serde(rename = "e2e")]
    E2e,
    /// The same from the sending.
    #[serde(rename = "e2e.service")]
    E2eService,
    /// From the schedule to the sending: what the generator itself added.
    #[serde(rename = "lag")]
    Lag,
}

impl LoadMetric {
    /// Every metric in the order people read them.
    pub const ALL: [LoadMetric; 8] = [
        LoadMetric::Ttft,
        LoadMetric::TtftService,
        LoadMetric::TtftVisible,
        LoadMetric::Itl,
        LoadMetric::Gap,
        LoadMetric::E2e,
        LoadMetric::E2eService,
        LoadMetric::Lag,
    ];

    /// The name used in arguments, keys and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadMetric::Ttft => "ttft",
            LoadMetric::TtftService => "ttft.service",
            LoadMetric::TtftVisible => "ttft.visible",
            LoadMetric::Itl => "itl",
            LoadMetric::Gap => "gap",
            LoadMetric::E2e => "e2e",
            LoadMetric::E2eService => "e2e.service",
            LoadMetric::Lag => "lag",
        }
    }

    /// `a ttft`, `an itl`.
    #[must_use]
    pub fn with_article(self) -> String {
        let name = self.name();
        let article = if name.starts_with(['i', 'e']) { "an" } else { "a" };
        format!("{article} {name}")
    }
}

impl fmt::Display for LoadMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which number of many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LoadStatistic {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// 90 % are faster.
    P90,
    /// 95 % are faster.
    P95,
    /// 99 % are faster.
    P99,
    /// 999 of 1,000 are faster.
    P999,
}

impl LoadStatistic {
    /// Every statistic.
    pub const ALL: [LoadStatistic; 6] = [
        LoadStatistic::Mean,
        LoadStatistic::P50,
        LoadStatistic::P90,
        LoadStatistic::P95,
        LoadStatistic::P99,
        LoadStatistic::P999,
    ];

    /// Its key: `p99`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadStatistic::Mean => "mean",
            LoadStatistic::P50 => "p50",
            LoadStatistic::P90 => "p90",
            LoadStatistic::P95 => "p95",
            LoadStatistic::P99 => "p99",
            LoadStatistic::P999 => "p99.9",
        }
    }

    /// The share of requests that must keep the limit; `None` for a mean, which no share decides.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        match self {
            LoadStatistic::Mean => None,
            LoadStatistic::P50 => Some(0.5),
            LoadStatistic::P90 => Some(0.9),
            LoadStatistic::P95 => Some(0.95),
            LoadStatistic::P99 => Some(0.99),
            LoadStatistic::P999 => Some(0.999),
        }
    }
}

/// A limit that a service has to keep: `ttft.p99:200ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadLimit {
    /// Which time.
    pub metric: LoadMetric,
    /// Which number of all requests'.
    pub statistic: LoadStatistic,
    /// The limit in seconds.
    pub seconds: f64,
}

/// A limit that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a limit: {why}")]
pub struct ParseLoadLimitError {
    text: String,
    why: String,
}

impl LoadLimit {
    /// Its name without the limit: `ttft.p99`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.{}", self.metric, self.statistic.name())
    }
}

impl fmt::Display for LoadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}ms", self.key(), self.seconds * 1e3)
    }
}

impl FromStr for LoadLimit {
    type Err = ParseLoadLimitError;

    fn from_str(text: &str) -> Result<LoadLimit, ParseLoadLimitError> {
        let wrong = |why: String| ParseLoadLimitError { text: text.into(), why };
        let (name, limit) = text.trim().split_once(':').ok_or_else(|| {
            wrong("write METRIC.PERCENTILE:LIMIT, such as `ttft.p99:200ms`".into())
        })?;
        let (metric, statistic) = parse_name(name).ok_or_else(|| {
            let known = LoadMetric::ALL.map(LoadMetric::name).join(", ");
            wrong(format!("metrics are {known}; percentiles p50, p90, p95, p99, p99.9 and mean"))
        })?;
        let place = limit.find(|c: char| c.is_alphabetic()).unwrap_or(limit.len());
        let (number, unit) = limit.split_at(place);
        let scale = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            _ => return Err(wrong("write the unit of the limit: us, ms or s".into())),
        };
        let seconds = number.trim().parse::<f64>().map_or(f64::NAN, |number| number * scale);
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(wrong("the limit is a time above 0".into()));
        }
        Ok(LoadLimit { metric, statistic, seconds })
    }
}

/// `ttft.service.p99`, `p99` of the whole request, `ttft` at its 99th percentile.
fn parse_name(name: &str) -> Option<(LoadMetric, LoadStatistic)> {
    let name = name.trim().to_ascii_lowercase();
    let metric = |name: &str| LoadMetric::ALL.into_iter().find(|one| one.name() == name);
    for statistic in LoadStatistic::ALL {
        if name == statistic.name() {
            return Some((LoadMetric::E2e, statistic));
        }
        let front = name.strip_suffix(statistic.name()).and_then(|rest| rest.strip_suffix('.'));
        if let Some(found) = front.and_then(metric) {
            return Some((found, statistic));
        }
    }
    Some((metric(&name)?, LoadStatistic::P99))
}

impl Serialize for LoadLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LoadLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LoadLimit, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LoadLimit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LoadLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^[a-z0-9.]+:[0-9.e-]+ms$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_people_write_them() {
        for (text, key, seconds) in [
            ("ttft.p99:200ms", "ttft.p99", 0.2),
            ("p99:200ms", "e2e.p99", 0.2),
            ("itl.p95:50 ms", "itl.p95", 0.05),
            ("ttft:1.5s", "ttft.p99", 1.5),
            ("ttft.service.p99.9:800us", "ttft.service.p99.9", 8e-4),
            ("e2e.mean:2s", "e2e.mean", 2.0),
        ] {
            let limit: LoadLimit = text.parse().unwrap();
            assert_eq!(limit.key(), key, "{text}");
            assert!((limit.seconds / seconds - 1.0).abs() < 1e-12, "{text}");
            assert_eq!(limit.to_string().parse::<LoadLimit>().unwrap().key(), key);
        }
    }

    #[test]
    fn a_limit_that_cannot_be_meant_says_how_to_write_it() {
        for (text, told) in [
            ("200ms", "write METRIC"),
            ("latency.p99:200ms", "metrics are ttft"),
            ("ttft.p98:200ms", "percentiles p50"),
            ("ttft.p99:200", "the unit"),
            ("ttft.p99:0ms", "above 0"),
            ("ttft.p99:-3ms", "above 0"),
            ("ttft.p99:xms", "the unit"),
        ] {
            let error = text.parse::<LoadLimit>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
