//! What a machine can do at best; measured once, kept with it.

use crate::{Store, StoreError, connection::Transaction, insert, value::values};
use types::{Ceilings, Device, Machine};

impl Store {
    /// The ceilings of a machine's device with so many threads, where they were measured.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn ceilings(
        &self,
        machine_key: &str,
        device: Device,
        threads: u32,
    ) -> Result<Option<Ceilings>, StoreError> {
        let view = self.view("read ceilings")?;
        self.ceilings_through(&view, machine_key, device, threads)
    }

    /// All ceilings of a machine, by device and threads.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn all_ceilings(&self, machine_key: &str) -> Result<Vec<Ceilings>, StoreError> {
        let fail = self.fail("read ceilings");
        let view = self.view("read ceilings")?;
        let sql = "SELECT document FROM ceiling WHERE machine = $1 ORDER BY device, threads";
        let texts: Vec<String> =
            view.rows(sql, values![machine_key], |row| row.get(0)).map_err(&fail)?;
        texts.iter().map(|text| self.read_ceilings(machine_key, text)).collect()
    }

    /// Every machine with runs, ceilings or tests of its noise, by host name.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn all_machines(&self) -> Result<Vec<Machine>, StoreError> {
        let view = self.view("list machines")?;
        let sql = "SELECT document FROM machine ORDER BY hostname, key";
        let texts: Vec<String> =
            view.rows(sql, &[], |row| row.get(0)).map_err(self.fail("list machines"))?;
        let read = |text: &String| {
            serde_json::from_str(text).map_err(|error| self.damaged(format!("a machine: {error}")))
        };
        texts.iter().map(read).collect()
    }

    /// Keeps the ceilings of a machine, in place of earlier ones of the device with as many threads.
    ///
    /// # Errors
    /// Where they cannot be written, or hold a number that is not finite.
    pub fn save_ceilings(&self, machine: &Machine, ceilings: &Ceilings) -> Result<(), StoreError> {
        let transaction = self.change("store ceilings")?;
        self.put_ceilings(&transaction, machine, ceilings)?;
        transaction.commit().map_err(self.fail("store ceilings"))
    }

    /// Keeps of each number the higher one, stored or new, and returns what stands now.
    ///
    /// # Errors
    /// Where they cannot be written, or hold a number that is not finite.
    pub fn raise_ceilings(
        &self,
        machine: &Machine,
        ceilings: &Ceilings,
    ) -> Result<Ceilings, StoreError> {
        // Read under the lock, so that of two processes at once neither loses its numbers.
        let transaction = self.change("store ceilings")?;
        let (device, threads) = (ceilings.device, ceilings.threads);
        let before = self.ceilings_through(&transaction, &machine.key, device, threads)?;
        let standing = before.map_or_else(|| ceilings.clone(), |known| known.raised_by(ceilings));
        self.put_ceilings(&transaction, machine, &standing)?;
        transaction.commit().map_err(self.fail("store ceilings"))?;
        Ok(standing)
    }

    fn ceilings_through(
        &self,
        transaction: &Transaction<'_>,
        machine_key: &str,
        device: Device,
        threads: u32,
    ) -> Result<Option<Ceilings>, StoreError> {
        let found: Option<String> = transaction
            .optional(
                "SELECT document FROM ceiling WHERE machine = $1 AND device = $2 AND threads = $3",
                values![machine_key, device.to_string(), threads],
                |row| row.get(0),
            )
            .map_err(self.fail("read ceilings"))?;
        found.map(|text| self.read_ceilings(machine_key, &text)).transpose()
    }

    fn read_ceilings(&self, machine_key: &str, text: &str) -> Result<Ceilings, StoreError> {
        serde_json::from_str(text).map_err(|error| {
            self.damaged(format!("the ceilings of machine `{machine_key}`: {error}"))
        })
    }

    fn put_ceilings(
        &self,
        transaction: &Transaction<'_>,
        machine: &Machine,
        ceilings: &Ceilings,
    ) -> Result<(), StoreError> {
        let fail = self.fail("store ceilings");
        let unstorable = |error: serde_json::Error| StoreError::Unstorable {
            id: format!("ceilings of {}", machine.key),
            why: error.to_string(),
        };
        let text = serde_json::to_string(ceilings).map_err(unstorable)?;
        serde_json::from_str::<Ceilings>(&text).map_err(unstorable)?;
        let document = serde_json::to_string(machine).map_err(unstorable)?;
        insert::insert_machine(transaction, machine, &document).map_err(&fail)?;
        transaction
            .execute(
                "INSERT INTO ceiling (machine, device, threads, measured_at, document)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (machine, device, threads) DO UPDATE
                 SET measured_at = excluded.measured_at, document = excluded.document",
                values![
                    &machine.key,
                    ceilings.device.to_string(),
                    ceilings.threads,
                    ceilings.measured_at,
                    &text
                ],
            )
            .map_err(&fail)?;
        Ok(())
    }
}
