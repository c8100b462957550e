//! Reads the newest runs of every cell, a few cells at a time.

use super::{INVALID, UNTIMED, VALID};
use crate::{
    Store, StoreError,
    connection::Transaction,
    facts::parsed,
    failure::DatabaseError,
    value::{Row, Value, whole},
};
use std::{collections::HashMap, sync::Arc};
use types::{
    Bytes, Device, Interval, Measured, Mode, Newest, Percentiles, Precision, Provenance,
    ReasonCode, RunId,
};

/// Questions that are answered at once. Fewer mean more ways to a server, more a longer statement to understand.
const BLOCK: usize = 64;

/// Before everything that ever began, and a number that both databases read as a whole one.
const EVER: i64 = -9_000_000_000_000_000_000;

/// Which runs are looked at together; empty means all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scope {
    /// Whole names of models.
    pub models: Vec<String>,
    /// A label.
    pub tag: Option<String>,
    /// Begun at or after, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Begun before, in microseconds since the epoch.
    pub until: Option<i64>,
    /// Whether as many runs that are not valid are handed over as valid ones; otherwise only the newest of each cell.
    pub include_invalid: bool,
}

impl Store {
    /// Hands over every cell that has runs in this scope: its newest valid runs, at most `most`, its newest invalid one or as
    /// many of those, and how many there are. Labels are not read.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn newest(
        &self,
        scope: &Scope,
        most: usize,
        mut take: impl FnMut(Newest),
    ) -> Result<(), StoreError> {
        let fail = self.fail("read runs to compare");
        // One view of everything: another process may delete a model meanwhile.
        let view = self.view("read runs to compare")?;
        let questions = questions(&view, &scope.models).map_err(&fail)?;
        let names = Names::read(&view).map_err(&fail)?;
        let block = Block { view: &view, scope, names: &names };
        for questions in questions.chunks(BLOCK) {
            block.read(questions, most).map_err(&fail)?.into_iter().for_each(&mut take);
        }
        Ok(())
    }
}

/// What runs share that are put together.
struct Question {
    key: i64,
    model: Arc<str>,
    random_weights: bool,
    imported: bool,
    machine: Arc<str>,
    device: Device,
    engine: Arc<str>,
    precision: Precision,
    batch_size: u64,
    sequence_length: Option<u64>,
    mode: Mode,
    threads: u32,
    variant: Arc<str>,
}

fn questions(view: &Transaction<'_>, models: &[String]) -> Result<Vec<Question>, DatabaseError> {
    let mut shared = Shared::default();
    let names: Vec<String> = (1..=models.len()).map(|place| format!("${place}")).collect();
    let only = match models {
        [] => String::new(),
        _ => format!(" WHERE model IN ({})", names.join(", ")),
    };
    let sql = format!(
        "SELECT key, model, random_weights, imported, machine, device, engine, precision,
         batch_size, sequence_length, mode, threads, variant FROM question{only} ORDER BY key"
    );
    let values: Vec<Value<'_>> = models.iter().map(Value::from).collect();
    view.rows(&sql, &values, |row| {
        Ok(Question {
            key: row.get(0)?,
            model: shared.of(row.get(1)?),
            random_weights: row.get::<i64>(2)? != 0,
            imported: row.get::<i64>(3)? != 0,
            machine: shared.of(row.get(4)?),
            device: parsed(row, 5)?,
            engine: shared.of(row.get(6)?),
            precision: parsed(row, 7)?,
            batch_size: row.get(8)?,
            sequence_length: row.get::<Option<i64>>(9)?.map(|length| length as u64),
            mode: Mode::named(&row.get::<String>(10)?).unwrap_or_default(),
            threads: row.get(11)?,
            variant: shared.of(row.get(12)?),
        })
    })
}

/// Each text once, however many rows have it.
#[derive(Default)]
struct Shared(HashMap<String, Arc<str>>);

impl Shared {
    fn of(&mut self, text: String) -> Arc<str> {
        let shared = self.0.entry(text).or_insert_with_key(|text| text.as_str().into());
        Arc::clone(shared)
    }
}

/// What few have and many runs name by a key.
struct Names {
    fingerprints: HashMap<i64, Arc<str>>,
    versions: HashMap<i64, Arc<str>>,
    hosts: HashMap<String, Arc<str>>,
    unknown: Arc<str>,
}

impl Names {
    fn read(view: &Transaction<'_>) -> Result<Names, DatabaseError> {
        let by_key = |sql: &str| -> Result<HashMap<i64, Arc<str>>, DatabaseError> {
            let rows = view.rows(sql, &[], |row| Ok((row.get(0)?, row.get::<String>(1)?.into())));
            Ok(rows?.into_iter().collect())
        };
        let hosts = view.rows("SELECT key, hostname FROM machine", &[], |row| {
            Ok((row.get(0)?, row.get::<String>(1)?.into()))
        });
        Ok(Names {
            fingerprints: by_key("SELECT key, fingerprint FROM model")?,
            versions: by_key("SELECT key, version FROM engine")?,
            hosts: hosts?.into_iter().collect(),
            unknown: "".into(),
        })
    }

    fn of(&self, names: &HashMap<i64, Arc<str>>, key: i64) -> Arc<str> {
        Arc::clone(names.get(&key).unwrap_or(&self.unknown))
    }
}

/// Answers a few questions at a time.
struct Block<'a> {
    view: &'a Transaction<'a>,
    scope: &'a Scope,
    names: &'a Names,
}

impl Block<'_> {
    fn read(&self, questions: &[Question], most: usize) -> Result<Vec<Newest>, DatabaseError> {
        // In the order of their keys.
        let place = |key: i64| questions.binary_search_by_key(&key, |question| question.key).ok();
        let mut found: Vec<Newest> = questions.iter().map(|_| Newest::default()).collect();
        let mut any_invalid = false;
        self.count(questions, |key, standing, runs| {
            let Some(newest) = place(key).map(|place| &mut found[place]) else { return };
            match standing {
                VALID => newest.valid += runs,
                UNTIMED => newest.untimed += runs,
                _ => any_invalid = true,
            }
        })?;
        if any_invalid {
            self.count_invalid(questions, |key, reason, runs| {
                if let Some(place) = place(key) {
                    found[place].invalid.add(reason, runs);
                }
            })?;
        }
        let invalid = if self.scope.include_invalid { most } else { 1 };
        for (standing, most) in [(VALID, most), (INVALID, invalid)] {
            let has = |newest: &Newest| match standing {
                VALID => newest.valid > 0,
                _ => !newest.invalid.is_empty(),
            };
            if !found.iter().any(has) {
                continue;
            }
            self.newest(questions, standing, most, |row| {
                if let Some(place) = place(row.get(0)?) {
                    let run = self.measured(row, &questions[place], standing == VALID)?;
                    found[place].runs.push(run);
                }
                Ok(())
            })?;
        }
        found.retain(|newest| newest.valid + newest.invalid.total() + newest.untimed > 0);
        Ok(found)
    }

    fn count(
        &self,
        questions: &[Question],
        mut take: impl FnMut(i64, i64, u64),
    ) -> Result<(), DatabaseError> {
        let (keys, mut values) = keys(questions);
        let only = self.conditions(&mut values);
        let sql = format!(
            "SELECT question, standing, COUNT(*) FROM measured WHERE question IN ({keys}){only}
             GROUP BY question, standing"
        );
        self.view.each(&sql, &values, |row| {
            take(row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(())
        })
    }

    /// Runs that are not valid by their reasons. Apart from the others, which are counted by the index alone.
    fn count_invalid(
        &self,
        questions: &[Question],
        mut take: impl FnMut(i64, ReasonCode, u64),
    ) -> Result<(), DatabaseError> {
        let (keys, mut values) = keys(questions);
        let only = self.conditions(&mut values);
        let sql = format!(
            "SELECT question, reason, COUNT(*) FROM measured
             WHERE question IN ({keys}) AND standing = {INVALID}{only} GROUP BY question, reason"
        );
        self.view.each(&sql, &values, |row| {
            take(row.get(0)?, reason(row, 1)?, row.get(2)?);
            Ok(())
        })
    }

    /// The newest runs of each question; more where several began at the very moment of the last.
    fn newest(
        &self,
        questions: &[Question],
        standing: i64,
        most: usize,
        read: impl FnMut(&Row<'_>) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let (keys, mut values) = keys(questions);
        let only = self.conditions(&mut values);
        // The moments first, by the index alone, then what began since: nothing older is touched. Each is a statement of its
        // own kind (`MATERIALIZED`, `CROSS`), because to join first and look up moments then takes many times as long.
        let sql = format!(
            "WITH newest AS MATERIALIZED (
                 SELECT question.key AS question, COALESCE((
                     SELECT started_at FROM measured
                     WHERE measured.question = question.key AND standing = {standing}{only}
                     ORDER BY started_at DESC LIMIT 1 OFFSET {}
                 ), {EVER}) AS since FROM question WHERE question.key IN ({keys})
             )
             SELECT measured.question, run, started_at, model, engine, samples, median, low, high,
             p90, p95, p99, p999, samples_per_second, memory_peak, joules_per_sample, ceiling_share,
             reason FROM newest CROSS JOIN measured
             WHERE measured.question = newest.question AND standing = {standing}
             AND started_at >= newest.since{only}",
            whole(most.saturating_sub(1) as u64)
        );
        self.view.each(&sql, &values, read)
    }

    /// Further conditions on a run, with their values.
    fn conditions(&self, values: &mut Vec<Value<'static>>) -> String {
        let mut clauses = String::new();
        let mut add = |clause: &str, value: Value<'static>| {
            values.push(value);
            clauses += " AND ";
            clauses += &clause.replace("{}", &format!("${}", values.len()));
        };
        if let Some(tag) = &self.scope.tag {
            let tagged = "EXISTS (SELECT 1 FROM tag WHERE tag.run = measured.run AND tag.tag = {})";
            add(tagged, Value::from(tag.clone()));
        }
        if let Some(since) = self.scope.since {
            add("started_at >= {}", Value::from(since));
        }
        if let Some(until) = self.scope.until {
            add("started_at < {}", Value::from(until));
        }
        clauses
    }

    fn measured(
        &self,
        row: &Row<'_>,
        question: &Question,
        valid: bool,
    ) -> Result<Measured, DatabaseError> {
        let names = self.names;
        let interval = match (row.get(7)?, row.get(8)?) {
            (Some(low), Some(high)) => Some(Interval { low, high }),
            _ => None,
        };
        Ok(Measured {
            id: RunId(row.get(1)?),
            started_at: row.get(2)?,
            model: Arc::clone(&question.model),
            fingerprint: names.of(&names.fingerprints, row.get(3)?),
            random_weights: question.random_weights,
            machine: Arc::clone(&question.machine),
            host: Arc::clone(names.hosts.get(&*question.machine).unwrap_or(&names.unknown)),
            device: question.device,
            engine: Arc::clone(&question.engine),
            engine_version: names.of(&names.versions, row.get(4)?),
            precision: question.precision,
            batch_size: question.batch_size,
            sequence_length: question.sequence_length,
            mode: question.mode,
            threads: question.threads,
            variant: Arc::clone(&question.variant),
            valid,
            reason: if valid { None } else { Some(reason(row, 17)?) },
            provenance: match question.imported {
                true => Provenance::Imported,
                false => Provenance::Measured,
            },
            samples: row.get(5)?,
            median: row.get(6)?,
            interval,
            percentiles: Percentiles {
                p90: row.get(9)?,
                p95: row.get(10)?,
                p99: row.get(11)?,
                p999: row.get(12)?,
            },
            samples_per_second: row.get(13)?,
            memory_peak: row.get::<Option<f64>>(14)?.map(|peak| Bytes(peak as u64)),
            joules_per_sample: row.get(15)?,
            ceiling_share: row.get(16)?,
            tags: Vec::new(),
        })
    }
}

/// The reason in this column; a newer program may have stored one that this one does not know.
fn reason(row: &Row<'_>, column: usize) -> Result<ReasonCode, DatabaseError> {
    let name: Option<String> = row.get(column)?;
    Ok(name.as_deref().and_then(ReasonCode::of_name).unwrap_or(ReasonCode::Unstated))
}

/// Placeholders for a block of keys and their values; a short block repeats its last, so that there is one statement to prepare.
fn keys(questions: &[Question]) -> (String, Vec<Value<'static>>) {
    let places: Vec<String> = (1..=BLOCK).map(|place| format!("${place}")).collect();
    let last = questions.len().saturating_sub(1);
    let values = (0..BLOCK).map(|place| Value::from(questions[place.min(last)].key)).collect();
    (places.join(", "), values)
}
