//! What the store holds.

use crate::{SCHEMA_VERSION, Store, StoreError};
use serde::Serialize;
use std::path::PathBuf;
use types::Bytes;

/// What the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Where the file is.
    pub path: PathBuf,
    /// Its size on disk, the log of recent writes included.
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
}

impl Store {
    /// Counts what is stored.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn status(&self) -> Result<Status, StoreError> {
        self.connection
            .query_row(
                "SELECT (SELECT COUNT(*) FROM run), (SELECT COUNT(*) FROM model),
                 (SELECT COUNT(*) FROM machine), (SELECT COUNT(*) FROM cell),
                 (SELECT COALESCE(SUM(samples), 0) FROM run),
                 (SELECT MIN(started_at) FROM run), (SELECT MAX(started_at) FROM run)",
                [],
                |row| {
                    Ok(Status {
                        path: self.path.clone(),
                        size: Bytes(self.size()),
                        schema: SCHEMA_VERSION,
                        runs: row.get(0)?,
                        models: row.get(1)?,
                        machines: row.get(2)?,
                        cells: row.get(3)?,
                        samples: row.get(4)?,
                        oldest: row.get(5)?,
                        newest: row.get(6)?,
                    })
                },
            )
            .map_err(self.fail("count what is stored"))
    }
}
