//! How a model wants its pictures or recordings: what its `preprocessor_config.json` says.

use crate::{
    ModelError,
    folder::{MOST_CONFIG, read_regular},
};
use serde_json::Value;
use std::path::Path;
use types::{Filter, ImageRecipe, Resize, SoundRecipe, SpectrogramRecipe};

/// Bytes become numbers from 0 to 1.
const RESCALE: f64 = 1.0 / 255.0;

/// The rate that speech models are made for.
const RATE: u64 = 16_000;

/// Whisper's window and hop, in samples.
const WINDOW: u64 = 400;
const HOP: u64 = 160;

/// No window and no hop is longer, whatever a file says.
const LONGEST_WINDOW: usize = 1 << 16;

/// No recording has more samples in a second.
const HIGHEST_RATE: u64 = 1 << 20;

/// What a folder says of its preprocessing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preprocessor {
    config: Value,
}

impl Preprocessor {
    /// Reads a `preprocessor_config.json`.
    ///
    /// # Errors
    /// Where it cannot be read or is no JSON.
    pub fn read(path: &Path) -> Result<Preprocessor, ModelError> {
        let bytes = read_regular(path, MOST_CONFIG)
            .map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        let config = serde_json::from_slice(&bytes)
            .map_err(|source| ModelError::Config { path: path.to_owned(), source })?;
        Ok(Preprocessor { config })
    }

    /// How pictures are made ready for an input of this height and width.
    #[must_use]
    pub fn image(&self, [height, width]: [usize; 2], channels_last: bool) -> ImageRecipe {
        let does = |key: &str| self.config.get(key).and_then(Value::as_bool);
        let exact = Resize::Exact { height, width };
        // Who says nothing wants what fits.
        let resize = match (does("do_resize"), self.config.get("size")) {
            (Some(false), _) => None,
            (_, Some(size)) => Some(resize(size).unwrap_or(exact)),
            (_, None) => Some(exact),
        };
        let crop = (does("do_center_crop") == Some(true))
            .then(|| self.config.get("crop_size").and_then(sides).unwrap_or([height, width]));
        let normalizes = does("do_normalize") == Some(true);
        let colours = |key: &str, usual: f32| {
            let found = self.config.get(key).and_then(Value::as_array).filter(|_| normalizes);
            let each = |place: usize| Some(found?.get(place)?.as_f64()? as f32);
            [0, 1, 2].map(|place| each(place).unwrap_or(usual))
        };
        let rescales = does("do_rescale") != Some(false);
        let factor = self.config.get("rescale_factor").and_then(Value::as_f64).unwrap_or(RESCALE);
        ImageRecipe {
            resize,
            filter: match self.config.get("resample").and_then(Value::as_u64) {
                Some(0) => Filter::Nearest,
                Some(1) => Filter::Lanczos,
                Some(3) => Filter::Bicubic,
                _ => Filter::Bilinear,
            },
            crop,
            rescale: if rescales { factor as f32 } else { 1.0 },
            mean: colours("image_mean", 0.0),
            std: colours("image_std", 1.0),
            channels_last,
        }
    }

    /// How recordings become spectrograms of so many bands and moments; `None` if they are not of Whisper's kind.
    #[must_use]
    pub fn spectrogram(&self, bands: usize, frames: usize) -> Option<SpectrogramRecipe> {
        let kind = self.config.get("feature_extractor_type").and_then(Value::as_str);
        let number = |key: &str, usual: u64| {
            self.config.get(key).and_then(Value::as_u64).filter(|n| *n > 0).unwrap_or(usual)
                as usize
        };
        kind.is_none_or(|kind| kind == "WhisperFeatureExtractor").then(|| SpectrogramRecipe {
            rate: self.rate(),
            bands,
            frames,
            window: number("n_fft", WINDOW).min(LONGEST_WINDOW),
            hop: number("hop_length", HOP).min(LONGEST_WINDOW),
        })
    }

    /// Samples in a second; the usual number where the file says nothing or nonsense.
    fn rate(&self) -> u32 {
        let said = self.config.get("sampling_rate").and_then(Value::as_u64);
        said.filter(|rate| (1..=HIGHEST_RATE).contains(rate)).unwrap_or(RATE) as u32
    }

    /// How recordings are made ready.
    #[must_use]
    pub fn sound(&self) -> SoundRecipe {
        SoundRecipe {
            rate: self.rate(),
            normalize: self.config.get("do_normalize").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

/// A size as `transformers` writes it: a number, height and width, or the shortest edge.
fn resize(size: &Value) -> Option<Resize> {
    let edge = size.get("shortest_edge").and_then(Value::as_u64);
    if let Some(edge) = edge {
        return Some(Resize::Shortest { edge: edge as usize });
    }
    let [height, width] = sides(size)?;
    Some(Resize::Exact { height, width })
}

fn sides(size: &Value) -> Option<[usize; 2]> {
    let number = |value: &Value| value.as_u64().map(|number| number as usize);
    match size {
        Value::Object(_) => Some([number(size.get("height")?)?, number(size.get("width")?)?]),
        _ => number(size).map(|side| [side; 2]),
    }
}
