//! Putting a fetched engine into our own folder: completely or not at all.

use crate::{EngineError, EngineErrorKind};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// An engine could not be fetched or installed.
#[must_use]
pub fn install_error(message: String, cause: Option<String>) -> EngineError {
    let error = EngineError::new(EngineErrorKind::Unavailable, message);
    match cause {
        Some(cause) => error.with_source(cause),
        None => error,
    }
}

/// Whether a text is a version and nothing that an installer or a path would take otherwise.
#[must_use]
pub fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        && !text.contains("..")
}

/// What was fetched and unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The folder that stays.
    pub folder: PathBuf,
    /// Its version, which names the folder.
    pub version: String,
}

/// Lets `fetch` unpack an engine into a folder below `engine` and moves the result to `engine/VERSION`.
///
/// Another process may do the same at the same time: whoever is first wins, and both get the same library. `library`
/// finds it in a folder, if it works here.
///
/// # Errors
/// When the folder cannot be written, or `fetch` failed.
pub fn install_into(
    engine: &Path,
    fetch: impl FnOnce(&Path) -> Result<Unpacked, EngineError>,
    library: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<PathBuf, EngineError> {
    fs::create_dir_all(engine).map_err(|error| unwritable(engine, &error))?;
    // The dot marks it as incomplete; it lies where it will stay, so that renaming moves nothing.
    let partial = tempfile::Builder::new().prefix(".partial-").tempdir_in(engine);
    let partial = partial.map_err(|error| unwritable(engine, &error))?;
    let Unpacked { folder, version } = fetch(partial.path())?;
    let target = engine.join(version);
    let renamed = fs::rename(folder, &target);
    // Where that failed, another process may have been quicker.
    library(&target).ok_or_else(|| {
        unwritable(engine, &renamed.err().unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    })
}

/// A folder of ours could not be written.
#[must_use]
pub fn unwritable(folder: &Path, error: &io::Error) -> EngineError {
    install_error(format!("could not write to `{}`", folder.display()), Some(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(folder: &Path) -> Option<PathBuf> {
        Some(folder.join("lib")).filter(|path| path.is_file())
    }

    fn unpack(partial: &Path, text: &str) -> Result<Unpacked, EngineError> {
        let folder = partial.join("kept");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("lib"), text).unwrap();
        Ok(Unpacked { folder, version: "1.2.3".to_owned() })
    }

    #[test]
    fn what_was_fetched_is_there_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let engine = folder.path().join("x");
        let failed = |_: &Path| Err(install_error("no network".to_owned(), None));
        assert!(install_into(&engine, failed, library).is_err());
        assert_eq!(fs::read_dir(&engine).unwrap().count(), 0, "nothing incomplete is left");
        let found = install_into(&engine, |partial| unpack(partial, "one"), library).unwrap();
        assert_eq!(found, engine.join("1.2.3/lib"));
        assert_eq!(fs::read_dir(&engine).unwrap().count(), 1);
    }

    #[test]
    fn a_quicker_process_wins() {
        let folder = tempfile::tempdir().unwrap();
        let engine = folder.path().join("x");
        let slow = |partial: &Path| {
            install_into(&engine, |partial| unpack(partial, "quick"), library).unwrap();
            unpack(partial, "slow")
        };
        let found = install_into(&engine, slow, library).unwrap();
        assert_eq!(fs::read_to_string(found).unwrap(), "quick");
    }

    #[test]
    fn only_a_version_is_taken_for_one() {
        for version in ["1.31.1", "1.20.0rc1", "3.22.1", "4.0.0-beta.1"] {
            assert!(is_version(version), "{version}");
        }
        for text in
            ["", "../x", "1.0/../..", "1..2", "--registry", "1 2", "1.0;x", "latest", "^3.0.0"]
        {
            assert!(!is_version(text), "{text}");
        }
    }
}
