//! Values and shapes of inputs that the user gave, read before anything is settled.

use crate::{Error, Profiler, prepare::check_memory, scratch::Scratch, worker};
use meter::MeterError;
use models::{ModelError, Preprocessor, Resolved};
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{
    Feed, HostTensor, InputRole, InputShape, InputSpec, InputValues, MediaJob, MediaRecipe,
    MediaSource, Mode, ValueRange, ValueSource,
};

/// Pictures in a batch where nobody says otherwise.
const DEFAULT_BATCH: usize = 4;

/// Values for one input, as a user gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenValues {
    /// Drawn from this range.
    Range(ValueRange),
    /// Read from this `.npy` file; the file says the shape too.
    File(PathBuf),
}

impl GivenValues {
    /// What a stored cell was given, input by input and as files of data.
    pub(crate) fn of(feed: &Feed) -> (Vec<(String, GivenValues)>, Option<PathBuf>) {
        let mut data = feed.media.as_ref().map(|media| media.path.clone());
        let mut given = Vec::new();
        for InputValues { name, source } in &feed.values {
            let values = match source {
                ValueSource::Range { range } => GivenValues::Range(range.clone()),
                ValueSource::File { path, .. } if ending_of(path) == "npy" => {
                    GivenValues::File(path.clone())
                }
                ValueSource::File { path, .. } => {
                    data = Some(path.clone());
                    continue;
                }
            };
            given.push((name.clone(), values));
        }
        (given, data)
    }
}

/// Everything that was given for inputs.
pub(crate) struct GivenInputs {
    pub(crate) shapes: Vec<InputShape>,
    pub(crate) values: Vec<InputValues>,
    /// What was read, under the names of the inputs.
    pub(crate) tensors: Vec<HostTensor>,
    pub(crate) media: Option<GivenMedia>,
}

/// Pictures or recordings.
pub(crate) struct GivenMedia {
    pub(crate) job: MediaJob,
    pub(crate) source: MediaSource,
}

impl GivenInputs {
    pub(crate) fn read(profiler: &Profiler, resolved: &Resolved) -> Result<GivenInputs, Error> {
        let mut given = GivenInputs {
            shapes: profiler.inputs.clone(),
            values: Vec::new(),
            tensors: Vec::new(),
            media: None,
        };
        for (name, values) in &profiler.values {
            let source = match values {
                GivenValues::Range(range) => ValueSource::Range { range: range.clone() },
                GivenValues::File(path) => {
                    let (tensor, hash) = models::read_npy(path, name)?;
                    given.tensor_of(tensor, path, &hash)?
                }
            };
            given.values.push(InputValues { name: name.clone(), source });
        }
        if let Some(path) = &profiler.data {
            given.data(profiler, resolved, path)?;
        }
        Ok(given)
    }

    /// Keeps an array and its shape; where its shape was given too, both must agree.
    fn tensor_of(
        &mut self,
        tensor: HostTensor,
        path: &Path,
        hash: &str,
    ) -> Result<ValueSource, Error> {
        match self.shapes.iter().find(|shape| shape.name == tensor.name) {
            Some(said) if said.dims != tensor.dims => {
                return Err(ModelError::OtherShape {
                    input: tensor.name,
                    path: path.to_owned(),
                    found: tensor.dims,
                    asked: said.dims.clone(),
                }
                .into());
            }
            Some(_) => {}
            None => {
                let (name, dims) = (tensor.name.clone(), tensor.dims.clone());
                self.shapes.push(InputShape { name, dims });
            }
        }
        self.tensors.push(tensor);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(ValueSource::File { path, hash: hash.to_owned() })
    }

    fn data(&mut self, profiler: &Profiler, resolved: &Resolved, path: &Path) -> Result<(), Error> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "npy" | "npz" | "safetensors" => {
                let data = models::read_data(path)?;
                for mut tensor in data.tensors {
                    if tensor.name.is_empty() {
                        tensor.name = first_input(resolved)?;
                    }
                    let name = tensor.name.clone();
                    let source = self.tensor_of(tensor, path, &data.hash)?;
                    self.values.push(InputValues { name, source });
                }
                Ok(())
            }
            _ => self.media(profiler, resolved, path),
        }
    }

    /// Pictures or recordings: as many files as the batch has samples, in turn.
    fn media(
        &mut self,
        profiler: &Profiler,
        resolved: &Resolved,
        path: &Path,
    ) -> Result<(), Error> {
        let useless = |why: &str| ModelError::Data {
            model: resolved.info.name.clone(),
            path: path.to_owned(),
            why: why.to_owned(),
        };
        let files = files(path)?;
        if files.is_empty() {
            return Err(useless("it contains no image (`.png`, `.jpg`) and no `.wav` file").into());
        }
        let preprocessor = match &resolved.preprocessor {
            Some(path) => Preprocessor::read(path)?,
            None => Preprocessor::default(),
        };
        let is_sound = files.iter().any(|file| ending_of(file) == "wav");
        let role = if is_sound { InputRole::Audio } else { InputRole::Image };
        let kind = resolved.kinds.iter().find(|kind| kind.role == role).ok_or_else(|| {
            useless(if is_sound { "no input takes audio" } else { "no input takes images" })
        })?;
        let only = resolved.default_batch(&self.shapes);
        let batch = profiler.batch_size.or(only).unwrap_or(files.len().min(DEFAULT_BATCH));
        // The usual shape says where batch, colours and sides lie.
        let usual = resolved.inputs(batch, profiler.sequence_length, &self.shapes)?;
        // A batch beyond all memory is refused before it becomes a list of files.
        check_memory(&usual, Mode::Inference)?;
        let files: Vec<PathBuf> = files.iter().cycle().take(batch).cloned().collect();
        let usual = usual.into_iter().find(|input| input.name == kind.name);
        let mut dims = usual.map(|input| input.dims).unwrap_or_default();
        let recipe = if is_sound {
            sound_recipe(&preprocessor, &files, &mut dims)?
        } else {
            image_recipe(&preprocessor, &files, &mut dims)?
        };
        let recipe = recipe.ok_or_else(|| {
            useless(if is_sound {
                "its input takes neither audio samples nor a Whisper spectrogram"
            } else {
                "its input does not take RGB images"
            })
        })?;
        let hash = models::hash_contents(&files)?;
        let input = kind.name.clone();
        if !self.shapes.iter().any(|shape| shape.name == input) {
            self.shapes.push(InputShape { name: input.clone(), dims });
        }
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let source = MediaSource { path, hash };
        self.media = Some(GivenMedia { job: MediaJob { input, files, recipe }, source });
        Ok(())
    }

    /// What a cell remembers of it. Files that are made ready once are values like others.
    pub(crate) fn feed(&self, is_timed: bool) -> Feed {
        let mut feed = Feed { values: self.values.clone(), ..Feed::default() };
        match &self.media {
            Some(media) if is_timed => feed.media = Some(media.source.clone()),
            Some(GivenMedia { job, source: MediaSource { path, hash } }) => {
                let source = ValueSource::File { path: path.clone(), hash: hash.clone() };
                feed.values.push(InputValues { name: job.input.clone(), source });
            }
            None => {}
        }
        feed
    }

    /// The values of an input: read where they were given, made ready where files were, drawn otherwise.
    pub(crate) fn tensor(
        &self,
        profiler: &Profiler,
        spec: &InputSpec,
        inputs: &[InputSpec],
    ) -> Result<HostTensor, Error> {
        if let Some(media) = self.media.as_ref().filter(|media| media.job.input == spec.name)
            && let Some(made) = made(profiler, &media.job, inputs)?
        {
            return Ok(made);
        }
        match self.tensors.iter().find(|tensor| tensor.name == spec.name) {
            Some(tensor) => Ok(models::convert_values(tensor, spec)?),
            None => Ok(engine::draw(spec, profiler.seed)),
        }
    }
}

fn bytes_of(input: &InputSpec) -> Option<u64> {
    let elements = input.dims.iter().copied().try_fold(1_usize, usize::checked_mul)?;
    Some(elements as u64 * input.dtype.size() as u64)
}

/// Has a worker decode the files.
fn made(
    profiler: &Profiler,
    job: &MediaJob,
    inputs: &[InputSpec],
) -> Result<Option<HostTensor>, Error> {
    // One of them is made.
    let needed = inputs.iter().filter_map(bytes_of).min().unwrap_or(0);
    let folder = Scratch::make("the input made of files", needed)?;
    let (launch, time) = (worker::launch_to_read(profiler), worker::time_to_read(profiler));
    Ok(meter::make_media(&launch, time, job, inputs, folder.path())?)
}

/// How recordings become this input, and how long it then is; `None` if they cannot.
fn sound_recipe(
    preprocessor: &Preprocessor,
    files: &[PathBuf],
    dims: &mut [usize],
) -> Result<Option<MediaRecipe>, Error> {
    match dims {
        [length] | [_, length] => {
            let mut longest = 1;
            for file in files {
                longest = longest.max(engine::sound_length(file).map_err(MeterError::from)?);
            }
            *length = longest;
            Ok(Some(MediaRecipe::Sound(preprocessor.sound())))
        }
        [_, bands, frames] => {
            Ok(preprocessor.spectrogram(*bands, *frames).map(MediaRecipe::Spectrogram))
        }
        _ => Ok(None),
    }
}

/// How pictures become this input, and how large it then is; `None` if they cannot.
fn image_recipe(
    preprocessor: &Preprocessor,
    files: &[PathBuf],
    dims: &mut [usize],
) -> Result<Option<MediaRecipe>, Error> {
    let (height, width, is_last) = match dims {
        [_, 3, height, width] => (height, width, false),
        [_, height, width, 3] => (height, width, true),
        _ => return Ok(None),
    };
    let recipe = preprocessor.image([*height, *width], is_last);
    let size = engine::picture_size(&files[0]).map_err(MeterError::from)?;
    [*height, *width] = engine::size_of(&recipe, size);
    Ok(Some(MediaRecipe::Image(recipe)))
}

fn first_input(resolved: &Resolved) -> Result<String, Error> {
    let first = resolved.model.graph.inputs.first().map(|input| input.name.clone());
    first.ok_or_else(|| {
        Error::from(ModelError::NothingToChange { model: resolved.info.name.clone() })
    })
}

fn ending_of(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

/// The pictures and recordings at a place, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let is_media =
        |path: &PathBuf| matches!(ending_of(path).as_str(), "png" | "jpg" | "jpeg" | "wav");
    if !path.is_dir() {
        // Whatever cannot be read is said now.
        fs::metadata(path).map_err(failed)?;
        return Ok(Some(path.to_owned()).filter(is_media).into_iter().collect());
    }
    let entries = fs::read_dir(path).map_err(failed)?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_media).collect();
    files.sort();
    Ok(files)
}
