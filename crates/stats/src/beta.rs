//! The regularised incomplete beta function, on which Student's distribution rests.

use std::f64::consts::PI;

/// Below this a factor of the continued fraction counts as 0 and would be divided by.
const TINY: f64 = 1e-300;

/// The share of the beta distribution with these two parameters that lies below `x`; both are positive.
pub(crate) fn incomplete(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction is short on the side of the mean where `x` lies; the other side is its complement.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the function (DLMF 8.17.22), taken from the front until a step changes nothing.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = below;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + term * below);
            above = away_from_zero(1.0 + term / above);
            change = above * below;
            result *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function for a positive number: Stirling's series, reached by stepping up to where eight
/// of its terms are exact to a double.
fn ln_gamma(x: f64) -> f64 {
    const FROM: f64 = 10.0;
    /// Bernoulli numbers B₂ₖ ÷ (2k · (2k − 1)).
    const SERIES: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    let mut z = x;
    let mut product = 1.0;
    while z < FROM {
        product *= z;
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    let tail = SERIES.iter().rev().fold(0.0, |sum, term| sum * square + term) / z;
    (z - 0.5) * z.ln() - z + 0.5 * (2.0 * PI).ln() + tail - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gamma_function_is_the_factorial_between_whole_numbers() {
        for (x, gamma) in
            [(1.0, 1.0f64), (2.0, 1.0), (5.0, 24.0), (0.5, PI.sqrt()), (11.0, 3_628_800.0)]
        {
            assert!((ln_gamma(x) - gamma.ln()).abs() < 1e-13, "{x}: {}", ln_gamma(x));
        }
    }

    #[test]
    fn shares_are_those_of_another_implementation() {
        // As scipy 1.17 gives them.
        assert!((incomplete(2.5, 0.5, 0.3) - 0.018_927_124_071_945_658).abs() < 1e-14);
        assert!((incomplete(0.5, 0.5, 0.9) - 0.795_167_235_300_866_5).abs() < 1e-14);
        assert_eq!(incomplete(2.0, 3.0, 0.0), 0.0);
        assert_eq!(incomplete(2.0, 3.0, 1.0), 1.0);
    }

    #[test]
    fn both_sides_of_a_point_make_the_whole() {
        for (a, b, x) in [(0.5, 3.0, 0.2), (60.0, 0.5, 0.99), (500.0, 0.5, 0.5), (1.0, 1.0, 0.7)] {
            let whole = incomplete(a, b, x) + incomplete(b, a, 1.0 - x);
            assert!((whole - 1.0).abs() < 1e-12, "{a} {b} {x}: {whole}");
        }
        assert!((incomplete(1.0, 1.0, 0.7) - 0.7).abs() < 1e-15);
    }
}
