//! Pictures and recordings made ready for a model: decoded, brought to size, normalised.

use crate::{EngineError, EngineErrorKind, spectrogram::Spectrogram};
use image::{RgbImage, imageops};
use std::{fs, io::Cursor, path::Path};
use types::{
    ElementType, Elements, Filter, HostTensor, ImageRecipe, InputSpec, MediaJob, MediaRecipe,
    Resize,
};

/// Files that become an input, read once; what is done to them is done in every sample.
pub struct Media {
    job: MediaJob,
    /// Shape and type of the input.
    spec: InputSpec,
    files: Vec<Vec<u8>>,
    spectrogram: Option<Spectrogram>,
}

fn failed(path: &Path, why: impl ToString) -> EngineError {
    let text = format!("could not make `{}` ready", path.display());
    EngineError::new(EngineErrorKind::BadInput, text).with_source(why.to_string())
}

impl Media {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read, or the input takes no floats.
    pub fn open(job: &MediaJob, inputs: &[InputSpec]) -> Result<Media, EngineError> {
        let spec = inputs.iter().find(|spec| spec.name == job.input).cloned().ok_or_else(|| {
            let text = format!("the model has no input `{}`", job.input);
            EngineError::new(EngineErrorKind::BadInput, text)
        })?;
        if !matches!(spec.dtype, ElementType::F32 | ElementType::U8) {
            let text = format!("input `{}` takes neither floats nor bytes", job.input);
            return Err(EngineError::new(EngineErrorKind::BadInput, text));
        }
        let read = |path: &std::path::PathBuf| fs::read(path).map_err(|why| failed(path, why));
        let files = job.files.iter().map(read).collect::<Result<_, _>>()?;
        let spectrogram = match &job.recipe {
            MediaRecipe::Spectrogram(recipe) => Some(Spectrogram::new(recipe)),
            MediaRecipe::Image(_) | MediaRecipe::Sound(_) => None,
        };
        Ok(Media { job: job.clone(), spec, files, spectrogram })
    }

    /// The input, made of the files from the first byte on.
    ///
    /// # Errors
    /// When a file is no picture or recording, or comes out in another size than the input has.
    pub fn make(&self) -> Result<HostTensor, EngineError> {
        let count: usize = self.spec.dims.iter().product();
        let each = count / self.files.len().max(1);
        let mut values = Vec::with_capacity(count);
        for (path, bytes) in self.job.files.iter().zip(&self.files) {
            let mut made = match &self.job.recipe {
                MediaRecipe::Image(recipe) => {
                    pixels(bytes, recipe).map_err(|why| failed(path, why))?
                }
                MediaRecipe::Spectrogram(recipe) => {
                    let sound = samples(bytes, recipe.rate).map_err(|why| failed(path, why))?;
                    self.spectrogram.as_ref().map(|it| it.of(&sound)).unwrap_or_default()
                }
                MediaRecipe::Sound(recipe) => {
                    let mut sound = samples(bytes, recipe.rate).map_err(|why| failed(path, why))?;
                    if recipe.normalize {
                        normalize(&mut sound);
                    }
                    // Shorter ones are followed by silence.
                    sound.resize(sound.len().max(each), 0.0);
                    sound
                }
            };
            if made.len() != each {
                let why = format!("it gives {} numbers, the input takes {each}", made.len());
                return Err(failed(path, why));
            }
            values.append(&mut made);
        }
        let elements = match self.spec.dtype {
            ElementType::U8 => Elements::U8(values.iter().map(|&x| x as u8).collect()),
            _ => Elements::F32(values),
        };
        let (name, dims) = (self.spec.name.clone(), self.spec.dims.clone());
        Ok(HostTensor { name, dims, elements })
    }
}

/// Height and width of what a recipe makes of a picture of this size.
#[must_use]
pub fn size_of(recipe: &ImageRecipe, [height, width]: [usize; 2]) -> [usize; 2] {
    let resized = resized([height, width], recipe.resize);
    recipe.crop.unwrap_or(resized)
}

fn resized([height, width]: [usize; 2], resize: Option<Resize>) -> [usize; 2] {
    match resize {
        None => [height, width],
        Some(Resize::Exact { height, width }) => [height, width],
        // The longer side is cut to whole pixels, as `transformers` does.
        Some(Resize::Shortest { edge }) if height <= width => [edge, edge * width / height.max(1)],
        Some(Resize::Shortest { edge }) => [edge * height / width.max(1), edge],
    }
}

fn pixels(bytes: &[u8], recipe: &ImageRecipe) -> Result<Vec<f32>, String> {
    let picture = image::load_from_memory(bytes).map_err(|error| error.to_string())?.to_rgb8();
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let [high, wide] = resized([height, width], recipe.resize);
    let picture = match [high, wide] == [height, width] {
        true => picture,
        false => imageops::resize(&picture, wide as u32, high as u32, filter(recipe.filter)),
    };
    let [crop_high, crop_wide] = recipe.crop.unwrap_or([high, wide]);
    let cut = Cut {
        top: (high as i64 - crop_high as i64).div_euclid(2),
        left: (wide as i64 - crop_wide as i64).div_euclid(2),
        picture: &picture,
    };
    let value = |row: usize, column: usize, colour: usize| {
        let byte = f32::from(cut.at(row, column, colour));
        (byte * recipe.rescale - recipe.mean[colour]) / recipe.std[colour]
    };
    let mut values = Vec::with_capacity(3 * crop_high * crop_wide);
    if recipe.channels_last {
        for row in 0..crop_high {
            for column in 0..crop_wide {
                values.extend((0..3).map(|colour| value(row, column, colour)));
            }
        }
    } else {
        for colour in 0..3 {
            for row in 0..crop_high {
                values.extend((0..crop_wide).map(|column| value(row, column, colour)));
            }
        }
    }
    Ok(values)
}

/// A window on a picture; what lies outside is black.
struct Cut<'a> {
    picture: &'a RgbImage,
    top: i64,
    left: i64,
}

impl Cut<'_> {
    fn at(&self, row: usize, column: usize, colour: usize) -> u8 {
        let inside =
            |place: i64, size: u32| u32::try_from(place).ok().filter(|place| *place < size);
        let x = inside(self.left + column as i64, self.picture.width());
        let y = inside(self.top + row as i64, self.picture.height());
        x.zip(y).map_or(0, |(x, y)| self.picture.get_pixel(x, y)[colour])
    }
}

fn filter(filter: Filter) -> imageops::FilterType {
    match filter {
        Filter::Nearest => imageops::FilterType::Nearest,
        Filter::Bilinear => imageops::FilterType::Triangle,
        Filter::Bicubic => imageops::FilterType::CatmullRom,
        Filter::Lanczos => imageops::FilterType::Lanczos3,
    }
}

/// The samples of a recording, its channels averaged.
fn samples(bytes: &[u8], rate: u32) -> Result<Vec<f32>, String> {
    let mut reader =
        hound::WavReader::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let form = reader.spec();
    if form.sample_rate != rate {
        return Err(format!(
            "it has {} samples a second, the model takes {rate}; resample it first",
            form.sample_rate
        ));
    }
    let all: Result<Vec<f32>, hound::Error> = match form.sample_format {
        hound::SampleFormat::Float => reader.samples::<f32>().collect(),
        hound::SampleFormat::Int => {
            let full = 2_f32.powi(i32::from(form.bits_per_sample) - 1);
            reader.samples::<i32>().map(|sample| Ok(sample? as f32 / full)).collect()
        }
    };
    let all = all.map_err(|error| error.to_string())?;
    let channels = usize::from(form.channels.max(1));
    let mono = all.chunks(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32);
    Ok(mono.collect())
}

/// Mean 0 and variance 1.
fn normalize(sound: &mut [f32]) {
    let count = sound.len().max(1) as f64;
    let mean = sound.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = sound.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    // What keeps silence finite in `transformers`.
    let scale = (variance + 1e-7).sqrt();
    sound.iter_mut().for_each(|x| *x = ((f64::from(*x) - mean) / scale) as f32);
}

/// Height and width of a picture.
///
/// # Errors
/// When the file is no picture.
pub fn picture_size(path: &Path) -> Result<[usize; 2], EngineError> {
    let (width, height) = image::image_dimensions(path).map_err(|why| failed(path, why))?;
    Ok([height as usize, width as usize])
}

/// Samples of a recording.
///
/// # Errors
/// When the file is no recording.
pub fn sound_length(path: &Path) -> Result<usize, EngineError> {
    let reader = hound::WavReader::open(path).map_err(|why| failed(path, why))?;
    Ok(reader.duration() as usize)
}
