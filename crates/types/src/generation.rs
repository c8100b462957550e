//! How a language model generates text, token by token, and what that leaves in its cache.

use crate::{Bytes, Rate, Reading, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of generating that a cell measures; a part of a cell.
///
/// Two tests as llama-bench has them, because they differ in everything: prefill reads a prompt, decode writes one token
/// after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Generation {
    /// Prefill or decode.
    pub test: GenerationTest,
    /// Tokens of the prompt in a prefill, generated tokens in a decode.
    pub tokens: usize,
    /// Tokens that are in the cache before.
    pub depth: usize,
    /// How the next token is chosen.
    #[serde(default)]
    pub sampling: Sampling,
}

/// A test of generating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GenerationTest {
    /// One sample is a prompt: from its first token to the scores of the next one.
    Prefill,
    /// One sample is a step: from one token to the scores of the next one.
    Decode,
}

impl GenerationTest {
    /// The name used in tables and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GenerationTest::Prefill => "prefill",
            GenerationTest::Decode => "decode",
        }
    }
}

impl Generation {
    /// The name that people know from llama-bench: `pp512`, `tg128 @ d4096`.
    #[must_use]
    pub fn name(self) -> String {
        let test = match self.test {
            GenerationTest::Prefill => "pp",
            GenerationTest::Decode => "tg",
        };
        let at = if self.depth == 0 { String::new() } else { format!(" @ d{}", self.depth) };
        format!("{test}{}{at}", self.tokens)
    }

    /// Tokens that one sample takes in, of each row of the batch.
    #[must_use]
    pub fn tokens_per_sample(self) -> usize {
        match self.test {
            GenerationTest::Prefill => self.tokens,
            GenerationTest::Decode => 1,
        }
    }

    /// The most tokens that are ever in the cache of one row.
    #[must_use]
    pub fn context(self) -> usize {
        self.depth.saturating_add(self.tokens)
    }

    /// Tokens that are in the cache before a sample, counted from the first inference of the worker; warm-up counts too.
    #[must_use]
    pub fn depth_of(self, sample: u64) -> usize {
        match self.test {
            GenerationTest::Prefill => self.depth,
            GenerationTest::Decode => {
                let step = sample.checked_rem(self.tokens as u64).unwrap_or(0);
                self.depth.saturating_add(usize::try_from(step).unwrap_or(0))
            }
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum Sampling {
    /// The most likely one.
    #[default]
    Greedy,
    /// Drawn with a seed.
    Seeded {
        /// What scores are divided by before they become probabilities.
        temperature: Rate,
        /// Only so many of the most likely tokens; 0 means all.
        top_k: usize,
    },
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::Greedy => f.write_str("greedy"),
            Sampling::Seeded { temperature, top_k: 0 } => {
                write!(f, "temperature {}", temperature.0)
            }
            Sampling::Seeded { temperature, top_k } => {
                write!(f, "temperature {}, top {top_k}", temperature.0)
            }
        }
    }
}

/// What of a decoder decides how large its cache is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecoderShape {
    /// Layers with a cache.
    pub layers: usize,
    /// Heads of keys and values; fewer than those of queries where several share one.
    pub key_heads: usize,
    /// Numbers of one head.
    pub head_dim: usize,
    /// Token ids it knows.
    pub vocabulary: usize,
    /// The most tokens it was made for, if there is a limit.
    pub context: Option<usize>,
    /// Tokens that a layer with a sliding window looks back, if there is one.
    #[serde(default)]
    pub window: Option<usize>,
    /// How many layers have the sliding window.
    #[serde(default)]
    pub sliding_layers: usize,
}

impl DecoderShape {
    /// Bytes of the cache a token and row, by formula: a key and a value in every layer.
    #[must_use]
    pub fn cache_per_token(&self, element: usize) -> Bytes {
        Bytes((2 * self.layers * self.key_heads * self.head_dim * element) as u64)
    }

    /// Bytes of the cache of one row after so many tokens, by formula; layers with a window keep no more than that.
    #[must_use]
    pub fn cache(&self, tokens: usize, element: usize) -> Bytes {
        let line = 2 * self.key_heads * self.head_dim * element;
        let windowed = self.window.map_or(tokens, |window| window.min(tokens));
        let full = self.layers.saturating_sub(self.sliding_layers);
        Bytes((line * (full * tokens + self.sliding_layers * windowed)) as u64)
    }
}

/// The results of generating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationReport {
    /// The sizes that decide the cache.
    pub shape: DecoderShape,
    /// The number format of the cache: `f32`, `f16`.
    pub cache_type: String,
    /// Bytes of the cache a token and row, by formula.
    pub cache_per_token: Bytes,
    /// Tokens of each row that the cache held when it was looked at.
    pub cache_tokens: usize,
    /// Bytes of the cache of the whole batch with so many tokens, by formula.
    pub cache: Bytes,
    /// The same as the engine reports it, or why it does not.
    pub cache_reported: Reading<Bytes>,
    /// Who holds the cache, and how a step appends to it.
    pub cache_kept: String,
    /// The first tokens that were generated in the first row.
    #[serde(default)]
    pub tokens: Vec<i64>,
    /// The same as text, where there is a tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Which step the first sample is, counted from the first inference of the worker; `None` where samples were not taken
    /// one after the other, so that the depth of each is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_step: Option<u64>,
    /// How a step grows with the depth of the cache; only for decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<StepGrowth>,
}

/// How the time of a step grows with the depth of the cache: a straight line through all steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepGrowth {
    /// The time of a step at depth 0, as the line has it.
    pub at_zero: Seconds,
    /// What every thousand tokens in the cache add.
    pub per_thousand: Seconds,
    /// The 95 % interval of that.
    pub interval: crate::Interval,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn test(test: GenerationTest, tokens: usize, depth: usize) -> Generation {
        Generation { test, tokens, depth, sampling: Sampling::Greedy }
    }

    #[test]
    fn tests_have_the_names_that_people_know() {
        assert_eq!(test(GenerationTest::Prefill, 512, 0).name(), "pp512");
        assert_eq!(test(GenerationTest::Decode, 128, 4096).name(), "tg128 @ d4096");
    }

    #[test]
    fn steps_go_round() {
        let decode = test(GenerationTest::Decode, 4, 100);
        let depths: Vec<usize> = (0..6).map(|sample| decode.depth_of(sample)).collect();
        assert_eq!(depths, [100, 101, 102, 103, 100, 101]);
        assert_eq!(test(GenerationTest::Prefill, 4, 100).depth_of(3), 100);
    }

    #[test]
    fn the_cache_of_smollm2_has_23040_bytes_a_token_in_half_precision() {
        let shape = DecoderShape {
            layers: 30,
            key_heads: 3,
            head_dim: 64,
            vocabulary: 49_152,
            context: Some(8192),
            window: None,
            sliding_layers: 0,
        };
        assert_eq!(shape.cache_per_token(2), Bytes(23_040));
        assert_eq!(shape.cache(256, 2), Bytes(256 * 23_040));
        let windowed = DecoderShape { window: Some(100), sliding_layers: 15, ..shape };
        assert_eq!(windowed.cache(256, 2), Bytes(23_040 / 2 * 256 + 23_040 / 2 * 100));
    }
}
