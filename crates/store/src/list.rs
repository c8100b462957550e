//! Lists of runs, newest first, from the narrow table alone.

use crate::{Store, StoreError};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use std::collections::HashMap;
use types::{Bytes, Device, Mode, Precision, RunId};

/// Up to this many rows their tags are asked one by one; beyond, all tags are read at once.
const FEW: usize = 200;

/// Which runs to list; empty means all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// A part of the model's name, or a pattern with `*` and `?` for the whole name; case does not matter.
    pub model: Option<String>,
    /// The engine's id.
    pub engine: Option<String>,
    /// The device.
    pub device: Option<Device>,
    /// The number format.
    pub precision: Option<Precision>,
    /// Inference or training.
    pub mode: Option<Mode>,
    /// Samples in one inference.
    pub batch_size: Option<usize>,
    /// The beginning of the machine's key, or its host name.
    pub machine: Option<String>,
    /// Only valid or only invalid runs.
    pub valid: Option<bool>,
    /// A label.
    pub tag: Option<String>,
    /// Begun at or after, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Begun before, in microseconds since the epoch.
    pub until: Option<i64>,
    /// At most so many.
    pub limit: Option<u64>,
    /// So many of the newest are passed over.
    pub offset: u64,
}

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

const COLUMNS: &str = "id, started_at, model, random_weights, engine, engine_version, device, \
    precision, batch_size, sequence_length, mode, threads, machine, valid, remarks, median, \
    median_error, samples_per_second, memory_peak, samples";

impl Store {
    /// The runs that pass the filter, newest first.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let fail = self.fail("list runs");
        let (conditions, mut values) = conditions(filter);
        // The largest number instead of no limit, because an offset cannot stand alone.
        values.push(Box::new(filter.limit.map_or(i64::MAX, clamp)));
        values.push(Box::new(clamp(filter.offset)));
        let n = values.len();
        let query = format!(
            "SELECT {COLUMNS} FROM run{conditions} ORDER BY started_at DESC, id DESC \
             LIMIT ${} OFFSET ${n}",
            n - 1
        );
        let mut query = self.connection.prepare_cached(&query).map_err(&fail)?;
        let values = rusqlite::params_from_iter(values.iter());
        let mut rows: Vec<RunRow> = query
            .query_map(values, read)
            .and_then(Iterator::collect)
            .map_err(|error| match error {
                rusqlite::Error::FromSqlConversionFailure(..) => self.damaged(error.to_string()),
                other => fail(other),
            })?;
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

/// The `WHERE` clause and its values, in order.
fn conditions(filter: &Filter) -> (String, Vec<Box<dyn ToSql>>) {
    let mut clauses: Vec<String> = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut add = |clause: &str, value: Box<dyn ToSql>| {
        values.push(value);
        clauses.push(clause.replace("{}", &format!("${}", values.len())));
    };
    if let Some(model) = &filter.model {
        add(r"LOWER(model) LIKE {} ESCAPE '\'", Box::new(pattern(model)));
    }
    if let Some(engine) = &filter.engine {
        add("engine = {}", Box::new(engine.clone()));
    }
    if let Some(device) = filter.device {
        add("device = {}", Box::new(device.to_string()));
    }
    if let Some(precision) = filter.precision {
        add("precision = {}", Box::new(precision.name()));
    }
    if let Some(mode) = filter.mode {
        add("mode = {}", Box::new(mode.name()));
    }
    if let Some(batch_size) = filter.batch_size {
        add("batch_size = {}", Box::new(clamp(batch_size as u64)));
    }
    if let Some(machine) = &filter.machine {
        add(
            "machine IN (SELECT key FROM machine WHERE SUBSTR(LOWER(key), 1, LENGTH({})) = {} \
             OR LOWER(hostname) = {})",
            Box::new(machine.to_ascii_lowercase()),
        );
    }
    if let Some(valid) = filter.valid {
        add("valid = {}", Box::new(i64::from(valid)));
    }
    if let Some(tag) = &filter.tag {
        add("id IN (SELECT run FROM tag WHERE tag = {})", Box::new(tag.clone()));
    }
    if let Some(since) = filter.since {
        add("started_at >= {}", Box::new(since));
    }
    if let Some(until) = filter.until {
        add("started_at < {}", Box::new(until));
    }
    if clauses.is_empty() {
        return (String::new(), values);
    }
    (format!(" WHERE {}", clauses.join(" AND ")), values)
}

/// What a person types for a model, as a pattern of SQL: a part of the name, or the whole with `*` and `?`.
fn pattern(model: &str) -> String {
    let escaped = escape(&model.to_ascii_lowercase());
    if model.contains(['*', '?']) {
        escaped.replace('*', "%").replace('?', "_")
    } else {
        format!("%{escaped}%")
    }
}

/// Takes their meaning from the characters that mean something in a pattern.
fn escape(text: &str) -> String {
    text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_")
}

fn clamp(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let mode = match row.get_ref(10)?.as_str()? {
        "training" => Mode::Training,
        _ => Mode::Inference,
    };
    Ok(RunRow {
        id: RunId(row.get(0)?),
        started_at: row.get(1)?,
        model: row.get(2)?,
        random_weights: row.get::<_, i64>(3)? != 0,
        engine: row.get(4)?,
        engine_version: row.get(5)?,
        device: parsed(row, 6)?,
        precision: parsed(row, 7)?,
        batch_size: row.get(8)?,
        sequence_length: row.get(9)?,
        mode,
        threads: row.get(11)?,
        machine: row.get(12)?,
        valid: row.get::<_, i64>(13)? != 0,
        remarks: row.get(14)?,
        median: row.get(15)?,
        median_error: row.get(16)?,
        samples_per_second: row.get(17)?,
        memory_peak: row.get::<_, Option<f64>>(18)?.map(|bytes| Bytes(bytes as u64)),
        samples: row.get(19)?,
        tags: Vec::new(),
    })
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
