//! The noise of a machine: repeated measurements of the same model.

use crate::{Store, StoreError, insert, value::values};
use types::{Machine, Noise};

impl Store {
    /// Every test of a machine's noise, the newest first.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn noise(&self, machine_key: &str) -> Result<Vec<Noise>, StoreError> {
        let view = self.view("read noise")?;
        let sql = "SELECT document FROM noise WHERE machine = $1 ORDER BY measured_at DESC";
        let texts: Vec<String> = view
            .rows(sql, values![machine_key], |row| row.get(0))
            .map_err(self.fail("read noise"))?;
        let read = |text: &String| {
            serde_json::from_str(text).map_err(|error| {
                self.damaged(format!("the noise of machine `{machine_key}`: {error}"))
            })
        };
        texts.iter().map(read).collect()
    }

    /// Keeps a test of a machine's noise beside the earlier ones.
    ///
    /// # Errors
    /// Where it cannot be written, or holds a number that is not finite.
    pub fn save_noise(&self, machine: &Machine, noise: &Noise) -> Result<(), StoreError> {
        let fail = self.fail("store noise");
        let unstorable = |error: serde_json::Error| StoreError::Unstorable {
            id: format!("noise of {}", machine.key),
            why: error.to_string(),
        };
        let text = serde_json::to_string(noise).map_err(unstorable)?;
        serde_json::from_str::<Noise>(&text).map_err(unstorable)?;
        let document = serde_json::to_string(machine).map_err(unstorable)?;
        let transaction = self.change("store noise")?;
        insert::insert_machine(&transaction, machine, &document).map_err(&fail)?;
        transaction
            .execute(
                "INSERT INTO noise (machine, measured_at, document) VALUES ($1, $2, $3)
                 ON CONFLICT (machine, measured_at) DO UPDATE SET document = excluded.document",
                values![&machine.key, noise.measured_at, &text],
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)
    }
}
