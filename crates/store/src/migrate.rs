//! From an empty or older database to the schema of today; forward only.

use crate::{
    Store, StoreError,
    connection::{Connection, Purpose, Transaction},
    failure::DatabaseError,
    value::values,
};
use std::{borrow::Cow, path::Path};

/// Every step, in order; step n leads to version n. A step that was released is never edited: add the next one.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_ceilings.sql"),
    include_str!("../migrations/0003_allocations.sql"),
    include_str!("../migrations/0004_plan_cells.sql"),
    include_str!("../migrations/0005_measured.sql"),
    include_str!("../migrations/0006_revisions_and_noise.sql"),
    include_str!("../migrations/0007_invalid_reasons.sql"),
    include_str!("../migrations/0008_recorded_shapes.sql"),
    include_str!("../migrations/0009_canonical_variants.sql"),
];

/// The schema version that this program writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// The version of the database, 0 for an empty one; an error where it is too new or not ours. Reads only.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    version_among(connection, path, SCHEMA_VERSION)
}

fn version_among(connection: &Connection, path: &Path, known: i64) -> Result<i64, StoreError> {
    let fail = |error: DatabaseError| error.at(path, "read the schema version");
    let foreign = || StoreError::Foreign { path: path.to_owned() };
    let tables = if connection.is_server() {
        "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
    } else {
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    };
    let tables: Vec<String> = connection.rows(tables, &[], |row| row.get(0)).map_err(fail)?;
    if tables.is_empty() {
        return Ok(0);
    }
    if !tables.iter().any(|table| table == "schema_version") {
        return Err(foreign());
    }
    // Others have tables of that name too; theirs hold something else.
    let column = "SELECT MAX(version) FROM schema_version";
    let found: Result<Option<i64>, _> = connection.one(column, &[], |row| row.get(0));
    match found {
        Err(error) if is_of_another_kind(&error) => Err(foreign()),
        Err(error) => Err(fail(error)),
        Ok(None) => Err(foreign()),
        Ok(Some(found)) if found > known => {
            Err(StoreError::Newer { path: path.to_owned(), found, known })
        }
        Ok(Some(found)) => Ok(found),
    }
}

/// Whether the table is there but not as we make it.
fn is_of_another_kind(error: &DatabaseError) -> bool {
    match error {
        // The statement names no such column, or there is something else than a number in it.
        DatabaseError::Sqlite(error) => matches!(
            error,
            rusqlite::Error::SqlInputError { .. } | rusqlite::Error::InvalidColumnType(..)
        ),
        // No code at all: the client could not read the answer as a number.
        DatabaseError::Server(error) => match &error.code {
            Some(code) => *code == tokio_postgres::error::SqlState::UNDEFINED_COLUMN,
            None => !error.lost,
        },
        DatabaseError::Shape(_) => true,
    }
}

/// The version that brought `measured`, whose rows come from documents, which SQL cannot read.
const MEASURED: i64 = 5;

/// The version that brought the reasons of runs that are not valid, which stand in documents too, and with which the peak in
/// lists became that of the memory where a run computes.
const REASONS: i64 = 7;

/// The version since which runs say the shapes that really went in.
const SHAPES: i64 = 8;

/// The version since which the variant of a cell is canonical JSON and not words.
const VARIANTS: i64 = 9;

/// Brings the database to today's schema, all steps in one transaction; whether it was empty.
pub(crate) fn migrate(store: &Store) -> Result<bool, StoreError> {
    migrate_through(&store.connection, &store.path, MIGRATIONS, |transaction, from| match from {
        1..MEASURED => {
            store.fill_measured(transaction)?;
            store.fill_peaks(transaction)
        }
        MEASURED..REASONS => {
            store.refill_unrecorded(transaction)?;
            store.refill_variants(transaction)?;
            store.fill_reasons(transaction)?;
            store.fill_peaks(transaction)
        }
        REASONS..SHAPES => {
            store.refill_unrecorded(transaction)?;
            store.refill_variants(transaction)
        }
        SHAPES..VARIANTS => store.refill_variants(transaction),
        _ => Ok(()),
    })
}

/// `fill` is called after the steps with the version that they began from.
fn migrate_through(
    connection: &Connection,
    path: &Path,
    steps: &[&str],
    fill: impl FnOnce(&Transaction<'_>, i64) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let fail = |error: DatabaseError| error.at(path, "update the schema");
    let known = steps.len() as i64;
    let transaction = connection.begin(Purpose::Change).map_err(fail)?;
    // Asked again under the lock: another process may have been faster.
    let from = version_among(&transaction, path, known)?;
    if from == known {
        return Ok(false);
    }
    transaction
        .batch("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)")
        .map_err(fail)?;
    for step in &steps[from as usize..] {
        let step = if connection.is_server() { for_server(step) } else { Cow::Borrowed(*step) };
        transaction.batch(&step).map_err(fail)?;
    }
    fill(&transaction, from)?;
    let insert = "INSERT INTO schema_version VALUES ($1)";
    transaction.execute(insert, values![known]).map_err(fail)?;
    transaction.commit().map_err(fail)?;
    Ok(from == 0)
}

/// A step as PostgreSQL wants it: its name for bytes, and text in the order of its bytes, which is SQLite's. The
/// beginnings of ids are found by that order.
fn for_server(step: &str) -> Cow<'_, str> {
    Cow::Owned(step.replace("BLOB", "BYTEA").replace("TEXT", r#"TEXT COLLATE "C""#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scope, address::Address, postgresql, server::Server};
    use std::{thread, time::Duration};

    const FIRST: &str = "CREATE TABLE one (x BIGINT, name TEXT); INSERT INTO one VALUES (7, 'a');";
    const SECOND: &str = "ALTER TABLE one ADD COLUMN y BIGINT; CREATE TABLE two (x BLOB);";

    fn through(connection: &Connection, path: &Path, steps: &[&str]) -> Result<bool, StoreError> {
        migrate_through(connection, path, steps, |_, _| Ok(()))
    }

    /// An empty database of each kind.
    fn both() -> [Connection; 2] {
        let address = Address::parse(Path::new(&postgresql::SHARED.database())).unwrap();
        let server = Server::connect(address, Duration::from_secs(30)).unwrap();
        let file = rusqlite::Connection::open_in_memory().unwrap();
        [Connection::File(file), Connection::server(server)]
    }

    fn version_of(connection: &Connection) -> i64 {
        version_among(connection, Path::new("test"), 9).unwrap()
    }

    #[test]
    fn an_older_database_is_brought_up_and_keeps_its_rows() {
        for connection in both() {
            let path = Path::new("test");
            assert!(through(&connection, path, &[FIRST]).unwrap());
            assert_eq!(version_of(&connection), 1);
            assert!(!through(&connection, path, &[FIRST, SECOND]).unwrap());
            assert_eq!(version_of(&connection), 2);
            let row: (i64, Option<i64>) = connection
                .one("SELECT x, y FROM one", &[], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            assert_eq!(row, (7, None));
            through(&connection, path, &[FIRST, SECOND]).unwrap();
            assert_eq!(version_of(&connection), 2);
        }
    }

    #[test]
    fn a_step_that_fails_leaves_everything_as_it_was() {
        for connection in both() {
            let path = Path::new("test");
            through(&connection, path, &[FIRST]).unwrap();
            let broken = "CREATE TABLE two (x BIGINT); SELECT nonsense;";
            assert!(through(&connection, path, &[FIRST, broken]).is_err());
            assert_eq!(version_of(&connection), 1);
            assert!(connection.batch("SELECT COUNT(*) FROM two").is_err());
        }
    }

    #[test]
    fn a_newer_database_names_both_versions() {
        for connection in both() {
            let path = Path::new("test");
            through(&connection, path, &[FIRST, SECOND]).unwrap();
            let error = through(&connection, path, &[FIRST]).unwrap_err();
            assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        }
    }

    #[test]
    fn the_table_of_versions_of_another_program_is_not_ours() {
        for made in ["version TEXT", "release BIGINT"] {
            for connection in both() {
                let create = format!("CREATE TABLE schema_version ({made})");
                connection.batch(&create).unwrap();
                connection.batch("INSERT INTO schema_version VALUES ('7')").unwrap();
                let error = version_among(&connection, Path::new("test"), 9).unwrap_err();
                assert!(matches!(error, StoreError::Foreign { .. }), "{made}: {error}");
            }
        }
    }

    /// Makes the server's database as it was at an older version, with the rows of the file of that version.
    fn copy(file: &Path, version: i64, connection: &Connection) {
        through(connection, file, &MIGRATIONS[..version as usize]).unwrap();
        let old = rusqlite::Connection::open(file).unwrap();
        let first = ["machine", "model", "engine", "cell", "run"];
        for table in first.into_iter().chain(["document", "metric", "samples", "tag", "ceiling"]) {
            copy_table(&old, table, connection);
        }
        if version >= MEASURED {
            copy_table(&old, "question", connection);
            copy_table(&old, "measured", connection);
        }
    }

    fn copy_table(old: &rusqlite::Connection, table: &str, connection: &Connection) {
        use crate::value::Value;
        use rusqlite::types::ValueRef;
        let columns = format!("SELECT type FROM pragma_table_info('{table}')");
        let mut columns = old.prepare(&columns).unwrap();
        let kinds = columns.query_map([], |row| row.get(0)).unwrap();
        let kinds: Vec<String> = kinds.map(Result::unwrap).collect();
        let mut statement = old.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let places: Vec<String> = (1..=kinds.len()).map(|place| format!("${place}")).collect();
        let insert = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let value = |column: usize| match (row.get_ref(column).unwrap(), kinds[column].as_str())
            {
                (ValueRef::Null, "DOUBLE PRECISION") => Value::Real(None),
                (ValueRef::Null, "BIGINT") => Value::Whole(None),
                (ValueRef::Null, _) => Value::Text(None),
                (ValueRef::Integer(value), _) => Value::from(value),
                (ValueRef::Real(value), _) => Value::from(Some(value)),
                (ValueRef::Text(text), _) => {
                    Value::from(String::from_utf8(text.to_owned()).unwrap())
                }
                (ValueRef::Blob(bytes), _) => Value::Bytes(bytes.to_owned().into()),
            };
            let values: Vec<Value<'_>> = (0..kinds.len()).map(value).collect();
            connection.execute(&insert, &values).unwrap();
        }
    }

    #[test]
    fn a_servers_database_of_every_version_is_brought_up_and_reads_whole() {
        use crate::sample;
        for version in 1..SCHEMA_VERSION {
            let name = format!("tests/fixtures/v{version}.db");
            let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("old.db");
            std::fs::copy(fixture, &file).unwrap();
            let location = postgresql::SHARED.database();
            let address = Address::parse(Path::new(&location)).unwrap();
            let server = Server::connect(address, Duration::from_secs(30)).unwrap();
            copy(&file, version, &Connection::server(server));
            let store = Store::open(&location).unwrap();
            assert!(!store.is_created());
            for run in [1, 2, 3].map(sample::run) {
                assert_eq!(store.run(&run.id.0).unwrap(), run, "version {version}");
            }
            assert_eq!(store.all_ceilings(&sample::machine().key).unwrap().len(), 1);
            assert_eq!(store.status().unwrap().schema, SCHEMA_VERSION);
            let mut compared = Vec::new();
            let all = Scope::default();
            store.newest(&all, 9, |newest| compared.extend(newest.runs)).unwrap();
            compared.sort_by_key(|run| run.started_at);
            assert_eq!(compared, [1, 2, 3].map(sample::light), "version {version}");
            assert_eq!(version_of(&store.connection), SCHEMA_VERSION);
        }
    }

    #[test]
    fn of_many_that_start_at_once_one_makes_the_tables() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db").display().to_string();
        for location in [file, postgresql::SHARED.database()] {
            let starts: Vec<_> = (0..8)
                .map(|_| {
                    let location = location.clone();
                    thread::spawn(move || Store::open(location).unwrap().is_created())
                })
                .collect();
            let made = starts.into_iter().map(|start| start.join().unwrap());
            assert_eq!(made.filter(|made| *made).count(), 1, "{location}");
        }
    }

    #[test]
    fn text_is_ordered_by_its_bytes_on_a_server_too() {
        let location = postgresql::SHARED.database();
        let store = Store::open(&location).unwrap();
        let other = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'public'
                     AND data_type = 'text' AND COALESCE(collation_name, '') <> 'C'";
        let count: i64 = store.connection.one(other, &[], |row| row.get(0)).unwrap();
        assert_eq!(count, 0);
    }
}
