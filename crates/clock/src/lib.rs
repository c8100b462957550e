//! The time now, and moments of the calendar as text: microseconds since 1970, in UTC.
//!
//! The only crate that asks for the time of day and that knows the calendar. How long something took is measured by
//! [`std::time::Instant`], not by this.

use jiff::{
    SignedDuration,
    civil::{DateTime, date},
    fmt::temporal::{Pieces, PiecesOffset},
};
use std::time::{SystemTime, UNIX_EPOCH};

/// 0000-01-01T00:00:00Z, before which RFC 3339 has no year.
const FIRST: i64 = -62_167_219_200_000_000;
/// 9999-12-31T23:59:59.999999Z, after which RFC 3339 has no year.
const LAST: i64 = 253_402_300_799_999_999;

/// Now.
#[must_use]
pub fn now() -> i64 {
    moment(SystemTime::now())
}

/// A time of the system, such as when a file was written; 0 before 1970.
#[must_use]
pub fn moment(time: SystemTime) -> i64 {
    i64::try_from(nanoseconds(time) / 1000).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970, as finely as a file system tells; 0 before 1970.
#[must_use]
pub fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// `2026-11-16T06:12:34.000000Z`; times outside the years 0000 to 9999 are held at their ends.
#[must_use]
pub fn rfc3339(micros: i64) -> String {
    civil(micros).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// `2026-11-16 06:12`, for tables.
#[must_use]
pub fn minute(micros: i64) -> String {
    civil(micros).strftime("%Y-%m-%d %H:%M").to_string()
}

/// The moment of `2026-11-16T06:12:34.000000Z`, also with another offset or none, which is UTC; `None` if it is no such
/// text.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text.trim()).ok()?;
    let civil = DateTime::from_parts(pieces.date(), pieces.time()?);
    let offset = match pieces.offset() {
        Some(PiecesOffset::Numeric(offset)) => offset.offset().seconds(),
        _ => 0,
    };
    let since = civil.duration_since(epoch()) - SignedDuration::from_secs(offset.into());
    i64::try_from(since.as_micros()).ok().filter(|_| civil.year() >= 0)
}

fn epoch() -> DateTime {
    date(1970, 1, 1).at(0, 0, 0, 0)
}

fn civil(micros: i64) -> DateTime {
    epoch().saturating_add(SignedDuration::from_micros(micros.clamp(FIRST, LAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_have_their_known_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (951_868_799, "2000-02-29T23:59:59.000000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.000000Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000), text);
        }
        assert_eq!(rfc3339(1_500_000), "1970-01-01T00:00:01.500000Z");
        assert_eq!(minute(951_868_799_000_000), "2000-02-29 23:59");
    }

    #[test]
    fn the_ends_of_time_are_held() {
        assert_eq!(rfc3339(i64::MIN), "0000-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(i64::MAX), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn moments_that_are_known_are_read_right() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2025-04-24T11:58:50Z"), Some(1_745_495_930_000_000));
        assert_eq!(parse("2025-04-24 11:58:50"), Some(1_745_495_930_000_000));
        assert_eq!(parse(" 2025-04-24T11:58:50.123456789+00:00 "), Some(1_745_495_930_123_456));
        assert_eq!(parse("2024-02-29T23:59:59.5Z"), Some(1_709_251_199_500_000));
        assert_eq!(parse("2024-02-29T23:59:59.5+01:00"), Some(1_709_247_599_500_000));
        for wrong in [
            "2025-04-24",
            "2025-13-24T11:58:50Z",
            "2025-02-30T11:58:50Z",
            "9223372036854775807-01-01T00:00:00Z",
            "2025-01-01T9223372036854775807:00:00Z",
            "2025-01-01T00:00:00+9223372036854775807:00",
            "-000001-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_moment_survives_its_text() {
        for micros in [0, -1, 1_745_495_930_123_456, FIRST, LAST, 951_868_799_999_999] {
            assert_eq!(parse(&rfc3339(micros)), Some(micros), "{}", rfc3339(micros));
        }
        assert!(now() > 1_745_495_930_000_000);
    }
}
