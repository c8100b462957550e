//! Drawing rounds, and what lies inside rounds, anew: a bootstrap over two levels.

use crate::{Generator, ratio::middle};
use types::Interval;

/// Sweeps that are drawn together: one forward and one backward, between which drift cancels.
const BLOCK: usize = 2;

/// The logarithms of one round's ratios, in the order of its sweeps.
pub(crate) struct Round {
    pairs: Vec<f64>,
}

impl Round {
    /// A round; `None` if it is empty. Ratios that are no numbers have no place in it.
    pub(crate) fn of(pairs: &[f64]) -> Option<Round> {
        let pairs: Vec<f64> = pairs.iter().copied().filter(|pair| pair.is_finite()).collect();
        (!pairs.is_empty()).then_some(Round { pairs })
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().copied()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.pairs.iter().sum::<f64>() / self.pairs.len() as f64
    }

    /// The mean of each forward sweep with its backward one; a last one alone stays alone.
    pub(crate) fn block_means(&self) -> Vec<f64> {
        let blocks = self.pairs.chunks(BLOCK);
        blocks.map(|block| block.iter().sum::<f64>() / block.len() as f64).collect()
    }

    /// The mean after drawing as many blocks as there are, with replacement.
    fn draw(&self, generator: &mut Generator) -> f64 {
        let blocks = self.pairs.len().div_ceil(BLOCK);
        let (mut sum, mut count) = (0.0, 0);
        for _ in 0..blocks {
            let start = generator.below(blocks) * BLOCK;
            let block = &self.pairs[start..(start + BLOCK).min(self.pairs.len())];
            sum += block.iter().sum::<f64>();
            count += block.len();
        }
        sum / count as f64
    }
}

/// The middle 95 % of the mean over rounds, drawn anew so often: first rounds, then blocks inside each drawn round.
///
/// There must be a round.
pub(crate) fn bootstrap(rounds: &[Round], resamples: usize, seed: u64) -> Interval {
    let mut generator = Generator::new(seed);
    middle((0..resamples).map(|_| {
        let sum: f64 = (0..rounds.len())
            .map(|_| rounds[generator.below(rounds.len())].draw(&mut generator))
            .sum();
        sum / rounds.len() as f64
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_levels_spread_the_draws() {
        let round = |pairs: &[f64]| Round::of(pairs).unwrap();
        let width = |rounds: &[Round]| {
            let interval = bootstrap(rounds, 2000, 1);
            interval.high - interval.low
        };
        let still = [round(&[0.1; 6]), round(&[0.1; 6])];
        let between = [round(&[0.0; 6]), round(&[0.2; 6])];
        let within = [round(&[0.0, 0.0, 0.2, 0.2]), round(&[0.0, 0.0, 0.2, 0.2])];
        assert!(width(&still) < 1e-12);
        assert!(width(&between) > 0.15, "{}", width(&between));
        assert!(width(&within) > 0.1, "{}", width(&within));
    }

    #[test]
    fn a_forward_and_a_backward_sweep_stay_together() {
        let round = Round::of(&[0.3, -0.3, 0.3, -0.3, 0.3]).unwrap();
        assert_eq!(round.block_means(), [0.0, 0.0, 0.3]);
        assert!(Round::of(&[]).is_none() && Round::of(&[f64::NAN]).is_none());
    }
}
