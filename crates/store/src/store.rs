//! The open database: one connection, set up so that what was stored stays stored.

use crate::{StoreError, migrate};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long to wait for another process that is writing.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Every run, machine and ceiling in one file. One `Store` is one connection; several processes may each have one.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    created: bool,
}

impl Store {
    /// Opens the file, creating it and its folders where there is none, and brings an older schema up to date.
    ///
    /// # Errors
    /// Where the file cannot be opened, is damaged, is not ours or is too new; it is then left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Store::open_waiting(path, BUSY_TIMEOUT)
    }

    /// As [`Store::open`], waiting at most `patience` whenever another process is writing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_waiting(path: impl AsRef<Path>, patience: Duration) -> Result<Store, StoreError> {
        let path = path.as_ref();
        prepare_place(path)?;
        let fail = |error| StoreError::sqlite(path, "open the file", error);
        // Without the flag for addresses: a path that begins with `file:` is a path.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection.busy_timeout(patience).map_err(fail)?;
        // Asked before anything is set, so that a file we cannot use is not changed.
        let version = migrate::version(&connection, path)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
        write_ahead(&connection, patience).map_err(fail)?;
        // FULL: a commit is on the disk before we say so, even if the power fails. A run takes seconds, this milliseconds.
        connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
        if version < migrate::SCHEMA_VERSION {
            migrate::migrate(&connection, path)?;
        }
        Ok(Store { connection, path: path.to_owned(), created: version == 0 })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether opening it made it.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.created
    }

    /// Gives unused space back to the disk; how many bytes that was.
    ///
    /// # Errors
    /// Where another process is writing, or the disk has no room for the copy that is made.
    pub fn vacuum(&self) -> Result<u64, StoreError> {
        let before = self.size();
        self.connection
            .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            .map_err(self.fail("vacuum"))?;
        Ok(before.saturating_sub(self.size()))
    }

    /// Reads the whole file and looks for damage.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first thing found.
    pub fn check(&self) -> Result<(), StoreError> {
        let first: String = self
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(self.fail("check the file"))?;
        if first == "ok" {
            return Ok(());
        }
        Err(StoreError::Corrupt { path: self.path.clone(), detail: first })
    }

    /// Bytes on disk, the log of recent writes included.
    pub(crate) fn size(&self) -> u64 {
        let length = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        length(&self.path) + length(Path::new(&log))
    }

    /// Begins a transaction that may write; others wait until it ends.
    pub(crate) fn write(&self, doing: &'static str) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
            .map_err(self.fail(doing))
    }

    /// Begins a transaction that only reads, so that everything read until it ends was true at one moment.
    pub(crate) fn view(&self, doing: &'static str) -> Result<Transaction<'_>, StoreError> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)
            .map_err(self.fail(doing))
    }

    /// Turns a refusal of SQLite into ours.
    pub(crate) fn fail(
        &self,
        doing: &'static str,
    ) -> impl Fn(rusqlite::Error) -> StoreError + use<'_> {
        move |error| StoreError::sqlite(&self.path, doing, error)
    }

    /// What is stored makes no sense.
    pub(crate) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), detail: detail.into() }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, sample};
    use types::{Phase, Samples};

    #[test]
    fn a_full_disk_says_so_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = Store::open(&path).unwrap();
        store.insert_run(&sample::run(1)).unwrap();
        // SQLite reports the end of the pages it may use exactly as it reports the end of the disk.
        let pages: i64 =
            store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let limit = format!("PRAGMA max_page_count = {}", pages + 10);
        store.connection.query_row(&limit, [], |_| Ok(())).unwrap();
        let mut large = sample::run(2);
        let noise = |i: u64| i.wrapping_mul(i ^ 0x9e37_79b9_7f4a_7c15).rotate_left(i as u32 % 64);
        large.samples =
            vec![Samples { phase: Phase::Inference, nanos: (0..50_000).map(noise).collect() }];
        let error = store.insert_run(&large).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(error.hint().is_some());
        drop(store);
        let store = Store::open(&path).unwrap();
        store.check().unwrap();
        assert_eq!(store.runs(&Filter::default()).unwrap().len(), 1);
        assert_eq!(store.run(&sample::run(1).id.0).unwrap(), sample::run(1));
    }

    #[test]
    fn the_connection_is_set_up_to_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db")).unwrap();
        let pragma = |name: &str| -> String {
            let query = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
            store.connection.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal");
        assert_eq!(pragma("synchronous"), "2");
        assert_eq!(pragma("foreign_keys"), "1");
    }

    #[test]
    fn lists_and_beginnings_of_ids_are_answered_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db")).unwrap();
        let plan = |sql: &str| -> String {
            let mut query = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines: Vec<String> =
                query.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            lines.join("; ")
        };
        let list = plan("SELECT id, model FROM run ORDER BY started_at DESC, id DESC LIMIT 20");
        assert!(list.contains("run_by_time") && !list.contains("TEMP B-TREE"), "{list}");
        let prefix = plan("SELECT id FROM run WHERE id >= 'ab' AND id < 'ac' ORDER BY id");
        assert!(prefix.contains("SEARCH run") && !prefix.contains("TEMP B-TREE"), "{prefix}");
    }
}
