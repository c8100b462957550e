//! Moments as other tools and our tables write them: RFC 3339, in UTC.

/// Microseconds in a second.
const MICROS: i64 = 1_000_000;

/// Microseconds since the epoch of `2026-11-16T06:12:34.000000Z`; `None` where it is no such text.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, clock) = text.split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset) = offset(clock)?;
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (parts.next()?.parse::<i64>().ok()?, parts.next()?.parse::<i64>().ok()?);
    let (second, fraction) = match parts.next() {
        Some(second) => second.split_once('.').unwrap_or((second, "")),
        None => ("0", ""),
    };
    let second: i64 = second.parse().ok()?;
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros: i64 = digits.parse().ok()?;
    let sane = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && (0..=9999).contains(&year);
    // What is not sane may not even be a number that can be multiplied.
    sane.then(|| {
        let clock = hour * 3600 + minute * 60 + second - offset;
        (days(year, month, day) * 86_400 + clock) * MICROS + micros
    })
}

/// The clock without its offset, and the offset in seconds.
fn offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (hour, minute) = clock[at + 1..].split_once(':')?;
    let below = |text: &str, end: i64| {
        let number: i64 = text.parse().ok()?;
        (0..end).contains(&number).then_some(number)
    };
    let seconds = below(hour, 24)? * 3600 + below(minute, 60)? * 60;
    Some((&clock[..at], if clock[at..].starts_with('-') { -seconds } else { seconds }))
}

/// Days since the epoch, by counting years from March so that the leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `2026-11-16T06:12:34.000000Z`; times outside the years 0000 to 9999 are held at their ends.
pub(crate) fn format(micros: i64) -> String {
    let micros = micros.clamp(-62_167_219_200_000_000, 253_402_300_799_999_999);
    let (seconds, micros) = (micros.div_euclid(MICROS), micros.rem_euclid(MICROS));
    let (day, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = years + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_that_are_known_are_read_right() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2025-04-24T11:58:50Z"), Some(1_745_495_930_000_000));
        assert_eq!(parse("2024-02-29T23:59:59.5Z"), Some(1_709_251_199_500_000));
        assert_eq!(parse("2024-02-29T23:59:59.5+01:00"), Some(1_709_247_599_500_000));
        assert_eq!(parse("2025-04-24"), None);
        assert_eq!(parse("2025-13-24T11:58:50Z"), None);
        // Numbers that cannot even be multiplied.
        assert_eq!(parse("9223372036854775807-01-01T00:00:00Z"), None);
        assert_eq!(parse("2025-01-01T9223372036854775807:00:00Z"), None);
        assert_eq!(parse("2025-01-01T00:00:00+9223372036854775807:00"), None);
    }

    #[test]
    fn a_moment_survives_its_text() {
        for micros in [0, -1, 1_745_495_930_123_456, -62_167_219_200_000_000, 951_868_799_999_999] {
            assert_eq!(parse(&format(micros)), Some(micros), "{}", format(micros));
        }
    }
}
