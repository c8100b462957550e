//! What may change after a run was stored: its labels, and whether it is kept.

use crate::{Store, StoreError, value::values};
use types::RunId;

/// The longest tag, in characters; longer ones break every table.
const LONGEST_TAG: usize = 100;

/// Whether people could type and read this label; ask before spending time on a run that shall bear it.
///
/// # Errors
/// Where it is empty, too long or holds control characters.
pub fn check_tag(tag: &str) -> Result<(), StoreError> {
    let usable = !tag.trim().is_empty()
        && tag.chars().count() <= LONGEST_TAG
        && !tag.chars().any(char::is_control);
    if usable { Ok(()) } else { Err(StoreError::BadTag { tag: tag.to_owned() }) }
}

impl Store {
    /// Deletes these runs with everything that belongs to them, all or none; how many there were.
    ///
    /// Models and cells that no other run mentions go with them; machines stay, because their ceilings do.
    ///
    /// # Errors
    /// Where one of them is not stored; none is then deleted.
    pub fn delete(&self, ids: &[RunId]) -> Result<u64, StoreError> {
        let fail = self.fail("delete runs");
        let transaction = self.change("delete runs")?;
        let mut deleted = 0;
        for id in ids {
            let gone = transaction
                .execute("DELETE FROM run WHERE id = $1", values![&id.0])
                .map_err(&fail)?;
            if gone == 0 {
                return Err(StoreError::NotFound { prefix: id.0.clone() });
            }
            deleted += gone;
        }
        transaction
            .batch(
                "DELETE FROM cell WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.cell = cell.key);
                 DELETE FROM model WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.model = model.key);
                 DELETE FROM question WHERE NOT EXISTS
                 (SELECT 1 FROM measured WHERE measured.question = question.key);",
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(deleted)
    }

    /// Labels a run; whether the label is new to it.
    ///
    /// # Errors
    /// Where the run is not stored, or the label is empty, too long or holds control characters.
    pub fn tag(&self, id: &RunId, tag: &str) -> Result<bool, StoreError> {
        check_tag(tag)?;
        let insert = "INSERT INTO tag (run, tag) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.change_tag(id, tag, insert)
    }

    /// Takes a label off a run; whether it had it.
    ///
    /// # Errors
    /// Where the run is not stored.
    pub fn untag(&self, id: &RunId, tag: &str) -> Result<bool, StoreError> {
        self.change_tag(id, tag, "DELETE FROM tag WHERE run = $1 AND tag = $2")
    }

    fn change_tag(&self, id: &RunId, tag: &str, sql: &str) -> Result<bool, StoreError> {
        let fail = self.fail("tag a run");
        // Alone, so that nobody deletes the run meanwhile.
        let transaction = self.change("tag a run")?;
        let stored: i64 = transaction
            .one("SELECT COUNT(*) FROM run WHERE id = $1", values![&id.0], |row| row.get(0))
            .map_err(&fail)?;
        if stored == 0 {
            return Err(StoreError::NotFound { prefix: id.0.clone() });
        }
        let changed = transaction.execute(sql, values![&id.0, tag.trim()]).map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(changed > 0)
    }
}
