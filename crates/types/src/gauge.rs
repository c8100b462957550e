//! What a gate looks at, and the limits people set on it.

use crate::{Direction, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr};

/// Which number of many latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
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

/// A number that a gate looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gauge {
    /// What a user waits for.
    Latency(Statistic),
    /// Samples a second.
    Throughput,
    /// Tokens a second.
    Tokens,
    /// Peak memory of the process, or of a device with its own memory.
    MemoryPeak,
    /// Time to load the model.
    Load,
    /// The true first inference.
    First,
}

impl Gauge {
    /// All of them, in the order people read them.
    pub const ALL: [Gauge; 11] = [
        Gauge::Latency(Statistic::P50),
        Gauge::Latency(Statistic::Mean),
        Gauge::Latency(Statistic::P90),
        Gauge::Latency(Statistic::P95),
        Gauge::Latency(Statistic::P99),
        Gauge::Latency(Statistic::P999),
        Gauge::Throughput,
        Gauge::Tokens,
        Gauge::MemoryPeak,
        Gauge::Load,
        Gauge::First,
    ];

    /// Its name in arguments, JSON and tables.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Gauge::Latency(Statistic::Mean) => "latency.mean",
            Gauge::Latency(Statistic::P50) => "latency.p50",
            Gauge::Latency(Statistic::P90) => "latency.p90",
            Gauge::Latency(Statistic::P95) => "latency.p95",
            Gauge::Latency(Statistic::P99) => "latency.p99",
            Gauge::Latency(Statistic::P999) => "latency.p99.9",
            Gauge::Throughput => "throughput",
            Gauge::Tokens => "throughput.tokens",
            Gauge::MemoryPeak => crate::key::MEMORY_PEAK,
            Gauge::Load => "load",
            Gauge::First => "first",
        }
    }

    /// The unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Gauge::Latency(_) | Gauge::Load | Gauge::First => Unit::Seconds,
            Gauge::Throughput | Gauge::Tokens => Unit::PerSecond,
            Gauge::MemoryPeak => Unit::Bytes,
        }
    }

    /// The better direction.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Gauge::Throughput | Gauge::Tokens => Direction::Higher,
            _ => Direction::Lower,
        }
    }

    /// The percentile whose floor of samples a claim must reach; `None` if there is none.
    #[must_use]
    pub fn percentile(self) -> Option<&'static str> {
        match self {
            Gauge::Latency(Statistic::P50) => Some("p50"),
            Gauge::Latency(Statistic::P90) => Some("p90"),
            Gauge::Latency(Statistic::P95) => Some("p95"),
            Gauge::Latency(Statistic::P99) => Some("p99"),
            Gauge::Latency(Statistic::P999) => Some("p99.9"),
            _ => None,
        }
    }
}

impl fmt::Display for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// A metric or a limit that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseGaugeError(String);

impl fmt::Display for ParseGaugeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseGaugeError {}

impl FromStr for Gauge {
    type Err = ParseGaugeError;

    fn from_str(text: &str) -> Result<Gauge, ParseGaugeError> {
        let name = text.trim().to_ascii_lowercase().replace('_', ".");
        let short = match name.as_str() {
            "latency" | "latency.median" | "median" | "p50" => "latency.p50",
            "mean" => "latency.mean",
            "p90" => "latency.p90",
            "p95" => "latency.p95",
            "p99" => "latency.p99",
            "p99.9" | "p999" | "latency.p999" => "latency.p99.9",
            "throughput.samples" => "throughput",
            "tokens" => "throughput.tokens",
            "memory" => crate::key::MEMORY_PEAK,
            "startup" | "load.time" => "load",
            "first.inference" => "first",
            other => other,
        };
        let found = Gauge::ALL.into_iter().find(|gauge| gauge.key() == short);
        found.ok_or_else(|| {
            let known: Vec<&str> = Gauge::ALL.iter().map(|gauge| gauge.key()).collect();
            ParseGaugeError(format!(
                "`{text}` is not a metric; known metrics: {}",
                known.join(", ")
            ))
        })
    }
}

impl Serialize for Gauge {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl JsonSchema for Gauge {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Gauge".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Gauge::ALL.map(Gauge::key) })
    }
}

impl<'de> Deserialize<'de> for Gauge {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Gauge, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A limit that a number must keep: `latency.p95:100ms`, `throughput:1000samples/s`, `memory.peak:2GB`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// What must keep it.
    pub gauge: Gauge,
    /// The limit, in the gauge's own unit: at most so much, at least so much where more is better.
    pub limit: f64,
}

impl FromStr for Threshold {
    type Err = ParseGaugeError;

    fn from_str(text: &str) -> Result<Threshold, ParseGaugeError> {
        let wrong = |why: String| ParseGaugeError(format!("`{text}` is not a limit: {why}"));
        let form = || "write METRIC:LIMIT, such as `latency.p95:100ms`".to_owned();
        let (name, limit) = text.split_once(':').ok_or_else(|| wrong(form()))?;
        let gauge: Gauge = name.parse()?;
        let limit = limit.trim();
        let end = limit.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(limit.len());
        let (digits, word) = (&limit[..end], limit[end..].trim());
        let number: f64 = digits.parse().map_err(|_| wrong(form()))?;
        let (gauge, scale) = scale(gauge, word)
            .ok_or_else(|| wrong(format!("`{gauge}` is given in {}", units(gauge))))?;
        let limit = number * scale;
        if !(limit > 0.0 && limit.is_finite()) {
            return Err(wrong("it must be more than 0".into()));
        }
        Ok(Threshold { gauge, limit })
    }
}

/// The factor of a unit; a rate of tokens is another gauge than one of samples.
fn scale(gauge: Gauge, word: &str) -> Option<(Gauge, f64)> {
    let factor = match gauge.unit() {
        Unit::Seconds => match word {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            _ => return None,
        },
        Unit::Bytes => match word.to_ascii_lowercase().as_str() {
            "b" => 1.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        },
        _ => {
            let what = word.strip_suffix("/s")?;
            return match what {
                "tokens" | "token" => Some((Gauge::Tokens, 1.0)),
                "" => Some((gauge, 1.0)),
                "samples" | "sample" | "images" | "requests" if gauge == Gauge::Throughput => {
                    Some((gauge, 1.0))
                }
                _ => None,
            };
        }
    };
    Some((gauge, factor))
}

fn units(gauge: Gauge) -> &'static str {
    match gauge.unit() {
        Unit::Seconds => "ns, us, ms, s or min",
        Unit::Bytes => "B, kB, MB, GB, KiB, MiB or GiB",
        _ => "samples/s or tokens/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for gauge in Gauge::ALL {
            assert_eq!(gauge.key().parse::<Gauge>().unwrap(), gauge);
            let text = serde_json::to_string(&gauge).unwrap();
            assert_eq!(serde_json::from_str::<Gauge>(&text).unwrap(), gauge);
        }
        assert!("speed".parse::<Gauge>().unwrap_err().to_string().contains("latency.p95"));
    }

    #[test]
    fn limits_are_read_with_their_units() {
        for (text, gauge, limit) in [
            ("latency.p95:100ms", Gauge::Latency(Statistic::P95), 0.1),
            ("latency:100ms", Gauge::Latency(Statistic::P50), 0.1),
            ("throughput:1000samples/s", Gauge::Throughput, 1000.0),
            ("throughput:50000tokens/s", Gauge::Tokens, 50_000.0),
            ("memory.peak:2GB", Gauge::MemoryPeak, 2e9),
            ("memory:1.5GiB", Gauge::MemoryPeak, 1.5 * 1_073_741_824.0),
            ("load:1.5 s", Gauge::Load, 1.5),
            ("p99.9:2ms", Gauge::Latency(Statistic::P999), 0.002),
        ] {
            let found: Threshold = text.parse().unwrap();
            assert_eq!(found.gauge, gauge, "{text}");
            assert!((found.limit / limit - 1.0).abs() < 1e-12, "{text}: {}", found.limit);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_told_how_to_write() {
        for (text, told) in [
            ("latency", "write METRIC:LIMIT"),
            ("latency:fast", "write METRIC:LIMIT"),
            ("latency:100", "given in ns, us, ms"),
            ("latency:100MB", "given in ns, us, ms"),
            ("memory:100ms", "given in B, kB"),
            ("throughput:10MB/s", "samples/s or tokens/s"),
            ("latency:0ms", "more than 0"),
            ("latency:-5ms", "write METRIC:LIMIT"),
            ("size:2GB", "is not a metric"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
