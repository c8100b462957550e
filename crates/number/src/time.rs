//! Time spans with a fitting unit.

use crate::digits::{MISSING, round_to, significant};
use std::time::Duration;

/// The unit a time span is shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeUnit {
    /// 10⁻⁹ s.
    Nanoseconds,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻³ s.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// 60 s.
    Minutes,
}

impl TimeUnit {
    /// The unit in which this many seconds, rounded to four digits, has one to three whole digits.
    #[must_use]
    pub fn fitting(seconds: f64) -> TimeUnit {
        let seconds = round_to(seconds.abs(), 4);
        match seconds {
            s if s >= 1000.0 => TimeUnit::Minutes,
            s if s >= 1.0 => TimeUnit::Seconds,
            s if s >= 1e-3 => TimeUnit::Milliseconds,
            s if s >= 1e-6 => TimeUnit::Microseconds,
            // Nothing, like a dash, is most at home in the usual unit.
            s if s > 0.0 => TimeUnit::Nanoseconds,
            _ => TimeUnit::Milliseconds,
        }
    }

    /// The unit's sign: `ms`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Microseconds => "µs",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
        }
    }

    /// This many seconds, counted in the unit.
    #[must_use]
    pub fn of(self, seconds: f64) -> f64 {
        match self {
            TimeUnit::Nanoseconds => seconds * 1e9,
            TimeUnit::Microseconds => seconds * 1e6,
            TimeUnit::Milliseconds => seconds * 1e3,
            TimeUnit::Seconds => seconds,
            TimeUnit::Minutes => seconds / 60.0,
        }
    }
}

/// This many seconds in milliseconds for programs, to the picosecond: `0.2451` is `245.1`, not `245.10000000000002`.
#[must_use]
pub fn milliseconds(seconds: f64) -> f64 {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2⁵³: above it a double no longer holds every whole number
    let picoseconds = seconds * 1e12;
    if picoseconds.abs() < EXACT { picoseconds.round() / 1e9 } else { seconds * 1e3 }
}

/// A time span with three significant digits: `173 ms`, `2 min 05 s`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return MISSING.into();
    }
    let rounded = round_to(seconds, 3);
    if rounded.abs() >= 60.0 {
        return clock(seconds);
    }
    let unit = TimeUnit::fitting(rounded);
    format!("{} {}", significant(unit.of(rounded), 3), unit.name())
}

/// The same for a `Duration`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    seconds(duration.as_secs_f64())
}

fn clock(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    let whole = seconds.abs().round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{sign}{minutes} min {rest:02} s"),
        1..1000 => format!("{sign}{hours} h {minutes:02} min"),
        _ => format!("{sign}{} h", significant(seconds.abs() / 3600.0, 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_span_finds_its_unit() {
        for (value, text) in [
            (0.0, "0 ms"),
            (3e-9, "3.00 ns"),
            (999.96e-9, "1.00 µs"),
            (42.13e-6, "42.1 µs"),
            (0.0004213, "421 µs"),
            (0.173, "173 ms"),
            (0.99996, "1.00 s"),
            (12.345, "12.3 s"),
            (59.94, "59.9 s"),
            (59.99, "1 min 00 s"),
            (125.0, "2 min 05 s"),
            (3599.9, "1 h 00 min"),
            (7384.0, "2 h 03 min"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(duration(Duration::from_millis(412)), "412 ms");
    }

    #[test]
    fn milliseconds_carry_no_dust() {
        assert_eq!(milliseconds(0.2451), 245.1);
        assert_eq!(milliseconds(3e-9), 3e-6);
        assert_eq!(milliseconds(1e9), 1e12);
        assert!(milliseconds(f64::NAN).is_nan());
    }
}
