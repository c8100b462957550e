//! A run comes out equal to what went in.

use crate::{
    Store, StoreError, codec, connection::Transaction, document, document::Elsewhere, id,
    insert::WARMUP, value::values,
};
use serde::de::DeserializeOwned;
use types::{Metric, Phase, Run, RunId, Samples};

/// More candidates than anybody reads are not fetched.
const CANDIDATES: usize = 20;

/// Sorts behind every id that begins with the same text.
const LAST: char = '\u{10ffff}';

/// How much of a run is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    All,
    WithoutSamples,
}

impl Store {
    /// The run whose id begins with `prefix`.
    ///
    /// # Errors
    /// Where no run or more than one begins so, or what is stored is damaged.
    pub fn run(&self, prefix: &str) -> Result<Run, StoreError> {
        // One view of everything: another process may delete the run meanwhile.
        let view = self.view("read a run")?;
        let id = self.resolve_in(&view, prefix)?;
        self.run_in(&view, id, Parts::All)
    }

    /// The run of this whole id without its samples and warm-up, for whoever reads many.
    ///
    /// # Errors
    /// Where it is not there, or what is stored is damaged.
    pub fn run_without_samples(&self, id: &RunId) -> Result<Run, StoreError> {
        let view = self.view("read a run")?;
        let id = self.resolve_in(&view, &id.0)?;
        self.run_in(&view, id, Parts::WithoutSamples)
    }

    /// The run of this whole id.
    pub(crate) fn run_in(
        &self,
        view: &Transaction<'_>,
        id: RunId,
        parts: Parts,
    ) -> Result<Run, StoreError> {
        let fail = self.fail("read a run");
        let (started_at, cell, model, body): (i64, String, String, String) = view
            .optional(
                "SELECT run.started_at, cell.document, model.document, document.body FROM run
                 JOIN cell ON cell.key = run.cell JOIN model ON model.key = run.model
                 JOIN document ON document.run = run.id WHERE run.id = $1",
                values![&id.0],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
            )
            .map_err(&fail)?
            .ok_or_else(|| self.damaged(format!("run `{id}` is incomplete")))?;
        let (samples, warmup) = match parts {
            Parts::All => self.samples(view, &id)?,
            Parts::WithoutSamples => Default::default(),
        };
        let rest = Elsewhere {
            started_at,
            cell: self.parse(&id, "cell", &cell)?,
            model: self.parse(&id, "model", &model)?,
            warmup,
            samples,
            metrics: self.metrics(view, &id)?,
            tags: self.tags_of(view, &id)?,
            id: id.clone(),
        };
        let mut run = self.parse::<document::Document>(&id, "document", &body)?.join(rest);
        // Stored before it was decided whose memory the peak is.
        run.settle_memory();
        Ok(run)
    }

    /// The whole id of the one run that begins with `prefix`; a whole id always means itself.
    ///
    /// # Errors
    /// Where no run or more than one begins so.
    pub fn resolve(&self, prefix: &str) -> Result<RunId, StoreError> {
        self.resolve_in(&self.view("look up a run")?, prefix)
    }

    fn resolve_in(&self, view: &Transaction<'_>, prefix: &str) -> Result<RunId, StoreError> {
        let fail = self.fail("look up a run");
        let is_hex = prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        let wanted = if is_hex { prefix.to_ascii_lowercase() } else { prefix.to_owned() };
        let not_found = || StoreError::NotFound { prefix: prefix.to_owned() };
        if wanted.is_empty() {
            return Err(not_found());
        }
        let sql = "SELECT id FROM run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
        let found: Vec<String> = view
            .rows(sql, values![&wanted, format!("{wanted}{LAST}"), CANDIDATES], |row| row.get(0))
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
        let view = self.view("look up a run")?;
        let neighbour = |sql| -> Result<Option<String>, StoreError> {
            view.one(sql, values![&id.0], |row| row.get(0)).map_err(self.fail("look up a run"))
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
        let sql = "SELECT phase, count, checksum, nanos FROM samples WHERE run = $1 ORDER BY place";
        let rows: Vec<(String, codec::Packed)> = view
            .rows(sql, values![&id.0], |row| {
                let packed =
                    codec::Packed { count: row.get(1)?, checksum: row.get(2)?, bytes: row.get(3)? };
                Ok((row.get(0)?, packed))
            })
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
        let rows = view
            .rows(
                "SELECT key, value, why, unit, direction, provenance FROM metric
                 WHERE run = $1 ORDER BY place",
                values![&id.0],
                |row| {
                    let words: [String; 3] = [row.get(3)?, row.get(4)?, row.get(5)?];
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, words))
                },
            )
            .map_err(self.fail("read metrics"))?;
        let metric = |(key, value, why, words): (_, _, _, [String; 3])| {
            let [unit, direction, provenance] = words.map(|word| format!("\"{word}\""));
            Ok(Metric {
                key,
                unit: self.parse(id, "unit", &unit)?,
                direction: self.parse(id, "direction", &direction)?,
                value,
                why,
                provenance: self.parse(id, "provenance", &provenance)?,
            })
        };
        rows.into_iter().map(metric).collect()
    }

    /// The labels of a run, in alphabetical order.
    fn tags_of(&self, view: &Transaction<'_>, id: &RunId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT tag FROM tag WHERE run = $1 ORDER BY tag";
        view.rows(sql, values![&id.0], |row| row.get(0)).map_err(self.fail("read tags"))
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
