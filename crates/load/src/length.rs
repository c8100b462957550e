//! Lengths by distribution: `512±128`.

use crate::draw::unit;
use serde::{Deserialize, Serialize};
use stats::Generator;
use std::{fmt, str::FromStr};

/// The longest that can be asked for: beyond it nobody means a length.
const LONGEST: f64 = 10_000_000.0;

/// A length, or a normal distribution of lengths that never falls below 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Length {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 for one length.
    pub deviation: f64,
}

impl Length {
    /// One length.
    #[must_use]
    pub fn exactly(length: usize) -> Length {
        Length { mean: length as f64, deviation: 0.0 }
    }

    /// A length of the distribution.
    #[must_use]
    pub fn draw(&self, generator: &mut Generator) -> usize {
        let drawn = self.mean + self.deviation * generator.normal();
        drawn.round().clamp(1.0, LONGEST) as usize
    }
}

/// A text that is no length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a length; write 512, or 512±128 (also 512+-128) for a mean and its standard deviation"
)]
pub struct ParseLengthError(String);

impl FromStr for Length {
    type Err = ParseLengthError;

    fn from_str(text: &str) -> Result<Length, ParseLengthError> {
        let wrong = || ParseLengthError(text.into());
        let parts = text.split_once('±').or_else(|| text.split_once("+-"));
        let (mean, deviation) = parts.unwrap_or((text, "0"));
        let number = |text: &str| text.trim().parse::<u32>().map(f64::from).map_err(|_| wrong());
        let length = Length { mean: number(mean)?, deviation: number(deviation)? };
        let usable = (1.0..=LONGEST).contains(&length.mean) && length.deviation <= length.mean;
        if usable { Ok(length) } else { Err(wrong()) }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deviation {
            0.0 => write!(f, "{}", self.mean),
            deviation => write!(f, "{}±{deviation}", self.mean),
        }
    }
}

/// Words that mean nothing, so that no cache of prompts knows them: a generator for prompts.
pub(crate) fn word(generator: &mut Generator) -> String {
    const ONSETS: [&str; 14] =
        ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st"];
    const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
    let syllables = if unit(generator) < 0.6 { 1 } else { 2 };
    (0..syllables)
        .flat_map(|_| [ONSETS[generator.below(ONSETS.len())], VOWELS[generator.below(5)]])
        .collect()
}

impl Length {
    /// So many words that no server has seen before, of this seed: a text for a prompt.
    #[must_use]
    pub fn words(&self, generator: &mut Generator) -> String {
        let words: Vec<String> = (0..self.draw(generator)).map(|_| word(generator)).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, mean, deviation) in
            [("512", 512.0, 0.0), ("512±128", 512.0, 128.0), ("64+-8", 64.0, 8.0)]
        {
            let length: Length = text.parse().unwrap();
            assert_eq!((length.mean, length.deviation), (mean, deviation));
        }
        for text in ["", "0", "-5", "10±20", "x", "1e9", "5±"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }

    #[test]
    fn drawn_lengths_have_their_mean_and_are_never_empty() {
        let mut generator = Generator::new(4);
        let wide: Length = "20±15".parse().unwrap();
        let drawn: Vec<usize> = (0..5000).map(|_| wide.draw(&mut generator)).collect();
        assert!(drawn.iter().all(|length| *length >= 1));
        let mean = drawn.iter().sum::<usize>() as f64 / 5000.0;
        // Cutting off at 1 lifts the mean a little.
        assert!((20.0..22.5).contains(&mean), "{mean}");
        assert_eq!(Length::exactly(7).words(&mut generator).split(' ').count(), 7);
    }
}
