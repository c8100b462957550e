//! From the time of one run to a rate.

/// How many items (samples, tokens, images) a second, where one run handles `items` and takes `mean_seconds` on average.
///
/// The mean, not the median, because throughput is work ÷ total time. `None` if the time is not positive.
#[must_use]
pub fn per_second(items: u64, mean_seconds: f64) -> Option<f64> {
    (mean_seconds > 0.0 && mean_seconds.is_finite()).then(|| items as f64 / mean_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_items_over_seconds() {
        assert_eq!(per_second(4, 0.25), Some(16.0));
        assert_eq!(per_second(4, 0.0), None);
        assert_eq!(per_second(4, f64::NAN), None);
    }
}
