//! Seeded normal numbers, fast enough to fill a model's weights in a second.

/// A stream of numbers that depends on its seed only (xoshiro256++, seeded by splitmix64).
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut counter = seed;
        Random { state: std::array::from_fn(|_| splitmix(&mut counter)) }
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Fills `values` with normal numbers of mean 0 (Box-Muller: two numbers from two uniform ones).
    pub(crate) fn fill_normal(&mut self, values: &mut [f32], std: f32) {
        const SCALE: f32 = 1.0 / (1 << 24) as f32;
        for pair in values.chunks_mut(2) {
            let bits = self.next();
            // 24 bits each: all that a f32 between 0 and 1 can hold. The first never is 0, its logarithm exists.
            let radius = (((bits >> 40) + 1) as f32 * SCALE).ln();
            let angle = ((bits & 0xff_ffff) as f32) * SCALE * std::f32::consts::TAU;
            let radius = std * (-2.0 * radius).sqrt();
            let (sine, cosine) = angle.sin_cos();
            pair[0] = radius * cosine;
            if let Some(second) = pair.get_mut(1) {
                *second = radius * sine;
            }
        }
    }
}

fn splitmix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_numbers_have_the_mean_and_deviation_asked_for() {
        let mut values = vec![0.0; 1_000_001];
        Random::new(7).fill_normal(&mut values, 0.02);
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
    fn the_same_seed_gives_the_same_numbers() {
        let (mut first, mut second, mut other) = ([0.0; 9], [0.0; 9], [0.0; 9]);
        Random::new(1).fill_normal(&mut first, 1.0);
        Random::new(1).fill_normal(&mut second, 1.0);
        Random::new(2).fill_normal(&mut other, 1.0);
        assert_eq!(first, second);
        assert_ne!(first, other);
    }
}
