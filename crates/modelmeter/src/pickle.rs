//! A model folder whose weights are only a pickle, where the user allows it to be read.

use crate::{Error, Profiler};
use engine::{EngineError, EngineErrorKind};
use meter::MeterError;
use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// The folder again with its weights as safetensors, in the cache; made once.
///
/// # Errors
/// When there is no Python with PyTorch, the pickle cannot be read, or the cache cannot be written.
pub(crate) fn converted(profiler: &Profiler, folder: &Path) -> Result<PathBuf, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    };
    let cache = profiler.folders_or_default()?.cache.join("unpickled");
    let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let place = cache.join(stamp(&name)).join(name.file_name().unwrap_or_default());
    let weights = place.join("model.safetensors");
    if weights.is_file() {
        return Ok(place);
    }
    let python = profiler.places.python.as_deref().ok_or_else(|| {
        let text = "no Python was found to read pickled weights with";
        let error = EngineError::new(EngineErrorKind::Unavailable, text);
        MeterError::from(error.with_hint("give a Python that has PyTorch: `--python PATH`"))
    })?;
    fs::create_dir_all(&place).map_err(failed(&place))?;
    for file in fs::read_dir(folder).map_err(failed(folder))?.flatten() {
        let is_small =
            file.path().extension().is_some_and(|ending| ending == "json" || ending == "txt");
        if is_small && !file.file_name().to_string_lossy().ends_with(".index.json") {
            fs::copy(file.path(), place.join(file.file_name())).map_err(failed(&place))?;
        }
    }
    // Under another name until it is whole.
    let unfinished = place.join(format!(".unfinished-{}", std::process::id()));
    let read = engine_torch::unpickle(python, folder, &unfinished);
    if let Err(error) = read {
        // It may not have been begun.
        let _ = fs::remove_file(&unfinished);
        return Err(MeterError::from(error).into());
    }
    fs::rename(&unfinished, &weights).map_err(failed(&weights))?;
    Ok(place)
}

/// A name that changes whenever a file of the folder does.
fn stamp(folder: &Path) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        file.file_name().hash(&mut hasher);
        if let Ok(data) = file.metadata() {
            data.len().hash(&mut hasher);
            let changed = data.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            changed.hash(&mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}
