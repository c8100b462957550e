//! One thin layer over both databases, so that everything else holds one set of SQL.
//!
//! Placeholders are `$1`, in any order; nothing else in a statement has that sign. Kinds of columns are those that both
//! share.

use crate::{failure::DatabaseError, server::Server, value::Row, value::Value};
use std::{cell::RefCell, ops::Deref};

/// The lock that writers of one database share, and that whoever changes what others rely on has alone. Any number that
/// nobody else is likely to use.
const LOCK: i64 = 0x6d6f_6465_6c6d_6574; // "modelmet"

/// The open database.
pub(crate) enum Connection {
    File(rusqlite::Connection),
    /// In a cell because the client wants to be changed even to be asked.
    Server(Box<RefCell<Server>>),
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Only reads; everything read until it ends was true at one moment.
    Read,
    /// Adds, and takes nothing that another may rely on; on a server several may at once.
    Add,
    /// Changes or removes what was there; others wait.
    Change,
}

impl Connection {
    pub(crate) fn server(server: Server) -> Connection {
        Connection::Server(Box::new(RefCell::new(server)))
    }

    pub(crate) fn begin(&self, purpose: Purpose) -> Result<Transaction<'_>, DatabaseError> {
        match (self, purpose) {
            (Connection::File(file), Purpose::Read) => file.execute_batch("BEGIN DEFERRED")?,
            (Connection::File(file), _) => file.execute_batch("BEGIN IMMEDIATE")?,
            (Connection::Server(server), Purpose::Read) => {
                server.borrow_mut().begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
            }
            (Connection::Server(server), purpose) => {
                let shared = if purpose == Purpose::Add { "_shared" } else { "" };
                // A transaction of its own kind: what is asked after the lock must see what others did before it.
                server.borrow_mut().begin(&format!(
                    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock{shared}({LOCK})"
                ))?;
            }
        }
        Ok(Transaction { connection: self, open: true })
    }

    /// Whether a server is behind it.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Connection::Server(_))
    }

    /// Does something that may take a server hours, such as giving back space or reading everything.
    pub(crate) fn unhurried<T>(&self, work: impl FnOnce() -> T) -> T {
        let set = |is_unhurried| {
            if let Connection::Server(server) = self {
                server.borrow_mut().unhurried(is_unhurried);
            }
        };
        set(true);
        let done = work();
        set(false);
        done
    }

    /// Runs statements without values.
    pub(crate) fn batch(&self, statements: &str) -> Result<(), DatabaseError> {
        match self {
            Connection::File(file) => Ok(file.execute_batch(statements)?),
            Connection::Server(server) => server.borrow_mut().batch(statements),
        }
    }

    /// Runs a statement; how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        match self {
            Connection::File(file) => {
                let mut statement = file.prepare_cached(&by_number(sql))?;
                Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
            }
            Connection::Server(server) => server.borrow_mut().execute(sql, values),
        }
    }

    /// Reads every row as it comes. `read` must not ask the database anything: a server answers one question at a time.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        match self {
            Connection::File(file) => {
                let mut statement = file.prepare_cached(&by_number(sql))?;
                let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                while let Some(row) = rows.next()? {
                    read(&Row::File(row))?;
                }
            }
            Connection::Server(server) => {
                let mut server = server.borrow_mut();
                let mut rows = server.query(sql, values)?;
                while let Some(row) = rows.next()? {
                    read(&Row::Server(&row))?;
                }
            }
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        let mut all = Vec::new();
        self.each(sql, values, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// The first row, if there is one.
    pub(crate) fn optional<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<Option<T>, DatabaseError> {
        Ok(self.rows(sql, values, read)?.into_iter().next())
    }

    /// The one row that there always is.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.optional(sql, values, read)?
            .ok_or_else(|| DatabaseError::Shape("a row that must be there is missing".into()))
    }
}

/// Placeholders as SQLite numbers them: to it `$2` is a name, and names are numbered as they come along.
fn by_number(sql: &str) -> String {
    sql.replace('$', "?")
}

/// What is done in it is done whole at [`Transaction::commit`], or not at all.
pub(crate) struct Transaction<'a> {
    connection: &'a Connection,
    open: bool,
}

impl Transaction<'_> {
    pub(crate) fn commit(mut self) -> Result<(), DatabaseError> {
        self.connection.batch("COMMIT")?;
        self.open = false;
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // Where even that fails the connection is gone, and the transaction with it.
            let _ = self.connection.batch("ROLLBACK");
        }
    }
}
