//! Several questions asked of one set of data: the more are asked, the more answers are luck.

/// The p values, each raised so that rejecting all below a level keeps the share of false discoveries below that level
/// (Benjamini and Hochberg, 1995); in the order given.
#[must_use]
pub fn false_discovery(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|&left, &right| p_values[right].total_cmp(&p_values[left]));
    let mut adjusted = vec![1.0; count];
    let mut smallest = 1.0f64;
    for (place, at) in order.into_iter().enumerate() {
        let rank = count - place;
        smallest = smallest.min(p_values[at] * count as f64 / rank as f64);
        adjusted[at] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_those_of_another_implementation() {
        // As scipy 1.17 gives them.
        for (given, expected) in [
            (vec![0.01, 0.04, 0.03, 0.005, 0.8], vec![0.025, 0.05, 0.05, 0.025, 0.8]),
            (vec![0.001, 0.02, 0.021, 0.9], vec![0.004, 0.028, 0.028, 0.9]),
        ] {
            for (found, expected) in false_discovery(&given).into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15, "{found} {expected}");
            }
        }
    }

    #[test]
    fn one_question_needs_no_correction_and_none_has_no_answer() {
        assert_eq!(false_discovery(&[0.03]), [0.03]);
        assert!(false_discovery(&[]).is_empty());
    }
}
