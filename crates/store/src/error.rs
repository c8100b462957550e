//! What can go wrong with a store, and what to try.

use rusqlite::ErrorCode;
use std::{
    io,
    path::{Path, PathBuf},
};

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder for the file cannot be made.
    #[error("could not create the folder `{}` for the database", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is something else than a file at the path.
    #[error("could not open the database `{}`: it is not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("could not open the database `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is no SQLite database.
    #[error("`{}` is not a database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of something else.
    #[error("`{}` is a database, but not one of modelmeter's", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The database was written by a newer version of this program.
    #[error(
        "the database `{}` has schema version {found}, but this program knows only up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The file is damaged.
    #[error("the database `{}` is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// There is no space left.
    #[error("could not write to the database `{}`: the disk is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the database for too long.
    #[error("the database `{}` is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file may be read but not written.
    #[error("could not write to the database `{}`: it is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The database refused for another reason.
    #[error("could not {doing} in the database `{}`", path.display())]
    Query {
        /// The file.
        path: PathBuf,
        /// What we were doing: `store a run`.
        doing: &'static str,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// No run begins with these digits.
    #[error("no run begins with `{prefix}`")]
    NotFound {
        /// What was asked for.
        prefix: String,
    },
    /// Several runs begin with these digits.
    #[error("`{prefix}` is the beginning of several runs: {}", list(candidates))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first few of them.
        candidates: Vec<String>,
    },
    /// A run with this id is already stored.
    #[error("a run with the id `{id}` is already stored")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The run holds something that cannot be read back.
    #[error("could not store run `{id}`: {why}")]
    Unstorable {
        /// The id.
        id: String,
        /// What.
        why: String,
    },
    /// A tag that nobody could type.
    #[error("`{tag}` cannot be a tag")]
    BadTag {
        /// The tag.
        tag: String,
    },
}

/// At most eight names, in backticks.
fn list(candidates: &[String]) -> String {
    let shown: Vec<String> = candidates.iter().take(8).map(|id| format!("`{id}`")).collect();
    let more = if candidates.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

impl StoreError {
    /// Whether something else should have been asked, rather than the machine or the file being at fault.
    #[must_use]
    pub fn is_asked_wrongly(&self) -> bool {
        matches!(
            self,
            StoreError::Folder { .. }
                | StoreError::NotAFile { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::Foreign { .. }
                | StoreError::Newer { .. }
                | StoreError::NotFound { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::BadTag { .. }
        )
    }

    /// What to try next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            StoreError::Folder { .. } | StoreError::NotAFile { .. } => {
                "name a file in a folder you can write to".into()
            }
            StoreError::Unreadable { .. } | StoreError::ReadOnly { .. } => {
                "look at the permissions of the file and of its folder, or name another file".into()
            }
            StoreError::NotADatabase { .. } | StoreError::Foreign { .. } => {
                "name another file; this one was left as it is".into()
            }
            StoreError::Newer { .. } => {
                "update modelmeter, or name another file; this one was left as it is".into()
            }
            StoreError::Corrupt { .. } => {
                "restore the file from a copy, or move it away to begin a new one".into()
            }
            StoreError::Full { .. } => {
                "free some space or name a file on another disk; the runs stored before are safe"
                    .into()
            }
            StoreError::Locked { .. } => {
                "wait for the other process to finish and try again".into()
            }
            StoreError::NotFound { .. } => "list the runs to see their ids".into(),
            StoreError::Ambiguous { .. } => "give more digits of the id".into(),
            StoreError::BadTag { .. } => {
                "a tag is one to 100 characters without line breaks, not only spaces".into()
            }
            StoreError::Query { .. }
            | StoreError::Duplicate { .. }
            | StoreError::Unstorable { .. } => return None,
        };
        Some(hint)
    }

    /// The error behind a refusal of SQLite.
    pub(crate) fn sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => {
                StoreError::Corrupt { path, detail: source.to_string() }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::Unreadable { path, source }
            }
            _ => StoreError::Query { path, doing, source },
        }
    }
}
