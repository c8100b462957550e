//! Where runs come from that other tools measured, for lists that must not pass them off as ours.

use crate::{Store, StoreError, facts};
use serde::Deserialize;
use std::collections::BTreeMap;
use types::{Import, RunId};

/// The one part of a document that is asked for.
#[derive(Deserialize)]
struct Origin {
    #[serde(default)]
    imported: Option<Box<Import>>,
}

impl Store {
    /// Where those of these runs come from that were imported; what we measured ourselves is not among the answer.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn sources(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, Import>, StoreError> {
        let view = self.view("look up where runs come from")?;
        let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
        let mut bodies: Vec<(String, String)> = Vec::new();
        facts::each_of(&view, "SELECT run, body FROM document WHERE run", "run", &ids, |row| {
            bodies.push((row.get(0)?, row.get(1)?));
            Ok(())
        })
        .map_err(self.fail("look up where runs come from"))?;
        let mut found = BTreeMap::new();
        for (id, body) in bodies {
            let origin: Origin = serde_json::from_str(&body)
                .map_err(|error| self.damaged(format!("the document of run `{id}`: {error}")))?;
            if let Some(import) = origin.imported {
                found.insert(RunId(id), *import);
            }
        }
        Ok(found)
    }
}
