//! Digits: rounding, significant digits, thousands separators.

/// What stands where there is no number.
pub const MISSING: &str = "–";

/// From here on only scientific notation keeps a column readable.
const LARGEST_PLAIN: f64 = 1e9;

/// The number with so many decimals and thousands separators: `1,042.50`.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    if value.abs() >= LARGEST_PLAIN {
        return scientific(value);
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{}{fraction}", group(whole))
}

/// The number by its power of ten: `1.2e-5`; for differences, whose size is what matters.
#[must_use]
pub fn scientific(value: f64) -> String {
    if value.is_finite() { format!("{value:.1e}") } else { MISSING.into() }
}

/// The number with at least so many significant digits, whole digits never dropped: `0.0421`, `16.3`, `2,087`.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    fixed(value, decimals_for(value, digits))
}

/// Decimals that give so many significant digits after rounding; at most nine.
#[must_use]
pub fn decimals_for(value: f64, digits: usize) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // Rounding may carry into the next power of ten: 9.996 with three digits is 10.0.
    let power = round_to(value.abs(), digits).log10().floor();
    let decimals = digits as f64 - 1.0 - power;
    decimals.clamp(0.0, 9.0) as usize
}

/// The number rounded to so many significant digits.
pub(crate) fn round_to(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Through text: the rounding people will see, without errors of its own.
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

fn group(whole: &str) -> String {
    let mut out = String::with_capacity(whole.len() + whole.len() / 3);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (value, decimals, text) in [
            (0.0, 0, "0"),
            (999.0, 0, "999"),
            (1000.0, 0, "1,000"),
            (1_234_567.891, 2, "1,234,567.89"),
            (-1042.5, 1, "-1,042.5"),
            (-0.001, 1, "0.0"),
            (1e300, 2, "1.0e300"),
            (f64::NAN, 2, "–"),
            (f64::INFINITY, 0, "–"),
        ] {
            assert_eq!(fixed(value, decimals), text);
        }
    }

    #[test]
    fn significant_digits_survive_a_carry() {
        for (value, digits, text) in [
            (245.1234, 3, "245"),
            (245.1234, 4, "245.1"),
            (0.042_13, 3, "0.0421"),
            (9.996, 3, "10.0"),
            (99.96, 3, "100"),
            (16.31, 3, "16.3"),
            (2087.4, 3, "2,087"),
            (0.0, 3, "0"),
        ] {
            assert_eq!(significant(value, digits), text);
        }
    }

    #[test]
    fn a_small_difference_is_told_by_its_power_of_ten() {
        assert_eq!(scientific(0.000_012_34), "1.2e-5");
        assert_eq!(scientific(f64::NAN), MISSING);
    }
}
