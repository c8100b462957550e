//! A model folder whose weights are only a pickle, where the user allows it to be read.

use crate::{Error, Profiler, worker};
use engine::{EngineError, EngineErrorKind};
use meter::MeterError;
use models::Unfinished;
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::stable_hash;

/// The file that everybody looks for.
const WEIGHTS: &str = "model.safetensors";

/// The folder again with its weights as safetensors, in the cache; made once.
///
/// # Errors
/// When no engine here can read the pickle within the limits of a measurement, or the cache cannot be written.
pub(crate) fn converted(profiler: &Profiler, folder: &Path) -> Result<PathBuf, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    };
    let cache = profiler.folders_or_default()?.cache.join("unpickled");
    // The reader stands in another folder.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().unwrap_or_default();
    let stamp = stamp(&folder);
    let place = cache.join(&stamp);
    let is_whole = |place: &Path| place.join(name).join(WEIGHTS).is_file();
    if is_whole(&place) {
        return Ok(place.join(name));
    }
    let found = profiler.engines.iter().find_map(|one| Some((one, one.pickle_reader()?)));
    let (engine, reader) = found.ok_or_else(|| {
        let text = "no engine reads pickled weights";
        MeterError::from(EngineError::new(EngineErrorKind::Unavailable, text))
    })?;
    let launch = worker::launch_to_unpickle(profiler, engine, reader)?;
    fs::create_dir_all(&cache).map_err(failed(&cache))?;
    let unfinished = Unfinished::create(&cache, &stamp).map_err(failed(&cache))?;
    let inside = unfinished.path().join(name);
    fs::create_dir(&inside).map_err(failed(&inside))?;
    for file in fs::read_dir(&folder).map_err(failed(&folder))?.flatten() {
        let is_small =
            file.path().extension().is_some_and(|ending| ending == "json" || ending == "txt");
        if is_small && !file.file_name().to_string_lossy().ends_with(".index.json") {
            fs::copy(file.path(), inside.join(file.file_name())).map_err(failed(&inside))?;
        }
    }
    meter::unpickle(&launch, profiler.rule.timeout, &folder, &inside.join(WEIGHTS))?;
    unfinished.finish(&place, is_whole).map_err(failed(&place))?;
    Ok(place.join(name))
}

/// A name that changes whenever a file of the folder does.
fn stamp(folder: &Path) -> String {
    let mut known = folder.as_os_str().as_encoded_bytes().to_vec();
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        // A name has no zero byte; what follows is of one length.
        known.push(0);
        known.extend(file.file_name().as_encoded_bytes());
        known.push(0);
        if let Ok(data) = file.metadata() {
            known.extend(data.len().to_le_bytes());
            known.extend(data.modified().map_or(0, clock::nanoseconds).to_le_bytes());
        }
    }
    format!("{:016x}", stable_hash(known))
}
