//! Round numbers on an axis: no digit that says nothing.

use crate::quantity::value;
use types::Unit;

/// A number in its stored unit, with that unit and without trailing zeros: `200 ms`, `1.5 GB`, `1,000`.
///
/// What counts so many a second has no unit here: the axis has a name.
#[must_use]
pub fn tick(number: f64, unit: Unit) -> String {
    let text = value(number, unit);
    let text = if unit == Unit::PerSecond { text.trim_end_matches("/s") } else { &text };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',' && c != '-');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    if !digits.contains('.') || rest.starts_with('e') {
        return text.to_owned();
    }
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_have_no_trailing_zeros() {
        for (number, unit, text) in [
            (0.2, Unit::Seconds, "200 ms"),
            (0.001, Unit::Seconds, "1 ms"),
            (1.5e9, Unit::Bytes, "1.5 GB"),
            (0.0, Unit::Bytes, "0 B"),
            (1000.0, Unit::PerSecond, "1,000"),
            (0.5, Unit::PerSecond, "0.5"),
            (2e6, Unit::PerSecond, "2 M"),
            (1e11, Unit::FlopsPerSecond, "100 GFLOP/s"),
            (0.25, Unit::Count, "0.25"),
            (10.0, Unit::Count, "10"),
            (f64::NAN, Unit::Seconds, "–"),
        ] {
            assert_eq!(tick(number, unit), text);
        }
    }
}
