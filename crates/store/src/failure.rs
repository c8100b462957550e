//! Refusals of the databases, before they become errors of ours.

use crate::StoreError;
use rusqlite::ErrorCode;
use std::{error::Error, io, path::Path};
use tokio_postgres::error::SqlState;

/// A refusal of either database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL refused, or is not there.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// What is stored is not what should be there.
    #[error("{0}")]
    Shape(String),
}

/// A refusal of PostgreSQL in one line; its client spreads it over several layers.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct ServerError {
    pub(crate) text: String,
    pub(crate) code: Option<SqlState>,
    /// Whether there is no connection any more.
    pub(crate) lost: bool,
    /// Whether it is there and answers nobody.
    pub(crate) silent: bool,
    /// Whether encryption was what failed.
    pub(crate) tls: bool,
}

impl ServerError {
    /// A failure of our own end.
    pub(crate) fn plain(text: String) -> ServerError {
        ServerError { text, code: None, lost: false, silent: false, tls: false }
    }

    /// There is no connection any more.
    pub(crate) fn lost(text: String) -> ServerError {
        ServerError { lost: true, ..ServerError::plain(text) }
    }

    /// The server keeps its connections and answers nobody.
    pub(crate) fn silent(text: String) -> ServerError {
        ServerError { silent: true, ..ServerError::lost(text) }
    }
}

impl From<tokio_postgres::Error> for ServerError {
    fn from(error: tokio_postgres::Error) -> ServerError {
        if let Some(refusal) = error.as_db_error() {
            let mut text = refusal.message().to_owned();
            if let Some(detail) = refusal.detail() {
                text += &format!(" ({detail})");
            }
            let code = refusal.code().clone();
            // The classes of lost connections and of a server that stops or starts.
            let lost = code.code().starts_with("08") || code.code().starts_with("57P0");
            return ServerError { code: Some(code), lost, ..ServerError::plain(text) };
        }
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        // The client keeps its kinds to itself; the words are all there is.
        let tls = text.contains("TLS");
        let by_socket = error.source().is_some_and(|cause| cause.is::<io::Error>());
        let timed_out = error.to_string().starts_with("timeout");
        let lost = error.is_closed() || by_socket || timed_out;
        ServerError { lost, tls, ..ServerError::plain(text) }
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> DatabaseError {
        DatabaseError::Server(error.into())
    }
}

impl DatabaseError {
    /// Whether the server went away.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, DatabaseError::Server(ServerError { lost: true, .. }))
    }

    /// Whether the server is there and answers nobody.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, DatabaseError::Server(ServerError { silent: true, .. }))
    }

    /// Ours, for what was being done in the database at this place.
    pub(crate) fn at(self, path: &Path, doing: &'static str) -> StoreError {
        match self {
            DatabaseError::Sqlite(error) => of_sqlite(path, doing, error),
            DatabaseError::Server(error) => of_server(path, doing, error),
            DatabaseError::Shape(detail) => StoreError::Corrupt { path: path.to_owned(), detail },
        }
    }
}

fn of_sqlite(path: &Path, doing: &'static str, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    if let rusqlite::Error::FromSqlConversionFailure(..)
    | rusqlite::Error::InvalidColumnType(..)
    | rusqlite::Error::QueryReturnedNoRows = source
    {
        return StoreError::Corrupt { path, detail: source.to_string() };
    }
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt) => {
            StoreError::Corrupt { path, detail: source.to_string() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::Unreadable { path, source: source.into() }
        }
        _ => StoreError::Query { path, doing, source: source.into() },
    }
}

fn of_server(path: &Path, doing: &'static str, error: ServerError) -> StoreError {
    let path = path.to_owned();
    let ServerError { text, code, lost, tls, .. } = error;
    let is = |state: &SqlState| code.as_ref() == Some(state);
    let class = code.as_ref().map_or("", |code| &code.code()[..2]);
    if tls {
        StoreError::Encryption { path, detail: text }
    } else if class == "28" || text.contains("password missing") || text.contains("authentication")
    {
        StoreError::Login { path, detail: text }
    } else if is(&SqlState::INVALID_CATALOG_NAME) {
        StoreError::NoDatabase { path, detail: text }
    } else if lost || is(&SqlState::TOO_MANY_CONNECTIONS) {
        StoreError::Unreachable { path, detail: text }
    } else if is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        StoreError::Denied { path, doing, detail: text }
    } else if is(&SqlState::DISK_FULL) {
        StoreError::Full { path }
    } else if is(&SqlState::LOCK_NOT_AVAILABLE) || is(&SqlState::T_R_DEADLOCK_DETECTED) {
        StoreError::Locked { path }
    } else if is(&SqlState::READ_ONLY_SQL_TRANSACTION) {
        StoreError::ReadOnly { path }
    } else if is(&SqlState::DATA_CORRUPTED) || is(&SqlState::INDEX_CORRUPTED) {
        StoreError::Corrupt { path, detail: text }
    } else {
        let error = ServerError { code, lost, ..ServerError::plain(text) };
        StoreError::Query { path, doing, source: error.into() }
    }
}
