//! Numbers that depend on nothing but their seed, the same on every machine and in every version: weights and inputs
//! are made of them.

use std::f64::consts::TAU;

/// The simplest of generators (SplitMix64); also what fills the state of a larger one.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// Any number.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`; the bias of the multiplication is below 2⁻³² for any list that fits in memory.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 on and below 1, with the 53 bits that a double holds.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Spreads every bit over all others; different numbers stay different (the end of SplitMix64).
#[inline]
#[must_use]
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A generator for many numbers: xoshiro256++, its state filled by [`SplitMix`].
#[derive(Debug, Clone)]
pub struct Generator {
    state: [u64; 4],
}

impl Generator {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Generator {
        let mut walk = SplitMix::new(seed);
        Generator { state: std::array::from_fn(|_| walk.number()) }
    }

    /// Any number.
    #[inline]
    pub fn number(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number below `bound`; the bias of the multiplication is below 2⁻⁴⁰ for any list that fits in memory.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.number()) * bound as u128) >> 64) as usize
    }

    /// A number of the normal distribution with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.number() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (radius, angle) = (uniform(), uniform());
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_algorithms() {
        let mut walk = SplitMix::new(1234567);
        assert_eq!(walk.number(), 6457827717110365317);
        assert_eq!(walk.number(), 3203168211198807973);
        let mut generator = Generator { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| generator.number()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn normal_numbers_have_the_deviation_of_one() {
        let mut generator = Generator::new(2);
        let drawn: Vec<f64> = (0..20_000).map(|_| generator.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 2e4;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2e4;
        let beyond = drawn.iter().filter(|x| x.abs() > 1.959_964).count();
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!((850..1150).contains(&beyond), "{beyond}");
    }

    #[test]
    fn numbers_below_a_bound_fill_it_evenly() {
        let mut generator = Generator::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[generator.below(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }
}
