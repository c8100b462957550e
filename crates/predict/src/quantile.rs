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
