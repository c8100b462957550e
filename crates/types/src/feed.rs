//! What goes into a model beyond its shapes: values that people gave, and what a length counts.

use crate::{ElementType, InputRole, InputSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// The unit of a sample's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LengthUnit {
    /// Tokens of a text.
    #[default]
    Tokens,
    /// Samples of sound.
    Samples,
    /// Frames of a spectrogram.
    Frames,
    /// Steps of any other sequence.
    Steps,
}

impl LengthUnit {
    /// Whether it is the usual one.
    #[must_use]
    pub fn is_tokens(&self) -> bool {
        *self == LengthUnit::Tokens
    }

    /// What a list says beside a length that does not count tokens: `length in frames`.
    #[must_use]
    pub fn remark(self) -> Option<String> {
        let (_, many) = self.names();
        (!self.is_tokens()).then(|| format!("length in {many}"))
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            LengthUnit::Tokens => ("token", "tokens"),
            LengthUnit::Samples => ("sample of sound", "samples of sound"),
            LengthUnit::Frames => ("frame", "frames"),
            LengthUnit::Steps => ("step", "steps"),
        }
    }

    /// A length with its unit: `128 tokens`, `1 frame`.
    #[must_use]
    pub fn words(self, length: usize) -> String {
        let (one, many) = self.names();
        format!("{length} {}", if length == 1 { one } else { many })
    }
}

/// Values from `low` to `high`, both included: whole numbers for integer inputs, evenly distributed ones for floats.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ValueRange(String);

impl ValueRange {
    /// Smallest and largest value.
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        parse(&self.0).unwrap_or((0.0, 0.0))
    }

    /// Whether both ends are whole numbers.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let (low, high) = self.bounds();
        low.fract() == 0.0 && high.fract() == 0.0
    }
}

fn parse(text: &str) -> Option<(f64, f64)> {
    let (low, high) = text.split_once("..")?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let bounds = (number(low)?, number(high.strip_prefix('=').unwrap_or(high))?);
    (bounds.0 <= bounds.1).then_some(bounds)
}

impl FromStr for ValueRange {
    type Err = String;

    fn from_str(text: &str) -> Result<ValueRange, String> {
        let (low, high) = parse(text)
            .ok_or_else(|| format!("`{text}` is not a range such as `0..255` or `-1..1`"))?;
        Ok(ValueRange(format!("{low}..{high}")))
    }
}

impl TryFrom<String> for ValueRange {
    type Error = String;

    fn try_from(text: String) -> Result<ValueRange, String> {
        text.parse()
    }
}

impl From<ValueRange> for String {
    fn from(range: ValueRange) -> String {
        range.0
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The source of an input's values, if the user specified it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum ValueSource {
    /// Random values from a range: `--input ids=0..255`.
    Range {
        /// The range.
        range: ValueRange,
    },
    /// Read from a file: `--input ids=@ids.npy`.
    File {
        /// The file.
        path: PathBuf,
        /// A hash over its content: equal hashes mean equal values.
        hash: String,
    },
}

/// Values the user gave for one input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct InputValues {
    /// The input's name.
    pub name: String,
    /// Where they come from.
    pub source: ValueSource,
}

/// Pictures or recordings that are prepared in every sample.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MediaSource {
    /// The file or folder that was given.
    pub path: PathBuf,
    /// A hash over the files of the batch: equal hashes mean equal input.
    pub hash: String,
}

/// The inputs of a model: values, text, pictures, recordings.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Feed {
    /// The unit of the cell's length.
    #[serde(skip_serializing_if = "LengthUnit::is_tokens")]
    pub length_unit: LengthUnit,
    /// Values the user gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<InputValues>,
    /// Pictures or recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSource>,
}

impl Feed {
    /// Whether nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Feed::default()
    }
}

/// One input as it was used in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FedInput {
    /// Its name.
    pub name: String,
    /// Its element type.
    #[serde(rename = "type")]
    pub dtype: ElementType,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// What it means.
    pub role: InputRole,
    /// The source of its values, as text: `whole numbers 0 to 29999`.
    pub values: String,
}

impl From<&InputSpec> for FedInput {
    fn from(spec: &InputSpec) -> FedInput {
        FedInput {
            name: spec.name.clone(),
            dtype: spec.dtype,
            dims: spec.dims.clone(),
            role: spec.role,
            values: spec.fill.words(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_in_order() {
        let range: ValueRange = "0..255".parse().unwrap();
        assert_eq!((range.bounds(), range.is_whole()), ((0.0, 255.0), true));
        assert_eq!("-1..0.5".parse::<ValueRange>().unwrap().bounds(), (-1.0, 0.5));
        assert_eq!("3..=3".parse::<ValueRange>().unwrap().to_string(), "3..3");
        for wrong in ["5..1", "..", "a..b", "7", "0..inf", "0..NaN"] {
            assert!(wrong.parse::<ValueRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_said_is_nothing_stored_and_the_rest_is_read_back() {
        assert_eq!(serde_json::to_string(&Feed::default()).unwrap(), "{}");
        let range = ValueSource::Range { range: "0..255".parse().unwrap() };
        let values = vec![InputValues { name: "ids".into(), source: range }];
        let feed = Feed { length_unit: LengthUnit::Frames, values, media: None };
        let text = serde_json::to_string(&feed).unwrap();
        assert_eq!(serde_json::from_str::<Feed>(&text).unwrap(), feed);
    }

    #[test]
    fn a_length_has_its_unit() {
        assert_eq!(LengthUnit::default().words(1), "1 token");
        assert_eq!(LengthUnit::Samples.words(16_000), "16000 samples of sound");
        assert_eq!(LengthUnit::Tokens.remark(), None);
        assert_eq!(LengthUnit::Frames.remark().as_deref(), Some("length in frames"));
    }
}
