//! What a machine can do at best; measured once, kept with it.

use crate::{Store, StoreError, insert};
use rusqlite::{OptionalExtension, params};
use types::{Ceilings, Machine};

impl Store {
    /// The ceilings of a machine with so many threads, where they were measured.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn ceilings(
        &self,
        machine_key: &str,
        threads: u32,
    ) -> Result<Option<Ceilings>, StoreError> {
        let found: Option<String> = self
            .connection
            .query_row(
                "SELECT document FROM ceiling WHERE machine = $1 AND threads = $2",
                params![machine_key, threads],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.fail("read ceilings"))?;
        found
            .map(|text| {
                serde_json::from_str(&text).map_err(|error| {
                    self.damaged(format!("the ceilings of machine `{machine_key}`: {error}"))
                })
            })
            .transpose()
    }

    /// Keeps the ceilings of a machine, in place of earlier ones with as many threads.
    ///
    /// # Errors
    /// Where they cannot be written, or hold a number that is not finite.
    pub fn save_ceilings(&self, machine: &Machine, ceilings: &Ceilings) -> Result<(), StoreError> {
        let fail = self.fail("store ceilings");
        let unstorable = |error: serde_json::Error| StoreError::Unstorable {
            id: format!("ceilings of {}", machine.key),
            why: error.to_string(),
        };
        let text = serde_json::to_string(ceilings).map_err(unstorable)?;
        serde_json::from_str::<Ceilings>(&text).map_err(unstorable)?;
        let document = serde_json::to_string(machine).map_err(unstorable)?;
        let transaction = self.write("store ceilings")?;
        insert::insert_machine(&transaction, machine, &document).map_err(&fail)?;
        transaction
            .execute(
                "INSERT INTO ceiling (machine, threads, measured_at, document)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (machine, threads) DO UPDATE
                 SET measured_at = excluded.measured_at, document = excluded.document",
                params![machine.key, ceilings.threads, ceilings.measured_at, text],
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)
    }
}
