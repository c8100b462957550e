//! What only a file needs: its place, its log of writes, its size.

use crate::{StoreError, failure::DatabaseError};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Opens the file, making it and its folders where there is none; changes nothing in it.
pub(crate) fn open(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    prepare_place(path)?;
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, patience)
}

/// Opens a file that is there for reading alone.
pub(crate) fn open_to_read(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, patience)
}

fn connect(path: &Path, flags: OpenFlags, patience: Duration) -> Result<Connection, StoreError> {
    let fail = |error| DatabaseError::Sqlite(error).at(path, "open the file");
    // Without the flag for addresses: a path that begins with `file:` is a path.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.busy_timeout(patience).map_err(fail)?;
    Ok(connection)
}

/// Sets the connection up to lose nothing.
pub(crate) fn set_up(
    connection: &Connection,
    path: &Path,
    patience: Duration,
) -> Result<(), StoreError> {
    let set = || {
        connection.pragma_update(None, "foreign_keys", true)?;
        write_ahead(connection, patience)?;
        // FULL: a commit is on the disk before we say so, even if the power fails. A run takes seconds, this milliseconds.
        connection.pragma_update(None, "synchronous", "FULL")
    };
    set().map_err(|error| DatabaseError::Sqlite(error).at(path, "open the file"))
}

/// Bytes on disk, the log of recent writes included.
pub(crate) fn size(path: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    length(path) + length(Path::new(&log))
}

/// Makes the folders and refuses what is no file.
fn prepare_place(path: &Path) -> Result<(), StoreError> {
    if let Ok(meta) = fs::metadata(path) {
        return if meta.is_file() {
            Ok(())
        } else {
            Err(StoreError::NotAFile { path: path.to_owned() })
        };
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::create_dir_all(folder)
            .map_err(|source| StoreError::Folder { path: folder.to_owned(), source }),
        _ => Ok(()),
    }
}

/// Switches to the write-ahead log: readers do not wait for writers, and a kill leaves the last commit whole.
///
/// The switch needs the file for itself and does not always wait for it, so we do.
fn write_ahead(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let end = Instant::now() + patience;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < end =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
