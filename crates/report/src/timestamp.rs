//! Moments as tables show them, in UTC.

pub use clock::{minute, rfc3339};

/// Several moments, short and all alike: `11-16 06:12` within one year, `2026-11-16` otherwise.
pub(crate) fn short_column(moments: &[i64]) -> Vec<String> {
    let minutes: Vec<String> = moments.iter().map(|micros| minute(*micros)).collect();
    // A year has four digits, a date ten.
    let same_year = minutes.windows(2).all(|pair| pair[0][..4] == pair[1][..4]);
    let show = |minute: &String| match same_year {
        true => minute[5..].to_owned(),
        false => minute[..10].to_owned(),
    };
    minutes.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_year_is_left_out_only_where_all_share_it() {
        let (before, after) = (1_767_225_599_000_000, 1_767_225_600_000_000);
        assert_eq!(short_column(&[before, before]), ["12-31 23:59", "12-31 23:59"]);
        assert_eq!(short_column(&[after, before]), ["2026-01-01", "2025-12-31"]);
    }
}
