//! Hashes that say whether two models are the same.
//!
//! Files are hashed whole with BLAKE3 (about 0.3 s for a GB on one core), once: the result is remembered in the cache
//! under the file's path, size and time of change.

use crate::{ModelError, Progress};
use std::{
    fmt::{self, Debug, Write as _},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// What tells cheaply whether a file was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp {
    path: PathBuf,
    size: u64,
    /// Nanoseconds since 1970.
    modified: u128,
}

impl FileStamp {
    pub(crate) fn of(path: &Path) -> Result<FileStamp, ModelError> {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let real = fs::canonicalize(path).map_err(read)?;
        let data = fs::metadata(&real).map_err(read)?;
        let modified = data.modified().map_or(0, clock::nanoseconds);
        Ok(FileStamp { path: real, size: data.len(), modified })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn update(&self, hasher: &mut blake3::Hasher) {
        let path = self.path.as_os_str().as_encoded_bytes();
        hasher.update(&(path.len() as u64).to_le_bytes()).update(path);
        hasher.update(&self.size.to_le_bytes()).update(&self.modified.to_le_bytes());
    }
}

/// A hash over a value's debug form: every field, without a second description of them.
pub(crate) fn hash_debug(value: &impl Debug) -> blake3::Hash {
    struct Sink(blake3::Hasher);
    impl fmt::Write for Sink {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut sink = Sink(blake3::Hasher::new());
    write!(sink, "{value:?}").expect("the sink takes everything");
    sink.0.finalize()
}

/// The hash over the files' contents, from the cache where they did not change.
pub(crate) fn hash_files(
    files: &[PathBuf],
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(String, u64), ModelError> {
    let stamps = files.iter().map(|file| FileStamp::of(file)).collect::<Result<Vec<_>, _>>()?;
    let total = stamps.iter().map(FileStamp::size).sum();
    let mut key = blake3::Hasher::new();
    for stamp in &stamps {
        stamp.update(&mut key);
    }
    let memo = cache.join("fingerprints").join(key.finalize().to_hex().as_str());
    if let Ok(known) = fs::read_to_string(&memo)
        && blake3::Hash::from_hex(&known).is_ok()
    {
        return Ok((known, total));
    }
    let mut whole = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    for path in files {
        let read = |source| ModelError::Read { path: path.to_owned(), source };
        let mut file = graph::open_regular(path).map_err(read)?;
        let mut content = blake3::Hasher::new();
        loop {
            let count = file.read(&mut buffer).map_err(read)?;
            if count == 0 {
                break;
            }
            content.update(&buffer[..count]);
            done += count as u64;
            progress(Progress::Hashing { done, total });
        }
        whole.update(content.finalize().as_bytes());
    }
    let hash = whole.finalize().to_hex().to_string();
    // A cache that cannot be written costs time, nothing else.
    if let Some(folder) = memo.parent()
        && fs::create_dir_all(folder).is_ok()
    {
        let _ = fs::write(&memo, &hash);
    }
    Ok((hash, total))
}
