//! Seeded normal numbers, fast enough to fill a model's weights in a second.

use stats::Generator;

/// Fills `values` with normal numbers of mean 0 (Box-Muller: two numbers from two uniform ones).
pub(crate) fn fill_normal(random: &mut Generator, values: &mut [f32], std: f32) {
    // Draw a few, then compute them: the second loop has no calls and no branches, so it runs on vectors.
    const PAIRS: usize = 128;
    let mut bits = [0; PAIRS];
    let mut pairs = [[0.0; 2]; PAIRS];
    for chunk in values.chunks_mut(2 * PAIRS) {
        bits.fill_with(|| random.number());
        for (pair, &bits) in pairs.iter_mut().zip(&bits) {
            *pair = normal_pair(bits, std);
        }
        let drawn = pairs.as_flattened();
        chunk.copy_from_slice(&drawn[..chunk.len()]);
    }
}

/// Two normal numbers from 64 random bits: 24 for the radius, 22 for an angle inside a quarter turn, one for each sign.
///
/// Only additions, products, a division and roots: the same numbers on every machine, whatever its library of
/// functions.
fn normal_pair(bits: u64, std: f32) -> [f32; 2] {
    // Never 0, so that the logarithm exists.
    let uniform = ((bits >> 40) as u32 + 1) as f32 * (1.0 / (1 << 24) as f32);
    let radius = std * (-2.0 * logarithm(uniform)).sqrt();
    // Half an eighth of a turn to either side; the sums below turn it into the first quarter.
    let quarter = (bits as u32 & 0x3f_ffff) as f32 * (1.0 / (1 << 22) as f32) - 0.5;
    let angle = quarter * std::f32::consts::FRAC_PI_2;
    let square = angle * angle;
    let sine = angle * (1.0 + square * (-1.0 / 6.0 + square * (1.0 / 120.0 - square / 5040.0)));
    let cosine =
        1.0 + square * (-0.5 + square * (1.0 / 24.0 + square * (-1.0 / 720.0 + square / 40320.0)));
    let radius = radius * std::f32::consts::FRAC_1_SQRT_2;
    let signed = |value: f32, place: u32| {
        f32::from_bits(value.to_bits() ^ (((bits >> place) as u32 & 1) << 31))
    };
    [signed(radius * (cosine - sine), 22), signed(radius * (cosine + sine), 23)]
}

/// The natural logarithm of a number above 0 and not above 1: exponent and mantissa apart, the mantissa by the series
/// of the inverse hyperbolic tangent.
fn logarithm(value: f32) -> f32 {
    let bits = value.to_bits();
    // The mantissa lies between √½ and √2, where the series ends soon.
    let shifted = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (shifted as i32 >> 23) as f32;
    let mantissa =
        f32::from_bits((shifted & 0x7f_ffff) + std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = 1.0 + square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0 + square / 9.0)));
    exponent * std::f32::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_numbers_have_the_mean_and_deviation_asked_for() {
        let mut values = vec![0.0; 1_000_001];
        fill_normal(&mut Generator::new(7), &mut values, 0.02);
        let count = values.len() as f64;
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / count;
        let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / count;
        assert!(mean.abs() < 1e-4, "mean {mean}");
        assert!((variance.sqrt() - 0.02).abs() < 1e-4, "std {}", variance.sqrt());
        let beyond = values.iter().filter(|v| v.abs() > 0.04).count() as f64 / count;
        assert!((beyond - 0.0455).abs() < 0.002, "share beyond two deviations {beyond}");
        assert!(values.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn the_logarithm_is_one() {
        for step in 1..=1000 {
            let value = step as f32 / 1000.0;
            assert!((logarithm(value) - value.ln()).abs() < 2e-6, "{value}");
        }
        assert!((logarithm(1.0 / (1 << 24) as f32) + 16.635_532).abs() < 1e-4);
    }

    #[test]
    fn the_two_numbers_of_a_pair_do_not_depend_on_each_other() {
        let mut values = vec![0.0; 1_000_000];
        fill_normal(&mut Generator::new(3), &mut values, 1.0);
        let product: f64 = values.as_chunks::<2>().0.iter().map(|[a, b]| f64::from(a * b)).sum();
        assert!((product / 500_000.0).abs() < 0.006, "{product}");
        let negative = values.iter().filter(|value| **value < 0.0).count();
        assert!(negative.abs_diff(500_000) < 2500, "{negative}");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (mut first, mut second, mut other) = ([0.0; 9], [0.0; 9], [0.0; 9]);
        fill_normal(&mut Generator::new(1), &mut first, 1.0);
        fill_normal(&mut Generator::new(1), &mut second, 1.0);
        fill_normal(&mut Generator::new(2), &mut other, 1.0);
        assert_eq!(first, second);
        assert_ne!(first, other);
    }
}
