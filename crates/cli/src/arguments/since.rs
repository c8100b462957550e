//! Since when: so long ago, or a day.

use super::values::parse_time;
use std::time::Duration;

/// Since when runs are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long ago.
    Ago(Duration),
    /// The beginning of a day, in microseconds since the epoch.
    Day(i64),
}

impl Since {
    /// In microseconds since the epoch.
    pub(crate) fn micros(self, now: i64) -> i64 {
        match self {
            Since::Ago(span) => now - span.as_micros() as i64,
            Since::Day(day) => day,
        }
    }
}

/// `7d`, or `2026-11-01`, which begins in UTC.
pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return parse_time(text).map(Since::Ago) };
    let wrong = || format!("`{text}` is not a date; write 2026-11-01, or a time such as 7d");
    let number = |text: &str, digits: usize| {
        text.parse::<i64>().ok().filter(|_| text.len() == digits).ok_or_else(wrong)
    };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if !(1..=length).contains(&day) {
        return Err(wrong());
    }
    // Years are counted from March, so that the leap day comes last.
    let (from_march, march_year) =
        if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let century = march_year.div_euclid(100);
    let leap_days = march_year.div_euclid(4) - century + century.div_euclid(4);
    let days = march_year * 365 + leap_days + (153 * from_march + 2) / 5 + day - 1 - 719_468;
    Ok(Since::Day(days * 86_400_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_spans_are_read_and_nonsense_is_not() {
        assert_eq!(parse_since("1970-01-01"), Ok(Since::Day(0)));
        assert_eq!(parse_since("2000-02-29"), Ok(Since::Day(951_782_400_000_000)));
        assert_eq!(parse_since("2026-11-17"), Ok(Since::Day(1_794_873_600_000_000)));
        assert_eq!(parse_since("2h"), Ok(Since::Ago(Duration::from_secs(7200))));
        for wrong in ["2026-02-29", "2026-13-01", "2026-1-1", "2026-00-10", "soon", "-1s", "--"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Since::Ago(Duration::from_secs(1)).micros(5_000_000), 4_000_000);
    }
}
