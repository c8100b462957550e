//! Pictures and recordings made ready for a model: decoded, brought to size, normalised.

use crate::{
    EngineError, EngineErrorKind,
    picture::{self, Picture},
    spectrogram::Spectrogram,
};
use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read},
    path::Path,
};
use types::{
    ElementType, Elements, HostTensor, ImageRecipe, InputSpec, MediaJob, MediaRecipe, Resize,
    SpectrogramRecipe, caught,
};

/// The most bytes of one picture or recording that are read; an hour of speech has 115 MB.
const MOST_BYTES: u64 = 512 << 20;

/// The most pixels that a packed picture may unpack to: a file of a few KiB that unpacks to gigabytes is refused before
/// memory is asked for.
const MOST_PIXELS: usize = 1 << 27;

/// The most pixels that a picture is scaled or cut to: a square of 4096. A narrow strip scaled by its shorter side would
/// take seconds in every sample.
const MOST_SCALED: usize = 1 << 24;

/// The most samples that a spectrogram reaches over: a day at 16 kHz. A configuration may say anything.
const MOST_SAMPLES: usize = 24 * 3600 * 16_000;

/// Files that become an input, read once; what is done to them is done in every sample.
pub struct Media {
    job: MediaJob,
    /// Shape and type of the input.
    spec: InputSpec,
    files: Vec<Vec<u8>>,
    spectrogram: Option<Spectrogram>,
}

fn failed(path: &Path, why: impl ToString) -> EngineError {
    let text = format!("could not prepare `{}`", path.display());
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
        let read = |path: &std::path::PathBuf| read(path).map_err(|why| failed(path, why));
        let files = job.files.iter().map(read).collect::<Result<_, _>>()?;
        let spectrogram = match &job.recipe {
            MediaRecipe::Spectrogram(recipe) => {
                check_spectrogram(recipe, &spec, job.files.len())?;
                Some(Spectrogram::new(recipe))
            }
            MediaRecipe::Image(_) | MediaRecipe::Sound(_) => None,
        };
        Ok(Media { job: job.clone(), spec, files, spectrogram })
    }

    /// The input, made of the files from the first byte on.
    ///
    /// # Errors
    /// When a file is no picture or recording, or comes out in another size than the input has.
    pub fn make(&self) -> Result<HostTensor, EngineError> {
        let each = numbers_of(&self.spec)? / self.files.len().max(1);
        let mut values = Vec::new();
        for (path, bytes) in self.job.files.iter().zip(&self.files) {
            let mut made = match &self.job.recipe {
                MediaRecipe::Image(recipe) => {
                    library("the reader of pictures", || pixels(bytes, recipe))
                        .map_err(|why| failed(path, why))?
                }
                MediaRecipe::Spectrogram(recipe) => {
                    let sound = library("`hound`", || samples(bytes, recipe.rate))
                        .map_err(|why| failed(path, why))?;
                    self.spectrogram.as_ref().map(|it| it.of(&sound)).unwrap_or_default()
                }
                MediaRecipe::Sound(recipe) => {
                    let mut sound = library("`hound`", || samples(bytes, recipe.rate))
                        .map_err(|why| failed(path, why))?;
                    if recipe.normalize {
                        normalize(&mut sound);
                    }
                    if each > MOST_SAMPLES {
                        return Err(failed(path, format!("the input takes {each} samples")));
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

    /// Makes the input and puts it in the place of the one of its name.
    ///
    /// # Errors
    /// As [`Media::make`].
    pub fn put_into(&self, inputs: &mut [HostTensor]) -> Result<(), EngineError> {
        let made = self.make()?;
        if let Some(input) = inputs.iter_mut().find(|input| input.name == made.name) {
            *input = made;
        }
        Ok(())
    }
}

/// What a library makes of a file; one that panics has met a file that is not as it must be.
fn library<T>(name: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(work).unwrap_or_else(|said| Err(format!("the file makes {name} fail: {said}")))
}

/// Opens a file; a pipe or a device is refused instead of waited for.
fn open(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > MOST_BYTES {
        let why = format!("it has {length} bytes; at most {MOST_BYTES} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length as usize + 1)?;
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many numbers an input takes.
fn numbers_of(spec: &InputSpec) -> Result<usize, EngineError> {
    let count = spec.dims.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    count.ok_or_else(|| {
        let text =
            format!("input `{}` of shape {:?} is too large for any memory", spec.name, spec.dims);
        EngineError::new(EngineErrorKind::BadInput, text)
    })
}

/// Whether a spectrogram is one that can be made, and as large as its input.
fn check_spectrogram(
    recipe: &SpectrogramRecipe,
    spec: &InputSpec,
    files: usize,
) -> Result<(), EngineError> {
    let refuse = |text: String| Err(EngineError::new(EngineErrorKind::BadInput, text));
    let SpectrogramRecipe { bands, frames, hop, .. } = *recipe;
    let takes = numbers_of(spec)? / files.max(1);
    let gives = bands.checked_mul(frames);
    if gives != Some(takes) {
        return refuse(format!(
            "a spectrogram of {bands} bands and {frames} frames does not fill input `{}`, which takes {takes} numbers",
            spec.name
        ));
    }
    if frames.saturating_mul(hop) > MOST_SAMPLES {
        return refuse(format!(
            "a spectrogram of {frames} frames, {hop} samples apart, is longer than a day"
        ));
    }
    Ok(())
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
        Some(Resize::Shortest { edge }) if height <= width => {
            [edge, edge.saturating_mul(width) / height.max(1)]
        }
        Some(Resize::Shortest { edge }) => [edge.saturating_mul(height) / width.max(1), edge],
    }
}

/// Refuses sizes that are no picture's.
fn check_size([height, width]: [usize; 2], most: usize, what: &str) -> Result<(), String> {
    match height.checked_mul(width) {
        Some(0) => Err(format!("{what} {height}x{width} pixels")),
        Some(pixels) if pixels <= most => Ok(()),
        _ => Err(format!("{what} {height}x{width} pixels; at most {most} are taken")),
    }
}

fn pixels(bytes: &[u8], recipe: &ImageRecipe) -> Result<Vec<f32>, String> {
    let [height, width] = picture::size(Cursor::new(bytes))?;
    check_size([height, width], MOST_PIXELS, "it has")?;
    let [high, wide] = resized([height, width], recipe.resize);
    check_size([high, wide], MOST_SCALED, "it would be scaled to")?;
    let [crop_high, crop_wide] = recipe.crop.unwrap_or([high, wide]);
    check_size([crop_high, crop_wide], MOST_SCALED, "the model's preprocessor cuts it to")?;
    let mut picture = Picture::decode(bytes)?;
    if [high, wide] != [height, width] {
        picture = picture.resized([high, wide], recipe.filter)?;
    }
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
    picture: &'a Picture,
    top: i64,
    left: i64,
}

impl Cut<'_> {
    fn at(&self, row: usize, column: usize, colour: usize) -> u8 {
        let inside =
            |place: i64, size: usize| usize::try_from(place).ok().filter(|place| *place < size);
        let x = inside(self.left + column as i64, self.picture.width);
        let y = inside(self.top + row as i64, self.picture.height);
        x.zip(y).map_or(0, |(x, y)| self.picture.at(y, x)[colour])
    }
}

/// The samples of a recording, its channels averaged.
fn samples(bytes: &[u8], rate: u32) -> Result<Vec<f32>, String> {
    let mut reader =
        hound::WavReader::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let form = reader.spec();
    if form.sample_rate != rate {
        return Err(format!(
            "it has {} samples per second, the model takes {rate}; resample it first",
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
    let file = open(path).map_err(|why| failed(path, why))?;
    let size = library("the reader of pictures", || picture::size(BufReader::new(file)));
    let size = size.map_err(|why| failed(path, why))?;
    check_size(size, MOST_PIXELS, "it has").map_err(|why| failed(path, why))?;
    Ok(size)
}

/// Samples of a recording.
///
/// # Errors
/// When the file is no recording.
pub fn sound_length(path: &Path) -> Result<usize, EngineError> {
    let file = open(path).map_err(|why| failed(path, why))?;
    let bytes = file.metadata().map_or(0, |data| data.len());
    let samples = library("`hound`", || {
        let reader =
            hound::WavReader::new(BufReader::new(file)).map_err(|error| error.to_string())?;
        Ok(reader.duration() as usize)
    });
    let samples = samples.map_err(|why| failed(path, why))?;
    // Every sample takes a byte at least; a header that says more would decide how much memory is asked for.
    if samples as u64 > bytes {
        return Err(failed(
            path,
            format!("its header says {samples} samples, it has {bytes} bytes"),
        ));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use types::{Filter, InputRole, SoundRecipe};

    /// A picture's first bytes, which say how large it is; no pixels follow.
    fn header(width: u32, height: u32) -> Vec<u8> {
        let mut chunk = b"IHDR".to_vec();
        chunk.extend(width.to_be_bytes());
        chunk.extend(height.to_be_bytes());
        chunk.extend([8, 2, 0, 0, 0]);
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.extend(13_u32.to_be_bytes());
        bytes.extend(&chunk);
        bytes.extend(checksum(&chunk).to_be_bytes());
        // Readers go on to where the pixels begin.
        bytes.extend(b"\0\0\0\x10IDAT");
        bytes
    }

    fn checksum(bytes: &[u8]) -> u32 {
        let step = |sum: u32, _| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
        !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
    }

    fn recipe(resize: Option<Resize>, crop: Option<[usize; 2]>) -> ImageRecipe {
        ImageRecipe {
            resize,
            filter: Filter::Bilinear,
            crop,
            rescale: 1.0,
            mean: [0.0; 3],
            std: [1.0; 3],
            channels_last: false,
        }
    }

    #[test]
    fn a_picture_that_unpacks_to_gigabytes_is_refused_by_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.png");
        fs::write(&path, header(100_000, 100_000)).unwrap();
        let error = picture_size(&path).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("100000x100000") && cause.contains("134217728"), "{cause}");
        let why = pixels(&header(100_000, 100_000), &recipe(None, None)).unwrap_err();
        assert!(why.contains("at most 134217728"), "{why}");
    }

    #[test]
    fn what_a_preprocessor_asks_for_has_a_bound_too() {
        let strip = header(100_000, 1);
        let edge = usize::MAX;
        let why = pixels(&strip, &recipe(Some(Resize::Shortest { edge }), None)).unwrap_err();
        assert!(why.starts_with("it would be scaled to"), "{why}");
        let why = pixels(&strip, &recipe(None, Some([usize::MAX, 2]))).unwrap_err();
        assert!(why.starts_with("the model's preprocessor cuts it to"), "{why}");
    }

    #[test]
    fn a_recording_longer_than_its_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("liar.wav");
        let mut bytes = b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend(16_000_u32.to_le_bytes());
        bytes.extend(16_000_u32.to_le_bytes());
        bytes.extend([1, 0, 8, 0]);
        bytes.extend(b"data\xf0\xff\xff\x7f");
        fs::write(&path, bytes).unwrap();
        let error = sound_length(&path).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("its header says"), "{cause}");
    }

    #[test]
    fn a_file_that_is_too_large_or_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.wav");
        fs::File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        let spec = InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: vec![1, 4],
            role: InputRole::Audio,
            fill: types::Fill::Positions,
        };
        let recipe = MediaRecipe::Sound(SoundRecipe { rate: 16_000, normalize: false });
        let open = |path: &Path| {
            let (input, files) = ("x".into(), vec![path.to_owned()]);
            let job = MediaJob { input, files, recipe: recipe.clone() };
            let error = Media::open(&job, std::slice::from_ref(&spec)).err().unwrap();
            std::error::Error::source(&error).unwrap().to_string()
        };
        assert!(open(&path).contains("at most 536870912 are read"));
        assert!(open(Path::new("/dev/zero")).contains("not a regular file"));
    }

    fn made(recipe: MediaRecipe, bytes: &[u8], dims: &[usize]) -> Result<HostTensor, EngineError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, bytes).unwrap();
        let spec = InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: dims.to_vec(),
            role: InputRole::Other,
            fill: types::Fill::Positions,
        };
        let job = MediaJob { input: "x".into(), files: vec![path], recipe };
        Media::open(&job, &[spec])?.make()
    }

    #[test]
    fn a_configuration_cannot_ask_for_a_spectrogram_beyond_memory() {
        let recipe = |bands, frames, hop| {
            MediaRecipe::Spectrogram(SpectrogramRecipe {
                rate: 16_000,
                bands,
                frames,
                window: 400,
                hop,
            })
        };
        for (recipe, why) in [
            (recipe(4, 10, usize::MAX), "longer than a day"),
            (recipe(usize::MAX, 10, 160), "does not fill input `x`"),
        ] {
            let error = made(recipe, b"", &[1, 4, 10]).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        let sound = MediaRecipe::Sound(SoundRecipe { rate: 16_000, normalize: false });
        assert!(made(sound, b"RIFF", &[1, 4]).is_err());
    }
}
