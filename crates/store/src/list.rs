//! Lists of runs, newest first, from the narrow table alone.

use crate::{
    Filter, Store, StoreError,
    connection::Transaction,
    facts::{self, Facts},
    failure::DatabaseError,
    filter::conditions,
    value::{Row, Value, values},
};
use serde::Serialize;
use std::collections::HashMap;
use types::{Bytes, Device, Generation, Mode, Precision, ReasonCode, RunId, Scenario};

/// Up to this many rows their tags are asked for; beyond, all tags are read at once.
const FEW: usize = 2000;

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
    /// Inference, training, generating or load.
    pub mode: Mode,
    /// What is measured of generating; only for that mode.
    pub generation: Option<Generation>,
    /// Who asks when; only for load.
    pub scenario: Option<Scenario>,
    /// Threads the engine could use.
    pub threads: u32,
    /// The machine's key.
    pub machine: String,
    /// Whether its numbers are valid.
    pub valid: bool,
    /// The main reason why they cannot; `None` if they can.
    pub reason: Option<ReasonCode>,
    /// How many remarks the verdict has.
    pub remarks: u64,
    /// Median latency in seconds: of everything where text was given, of the model alone otherwise.
    pub median: Option<f64>,
    /// Half the width of the median's 95 % interval as a share of the median.
    pub median_error: Option<f64>,
    /// Throughput.
    pub samples_per_second: Option<f64>,
    /// Peak memory where it computes: of the worker, or of a device that has its own.
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
        let view = self.view("list runs")?;
        let (conditions, mut values) = conditions(filter);
        let mut query = format!("SELECT {COLUMNS} FROM run{conditions}");
        if let Some(limit) = filter.limit {
            values.push(Value::from(limit));
            values.push(Value::from(filter.offset));
            let n = values.len();
            query += &format!(" ORDER BY started_at DESC, id DESC LIMIT ${} OFFSET ${n}", n - 1);
        }
        let narrow = view.rows(&query, &values, Narrow::read).map_err(&fail)?;
        let facts = Facts::of(&view, &narrow).map_err(&fail)?;
        let rows: Result<Vec<RunRow>, _> = narrow.into_iter().map(|row| row.join(&facts)).collect();
        let mut rows = rows.map_err(|why| self.damaged(why))?;
        if filter.limit.is_none() {
            // Read in the order of the file and sorted here: about an eighth less processor time than through the index.
            rows.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
            rows.drain(..rows.len().min(filter.offset as usize));
        }
        attach_tags(&view, &mut rows).map_err(self.fail("read tags"))?;
        let ids: Vec<&str> =
            rows.iter().filter(|row| !row.valid).map(|row| row.id.0.as_str()).collect();
        let reasons = self.reasons_of(&view, &ids).map_err(self.fail("read reasons"))?;
        for row in rows.iter_mut().filter(|row| !row.valid) {
            row.reason = reasons.get(&row.id.0).copied().or(row.reason);
        }
        Ok(rows)
    }

    /// How many runs pass the filter, whatever its limit.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let view = self.view("count runs")?;
        let (conditions, values) = conditions(filter);
        let query = format!("SELECT COUNT(*) FROM run{conditions}");
        view.one(&query, &values, |row| row.get(0)).map_err(self.fail("count runs"))
    }
}

fn attach_tags(view: &Transaction<'_>, rows: &mut [RunRow]) -> Result<(), DatabaseError> {
    let mut tags: HashMap<String, Vec<String>> = HashMap::new();
    let mut take = |row: &Row<'_>| {
        tags.entry(row.get(0)?).or_default().push(row.get(1)?);
        Ok(())
    };
    if rows.len() <= FEW {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.0.as_str()).collect();
        facts::each_of(view, "SELECT run, tag FROM tag WHERE run", "run, tag", &ids, take)?;
    } else {
        view.each("SELECT run, tag FROM tag ORDER BY run, tag", values![], &mut take)?;
    }
    if !tags.is_empty() {
        for row in rows {
            row.tags = tags.remove(&row.id.0).unwrap_or_default();
        }
    }
    Ok(())
}

/// A row of the narrow table, which names what many runs share by its key.
pub(crate) struct Narrow {
    id: String,
    started_at: i64,
    pub(crate) cell: i64,
    pub(crate) model: i64,
    pub(crate) engine: i64,
    machine: String,
    valid: i64,
    remarks: u64,
    median: Option<f64>,
    median_error: Option<f64>,
    samples_per_second: Option<f64>,
    memory_peak: Option<f64>,
    samples: u64,
}

impl Narrow {
    fn read(row: &Row<'_>) -> Result<Narrow, DatabaseError> {
        Ok(Narrow {
            id: row.get(0)?,
            started_at: row.get(1)?,
            cell: row.get(2)?,
            model: row.get(3)?,
            engine: row.get(4)?,
            machine: row.get(5)?,
            valid: row.get(6)?,
            remarks: row.get(7)?,
            median: row.get(8)?,
            median_error: row.get(9)?,
            samples_per_second: row.get(10)?,
            memory_peak: row.get(11)?,
            samples: row.get(12)?,
        })
    }

    /// The whole row; an error where what it names is not there.
    fn join(self, facts: &Facts) -> Result<RunRow, String> {
        let lost = |part: &str| format!("run `{}` has no {part}", self.id);
        let (model, random_weights) =
            facts.models.get(&self.model).ok_or_else(|| lost("model"))?.clone();
        let (engine, engine_version) =
            facts.engines.get(&self.engine).ok_or_else(|| lost("engine"))?.clone();
        let cell = facts.cells.get(&self.cell).ok_or_else(|| lost("cell"))?;
        Ok(RunRow {
            id: RunId(self.id),
            started_at: self.started_at,
            model,
            random_weights,
            engine,
            engine_version,
            device: cell.device,
            precision: cell.precision,
            batch_size: cell.batch_size,
            sequence_length: cell.sequence_length,
            mode: cell.mode,
            generation: cell.generation,
            scenario: cell.scenario.clone(),
            threads: cell.threads,
            machine: self.machine,
            valid: self.valid != 0,
            reason: (self.valid == 0).then_some(ReasonCode::Unstated),
            remarks: self.remarks,
            median: self.median,
            median_error: self.median_error,
            samples_per_second: self.samples_per_second,
            memory_peak: self.memory_peak.map(|bytes| Bytes(bytes as u64)),
            samples: self.samples,
            tags: Vec::new(),
        })
    }
}
