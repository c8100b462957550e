//! How long the steps of a language model take, as they were measured: a prompt by its length, a token by batch and depth.

use crate::draw::unit;
use stats::Generator;
use std::collections::BTreeMap;

/// One step of decoding: every row of a batch gets a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeStep {
    /// Tokens that were in the cache of each row.
    pub depth: usize,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// Times of steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepTimes {
    /// Times of a prompt by its tokens, in order of size.
    prefill: BTreeMap<usize, Vec<u64>>,
    /// Steps by batch.
    decode: BTreeMap<usize, Decode>,
}

/// Steps of one batch: a line over the depth, and how far each step was from it.
#[derive(Debug, Clone, PartialEq)]
struct Decode {
    steps: Vec<DecodeStep>,
    at_zero: f64,
    per_token: f64,
    /// Measured ÷ line, in order of size.
    ratios: Vec<f64>,
}

impl Decode {
    fn of(steps: Vec<DecodeStep>) -> Decode {
        let count = steps.len() as f64;
        let mean = |of: &dyn Fn(&DecodeStep) -> f64| steps.iter().map(of).sum::<f64>() / count;
        let (depth, time) = (mean(&|one| one.depth as f64), mean(&|one| one.nanos as f64));
        let spread = mean(&|one| (one.depth as f64 - depth).powi(2));
        let shared = mean(&|one| (one.depth as f64 - depth) * (one.nanos as f64 - time));
        // A deeper cache is never read faster: a slope below zero is noise.
        let per_token = if spread > 0.0 { (shared / spread).max(0.0) } else { 0.0 };
        let at_zero = (time - per_token * depth).max(0.0);
        let line = |one: &DecodeStep| (at_zero + per_token * one.depth as f64).max(1.0);
        let mut ratios: Vec<f64> = steps.iter().map(|one| one.nanos as f64 / line(one)).collect();
        ratios.sort_by(f64::total_cmp);
        Decode { steps, at_zero, per_token, ratios }
    }

    fn at(&self, depth: f64, share: f64) -> f64 {
        let ratio = self.ratios[(share * self.ratios.len() as f64) as usize];
        (self.at_zero + self.per_token * depth) * ratio
    }
}

impl StepTimes {
    /// Prompts by their length in tokens, and steps by batch; empty lists are left out.
    #[must_use]
    pub fn new(
        prompts: impl IntoIterator<Item = (usize, Vec<u64>)>,
        steps: impl IntoIterator<Item = (usize, Vec<DecodeStep>)>,
    ) -> StepTimes {
        let mut prefill = BTreeMap::new();
        for (tokens, mut nanos) in prompts {
            if tokens > 0 && !nanos.is_empty() {
                nanos.sort_unstable();
                prefill.insert(tokens, nanos);
            }
        }
        let steps = steps.into_iter().filter(|(batch, steps)| *batch > 0 && !steps.is_empty());
        let decode = steps.map(|(batch, steps)| (batch, Decode::of(steps))).collect();
        StepTimes { prefill, decode }
    }

    /// Whether prompts or steps are missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.prefill.is_empty() || self.decode.is_empty()
    }

    /// Every length of a prompt that was measured, with its times.
    pub fn prompts(&self) -> impl Iterator<Item = (usize, &[u64])> {
        self.prefill.iter().map(|(tokens, nanos)| (*tokens, nanos.as_slice()))
    }

    /// Every batch that was measured, with its steps.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &[DecodeStep])> {
        self.decode.iter().map(|(batch, decode)| (*batch, decode.steps.as_slice()))
    }

    /// The largest batch that was measured.
    #[must_use]
    pub fn largest_batch(&self) -> usize {
        self.decode.keys().next_back().copied().unwrap_or(0)
    }

    /// The time of a prompt. Between two measured lengths the line between the same quantile of both; longer ones in proportion.
    #[must_use]
    pub fn draw_prompt(&self, tokens: usize, generator: &mut Generator) -> u64 {
        let share = unit(generator);
        let at = |nanos: &[u64]| nanos[(share * nanos.len() as f64) as usize] as f64;
        let below = self.prefill.range(..=tokens).next_back();
        let above = self.prefill.range(tokens..).next();
        let time = match (below, above) {
            (Some((low, small)), Some((high, large))) if low != high => {
                let share = (tokens - low) as f64 / (high - low) as f64;
                at(small) + share * (at(large) - at(small))
            }
            (Some((low, small)), None) => at(small) * tokens as f64 / *low as f64,
            (Some((_, list)), _) | (None, Some((_, list))) => at(list),
            (None, None) => 0.0,
        };
        time.round() as u64
    }

    /// The time of a step with so many rows, whose caches hold so many tokens on average.
    #[must_use]
    pub fn draw_step(&self, batch: usize, depth: f64, generator: &mut Generator) -> u64 {
        let share = unit(generator);
        let below = self.decode.range(..=batch).next_back();
        let above = self.decode.range(batch..).next();
        let time = match (below, above) {
            (Some((low, small)), Some((high, large))) if low != high => {
                let part = (batch - low) as f64 / (high - low) as f64;
                let (small, large) = (small.at(depth, share), large.at(depth, share));
                small + part * (large - small)
            }
            (Some((_, list)), _) | (None, Some((_, list))) => list.at(depth, share),
            (None, None) => 0.0,
        };
        time.round() as u64
    }

    /// Another measurement as this one might have been: times drawn anew, with replacement.
    #[must_use]
    pub fn redrawn(&self, generator: &mut Generator) -> StepTimes {
        let prefill = self.prefill.iter().map(|(tokens, nanos)| (*tokens, again(nanos, generator)));
        let prefill: Vec<_> = prefill.collect();
        let decode = self.decode.iter();
        let decode = decode.map(|(batch, decode)| (*batch, again(&decode.steps, generator)));
        let decode: Vec<_> = decode.collect();
        StepTimes::new(prefill, decode)
    }
}

fn again<T: Copy>(list: &[T], generator: &mut Generator) -> Vec<T> {
    (0..list.len()).map(|_| list[generator.below(list.len())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(at_zero: u64, per_token: u64) -> Vec<DecodeStep> {
        (0..100)
            .map(|depth| DecodeStep { depth, nanos: at_zero + per_token * depth as u64 })
            .collect()
    }

    #[test]
    fn steps_grow_with_batch_and_depth_as_they_were_measured() {
        let times = StepTimes::new(
            [(100, vec![1000]), (200, vec![3000])],
            [(1, steps(500, 2)), (4, steps(800, 8))],
        );
        let mut generator = Generator::new(1);
        assert_eq!(times.draw_prompt(150, &mut generator), 2000);
        assert_eq!(times.draw_prompt(400, &mut generator), 6000, "in proportion");
        assert_eq!(times.draw_prompt(10, &mut generator), 1000, "never less than measured");
        assert_eq!(times.draw_step(1, 50.0, &mut generator), 600);
        assert_eq!(times.draw_step(4, 50.0, &mut generator), 1200);
        assert_eq!(times.draw_step(2, 50.0, &mut generator), 800, "between the two");
        assert_eq!((times.largest_batch(), times.is_empty()), (4, false));
        assert!(StepTimes::default().is_empty());
    }
}
