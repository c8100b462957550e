//! Bytes, operations, rates, counts and shares with a fitting prefix.

use crate::digits::{MISSING, fixed, round_to, significant};
use crate::time::seconds;
use types::{Estimate, Unit};

const SI: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
/// Counts of things, where a billion is no giga.
const SHORT_SCALE: [&str; 5] = ["", "k", "M", "B", "T"];

/// Bytes with a decimal prefix: `285 MB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    prefixed(bytes as f64, &SI, "B")
}

/// Bytes as limits of memory are given, in whole mebibytes: `256 MiB`.
#[must_use]
pub fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Bytes a second: `22.9 GB/s`.
#[must_use]
pub fn bytes_per_second(value: f64) -> String {
    prefixed(value, &SI, "B/s")
}

/// Floating point operations: `45.2 GFLOP`.
#[must_use]
pub fn flops(flops: u64) -> String {
    prefixed(flops as f64, &SI, "FLOP")
}

/// Floating point operations per second: `184 GFLOP/s`.
#[must_use]
pub fn flops_per_second(value: f64) -> String {
    prefixed(value, &SI, "FLOP/s")
}

/// An amount of energy: `12.4 J`.
#[must_use]
pub fn joules(value: f64) -> String {
    small(value, "J")
}

/// Power: `287 W`.
#[must_use]
pub fn watts(value: f64) -> String {
    small(value, "W")
}

/// A count of things: `66.4 M`, `4,321`.
#[must_use]
pub fn count(count: u64) -> String {
    if count < 10_000 {
        return fixed(count as f64, 0);
    }
    prefixed(count as f64, &SHORT_SCALE, "").trim_end().to_string()
}

/// So many a second, without the word for what: `16.3`, `2,087`, `1.25 M`.
#[must_use]
pub fn rate(value: f64) -> String {
    if value.abs() < 999_999.5 {
        significant(value, 3)
    } else {
        prefixed(value, &SHORT_SCALE, "").trim_end().to_string()
    }
}

/// A share in percent: `61 %`, `1.0 %`; what is not quite the whole never shows as 100 %.
#[must_use]
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let size = percent.abs();
    if !ratio.is_finite() {
        MISSING.into()
    } else if percent == 0.0 {
        "0 %".into()
    } else if size < 0.05 {
        if percent < 0.0 { "> -0.1 %".into() } else { "< 0.1 %".into() }
    } else if size < 9.95 {
        format!("{} %", fixed(percent, 1))
    } else if (99.5..100.0).contains(&size) {
        format!("{} %", fixed((percent * 10.0).trunc() / 10.0, 1))
    } else {
        format!("{} %", fixed(percent, 0))
    }
}

/// A share with its 95 % interval: `99.1 % [98.7, 99.6]`; without one where nothing was repeated.
#[must_use]
pub fn share_with_interval(estimate: &Estimate) -> String {
    let share = |value: f64| fixed(value * 100.0, 1);
    let Estimate { value, interval } = estimate;
    // A single observation has an interval without an end.
    if interval.high > 1e6 {
        return format!("{} %", share(*value));
    }
    format!("{} % [{}, {}]", share(*value), share(interval.low), share(interval.high))
}

/// A half width as a share of its value: `± 1.0 %`.
#[must_use]
pub fn plus_minus(relative_half_width: f64) -> String {
    format!("± {}", percent(relative_half_width.abs()))
}

/// A number in its stored unit, with that unit.
#[must_use]
pub fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => prefixed(value, &SI, "B"),
        Unit::BytesPerSecond => bytes_per_second(value),
        Unit::Flops => prefixed(value, &SI, "FLOP"),
        Unit::FlopsPerSecond => flops_per_second(value),
        Unit::Joules => joules(value),
        Unit::Watts => watts(value),
        Unit::Hertz => prefixed(value, &SI, "Hz"),
        Unit::Celsius => format!("{} °C", significant(value, 3)),
        Unit::Ratio => percent(value),
        Unit::Count => count_of(value),
        Unit::PerSecond => format!("{}/s", rate(value)),
    }
}

/// A count that need not be whole, as an average of counts is not.
fn count_of(value: f64) -> String {
    if value >= 0.0 && value.fract() == 0.0 && value < u64::MAX as f64 {
        count(value as u64)
    } else {
        rate(value)
    }
}

/// Energy and power also come small: milli is as usual as kilo.
fn small(value: f64, unit: &str) -> String {
    if value != 0.0 && value.abs() < 0.9995 {
        format!("{} m{unit}", significant(value * 1e3, 3))
    } else {
        prefixed(value, &SI, unit)
    }
}

fn prefixed(value: f64, prefixes: &[&str], unit: &str) -> String {
    if !value.is_finite() {
        return MISSING.into();
    }
    let rounded = round_to(value, 3);
    let mut scaled = rounded;
    let mut step = 0;
    while scaled.abs() >= 1000.0 && step + 1 < prefixes.len() {
        scaled /= 1000.0;
        step += 1;
    }
    // Without a prefix a whole number is exact; decimals would pretend to more.
    let whole = step == 0 && value.fract() == 0.0;
    let digits = if whole { fixed(value, 0) } else { significant(scaled, 3) };
    format!("{digits} {}{unit}", prefixes[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decimal() {
        for (value, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (285_212_672, "285 MB"),
            (38_200_000, "38.2 MB"),
            (999_999_999, "1.00 GB"),
            (1_042_000_000, "1.04 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn work_and_rates_have_prefixes_or_separators() {
        assert_eq!(flops(45_200_000_000), "45.2 GFLOP");
        assert_eq!(flops(0), "0 FLOP");
        assert_eq!(flops_per_second(1.84e11), "184 GFLOP/s");
        assert_eq!(flops_per_second(8.12e11), "812 GFLOP/s");
        assert_eq!(bytes_per_second(2.29e10), "22.9 GB/s");
        assert_eq!(rate(16.31), "16.3");
        assert_eq!(rate(2087.4), "2,087");
        assert_eq!(rate(0.0163), "0.0163");
        assert_eq!(rate(1_250_000.0), "1.25 M");
        assert_eq!(rate(999_999.9), "1.00 M");
    }

    #[test]
    fn counts_are_exact_while_small() {
        for (value, text) in [
            (0, "0"),
            (212, "212"),
            (9_999, "9,999"),
            (10_000, "10.0 k"),
            (66_362_880, "66.4 M"),
            (1_100_048_384, "1.10 B"),
        ] {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn a_share_never_rounds_up_to_the_whole() {
        for (ratio, text) in [
            (0.0, "0 %"),
            (0.0001, "< 0.1 %"),
            (0.001, "0.1 %"),
            (0.01, "1.0 %"),
            (0.0996, "10 %"),
            (0.61, "61 %"),
            (0.9999, "99.9 %"),
            (1.0, "100 %"),
            (1.87, "187 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(ratio), text);
        }
        assert_eq!(plus_minus(0.0104), "± 1.0 %");
    }

    #[test]
    fn every_stored_unit_is_shown_with_its_name() {
        for (number, unit, text) in [
            (0.25, Unit::Seconds, "250 ms"),
            (2e6, Unit::Bytes, "2.00 MB"),
            (2e9, Unit::BytesPerSecond, "2.00 GB/s"),
            (2e9, Unit::Flops, "2.00 GFLOP"),
            (2e9, Unit::FlopsPerSecond, "2.00 GFLOP/s"),
            (0.0124, Unit::Joules, "12.4 mJ"),
            (287.0, Unit::Watts, "287 W"),
            (2.5e9, Unit::Hertz, "2.50 GHz"),
            (61.0, Unit::Celsius, "61.0 °C"),
            (0.5, Unit::Ratio, "50 %"),
            (1234.0, Unit::Count, "1,234"),
            (0.75, Unit::Count, "0.750"),
            (16.3, Unit::PerSecond, "16.3/s"),
        ] {
            assert_eq!(value(number, unit), text);
        }
    }
}
