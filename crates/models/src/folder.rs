//! A Hugging Face folder: what lies in it, and which of it we use.

use crate::{
    ModelError,
    checkpoint::Checkpoint,
    hub::{INDEX_FILE, shards_of},
};
use serde_json::Value;
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};
use types::Postprocess;

/// The most bytes of a configuration that are read; those of real models stay below 2 MiB.
pub(crate) const MOST_CONFIG: u64 = 8 << 20;

/// The most bytes of a list of weights that are read; the longest in use have 9 MiB.
pub(crate) const MOST_INDEX: u64 = 32 << 20;

/// What a folder holds for us.
#[derive(Debug)]
pub(crate) enum Content {
    /// A finished graph.
    Onnx(PathBuf),
    /// A configuration and safetensors files.
    Weights { config: Value, files: Vec<PathBuf> },
}

/// Whether there is anything of a model in the folder.
pub(crate) fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file() || find_onnx(folder).is_some()
}

fn find_onnx(folder: &Path) -> Option<PathBuf> {
    ["onnx/model.onnx", "model.onnx"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

/// Chooses what of the folder is used: a finished graph where there is one, else configuration and weights.
pub(crate) fn content(folder: &Path) -> Result<Content, ModelError> {
    if let Some(path) = find_onnx(folder) {
        return Ok(Content::Onnx(path));
    }
    let config = config(folder)?.ok_or_else(|| ModelError::NotAModel {
        path: folder.to_owned(),
        why: "the folder has neither `config.json` nor `onnx/model.onnx`".into(),
    })?;
    Ok(Content::Weights { config, files: weight_files(folder)? })
}

fn weight_files(folder: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let single = folder.join("model.safetensors");
    if single.is_file() {
        return Ok(vec![single]);
    }
    let index = folder.join(INDEX_FILE);
    if index.is_file() {
        let shards =
            shards_of(&index).map_err(|source| ModelError::Read { path: index.clone(), source })?;
        return Ok(shards.into_iter().map(|shard| folder.join(shard)).collect());
    }
    let names = fs::read_dir(folder)
        .map_err(|source| ModelError::Read { path: folder.to_owned(), source })?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut pickles: Vec<String> =
        names.into_iter().filter(|name| is_pickled_model(name)).collect();
    // The name that `transformers` looks for first.
    pickles.sort_by_key(|name| (!name.starts_with("pytorch_model"), name.clone()));
    match pickles.into_iter().next() {
        Some(file) => Err(ModelError::OnlyPickle { path: folder.to_owned(), file }),
        None => Err(ModelError::NoWeights { path: folder.to_owned() }),
    }
}

/// Whether a file may hold pickled weights; what a training leaves beside them does not.
fn is_pickled_model(name: &str) -> bool {
    const OF_TRAINING: [&str; 7] = [
        "scheduler",
        "optimizer",
        "optim",
        "training_args",
        "rng_state",
        "scaler",
        "trainer_state",
    ];
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_pickle = matches!(ending, "pt" | "pth") || name.starts_with("pytorch_model");
    is_pickle && !OF_TRAINING.iter().any(|part| name.starts_with(part))
}

/// The folder's `config.json`, if there is one.
pub(crate) fn config(folder: &Path) -> Result<Option<Value>, ModelError> {
    let path = folder.join("config.json");
    match read_regular(&path, MOST_CONFIG) {
        Ok(bytes) => serde_json::from_slice(without_mark(&bytes))
            .map(Some)
            .map_err(|source| ModelError::Config { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Read { path, source }),
    }
}

/// The bytes of a file; a pipe or a device is refused instead of waited for, and a file that is too large before it is
/// read.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = graph::open_regular(path)?;
    let length = file.metadata()?.len();
    let too_large = |length: u64| {
        let why = format!("it has {length} bytes; at most {most} are read");
        Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
    };
    if length > most {
        return too_large(length);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1))?;
    // It may grow meanwhile: one byte more than allowed shows that.
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > most => too_large(length),
        _ => Ok(bytes),
    }
}

/// Text without the byte order mark that some editors put in front.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Opens the weights, checked.
pub(crate) fn checkpoint(folder: &Path, files: &[PathBuf]) -> Result<Checkpoint, ModelError> {
    match files {
        [file] => Checkpoint::open(file, files),
        _ => Checkpoint::open(folder, files),
    }
}

/// The folder's tokenizer, if there is one.
pub(crate) fn tokenizer(folder: &Path) -> Option<PathBuf> {
    Some(folder.join("tokenizer.json")).filter(|path| path.is_file())
}

/// What the folder says of its preprocessing, where it does.
pub(crate) fn preprocessor(folder: &Path) -> Option<PathBuf> {
    Some(folder.join("preprocessor_config.json")).filter(|path| path.is_file())
}

/// A sentence-transformers folder says how token vectors become one.
pub(crate) fn postprocess(folder: &Path) -> Option<Postprocess> {
    let modules = read_regular(&folder.join("modules.json"), MOST_CONFIG).ok()?;
    String::from_utf8_lossy(&modules).contains("Pooling").then_some(Postprocess::MeanPool)
}

/// The longest sequence that a configuration allows.
pub(crate) fn longest(config: &Value) -> Option<usize> {
    let number = |key| config.get(key).and_then(Value::as_u64).map(|number| number as usize);
    let longest = number("max_position_embeddings").or_else(|| number("n_positions"))?;
    // RoBERTa counts its positions from above the padding token's id.
    let family = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let reserved = match family {
        "roberta" | "xlm-roberta" | "camembert" | "mpnet" => {
            let padding = config.get("pad_token_id").and_then(Value::as_u64).unwrap_or(1);
            (padding as usize).saturating_add(1)
        }
        // Relative positions have no end.
        "t5" => return None,
        _ => 0,
    };
    Some(longest.saturating_sub(reserved))
}
