//! All that is stored as one number, for whoever keeps what follows from it.

use crate::{Store, StoreError};
use types::stable_hash;

impl Store {
    /// A number that is another one as soon as a run is added or removed, or a machine or its ceilings are others; the order in
    /// which they came does not matter.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn fingerprint(&self) -> Result<u64, StoreError> {
        let fail = self.fail("read the fingerprint");
        let view = self.view("read the fingerprint")?;
        let mut sum = 0u64;
        let mut add = |table: u8, texts: &[&[u8]]| {
            let parts = texts.iter().flat_map(|text| text.iter().copied().chain([0]));
            sum = sum.wrapping_add(stable_hash([table].into_iter().chain(parts)));
        };
        // Runs are never changed, but one may be deleted and come back with other numbers.
        let sql = "SELECT id, valid, median, memory_peak FROM run";
        view.each(sql, &[], |row| {
            let (id, valid): (String, i64) = (row.get(0)?, row.get(1)?);
            let bits = |number: Option<f64>| number.map_or(u64::MAX, f64::to_bits).to_le_bytes();
            let numbers = [bits(row.get(2)?), bits(row.get(3)?)];
            add(0, &[id.as_bytes(), &valid.to_le_bytes(), numbers.as_flattened()]);
            Ok(())
        })
        .map_err(&fail)?;
        for (table, sql) in
            [(1, "SELECT key, document FROM machine"), (2, "SELECT machine, document FROM ceiling")]
        {
            view.each(sql, &[], |row| {
                let (key, document): (String, String) = (row.get(0)?, row.get(1)?);
                add(table, &[key.as_bytes(), document.as_bytes()]);
                Ok(())
            })
            .map_err(&fail)?;
        }
        Ok(sum)
    }
}
