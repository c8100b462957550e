//! Custom networks from a TOML file: a transformer encoder or a feed-forward network in a few lines.

use crate::{
    Blueprint, ModelError,
    architecture::{self, ArchitectureError, EncoderConfig, FeedForwardConfig, PositionalEncoding},
};
use serde::Deserialize;
use std::path::Path;

/// A transformer encoder as people write it: what is left out has the usual value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoder {
    vocab_size: usize,
    d_model: usize,
    num_heads: usize,
    num_layers: usize,
    d_ff: usize,
    #[serde(default = "default_dropout")]
    dropout: f64,
    #[serde(default = "default_length")]
    max_seq_length: usize,
    #[serde(default = "default_positions")]
    positional_encoding: PositionalEncoding,
}

const ENCODER_KEYS: [&str; 8] = [
    "vocab_size",
    "d_model",
    "num_heads",
    "num_layers",
    "d_ff",
    "dropout",
    "max_seq_length",
    "positional_encoding",
];
const FEED_FORWARD_KEYS: [&str; 3] = ["input_size", "hidden_layers", "output_size"];

fn default_dropout() -> f64 {
    0.1
}

fn default_length() -> usize {
    512
}

fn default_positions() -> PositionalEncoding {
    PositionalEncoding::Sinusoidal
}

/// Builds what the text of a description asks for; errors name the line and, for a mistyped key, the nearest one.
///
/// # Errors
/// Where it is no description, or asks for what cannot be built.
pub fn build(path: &Path, text: &str) -> Result<Blueprint, ModelError> {
    let failed = |error: toml::de::Error| located(path, text, &error);
    let table: toml::Table = toml::from_str(text).map_err(failed)?;
    // The kind whose keys fit best: a mistyped key shall not turn one into the other.
    let fitting = |keys: &[&str]| table.keys().filter(|key| keys.contains(&key.as_str())).count();
    let (network, encoder) = (fitting(&FEED_FORWARD_KEYS), fitting(&ENCODER_KEYS));
    if let Some(refusal) = of_no_kind(path, text, &table, network, encoder) {
        return Err(refusal);
    }
    let built = if network > encoder {
        let network: FeedForwardConfig = toml::from_str(text).map_err(failed)?;
        architecture::build_feed_forward(&network)
    } else {
        let encoder: Encoder = toml::from_str(text).map_err(failed)?;
        architecture::build_encoder(&EncoderConfig {
            vocab_size: encoder.vocab_size,
            d_model: encoder.d_model,
            num_heads: encoder.num_heads,
            num_layers: encoder.num_layers,
            d_ff: encoder.d_ff,
            dropout: encoder.dropout,
            max_seq_length: encoder.max_seq_length,
            positional_encoding: encoder.positional_encoding,
        })
    };
    built.map_err(|error| match error {
        ArchitectureError::InvalidKey { key, value, expected } => {
            let line = line_of(text, &key).unwrap_or(1);
            invalid(path, line, format!("`{key}` is `{value}`; it must be {expected}"))
        }
        source => ModelError::Architecture { name: path.display().to_string(), source },
    })
}

/// The refusal of a file that is neither an encoder nor a feed-forward network, or says that it is both.
fn of_no_kind(
    path: &Path,
    text: &str,
    table: &toml::Table,
    network: usize,
    encoder: usize,
) -> Option<ModelError> {
    if network > 0 && encoder > 0 {
        // The kind with fewer keys is the one that strayed in.
        let strays = if network <= encoder { &FEED_FORWARD_KEYS[..] } else { &ENCODER_KEYS[..] };
        let (key, line) = strays.iter().find_map(|key| Some((key, line_of(text, key)?)))?;
        let (is, others) = match network <= encoder {
            true => ("a feed-forward network", "an encoder"),
            false => ("an encoder", "a feed-forward network"),
        };
        let message = format!(
            "`{key}` is a key of {is}, but the other keys belong to {others}; use the keys of one of \
             them"
        );
        return Some(invalid(path, line, message));
    }
    if network + encoder > 0 {
        return None;
    }
    let message = format!(
        "neither an encoder (`{}`) nor a feed-forward network (`{}`)",
        ENCODER_KEYS[..5].join("`, `"),
        FEED_FORWARD_KEYS.join("`, `")
    );
    let typed = table.keys().next();
    let line = typed.and_then(|key| line_of(text, key)).unwrap_or(1);
    let near = typed.and_then(|key| nearest_key(key));
    Some(ModelError::Description { path: path.to_owned(), line, message, near })
}

/// The line that sets a key, counted from 1.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let sets = |line: &str| {
        line.split_once('=').is_some_and(|(name, _)| name.trim().trim_matches('"') == key)
    };
    text.lines().position(sets).map(|place| place + 1)
}

fn located(path: &Path, text: &str, error: &toml::de::Error) -> ModelError {
    let span = error.span().unwrap_or(0..0);
    let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
    // The parser speaks of Rust's types.
    let message = error
        .message()
        .replace("expected usize", "expected a whole number of at least 1")
        .replace("expected f64", "expected a number")
        .replace("expected a sequence", "expected a list of whole numbers");
    let mut failed = invalid(path, line, message);
    if error.message().starts_with("unknown field")
        && let (ModelError::Description { near, .. }, Some(typed)) = (&mut failed, text.get(span))
    {
        *near = nearest_key(typed.trim_matches('"'));
    }
    failed
}

fn invalid(path: &Path, line: usize, message: String) -> ModelError {
    ModelError::Description { path: path.to_owned(), line, message, near: None }
}

fn nearest_key(typed: &str) -> Option<String> {
    types::nearest(typed, ENCODER_KEYS.into_iter().chain(FEED_FORWARD_KEYS)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_text(text: &str) -> Result<Blueprint, ModelError> {
        build(Path::new("net.toml"), text)
    }

    #[test]
    fn an_encoder_needs_only_its_sizes() {
        let text = "vocab_size = 100\nd_model = 8\nnum_heads = 2\nnum_layers = 1\nd_ff = 16\n";
        let blueprint = build_text(text).unwrap();
        assert_eq!(blueprint.architecture, "encoder");
        assert_eq!(blueprint.max_length, Some(512));
        assert_eq!(blueprint.inputs[0].vocabulary, Some(100));
    }

    #[test]
    fn learned_positions_are_weights_of_their_own() {
        let text = "vocab_size = 100\nd_model = 8\nnum_heads = 2\nnum_layers = 1\nd_ff = 16\n";
        let count = |text: &str| {
            let weights = build_text(text).unwrap().weights;
            weights.iter().map(|weight| weight.dims.iter().product::<usize>()).sum::<usize>()
        };
        let learned = format!("{text}positional_encoding = \"learned\"\nmax_seq_length = 10\n");
        assert_eq!(count(&learned) - count(text), 80);
    }

    #[test]
    fn a_mistyped_key_is_named_with_its_line_and_the_right_one() {
        let text = "vocab_size = 100\nd_modell = 8\nnum_heads = 2\nnum_layers = 1\nd_ff = 16\n";
        let error = build_text(text).unwrap_err();
        let start = "`net.toml`, line 2: unknown field `d_modell`";
        assert!(error.to_string().starts_with(start), "{error}");
        assert_eq!(error.hint().unwrap(), "did you mean `d_model`?");
        let error = build_text("input_size = 4\nhiden_layers = [1]\noutput_size = 2").unwrap_err();
        assert_eq!(error.hint().unwrap(), "did you mean `hidden_layers`?");
    }

    #[test]
    fn keys_of_both_kinds_are_told_apart() {
        let text = "vocab_size = 9\nd_model = 8\ninput_size = 4\n";
        let expected = "`net.toml`, line 3: `input_size` is a key of a feed-forward network, but the other keys \
                        belong to an encoder; use the keys of one of them";
        let error = build_text(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint()), (expected, None));
        let error = build_text("input_size = 4\noutput_size = 2\nd_ff = 3\n").unwrap_err();
        assert!(error.to_string().contains("line 3: `d_ff` is a key of an encoder"), "{error}");
    }

    #[test]
    fn an_empty_file_is_told_both_kinds() {
        for text in ["", "# nothing\n"] {
            let error = build_text(text).unwrap_err().to_string();
            assert!(error.contains("neither an encoder (`vocab_size`, `d_model`"), "{error}");
            assert!(error.contains("nor a feed-forward network (`input_size`"), "{error}");
        }
        let error = build_text("\n d_modell = 8").unwrap_err();
        assert!(matches!(error, ModelError::Description { line: 2, .. }), "{error}");
        assert_eq!(error.hint().unwrap(), "did you mean `d_model`?");
    }

    #[test]
    fn absurd_and_negative_sizes_are_refused_in_plain_words() {
        let rest = "vocab_size = 100\nnum_heads = 2\nd_ff = 16\n";
        let error = build_text(&format!("{rest}d_model = 8\nnum_layers = 1000000000")).unwrap_err();
        let expected =
            "line 5: `num_layers` is `1000000000`; it must be a whole number from 1 to 10000";
        assert!(error.to_string().ends_with(expected), "{error}");
        let wide = build_text(&format!("{rest}d_model = 1000000000000\nnum_layers = 1"));
        assert!(wide.unwrap_err().to_string().contains("from 1 to 1048576"));
        for text in ["num_layers = -3", "input_size = -4", "input_size = 1\nhidden_layers = [-1]"] {
            let error = build_text(text).unwrap_err().to_string();
            assert!(
                error.contains("expected a whole number") && !error.contains("usize"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_key_a_zero_and_broken_text_are_refused() {
        let error = build_text("vocab_size = 100\nd_model = 8").unwrap_err();
        assert!(error.to_string().contains("missing field `num_heads`"), "{error}");
        let error = build_text("input_size = 4\nhidden_layers = [0]\noutput_size = 2").unwrap_err();
        assert!(error.to_string().contains("line 2: `hidden_layers` is `0`"), "{error}");
        let error = build_text("input_size = 4\nhidden_layers = [").unwrap_err();
        assert!(matches!(error, ModelError::Description { line: 2, .. }), "{error}");
        let error = build_text("vocab_size = \"many\"").unwrap_err();
        assert!(matches!(error, ModelError::Description { line: 1, .. }), "{error}");
    }
}
