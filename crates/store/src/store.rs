//! The open database: one connection, set up so that what was stored stays stored.

use crate::{
    StoreError,
    address::{self, Address},
    connection::{Connection, Purpose, Transaction},
    failure::DatabaseError,
    file::{self, Reading},
    migrate,
    server::Server,
};
use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long to wait for another process that is writing.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Every run, machine and ceiling in one SQLite file or one PostgreSQL database. One `Store` is one connection; several
/// processes may each have one.
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    created: bool,
    /// How a file is read by those who cannot write it.
    pub(crate) reading: Reading,
    /// Which file it is, whatever lies at its path later; `None` for a server.
    file: Option<file::Identity>,
}

impl Store {
    /// Opens the database, brings an older schema up to date, and makes one where there is none.
    ///
    /// A location that begins with `postgres://` or `postgresql://` is a server's address,
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…&sslrootcert=…`; its database must exist. Any other is a file,
    /// made with its folders where there is none.
    ///
    /// # Errors
    /// Where the database cannot be opened, is damaged, is not ours or is too new; it is then left as it was.
    pub fn open(location: impl AsRef<Path>) -> Result<Store, StoreError> {
        Store::open_waiting(location, BUSY_TIMEOUT)
    }

    /// As [`Store::open`], waiting at most `patience` whenever another process is writing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_waiting(
        location: impl AsRef<Path>,
        patience: Duration,
    ) -> Result<Store, StoreError> {
        let location = location.as_ref();
        address::check_location(location)?;
        let (connection, path) = if address::is_server(location) {
            let address = Address::parse(location)?;
            let path = address.place.clone();
            let server = Server::connect(address, patience)?;
            (Connection::server(server), path)
        } else {
            (Connection::File(file::open(location, patience)?), location.to_owned())
        };
        // Asked before anything is set, so that a file we cannot use is not changed.
        let version = migrate::version(&connection, &path)?;
        if let Connection::File(connection) = &connection {
            file::set_up(connection, location, patience)?;
        }
        let file = file::identity(location).filter(|_| !connection.is_server());
        let reading = Reading::Shared;
        let mut store = Store { connection, path, created: false, reading, file };
        if version < migrate::SCHEMA_VERSION {
            store.created = store.connection.unhurried(|| migrate::migrate(&store))?;
        }
        Ok(store)
    }

    /// Opens a database that is there to look at it: as [`Store::open`] where it can be written, for reading alone where it
    /// cannot.
    ///
    /// # Errors
    /// As [`Store::open`], and [`StoreError::Older`] where it would have to be brought up to date first.
    pub fn open_to_look(location: impl AsRef<Path>) -> Result<Store, StoreError> {
        let location = location.as_ref();
        match Store::open(location) {
            Err(error @ (StoreError::ReadOnly { .. } | StoreError::Unreadable { .. }))
                if !address::is_server(location) =>
            {
                // What is wrong with a file that cannot be read either was said best by the first try.
                Store::open_to_read(location).map_err(|other| match other {
                    StoreError::Older { .. } => other,
                    _ => error,
                })
            }
            other => other,
        }
    }

    /// Opens a database file for reading alone; it is never changed or brought up to date.
    ///
    /// # Errors
    /// When there is none, it cannot be read, or it is of an older version.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let open = |reading| {
            let file = file::open_to_read(path, reading, BUSY_TIMEOUT)?;
            let connection = Connection::File(file);
            let version = migrate::version(&connection, path)?;
            Ok((connection, version, reading))
        };
        let (connection, found, reading) = match open(Reading::Shared) {
            Err(_) if !file::has_log(path) => open(Reading::Alone)?,
            other => other?,
        };
        let known = migrate::SCHEMA_VERSION;
        if found < known {
            return Err(StoreError::Older { path: path.to_owned(), found, known });
        }
        let file = file::identity(path);
        Ok(Store { connection, path: path.to_owned(), created: false, reading, file })
    }

    /// Whether it can only be read.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match &self.connection {
            Connection::File(connection) => file::is_read_only(connection),
            Connection::Server(_) => false,
        }
    }

    /// Where the database is: its file, or the server's address without the password.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the database is on a server, so that other machines may use it at the same time.
    #[must_use]
    pub fn is_on_server(&self) -> bool {
        self.connection.is_server()
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
        let before = self.size()?;
        let statements = match &self.connection {
            Connection::File(_) => "VACUUM; PRAGMA wal_checkpoint(TRUNCATE);".to_owned(),
            Connection::Server(_) => format!("VACUUM (FULL, ANALYZE) {}", TABLES.join(", ")),
        };
        let vacuumed = self.connection.unhurried(|| self.connection.batch(&statements));
        vacuumed.map_err(self.fail("vacuum"))?;
        Ok(before.saturating_sub(self.size()?))
    }

    /// Reads everything and looks for damage.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first thing found.
    pub fn check(&self) -> Result<(), StoreError> {
        let fail = self.fail("check the database");
        if !self.connection.is_server() {
            let first: String = self
                .connection
                .one("PRAGMA integrity_check(1)", &[], |row| row.get(0))
                .map_err(&fail)?;
            return if first == "ok" { Ok(()) } else { Err(self.damaged(first)) };
        }
        self.connection.unhurried(|| self.check_server())
    }

    /// A server looks after its own pages; reading them all is how it notices.
    fn check_server(&self) -> Result<(), StoreError> {
        let fail = self.fail("check the database");
        let view = self.view("check the database")?;
        for table in TABLES {
            let sql = format!("SELECT COALESCE(MAX(MD5(whole::TEXT)), '') FROM {table} AS whole");
            view.one(&sql, &[], |row| row.get::<String>(0)).map_err(&fail)?;
        }
        let lost: Option<String> = view
            .one(
                "SELECT MIN(run.id) FROM run LEFT JOIN document ON document.run = run.id
                 WHERE document.run IS NULL",
                &[],
                |row| row.get(0),
            )
            .map_err(&fail)?;
        match lost {
            None => Ok(()),
            Some(id) => Err(self.damaged(format!("run `{id}` is incomplete"))),
        }
    }

    /// Bytes on disk: of the file with its log of recent writes, or of our tables on the server with their indices.
    pub(crate) fn size(&self) -> Result<u64, StoreError> {
        match &self.connection {
            Connection::File(_) => Ok(file::size(&self.path)),
            Connection::Server(_) => {
                // Not the whole database: others may live there, and its own catalogue grows with every vacuum.
                let names = TABLES.map(|table| format!("('{table}')")).join(", ");
                let sql = format!(
                    "SELECT CAST(SUM(pg_total_relation_size(CAST(name AS REGCLASS))) AS BIGINT)
                     FROM (VALUES {names}) AS ours (name)"
                );
                let view = self.view("ask for the size")?;
                view.one(&sql, &[], |row| row.get(0)).map_err(self.fail("ask for the size"))
            }
        }
    }

    /// Begins a transaction that changes or removes what others may rely on; they wait until it ends.
    pub(crate) fn change(&self, doing: &'static str) -> Result<Transaction<'_>, StoreError> {
        self.check_place()?;
        self.connection.begin(Purpose::Change).map_err(self.fail(doing))
    }

    /// Begins a transaction that adds; on a server, others may add at the same time.
    pub(crate) fn add(&self, doing: &'static str) -> Result<Transaction<'_>, StoreError> {
        self.check_place()?;
        self.connection.begin(Purpose::Add).map_err(self.fail(doing))
    }

    /// A number that changes when others have written: for whoever looks again and again. It says nothing beside that, and
    /// nothing of what this connection itself wrote.
    ///
    /// # Errors
    /// Where the database cannot be asked.
    pub fn version(&self) -> Result<i64, StoreError> {
        let sql = match &self.connection {
            Connection::File(_) => "PRAGMA data_version",
            // Of our own tables: others may live in the same database.
            Connection::Server(_) => {
                "SELECT CAST(COALESCE(SUM(n_tup_ins + n_tup_upd + n_tup_del), 0) AS BIGINT)
                 FROM pg_stat_user_tables WHERE relname IN ('run', 'tag', 'plan_cell', 'ceiling')"
            }
        };
        self.connection.one(sql, &[], |row| row.get(0)).map_err(self.fail("look for changes"))
    }

    /// Whether the file that is open is still the one at its path; a server always is.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.file.is_none() || self.file == file::identity(&self.path)
    }

    /// Refuses to write into a file that was removed or replaced: it can be written as long as it is open, and then it is gone.
    fn check_place(&self) -> Result<(), StoreError> {
        match self.is_in_place() {
            true => Ok(()),
            false => Err(StoreError::Moved { path: self.path.clone() }),
        }
    }

    /// Begins a transaction that only reads, so that everything read until it ends was true at one moment.
    pub(crate) fn view(&self, doing: &'static str) -> Result<Transaction<'_>, StoreError> {
        self.connection.begin(Purpose::Read).map_err(self.fail(doing))
    }

    /// Turns a refusal of the database into ours.
    pub(crate) fn fail(
        &self,
        doing: &'static str,
    ) -> impl Fn(DatabaseError) -> StoreError + use<'_> {
        move |error| error.at(&self.path, doing)
    }

    /// What is stored makes no sense.
    pub(crate) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), detail: detail.into() }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Every table that holds what was measured or planned.
const TABLES: [&str; 15] = [
    "machine",
    "ceiling",
    "model",
    "engine",
    "cell",
    "run",
    "document",
    "metric",
    "samples",
    "tag",
    "allocation",
    "allocation_column",
    "plan_cell",
    "question",
    "measured",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, sample};
    use types::{Phase, Samples};

    fn sqlite(store: &Store) -> &rusqlite::Connection {
        match &store.connection {
            Connection::File(file) => file,
            Connection::Server(_) => panic!("a file was opened"),
        }
    }

    #[test]
    fn a_full_disk_says_so_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = Store::open(&path).unwrap();
        store.insert_run(&sample::run(1)).unwrap();
        // SQLite reports the end of the pages it may use exactly as it reports the end of the disk.
        let pages: i64 =
            sqlite(&store).query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let limit = format!("PRAGMA max_page_count = {}", pages + 10);
        sqlite(&store).query_row(&limit, [], |_| Ok(())).unwrap();
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
            sqlite(&store).query_row(&query, [], |row| row.get(0)).unwrap()
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
            let mut query = sqlite(&store).prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
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
