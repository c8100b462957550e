//! Mends rows of earlier versions: what they did not have is read from the documents of the runs.

use super::{INVALID, insert};
use crate::{
    Store, StoreError, connection::Transaction, facts::parsed, read::Parts, value::values,
};
use types::{Device, Measured, ReasonCode, RunId};

impl Store {
    /// Writes the rows of runs that were stored before there were such rows.
    pub(crate) fn fill_measured(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        self.refill(transaction, "SELECT id, model, engine FROM run ORDER BY started_at, id")
    }

    /// Writes why runs are not valid that were stored before that was a column.
    pub(crate) fn fill_reasons(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let fail = self.fail("update the schema");
        let sql = format!("SELECT run FROM measured WHERE standing = {INVALID}");
        let runs: Vec<String> = transaction.rows(&sql, &[], |row| row.get(0)).map_err(&fail)?;
        for id in runs {
            let reason = match self.run_in(transaction, RunId(id.clone()), Parts::WithoutSamples) {
                Ok(run) => run.verdict.main_reason(),
                // What is damaged cannot be shown either; it must not cost the rest.
                Err(StoreError::Corrupt { .. }) => None,
                Err(error) => return Err(error),
            };
            let reason = reason.unwrap_or(ReasonCode::Unstated).name();
            let update = "UPDATE measured SET reason = $2 WHERE run = $1";
            transaction.execute(update, values![&id, reason]).map_err(&fail)?;
        }
        Ok(())
    }

    /// The peak in lists is that of the memory where a run computes, as it always was in `measured`.
    pub(crate) fn fill_peaks(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let fail = self.fail("update the schema");
        let devices = "SELECT DISTINCT device FROM question";
        let devices: Vec<Device> =
            transaction.rows(devices, &[], |row| parsed(row, 0)).map_err(&fail)?;
        for device in devices.into_iter().filter(|device| device.has_own_memory()) {
            let update = "UPDATE run SET memory_peak =
                          (SELECT measured.memory_peak FROM measured WHERE measured.run = run.id)
                          WHERE id IN (SELECT run FROM measured WHERE question IN
                          (SELECT key FROM question WHERE device = $1))";
            transaction.execute(update, values![device.to_string()]).map_err(&fail)?;
        }
        Ok(())
    }

    /// Writes the rows again of runs whose shapes nobody recorded and whose model may follow a length without tokens.
    pub(crate) fn refill_unrecorded(
        &self,
        transaction: &Transaction<'_>,
    ) -> Result<(), StoreError> {
        self.refill(
            transaction,
            "SELECT run.id, run.model, run.engine FROM run
             JOIN model ON model.key = run.model JOIN cell ON cell.key = run.cell
             WHERE model.category IN ('audio', 'multimodal', 'other')
             AND cell.sequence_length IS NULL ORDER BY run.started_at, run.id",
        )
    }

    /// Writes the rows of these runs again from their documents.
    fn refill(&self, transaction: &Transaction<'_>, sql: &str) -> Result<(), StoreError> {
        let fail = self.fail("update the schema");
        let runs: Vec<(String, i64, i64)> = transaction
            .rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(&fail)?;
        for (id, model, engine) in runs {
            match self.run_in(transaction, RunId(id.clone()), Parts::WithoutSamples) {
                Ok(run) => {
                    transaction
                        .execute("DELETE FROM measured WHERE run = $1", values![&id])
                        .map_err(&fail)?;
                    insert(transaction, &Measured::from(&run), model, engine).map_err(&fail)?;
                }
                // What is damaged cannot be shown either; it must not cost the rest.
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        transaction
            .execute(
                "DELETE FROM question WHERE NOT EXISTS
                 (SELECT 1 FROM measured WHERE measured.question = question.key)",
                &[],
            )
            .map_err(&fail)?;
        Ok(())
    }

    /// Writes the rows again of runs whose variant was kept as words.
    pub(crate) fn refill_variants(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        self.refill(
            transaction,
            "SELECT run.id, run.model, run.engine FROM run JOIN measured ON measured.run = run.id
             JOIN question ON question.key = measured.question
             WHERE question.variant <> '' ORDER BY run.started_at, run.id",
        )
    }
}
