//! Chooses the next token from scores.

use stats::SplitMix;
use types::Sampling;

/// Chooses the next token of each row.
pub(super) struct Sampler {
    sampling: Sampling,
    random: SplitMix,
    /// Places of the most likely tokens; kept, so that no step allocates.
    best: Vec<usize>,
    shares: Vec<f64>,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling, seed: u64) -> Sampler {
        Sampler { sampling, random: SplitMix::new(seed), best: Vec::new(), shares: Vec::new() }
    }

    /// The next token of every row of `scores`, each row `vocabulary` wide.
    pub(super) fn choose(&mut self, scores: &[f32], vocabulary: usize, next: &mut Vec<i64>) {
        next.clear();
        for row in scores.chunks_exact(vocabulary.max(1)) {
            let token = match self.sampling {
                Sampling::Greedy => most_likely(row),
                Sampling::Seeded { temperature, top_k } => self.draw(row, temperature.0, top_k),
            };
            next.push(token as i64);
        }
    }

    fn draw(&mut self, row: &[f32], temperature: f64, top_k: usize) -> usize {
        self.best.clear();
        self.best.extend(0..row.len());
        if top_k > 0 && top_k < row.len() {
            self.best.select_nth_unstable_by(top_k - 1, |a, b| row[*b].total_cmp(&row[*a]));
            self.best.truncate(top_k);
        }
        let highest = self.best.iter().map(|place| row[*place]).fold(f32::NEG_INFINITY, f32::max);
        let share = |place: &usize| (f64::from(row[*place] - highest) / temperature).exp();
        self.shares.clear();
        self.shares.extend(self.best.iter().map(share));
        let mut left = self.random.unit() * self.shares.iter().sum::<f64>();
        for (place, share) in self.best.iter().zip(&self.shares) {
            left -= share;
            if left <= 0.0 {
                return *place;
            }
        }
        most_likely(row)
    }
}

/// The place of the largest score, the first of equal ones.
pub(super) fn most_likely(row: &[f32]) -> usize {
    let mut best = 0;
    for (place, score) in row.iter().enumerate() {
        if *score > row[best] {
            best = place;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Rate;

    #[test]
    fn greedy_takes_the_largest_score_of_each_row() {
        let mut next = Vec::new();
        let mut sampler = Sampler::new(Sampling::Greedy, 0);
        sampler.choose(&[0.1, 0.9, 0.3, 5.0, -1.0, 5.0], 3, &mut next);
        assert_eq!(next, [1, 0]);
    }

    #[test]
    fn drawn_tokens_follow_their_probabilities_and_the_seed() {
        let sampling = Sampling::Seeded { temperature: Rate(1.0), top_k: 2 };
        let draws = |seed| {
            let mut sampler = Sampler::new(sampling, seed);
            let mut next = Vec::new();
            let mut all = Vec::new();
            for _ in 0..4000 {
                sampler.choose(&[0.0, 3_f32.ln(), -5.0], 3, &mut next);
                all.push(next[0]);
            }
            all
        };
        let drawn = draws(1);
        assert_eq!(drawn, draws(1));
        assert_ne!(drawn, draws(2));
        assert!(!drawn.contains(&2), "only the two most likely tokens are drawn");
        let share = drawn.iter().filter(|token| **token == 1).count() as f64 / 4000.0;
        assert!((share - 0.75).abs() < 0.03, "{share}");
    }
}
