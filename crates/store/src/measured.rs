//! Runs in the few numbers that many are compared by: written with every run, read without documents and samples.
//!
//! The columns are one list: who writes them (`row.rs`), who reads them (`newest.rs`) and who mends old ones
//! (`refill.rs`) must agree.

mod newest;
mod refill;
mod row;

pub use newest::Scope;
pub(crate) use row::insert;

use crate::{Store, StoreError, connection::Transaction, facts::each_of, failure::DatabaseError};
use std::collections::{BTreeMap, HashMap};
use types::{ModelInfo, ReasonCode, RunId};

/// What counts of a run.
const INVALID: i64 = 0;
const VALID: i64 = 1;
const UNTIMED: i64 = 2;

impl Store {
    /// Why these runs are not valid, by their ids; valid ones are not in it.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn reasons(&self, ids: &[RunId]) -> Result<HashMap<RunId, ReasonCode>, StoreError> {
        let view = self.view("read reasons")?;
        let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
        let found = self.reasons_of(&view, &ids).map_err(self.fail("read reasons"))?;
        Ok(found.into_iter().map(|(id, reason)| (RunId(id), reason)).collect())
    }

    pub(crate) fn reasons_of(
        &self,
        view: &Transaction<'_>,
        ids: &[&str],
    ) -> Result<HashMap<String, ReasonCode>, DatabaseError> {
        let mut reasons = HashMap::new();
        let sql = "SELECT run, reason FROM measured WHERE reason IS NOT NULL AND run";
        each_of(view, sql, "run", ids, |row| {
            let name: String = row.get(1)?;
            let reason = ReasonCode::of_name(&name).unwrap_or(ReasonCode::Unstated);
            reasons.insert(row.get(0)?, reason);
            Ok(())
        })?;
        Ok(reasons)
    }

    /// The names of models with runs, in alphabetical order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn models(&self) -> Result<Vec<String>, StoreError> {
        self.distinct("SELECT DISTINCT model FROM question ORDER BY model")
    }

    /// Models that were made from another one, in no order.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn made_models(&self) -> Result<Vec<ModelInfo>, StoreError> {
        let view = self.view("list models")?;
        let sql = "SELECT document FROM model WHERE document LIKE '%\"made_from\":%'";
        let documents: Vec<String> =
            view.rows(sql, &[], |row| row.get(0)).map_err(self.fail("list models"))?;
        let damaged = |error| self.damaged(format!("a model: {error}"));
        documents.iter().map(|text| serde_json::from_str(text).map_err(damaged)).collect()
    }

    /// The ids of engines with runs, in alphabetical order.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn engines(&self) -> Result<Vec<String>, StoreError> {
        self.distinct("SELECT DISTINCT engine FROM question ORDER BY engine")
    }

    /// The keys of machines with runs, and what each is called.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn machines(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let sql = "SELECT key, hostname FROM machine
                   WHERE key IN (SELECT machine FROM question)";
        let view = self.view("list machines")?;
        let rows = view.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(rows.map_err(self.fail("list machines"))?.into_iter().collect())
    }

    fn distinct(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let view = self.view("list names")?;
        view.rows(sql, &[], |row| row.get(0)).map_err(self.fail("list names"))
    }
}
