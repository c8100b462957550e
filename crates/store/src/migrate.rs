//! From an empty or older file to the schema of today; forward only.

use crate::StoreError;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::Path;

/// Every step, in order; step n leads to version n. A step that was released is never edited: add the next one.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_ceilings.sql"),
    include_str!("../migrations/0003_allocations.sql"),
];

/// The schema version that this program writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// The version of the file, 0 for an empty one; an error where it is too new or not ours. Reads only.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    version_among(connection, path, SCHEMA_VERSION)
}

fn version_among(connection: &Connection, path: &Path, known: i64) -> Result<i64, StoreError> {
    let fail = |error| StoreError::sqlite(path, "read the schema version", error);
    let has_tables = |clause: &str| {
        let query = format!("SELECT 1 FROM sqlite_master WHERE type = 'table'{clause} LIMIT 1");
        connection.query_row(&query, [], |_| Ok(())).optional().map_err(fail)
    };
    if has_tables(" AND name = 'schema_version'")?.is_none() {
        return match has_tables("")? {
            None => Ok(0),
            Some(()) => Err(StoreError::Foreign { path: path.to_owned() }),
        };
    }
    let found: Option<i64> = connection
        .query_row("SELECT MAX(version) FROM schema_version", [], |row| row.get(0))
        .map_err(fail)?;
    match found {
        None => Err(StoreError::Foreign { path: path.to_owned() }),
        Some(found) if found > known => {
            Err(StoreError::Newer { path: path.to_owned(), found, known })
        }
        Some(found) => Ok(found),
    }
}

/// Brings the file to today's schema, all steps in one transaction.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    migrate_through(connection, path, MIGRATIONS)
}

fn migrate_through(connection: &Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let fail = |error| StoreError::sqlite(path, "update the schema", error);
    let known = steps.len() as i64;
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(fail)?;
    // Asked again under the lock: another process may have been faster.
    let from = version_among(&transaction, path, known)?;
    if from == known {
        return Ok(());
    }
    transaction
        .execute_batch("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)")
        .map_err(fail)?;
    for step in &steps[from as usize..] {
        transaction.execute_batch(step).map_err(fail)?;
    }
    transaction.execute("INSERT INTO schema_version VALUES ($1)", [known]).map_err(fail)?;
    transaction.commit().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE one (x BIGINT); INSERT INTO one VALUES (7);";
    const SECOND: &str = "ALTER TABLE one ADD COLUMN y BIGINT; CREATE TABLE two (x BIGINT);";

    fn version_of(connection: &Connection) -> i64 {
        version_among(connection, Path::new("test"), 9).unwrap()
    }

    #[test]
    fn an_older_file_is_brought_up_and_keeps_its_rows() {
        let connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test");
        migrate_through(&connection, path, &[FIRST]).unwrap();
        assert_eq!(version_of(&connection), 1);
        migrate_through(&connection, path, &[FIRST, SECOND]).unwrap();
        assert_eq!(version_of(&connection), 2);
        let row: (i64, Option<i64>) = connection
            .query_row("SELECT x, y FROM one", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(row, (7, None));
        migrate_through(&connection, path, &[FIRST, SECOND]).unwrap();
        assert_eq!(version_of(&connection), 2);
    }

    #[test]
    fn a_step_that_fails_leaves_everything_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test");
        migrate_through(&connection, path, &[FIRST]).unwrap();
        let broken = "CREATE TABLE two (x BIGINT); SELECT nonsense;";
        assert!(migrate_through(&connection, path, &[FIRST, broken]).is_err());
        assert_eq!(version_of(&connection), 1);
        assert!(connection.query_row("SELECT COUNT(*) FROM two", [], |_| Ok(())).is_err());
    }

    #[test]
    fn a_newer_file_names_both_versions() {
        let connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test");
        migrate_through(&connection, path, &[FIRST, SECOND]).unwrap();
        let error = migrate_through(&connection, path, &[FIRST]).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
    }
}
