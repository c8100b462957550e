//! The few things that many runs share, looked up once for a whole list.

use crate::Store;
use rusqlite::Row;
use std::collections::{BTreeMap, btree_map::Entry};
use types::{Device, Mode, Precision};

/// The columns of a cell that a list shows.
pub(crate) struct CellFacts {
    pub(crate) device: Device,
    pub(crate) precision: Precision,
    pub(crate) batch_size: u64,
    pub(crate) sequence_length: Option<u64>,
    pub(crate) mode: Mode,
    pub(crate) threads: u32,
}

/// The few things that many runs share, asked once each.
pub(crate) struct Facts<'a> {
    store: &'a Store,
    cells: BTreeMap<i64, CellFacts>,
    models: BTreeMap<i64, (String, bool)>,
    engines: BTreeMap<i64, (String, String)>,
}

impl Facts<'_> {
    pub(crate) fn of(store: &Store) -> Facts<'_> {
        Facts { store, cells: BTreeMap::new(), models: BTreeMap::new(), engines: BTreeMap::new() }
    }

    pub(crate) fn cell(&mut self, key: i64) -> rusqlite::Result<&CellFacts> {
        let sql = "SELECT device, precision, batch_size, sequence_length, mode, threads
                   FROM cell WHERE key = $1";
        remember(&mut self.cells, self.store, key, sql, |row| {
            Ok(CellFacts {
                device: parsed(row, 0)?,
                precision: parsed(row, 1)?,
                batch_size: row.get(2)?,
                sequence_length: row.get(3)?,
                mode: match row.get_ref(4)?.as_str()? {
                    "training" => Mode::Training,
                    _ => Mode::Inference,
                },
                threads: row.get(5)?,
            })
        })
    }

    pub(crate) fn model(&mut self, key: i64) -> rusqlite::Result<&(String, bool)> {
        let sql = "SELECT name, random_weights FROM model WHERE key = $1";
        remember(&mut self.models, self.store, key, sql, |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)? != 0))
        })
    }

    pub(crate) fn engine(&mut self, key: i64) -> rusqlite::Result<&(String, String)> {
        let sql = "SELECT id, version FROM engine WHERE key = $1";
        remember(&mut self.engines, self.store, key, sql, |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

/// What is stored under the key, asked at most once.
fn remember<'m, T>(
    known: &'m mut BTreeMap<i64, T>,
    store: &Store,
    key: i64,
    sql: &str,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<&'m T> {
    match known.entry(key) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => {
            let value = store.connection.prepare_cached(sql)?.query_row([key], read)?;
            Ok(entry.insert(value))
        }
    }
}

fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get_ref(column)?.as_str()?.parse().map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
    })
}
