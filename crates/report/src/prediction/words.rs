//! Numbers as every result of predictions writes them.

/// The prediction × and ÷ this is the interval.
pub(super) fn times_and_divided(width: f64) -> String {
    match width.is_finite() {
        true => format!("× ÷ {}", number::fixed(width, 2)),
        false => "endless".to_owned(),
    }
}

/// A share in percent with one decimal: goals of errors differ by tenths.
pub(super) fn tenths(share: f64) -> String {
    format!("{} %", number::fixed(share * 100.0, 1))
}
