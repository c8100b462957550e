//! How much neighbouring samples resemble each other.
//!
//! On a real machine a slow sample is followed by a slow one: a neighbour wakes up, a clock steps down. A thousand such
//! samples know less than a thousand independent ones, and an interval that ignores it is too narrow. Both measures
//! here look only at whether a sample lies above or below the median, so one huge outlier cannot sway them and a
//! change of unit changes nothing.

use std::f64::consts::FRAC_PI_2;

/// Below this count the batches are too few to say anything: eight of eight.
const SMALLEST: usize = 64;

/// −1, 0 or 1: below, at or above the (doubled, hence whole) median.
fn sides(nanos: &[u64], doubled_median: u128) -> impl Iterator<Item = i64> {
    nanos.iter().map(move |&x| match (u128::from(x) * 2).cmp(&doubled_median) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    })
}

/// By what factor the variance of a median of these samples exceeds that of independent ones; never below 1.
///
/// Batch means: about √n batches of √n samples in a row; were samples independent, the batches' sums would vary √n
/// times as much as one sample. Below 64 samples the answer is 1: there is nothing to tell it from.
pub(crate) fn inflation(nanos: &[u64], doubled_median: u128) -> f64 {
    if nanos.len() < SMALLEST {
        return 1.0;
    }
    let length = nanos.len().isqrt();
    let batches = nanos.len() / length;
    let mut side = sides(nanos, doubled_median).take(batches * length);
    let (mut total, mut single) = (0i64, 0i64);
    let mut sums = Vec::with_capacity(batches);
    for _ in 0..batches {
        let mut sum = 0;
        for value in side.by_ref().take(length) {
            sum += value;
            single += value * value;
        }
        total += sum;
        sums.push(sum as f64);
    }
    if single == 0 {
        return 1.0;
    }
    let mean = total as f64 / batches as f64;
    let spread = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / (batches - 1) as f64;
    let independent = length as f64 * (single as f64 / (batches * length) as f64);
    (spread / independent).max(1.0)
}

/// How many neighbours a block of the bootstrap should hold: 1 for independent samples.
///
/// The length that is best for a first-order process with the correlation seen between neighbours,
/// (3/2)^⅓ · (2ρ ÷ (1 − ρ²))^⅔ · n^⅓, and never more than a quarter of the samples. The correlation is taken from the sides
/// of the median: for a normal process their correlation is 2/π · asin ρ.
pub(crate) fn block_length(nanos: &[u64], doubled_median: u128) -> usize {
    let n = nanos.len();
    let (mut product, mut square, mut previous) = (0i64, 0i64, 0i64);
    for side in sides(nanos, doubled_median) {
        product += side * previous;
        square += side * side;
        previous = side;
    }
    if product <= 0 {
        return 1;
    }
    let correlation = (FRAC_PI_2 * product as f64 / square as f64).sin().min(0.99);
    let pull = (2.0 * correlation / (1.0 - correlation * correlation)).powf(2.0 / 3.0);
    let length = (1.5 * n as f64).cbrt() * pull;
    (length.round() as usize).clamp(1, (n / 4).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;

    #[test]
    fn independent_samples_inflate_nothing_and_need_no_blocks() {
        let mut generator = Generator::new(3);
        let nanos: Vec<u64> = (0..10_000).map(|_| generator.below(1001) as u64).collect();
        let factor = inflation(&nanos, 1000);
        assert!(factor < 1.5, "{factor}");
        assert!(block_length(&nanos, 1000) <= 3);
    }

    #[test]
    fn samples_that_come_in_tens_count_a_tenth() {
        let mut generator = Generator::new(3);
        let nanos: Vec<u64> = (0..1000).flat_map(|_| [generator.below(1001) as u64; 10]).collect();
        let factor = inflation(&nanos, 1000);
        assert!((7.0..13.0).contains(&factor), "{factor}");
        assert!(block_length(&nanos, 1000) > 10);
    }

    #[test]
    fn equal_samples_and_few_samples_are_taken_as_independent() {
        assert_eq!(inflation(&[5; 1000], 10), 1.0);
        assert_eq!(inflation(&[1, 1, 1, 9, 9, 9], 10), 1.0);
        assert_eq!(block_length(&[5; 1000], 10), 1);
    }
}
