//! Images and sound that are made ready for a model in every sample.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How pixels between pixels are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// The nearest pixel.
    Nearest,
    /// In a straight line between neighbours.
    Bilinear,
    /// On a cubic curve through neighbours.
    Bicubic,
    /// By windowed sines.
    Lanczos,
}

/// To which size an image is brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "to")]
pub enum Resize {
    /// Exactly so high and so wide.
    Exact {
        /// Height in pixels.
        height: usize,
        /// Width in pixels.
        width: usize,
    },
    /// The shorter side so long, the other in proportion.
    Shortest {
        /// The shorter side in pixels.
        edge: usize,
    },
}

/// From a picture to the numbers that a model takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImageRecipe {
    /// Brought to this size first.
    pub resize: Option<Resize>,
    /// How.
    pub filter: Filter,
    /// Height and width of what is cut out of the middle then.
    pub crop: Option<[usize; 2]>,
    /// What bytes are multiplied with.
    pub rescale: f32,
    /// Subtracted from each colour.
    pub mean: [f32; 3],
    /// What each colour is divided by then.
    pub std: [f32; 3],
    /// Whether colours lie behind rows and columns.
    pub channels_last: bool,
}

/// From a recording to the numbers that a model takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SoundRecipe {
    /// Samples a second that the model was made for.
    pub rate: u32,
    /// Whether each recording gets mean 0 and variance 1.
    pub normalize: bool,
}

/// From a recording to its spectrogram, as Whisper takes it: logarithms of the power in bands of the mel scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpectrogramRecipe {
    /// Samples a second that the model was made for.
    pub rate: u32,
    /// Bands.
    pub bands: usize,
    /// Moments; what is longer is cut, what is shorter is followed by silence.
    pub frames: usize,
    /// Samples that one moment is made of.
    pub window: usize,
    /// Samples from one moment to the next.
    pub hop: usize,
}

/// How files become an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum MediaRecipe {
    /// Pictures.
    Image(ImageRecipe),
    /// Recordings.
    Sound(SoundRecipe),
    /// Recordings as spectrograms.
    Spectrogram(SpectrogramRecipe),
}

/// Files that become an input in every sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaJob {
    /// The input they become.
    pub input: String,
    /// One file a sample of the batch.
    pub files: Vec<PathBuf>,
    /// How.
    pub recipe: MediaRecipe,
}
