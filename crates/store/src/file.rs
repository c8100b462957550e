//! What only a file needs: its place, its log of writes, its size.

use crate::{StoreError, failure::DatabaseError, private};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::{
    fmt::Write,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Opens the file, making it and its folders where there is none; changes nothing in it.
pub(crate) fn open(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    prepare_place(path)?;
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, patience)
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Beside those who write it.
    Shared,
    /// As it lies there: its folder has no room for the files by which readers and writers agree, so nobody writes it now.
    Alone,
}

/// Opens a file that is there for reading alone.
pub(crate) fn open_to_read(
    path: &Path,
    reading: Reading,
    patience: Duration,
) -> Result<Connection, StoreError> {
    match reading {
        Reading::Shared => connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, patience),
        Reading::Alone => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            connect(&as_address(path), flags, patience)
        }
    }
}

/// Whether commits lie beside the file that are not in it yet; read alone, it would lack them.
pub(crate) fn has_log(path: &Path) -> bool {
    fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0)
}

/// Which file lies at a path: its device and its number there.
pub(crate) type Identity = (u64, u64);

/// Which file lies at a path; `None` if there is none.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Whether the connection can only read.
pub(crate) fn is_read_only(connection: &Connection) -> bool {
    connection.is_readonly(MAIN_DB).unwrap_or(false)
}

/// The path in the form that takes settings; every byte that could mean something there is written as its number.
fn as_address(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut text = String::from("file:");
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => text.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(*byte)),
            // Writing to a text cannot fail.
            byte => drop(write!(text, "%{byte:02x}")),
        }
    }
    PathBuf::from(text + "?immutable=1")
}

fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
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
    length(path) + length(&log_of(path))
}

/// Makes the folders and the file, for this user alone, and refuses what is no file. What SQLite makes beside it later gets
/// the file's own permissions.
fn prepare_place(path: &Path) -> Result<(), StoreError> {
    if let Ok(meta) = fs::metadata(path) {
        return if meta.is_file() {
            Ok(())
        } else {
            Err(StoreError::NotAFile { path: path.to_owned() })
        };
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private::make_folder(folder)
            .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
    }
    match private::new_file(path) {
        // Another process was faster, or it is a link to a file that is not there yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => {
            Err(StoreError::Unreadable { path: path.to_owned(), source: Box::new(source) })
        }
        Ok(_) => Ok(()),
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
