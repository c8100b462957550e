//! What a test of the machine's noise says as one number.

use types::Noise;

/// The geometric mean of the medians of a test, in seconds.
#[must_use]
pub fn typical_median(test: &Noise) -> f64 {
    let medians: f64 = test.medians.iter().map(|median| median.ln()).sum();
    (medians / test.medians.len().max(1) as f64).exp()
}
