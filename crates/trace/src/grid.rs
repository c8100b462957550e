//! Nanoseconds as the microseconds that trace formats want.

/// Microseconds with their fractions; three decimals as long as the timeline is shorter than a month.
pub(crate) fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

/// Microseconds on a grid of 1/1024, never above the true value.
///
/// Readers that add `ts` and `dur` as binary fractions must not find that a span ends after the one around it. On this
/// grid such sums are exact, so that what lay inside stays inside; the price is less than a nanosecond.
pub(crate) fn exact_micros(nanos: u64) -> f64 {
    let steps = u128::from(nanos) * 1024 / 1000;
    steps as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_have_three_decimals() {
        for (nanos, text) in
            [(0, "0.0"), (1_001, "1.001"), (2_592_000_000_123_457, "2592000000123.457")]
        {
            assert_eq!(serde_json::to_string(&micros(nanos)).unwrap(), text);
        }
    }

    #[test]
    fn sums_on_the_grid_are_exact_and_below_the_true_value() {
        for nanos in (0..10_000_000_u64).step_by(997).chain([3_600_000_000_123]) {
            let exact = exact_micros(nanos);
            assert!((0.0..0.001).contains(&(nanos as f64 / 1000.0 - exact)), "{nanos}");
            let start = exact_micros(nanos / 3);
            assert_eq!(start + (exact - start), exact);
        }
    }
}
