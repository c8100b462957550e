//! What the store holds.

use crate::{SCHEMA_VERSION, Store, StoreError};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use types::Bytes;

/// What the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Status {
    /// Where it is: the file, or the server's address without the password.
    pub path: PathBuf,
    /// Its size on disk: of the file with its log of recent writes, or of our tables on the server with their indices.
    pub size: Bytes,
    /// Its schema version.
    pub schema: i64,
    /// Runs.
    pub runs: u64,
    /// Models.
    pub models: u64,
    /// Machines.
    pub machines: u64,
    /// Different cells.
    pub cells: u64,
    /// Samples that the runs' medians rest on.
    pub samples: u64,
    /// When the oldest run began, in microseconds since the epoch.
    pub oldest: Option<i64>,
    /// When the newest run began, in microseconds since the epoch.
    pub newest: Option<i64>,
    /// How often each model was measured where and with what, in the order of the three names.
    pub coverage: Vec<Coverage>,
}

/// How many times a model was measured on a machine with an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coverage {
    /// The model's name.
    pub model: String,
    /// The machine's key.
    pub machine: String,
    /// The newest host name of the machine.
    pub hostname: String,
    /// The engine's id.
    pub engine: String,
    /// Different cells that were measured.
    pub cells: u64,
    /// Runs.
    pub runs: u64,
    /// Runs that are valid.
    pub valid: u64,
}

impl Store {
    /// Counts what is stored.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn status(&self) -> Result<Status, StoreError> {
        let fail = self.fail("count what is stored");
        let size = Bytes(self.size()?);
        let view = self.view("count what is stored")?;
        // Runs are counted by their numbered keys first; names are looked up for the few that are left.
        let coverage = view
            .rows(
                "SELECT model.name, machine.key, machine.hostname, engine.id,
                 COUNT(DISTINCT counted.cell), CAST(SUM(counted.runs) AS BIGINT),
                 CAST(SUM(counted.valid) AS BIGINT)
                 FROM (SELECT model, machine, engine, cell, COUNT(*) AS runs, SUM(valid) AS valid
                 FROM run GROUP BY model, machine, engine, cell) AS counted
                 JOIN model ON model.key = counted.model
                 JOIN machine ON machine.key = counted.machine
                 JOIN engine ON engine.key = counted.engine
                 GROUP BY model.name, machine.key, machine.hostname, engine.id
                 ORDER BY model.name, machine.key, engine.id",
                &[],
                |row| {
                    Ok(Coverage {
                        model: row.get(0)?,
                        machine: row.get(1)?,
                        hostname: row.get(2)?,
                        engine: row.get(3)?,
                        cells: row.get(4)?,
                        runs: row.get(5)?,
                        valid: row.get(6)?,
                    })
                },
            )
            .map_err(&fail)?;
        view.one(
            "SELECT (SELECT COUNT(*) FROM run), (SELECT COUNT(*) FROM model),
             (SELECT COUNT(*) FROM machine), (SELECT COUNT(*) FROM cell),
             (SELECT CAST(COALESCE(SUM(samples), 0) AS BIGINT) FROM run),
             (SELECT MIN(started_at) FROM run), (SELECT MAX(started_at) FROM run)",
            &[],
            |row| {
                Ok(Status {
                    path: self.path.clone(),
                    size,
                    schema: SCHEMA_VERSION,
                    runs: row.get(0)?,
                    models: row.get(1)?,
                    machines: row.get(2)?,
                    cells: row.get(3)?,
                    samples: row.get(4)?,
                    oldest: row.get(5)?,
                    newest: row.get(6)?,
                    coverage: coverage.clone(),
                })
            },
        )
        .map_err(&fail)
    }
}
