//! Limits as people write them: `p95:50ms`, `2GB`, `2048`.

use thiserror::Error;
use types::{Bytes, Percentile, Seconds, Slo};

/// Why a limit could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitError {
    /// No colon between the percentile and its limit.
    #[error("`{0}` is not a service level: write a percentile, a colon and a time")]
    NoColon(String),
    /// A percentile is unknown.
    #[error("unknown percentile `{0}`; known percentiles: p50 (or median), p90, p95, p99, p99.9")]
    UnknownPercentile(String),
    /// No number before the unit.
    #[error("`{0}` does not begin with a number above 0")]
    NoNumber(String),
    /// A time without a unit.
    #[error("`{0}` has no unit")]
    NoTimeUnit(String),
    /// A unit of time is unknown.
    #[error("unknown unit of time `{0}`; known units: ns, us, ms, s, min")]
    UnknownTimeUnit(String),
    /// A unit of memory is unknown.
    #[error("unknown unit of memory `{0}`; known units: B, kB, MB, GB, TB and KiB, MiB, GiB, TiB")]
    UnknownMemoryUnit(String),
    /// More than can be counted.
    #[error("`{0}` is larger than any memory")]
    TooMuch(String),
}

impl LimitError {
    /// What to try next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            LimitError::NoColon(_) | LimitError::UnknownPercentile(_) => {
                "for example `p95:50ms`".into()
            }
            LimitError::NoTimeUnit(text) => format!("write `{text}ms` or `{text}s`"),
            LimitError::UnknownTimeUnit(_) => "for example `50ms` or `1.5s`".into(),
            LimitError::UnknownMemoryUnit(unit) => match unit.to_ascii_lowercase().as_str() {
                letter @ ("k" | "m" | "g" | "t") => {
                    let letter = letter.to_ascii_uppercase();
                    format!(
                        "write `{letter}B` for powers of 1000 or `{letter}iB` for powers of 1024"
                    )
                }
                _ => "for example `2GB`, or `2048` for MiB".into(),
            },
            LimitError::NoNumber(_) | LimitError::TooMuch(_) => {
                "for example `50ms` of time, `2GB` of memory".into()
            }
        }
    }
}

/// A service level: `p95:50ms`, `median:1.5s`, `p99.9:200us`.
///
/// # Errors
/// Where the text is none, and in which part.
pub fn parse_slo(text: &str) -> Result<Slo, LimitError> {
    let (name, limit) =
        text.split_once(':').ok_or_else(|| LimitError::NoColon(text.trim().into()))?;
    let percentile = match name.trim().to_ascii_lowercase().as_str() {
        "p50" | "median" => Percentile::P50,
        "p90" => Percentile::P90,
        "p95" => Percentile::P95,
        "p99" => Percentile::P99,
        "p99.9" | "p999" => Percentile::P999,
        _ => return Err(LimitError::UnknownPercentile(name.trim().into())),
    };
    let (number, unit) = split(limit.trim())?;
    let scale = match unit {
        "" => return Err(LimitError::NoTimeUnit(limit.trim().into())),
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        _ => return Err(LimitError::UnknownTimeUnit(unit.into())),
    };
    Ok(Slo { percentile, limit: Seconds(number * scale) })
}

/// An amount of memory: `2GB` (powers of 1000), `2GiB` (powers of 1024), `2048` (MiB).
///
/// # Errors
/// Where the text is none, and in which part.
pub fn parse_memory(text: &str) -> Result<Bytes, LimitError> {
    let text = text.trim();
    let (number, unit) = split(text)?;
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "mib" => 1 << 20,
        "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(LimitError::UnknownMemoryUnit(unit.into())),
    };
    let bytes = (number * scale as f64).round();
    match bytes {
        none if none < 1.0 => Err(LimitError::NoNumber(text.into())),
        much if much >= u64::MAX as f64 => Err(LimitError::TooMuch(text.into())),
        bytes => Ok(Bytes(bytes as u64)),
    }
}

/// A number above 0 and the unit behind it, which may be empty.
fn split(text: &str) -> Result<(f64, &str), LimitError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse::<f64>().ok().filter(|number| *number > 0.0);
    match number {
        Some(number) if number.is_finite() => Ok((number, unit.trim())),
        _ => Err(LimitError::NoNumber(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_levels_are_read() {
        for (text, percentile, limit) in [
            ("p95:50ms", Percentile::P95, 0.05),
            ("median: 1.5 s", Percentile::P50, 1.5),
            ("P99.9:200us", Percentile::P999, 200e-6),
            ("p99:2min", Percentile::P99, 120.0),
            ("p90:7µs", Percentile::P90, 7e-6),
        ] {
            let slo = parse_slo(text).unwrap();
            assert_eq!(slo.percentile, percentile, "{text}");
            assert!((slo.limit.0 / limit - 1.0).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn a_wrong_service_level_says_which_part() {
        for (text, error, hint) in [
            ("50ms", LimitError::NoColon("50ms".into()), "p95:50ms"),
            ("p98:50ms", LimitError::UnknownPercentile("p98".into()), "p95:50ms"),
            ("p95:50", LimitError::NoTimeUnit("50".into()), "`50ms` or `50s`"),
            ("p95:50m", LimitError::UnknownTimeUnit("m".into()), "50ms"),
            ("p95:ms", LimitError::NoNumber("ms".into()), "50ms"),
            ("p95:-5ms", LimitError::NoNumber("-5ms".into()), "50ms"),
            ("p95:0ms", LimitError::NoNumber("0ms".into()), "50ms"),
            ("p95:1.2.3ms", LimitError::NoNumber("1.2.3ms".into()), "50ms"),
        ] {
            let found = parse_slo(text).unwrap_err();
            assert_eq!(found, error);
            assert!(found.hint().contains(hint), "{text}: {}", found.hint());
        }
    }

    #[test]
    fn memory_is_read() {
        for (text, bytes) in [
            ("2GB", 2_000_000_000),
            ("2048", 2048 << 20),
            ("2 GiB", 2 << 30),
            ("1.5kB", 1500),
            ("512mib", 512 << 20),
            ("7B", 7),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(parse_memory(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn wrong_memory_says_which_part() {
        let found = parse_memory("2g").unwrap_err();
        assert_eq!(found, LimitError::UnknownMemoryUnit("g".into()));
        assert!(found.hint().contains("`GB`") && found.hint().contains("`GiB`"));
        assert_eq!(parse_memory("GB"), Err(LimitError::NoNumber("GB".into())));
        assert_eq!(parse_memory("0.1B"), Err(LimitError::NoNumber("0.1B".into())));
        assert_eq!(parse_memory("0"), Err(LimitError::NoNumber("0".into())));
        assert_eq!(parse_memory("99999999999TB"), Err(LimitError::TooMuch("99999999999TB".into())));
    }
}
