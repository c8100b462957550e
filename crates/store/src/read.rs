//! A run comes out equal to what went in.

use crate::{Store, StoreError, codec, document, document::Elsewhere, id, insert::WARMUP};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::de::DeserializeOwned;
use types::{Metric, Phase, Run, RunId, Samples};

/// More candidates than anybody reads are not fetched.
const CANDIDATES: usize = 20;

/// Sorts behind every id that begins with the same text.
const LAST: char = '\u{10ffff}';

impl Store {
    /// The run whose id begins with `prefix`.
    ///
    /// # Errors
    /// Where no run or more than one begins so, or what is stored is damaged.
    pub fn run(&self, prefix: &str) -> Result<Run, StoreError> {
        let fail = self.fail("read a run");
        // One view of everything: another process may delete the run meanwhile.
        let view = self.view("read a run")?;
        let id = self.resolve(prefix)?;
        let (started_at, cell, model, body): (i64, String, String, String) = view
            .prepare_cached(
                "SELECT run.started_at, cell.document, model.document, document.body FROM run
                 JOIN cell ON cell.key = run.cell JOIN model ON model.key = run.model
                 JOIN document ON document.run = run.id WHERE run.id = $1",
            )
            .and_then(|mut query| {
                query
                    .query_row([&id.0], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                    })
                    .optional()
            })
            .map_err(&fail)?
            .ok_or_else(|| self.damaged(format!("run `{id}` has lost its parts")))?;
        let (samples, warmup) = self.samples(&view, &id)?;
        let rest = Elsewhere {
            started_at,
            cell: self.parse(&id, "cell", &cell)?,
            model: self.parse(&id, "model", &model)?,
            warmup,
            samples,
            metrics: self.metrics(&view, &id)?,
            tags: self.tags_of(&id)?,
            id: id.clone(),
        };
        Ok(self.parse::<document::Document>(&id, "document", &body)?.join(rest))
    }

    /// The whole id of the one run that begins with `prefix`; a whole id always means itself.
    ///
    /// # Errors
    /// Where no run or more than one begins so.
    pub fn resolve(&self, prefix: &str) -> Result<RunId, StoreError> {
        let fail = self.fail("look up a run");
        let is_hex = prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        let wanted = if is_hex { prefix.to_ascii_lowercase() } else { prefix.to_owned() };
        let not_found = || StoreError::NotFound { prefix: prefix.to_owned() };
        if wanted.is_empty() {
            return Err(not_found());
        }
        let mut query = self
            .connection
            .prepare_cached("SELECT id FROM run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3")
            .map_err(&fail)?;
        let found: Vec<String> = query
            .query_map(params![wanted, format!("{wanted}{LAST}"), CANDIDATES], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(&fail)?;
        match found.as_slice() {
            [] => Err(not_found()),
            [id] => Ok(RunId(id.clone())),
            [id, ..] if *id == wanted => Ok(RunId(id.clone())),
            _ => Err(StoreError::Ambiguous { prefix: prefix.to_owned(), candidates: found }),
        }
    }

    /// The shortest beginning that finds this run among all that are stored.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn short_id(&self, id: &RunId) -> Result<String, StoreError> {
        let neighbour = |sql| -> Result<Option<String>, StoreError> {
            self.connection
                .prepare_cached(sql)
                .and_then(|mut query| query.query_row([&id.0], |row| row.get(0)))
                .map_err(self.fail("look up a run"))
        };
        let before = neighbour("SELECT MAX(id) FROM run WHERE id < $1")?;
        let after = neighbour("SELECT MIN(id) FROM run WHERE id > $1")?;
        Ok(id::shorten(&id.0, [before.as_deref(), after.as_deref()].into_iter().flatten()))
    }

    /// The samples of every phase, and those of the warm-up.
    fn samples(
        &self,
        view: &Transaction<'_>,
        id: &RunId,
    ) -> Result<(Vec<Samples>, Vec<u64>), StoreError> {
        let fail = self.fail("read samples");
        let mut query = view
            .prepare_cached(
                "SELECT phase, count, checksum, nanos FROM samples WHERE run = $1 ORDER BY place",
            )
            .map_err(&fail)?;
        let rows: Vec<(String, codec::Packed)> = query
            .query_map([&id.0], |row| {
                let packed =
                    codec::Packed { count: row.get(1)?, checksum: row.get(2)?, bytes: row.get(3)? };
                Ok((row.get(0)?, packed))
            })
            .and_then(Iterator::collect)
            .map_err(&fail)?;
        let (mut samples, mut warmup) = (Vec::new(), Vec::new());
        for (name, packed) in rows {
            let nanos = codec::unpack(&packed)
                .map_err(|error| self.damaged(format!("run `{id}`, phase `{name}`: {error}")))?;
            if name == WARMUP {
                warmup = nanos;
                continue;
            }
            let phase = Phase::ALL
                .into_iter()
                .find(|phase| phase.name() == name)
                .ok_or_else(|| self.damaged(format!("run `{id}` has an unknown phase `{name}`")))?;
            samples.push(Samples { phase, nanos });
        }
        Ok((samples, warmup))
    }

    fn metrics(&self, view: &Transaction<'_>, id: &RunId) -> Result<Vec<Metric>, StoreError> {
        let fail = self.fail("read metrics");
        let mut query = view
            .prepare_cached(
                "SELECT key, value, why, unit, direction, provenance FROM metric
                 WHERE run = $1 ORDER BY place",
            )
            .map_err(&fail)?;
        let mut rows = query.query([&id.0]).map_err(&fail)?;
        let mut metrics = Vec::new();
        while let Some(row) = rows.next().map_err(&fail)? {
            let text = |column: usize| row.get::<_, String>(column).map_err(&fail);
            let quoted = |column: usize| text(column).map(|word| format!("\"{word}\""));
            metrics.push(Metric {
                key: text(0)?,
                unit: self.parse(id, "unit", &quoted(3)?)?,
                direction: self.parse(id, "direction", &quoted(4)?)?,
                value: row.get(1).map_err(&fail)?,
                why: row.get(2).map_err(&fail)?,
                provenance: self.parse(id, "provenance", &quoted(5)?)?,
            });
        }
        Ok(metrics)
    }

    /// The labels of a run, in alphabetical order.
    pub(crate) fn tags_of(&self, id: &RunId) -> Result<Vec<String>, StoreError> {
        let fail = self.fail("read tags");
        let mut query = self
            .connection
            .prepare_cached("SELECT tag FROM tag WHERE run = $1 ORDER BY tag")
            .map_err(&fail)?;
        query.query_map([&id.0], |row| row.get(0)).and_then(Iterator::collect).map_err(&fail)
    }

    fn parse<T: DeserializeOwned>(
        &self,
        id: &RunId,
        part: &str,
        text: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| self.damaged(format!("the {part} of run `{id}`: {error}")))
    }
}
