//! Microseconds since the epoch as dates of the Gregorian calendar, in UTC.

/// 0000-01-01T00:00:00Z, before which RFC 3339 has no year.
const FIRST: i64 = -62_167_219_200_000_000;
/// 9999-12-31T23:59:59.999999Z, after which RFC 3339 has no year.
const LAST: i64 = 253_402_300_799_999_999;

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

/// `2026-11-16T06:12:34.000000Z`; times outside the years 0000 to 9999 are held at their ends.
#[must_use]
pub fn rfc3339(micros: i64) -> String {
    let Civil { year, month, day, hour, minute, second, micros } = civil(micros);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// `2026-11-16 06:12`, in UTC, for tables.
#[must_use]
pub fn minute(micros: i64) -> String {
    let Civil { year, month, day, hour, minute, .. } = civil(micros);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// Several moments, short and all alike: `11-16 06:12` within one year, `2026-11-16` otherwise.
pub(crate) fn short_column(moments: &[i64]) -> Vec<String> {
    let civils: Vec<Civil> = moments.iter().map(|micros| civil(*micros)).collect();
    let same_year = civils.windows(2).all(|pair| pair[0].year == pair[1].year);
    let show = |Civil { year, month, day, hour, minute, .. }: &Civil| {
        if same_year {
            format!("{month:02}-{day:02} {hour:02}:{minute:02}")
        } else {
            format!("{year:04}-{month:02}-{day:02}")
        }
    };
    civils.iter().map(show).collect()
}

fn civil(micros: i64) -> Civil {
    let micros = micros.clamp(FIRST, LAST);
    let seconds = micros.div_euclid(1_000_000);
    let days = seconds.div_euclid(86_400);
    let of_day = seconds.rem_euclid(86_400);
    let (year, month, day) = date(days);
    Civil {
        year,
        month,
        day,
        hour: of_day / 3600,
        minute: of_day / 60 % 60,
        second: of_day % 60,
        micros: micros.rem_euclid(1_000_000),
    }
}

/// The date so many days after 1970-01-01. Years are counted from March, so that the leap day comes last.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    const MARCH_FIRST_OF_YEAR_0: i64 = -719_468;
    let days = days - MARCH_FIRST_OF_YEAR_0;
    let cycle = days.div_euclid(DAYS_IN_400_YEARS);
    let of_cycle = days.rem_euclid(DAYS_IN_400_YEARS);
    // Take away the leap days passed so far: one in 4 years, none in 100, one in 400.
    let year_of_cycle =
        (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    // From March on, five months have 153 days.
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
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
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = date(-1);
        for days in 0..146_097 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
            assert_eq!(date(days), (year, month, day));
        }
    }

    #[test]
    fn the_year_is_left_out_only_where_all_share_it() {
        let (before, after) = (1_767_225_599_000_000, 1_767_225_600_000_000);
        assert_eq!(short_column(&[before, before]), ["12-31 23:59", "12-31 23:59"]);
        assert_eq!(short_column(&[after, before]), ["2026-01-01", "2025-12-31"]);
    }

    #[test]
    fn the_ends_of_time_are_held() {
        assert_eq!(rfc3339(i64::MIN), "0000-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(i64::MAX), "9999-12-31T23:59:59.999999Z");
    }
}
