//! The few things that many runs share, looked up once for a whole list.

use crate::{
    connection::Transaction,
    failure::DatabaseError,
    list::Narrow,
    value::{Row, Value},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};
use types::{Device, Generation, Mode, Precision, Scenario};

/// Keys in one question. Fewer mean more ways to a server, more a longer statement to understand.
const BLOCK: usize = 64;

/// The columns of a cell that a list shows.
pub(crate) struct CellFacts {
    pub(crate) device: Device,
    pub(crate) precision: Precision,
    pub(crate) batch_size: u64,
    pub(crate) sequence_length: Option<u64>,
    pub(crate) mode: Mode,
    pub(crate) generation: Option<Generation>,
    pub(crate) scenario: Option<Scenario>,
    pub(crate) threads: u32,
}

/// The parts of a cell's document that tell one test or load from another.
#[derive(Default, serde::Deserialize)]
struct Told {
    generation: Option<Generation>,
    load: Option<ToldLoad>,
}

#[derive(serde::Deserialize)]
struct ToldLoad {
    scenario: Scenario,
}

/// The few things that many runs share, by their keys.
pub(crate) struct Facts {
    pub(crate) cells: BTreeMap<i64, CellFacts>,
    /// Name, and whether the weights were drawn.
    pub(crate) models: BTreeMap<i64, (String, bool)>,
    /// Id and version.
    pub(crate) engines: BTreeMap<i64, (String, String)>,
}

impl Facts {
    /// What these rows name.
    pub(crate) fn of(view: &Transaction<'_>, rows: &[Narrow]) -> Result<Facts, DatabaseError> {
        let keys = |key: fn(&Narrow) -> i64| -> Vec<i64> {
            rows.iter().map(key).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let mut facts =
            Facts { cells: BTreeMap::new(), models: BTreeMap::new(), engines: BTreeMap::new() };
        let sql = "SELECT key, device, precision, batch_size, sequence_length, mode, threads,
                   CASE WHEN mode IN ('generate', 'load') THEN document END
                   FROM cell WHERE key";
        each_of(view, sql, "key", &keys(|row| row.cell), |row| {
            let length: Option<i64> = row.get(4)?;
            let document: Option<String> = row.get(7)?;
            // A list with a damaged document still shows the run, as one of its mode.
            let told = document.and_then(|text| serde_json::from_str(&text).ok());
            let Told { generation, load } = told.unwrap_or_default();
            let cell = CellFacts {
                device: parsed(row, 1)?,
                precision: parsed(row, 2)?,
                batch_size: row.get(3)?,
                sequence_length: length.map(|length| length as u64),
                mode: Mode::named(&row.get::<String>(5)?).unwrap_or_default(),
                generation,
                scenario: load.map(|load| load.scenario),
                threads: row.get(6)?,
            };
            facts.cells.insert(row.get(0)?, cell);
            Ok(())
        })?;
        let sql = "SELECT key, name, random_weights FROM model WHERE key";
        each_of(view, sql, "key", &keys(|row| row.model), |row| {
            facts.models.insert(row.get(0)?, (row.get(1)?, row.get::<i64>(2)? != 0));
            Ok(())
        })?;
        let sql = "SELECT key, id, version FROM engine WHERE key";
        each_of(view, sql, "key", &keys(|row| row.engine), |row| {
            facts.engines.insert(row.get(0)?, (row.get(1)?, row.get(2)?));
            Ok(())
        })?;
        Ok(facts)
    }
}

/// Reads every row that has one of the keys, in blocks of one size, so that there is one statement to prepare.
///
/// `sql` ends with the column that the keys stand in; rows of one block come in `order`.
pub(crate) fn each_of<'k, K: Copy + Into<Value<'k>>>(
    view: &Transaction<'_>,
    sql: &str,
    order: &str,
    keys: &[K],
    mut read: impl FnMut(&Row<'_>) -> Result<(), DatabaseError>,
) -> Result<(), DatabaseError> {
    let places: Vec<String> = (1..=BLOCK).map(|place| format!("${place}")).collect();
    let sql = format!("{sql} IN ({}) ORDER BY {order}", places.join(", "));
    for block in keys.chunks(BLOCK) {
        // A short block repeats its last key, which finds nothing twice.
        let padded = (0..BLOCK).map(|index| block[index.min(block.len() - 1)]);
        let values: Vec<Value<'_>> = padded.map(Into::into).collect();
        view.each(&sql, &values, &mut read)?;
    }
    Ok(())
}

/// What stands in a column, read from its name.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(
    row: &Row<'_>,
    column: usize,
) -> Result<T, DatabaseError> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| DatabaseError::Shape(format!("{error}")))
}
