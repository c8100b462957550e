//! Where a test keeps its database: a file, or the shared server.

use crate::postgresql;
use modelmeter_store::Store;
use std::path::{Path, PathBuf};

/// An empty database of a test's own.
pub(crate) struct Place {
    location: PathBuf,
    /// The file's folder goes with it; a database goes with its server.
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn file() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place { location: folder.path().join("deep/down/store.db"), _folder: Some(folder) }
    }

    pub(crate) fn server() -> Place {
        Place::at(postgresql::SHARED.database())
    }

    pub(crate) fn at(location: impl Into<PathBuf>) -> Place {
        Place { location: location.into(), _folder: None }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.location).unwrap()
    }

    pub(crate) fn location(&self) -> &Path {
        &self.location
    }

    pub(crate) fn is_server(&self) -> bool {
        self.location.to_str().unwrap().starts_with("postgres://")
    }
}

/// Makes of each function two tests, one for each database.
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() { super::$test(&$crate::place::Place::file()); })*
        }
        mod postgresql {
            $(#[test] fn $test() { super::$test(&$crate::place::Place::server()); })*
        }
    };
}
pub(crate) use on_both;
