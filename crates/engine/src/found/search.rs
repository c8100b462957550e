//! Libraries of engines among files: which of several comes first, and what is told where none can be used.

use crate::{Availability, EngineError, EngineErrorKind, Places};
use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
};

/// A library that this program can load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// Its version, where its name or the package around it tells.
    pub version: Option<String>,
}

impl Library {
    /// The folder it lies in, where its companions are too.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Its version for people.
    #[must_use]
    pub fn version_text(&self) -> String {
        self.version.clone().unwrap_or_else(|| "unknown".to_owned())
    }
}

/// Why there is no library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Why.
    pub why: String,
    /// What would help.
    pub hint: String,
}

impl From<Absent> for EngineError {
    fn from(Absent { why, hint }: Absent) -> EngineError {
        EngineError::new(EngineErrorKind::Unavailable, why).with_hint(hint)
    }
}

impl From<Result<Library, Absent>> for Availability {
    fn from(found: Result<Library, Absent>) -> Availability {
        match found {
            Ok(library) => Availability::Available { version: library.version_text() },
            Err(Absent { why, hint }) => Availability::Unavailable { why, hint },
        }
    }
}

/// The first library that can be used, or what is wrong with the first that cannot: it is the one that was meant.
/// `None` if there is no file at all.
pub fn first_usable(
    mut files: impl Iterator<Item = Result<PathBuf, Absent>>,
    mut examine: impl FnMut(PathBuf) -> Result<Library, Absent>,
) -> Option<Result<Library, Absent>> {
    let mut problem = None;
    let found = files.find_map(|file| match file.and_then(&mut examine) {
        Ok(library) => Some(library),
        Err(absent) => {
            problem.get_or_insert(absent);
            None
        }
    });
    found.map(Ok).or(problem.map(Err))
}

/// The versions of an engine in our own folder, newest first.
#[must_use]
pub fn installed_versions(places: &Places, engine: &str) -> Vec<PathBuf> {
    let folder = places.installed.as_ref().map(|folder| folder.join(engine));
    let mut versions: Vec<PathBuf> = folder.iter().flat_map(|folder| entries(folder)).collect();
    // A dot marks an installation that is not complete.
    versions.retain(|folder| !file_name(folder).starts_with('.'));
    versions.sort_by(|a, b| by_number(file_name(b), file_name(a)));
    versions
}

/// The order of two names by the numbers in them: `3.9.0` comes before `3.22.1`.
#[must_use]
pub fn by_number(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        let parts = text.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// What is in a folder; nothing if it cannot be read.
#[must_use]
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The last part of a path; empty if it is no text.
#[must_use]
pub fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(why: &str) -> Absent {
        Absent { why: why.to_owned(), hint: "install it".to_owned() }
    }

    #[test]
    fn the_first_that_works_is_taken_and_the_first_problem_is_told() {
        let files = ["broken", "old", "good", "better"].map(|name| Ok(PathBuf::from(name)));
        let examine = |path: PathBuf| match file_name(&path) {
            "broken" | "old" => Err(absent(&format!("{} does not work", path.display()))),
            _ => Ok(Library { path, version: None }),
        };
        let found = first_usable(files.clone().into_iter(), examine).unwrap().unwrap();
        assert_eq!(found.path, Path::new("good"));
        assert_eq!(found.version_text(), "unknown");
        let none = first_usable(files.into_iter().take(2), examine).unwrap();
        assert_eq!(none, Err(absent("broken does not work")));
        assert_eq!(first_usable(std::iter::empty(), examine), None);
        let early = [Err(absent("no library in the package")), Ok(PathBuf::from("old"))];
        let early = first_usable(early.into_iter(), examine).unwrap();
        assert_eq!(early, Err(absent("no library in the package")));
    }

    #[test]
    fn installed_versions_come_newest_first_without_what_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["3.9.0", "3.22.1", ".partial-x"] {
            fs::create_dir_all(folder.path().join("x").join(version)).unwrap();
        }
        let places = Places { installed: Some(folder.path().to_owned()), ..Places::default() };
        let found = installed_versions(&places, "x");
        let names: Vec<&str> = found.iter().map(|path| file_name(path)).collect();
        assert_eq!(names, ["3.22.1", "3.9.0"]);
        assert!(installed_versions(&places, "y").is_empty());
    }

    #[test]
    fn names_compare_by_number() {
        assert_eq!(by_number("3.9.0", "3.22.1"), Ordering::Less);
        assert_eq!(by_number("libllama.b9999.so", "libllama.b10605.so"), Ordering::Less);
    }
}
