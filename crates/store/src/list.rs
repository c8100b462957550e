//! Lists of runs, newest first, from the narrow table alone.

use crate::{
    Filter, Store, StoreError,
    facts::Facts,
    filter::{clamp, conditions},
};
use rusqlite::Row;
use serde::Serialize;
use std::collections::HashMap;
use types::{Bytes, Device, Mode, Precision, RunId};

/// Up to this many rows their tags are asked one by one; beyond, all tags are read at once.
const FEW: usize = 200;

/// What a list says of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// Its name.
    pub id: RunId,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub random_weights: bool,
    /// The engine's id.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// Where it ran.
    pub device: Device,
    /// The number format.
    pub precision: Precision,
    /// Samples in one inference.
    pub batch_size: u64,
    /// Tokens in each sample.
    pub sequence_length: Option<u64>,
    /// Inference or training.
    pub mode: Mode,
    /// Threads the engine could use.
    pub threads: u32,
    /// The machine's key.
    pub machine: String,
    /// Whether its numbers can be believed.
    pub valid: bool,
    /// How many remarks the verdict has.
    pub remarks: u64,
    /// Median latency in seconds: of everything where text was given, of the model alone otherwise.
    pub median: Option<f64>,
    /// Half the width of the median's 95 % interval as a share of the median.
    pub median_error: Option<f64>,
    /// Throughput.
    pub samples_per_second: Option<f64>,
    /// Peak memory.
    pub memory_peak: Option<Bytes>,
    /// How many samples the median rests on.
    pub samples: u64,
    /// Labels, in alphabetical order.
    pub tags: Vec<String>,
}

const COLUMNS: &str = "id, started_at, cell, model, engine, machine, valid, remarks, median, \
    median_error, samples_per_second, memory_peak, samples";

impl Store {
    /// The runs that pass the filter, newest first.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let fail = self.fail("list runs");
        // One view of everything: another process may delete a model meanwhile.
        let _view = self.view("list runs")?;
        let (conditions, mut values) = conditions(filter);
        let mut query = format!("SELECT {COLUMNS} FROM run{conditions}");
        if let Some(limit) = filter.limit {
            values.push(Box::new(clamp(limit)));
            values.push(Box::new(clamp(filter.offset)));
            let n = values.len();
            query += &format!(" ORDER BY started_at DESC, id DESC LIMIT ${} OFFSET ${n}", n - 1);
        }
        let mut query = self.connection.prepare_cached(&query).map_err(&fail)?;
        let mut found = query.query(rusqlite::params_from_iter(values.iter())).map_err(&fail)?;
        let mut facts = Facts::of(self);
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(&fail)? {
            rows.push(read(row, &mut facts).map_err(|error| match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::QueryReturnedNoRows => self.damaged(error.to_string()),
                other => fail(other),
            })?);
        }
        if filter.limit.is_none() {
            // Read in the order of the file and sorted here: about an eighth less processor time than through the index.
            rows.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
            rows.drain(..rows.len().min(filter.offset as usize));
        }
        self.attach_tags(&mut rows)?;
        Ok(rows)
    }

    fn attach_tags(&self, rows: &mut [RunRow]) -> Result<(), StoreError> {
        if rows.len() <= FEW {
            for row in rows {
                row.tags = self.tags_of(&row.id)?;
            }
            return Ok(());
        }
        let fail = self.fail("read tags");
        let mut query = self
            .connection
            .prepare_cached("SELECT run, tag FROM tag ORDER BY run, tag")
            .map_err(&fail)?;
        let mut found = query.query([]).map_err(&fail)?;
        let mut tags: HashMap<String, Vec<String>> = HashMap::new();
        while let Some(row) = found.next().map_err(&fail)? {
            let run = row.get(0).map_err(&fail)?;
            tags.entry(run).or_default().push(row.get(1).map_err(&fail)?);
        }
        if !tags.is_empty() {
            for row in rows {
                row.tags = tags.remove(&row.id.0).unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn read(row: &Row<'_>, facts: &mut Facts<'_>) -> rusqlite::Result<RunRow> {
    let (model, random_weights) = facts.model(row.get(3)?)?.clone();
    let (engine, engine_version) = facts.engine(row.get(4)?)?.clone();
    let cell = facts.cell(row.get(2)?)?;
    Ok(RunRow {
        id: RunId(row.get(0)?),
        started_at: row.get(1)?,
        model,
        random_weights,
        engine,
        engine_version,
        device: cell.device,
        precision: cell.precision,
        batch_size: cell.batch_size,
        sequence_length: cell.sequence_length,
        mode: cell.mode,
        threads: cell.threads,
        machine: row.get(5)?,
        valid: row.get::<_, i64>(6)? != 0,
        remarks: row.get(7)?,
        median: row.get(8)?,
        median_error: row.get(9)?,
        samples_per_second: row.get(10)?,
        memory_peak: row.get::<_, Option<f64>>(11)?.map(|bytes| Bytes(bytes as u64)),
        samples: row.get(12)?,
        tags: Vec::new(),
    })
}
