//! Quantiles of weighted values.

/// The smallest value that at least this share of the weight does not exceed; `None` without values.
pub(crate) fn weighted(mut pairs: Vec<(f64, f64)>, share: f64) -> Option<f64> {
    pairs.retain(|(value, weight)| value.is_finite() && *weight > 0.0);
    pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for (value, weight) in &pairs {
        sum += weight;
        if sum >= share * all * (1.0 - 1e-12) {
            return Some(*value);
        }
    }
    pairs.last().map(|(value, _)| *value)
}

/// The middle of values with weights, without putting all of them in order; 0 without values.
pub(crate) fn middle(mut pairs: Vec<(f64, f64)>) -> f64 {
    let mut wanted = pairs.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut some = pairs.as_mut_slice();
    while some.len() > 1 {
        let half = (some.len() - 1) / 2;
        let (low, at, high) =
            some.select_nth_unstable_by(half, |one, other| one.0.total_cmp(&other.0));
        let below: f64 = low.iter().map(|(_, weight)| weight).sum();
        if below >= wanted && !low.is_empty() {
            some = low;
        } else if below + at.1 >= wanted || high.is_empty() {
            return at.0;
        } else {
            wanted -= below + at.1;
            some = high;
        }
    }
    some.first().map_or(0.0, |(value, _)| *value)
}

/// The middle value; `None` without values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix;

    #[test]
    fn the_middle_is_what_putting_all_in_order_says() {
        let mut random = SplitMix::new(3);
        for count in 1..60 {
            // Whole weights have exact sums, and few values are often the same.
            let pairs: Vec<(f64, f64)> = (0..count)
                .map(|_| (random.below(20) as f64, 1.0 + random.below(5) as f64))
                .collect();
            assert_eq!(Some(middle(pairs.clone())), weighted(pairs.clone(), 0.5), "{pairs:?}");
        }
        assert_eq!(middle(Vec::new()), 0.0);
    }
}
