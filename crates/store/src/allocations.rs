//! Every allocation and free of a run, in columns beside it.

use crate::{Store, StoreError, codec, value::values};
use std::collections::HashMap;
use types::{Allocations, RunId};

impl Store {
    /// Keeps the allocations of a run that is stored, in place of earlier ones.
    ///
    /// # Errors
    /// Where there is no such run, the columns do not fit together, or they cannot be written; then nothing is.
    pub fn save_allocations(&self, id: &RunId, all: &Allocations) -> Result<(), StoreError> {
        let fail = self.fail("store allocations");
        let unstorable =
            |why: String| StoreError::Unstorable { id: format!("allocations of {id}"), why };
        if !all.is_whole() {
            return Err(unstorable("their columns do not fit together".into()));
        }
        let mut rest = Allocations { names: all.names.clone(), ..Allocations::default() };
        rest.ends.clone_from(&all.ends);
        rest.dropped = all.dropped;
        let document = serde_json::to_string(&rest).map_err(|e| unstorable(e.to_string()))?;
        // Sizes may be negative; differences wrap, so their bits are what is kept.
        let sizes: Vec<u64> = all.sizes.iter().map(|size| *size as u64).collect();
        let columns = [
            ("times", &all.times),
            ("blocks", &all.blocks),
            ("sizes", &sizes),
            ("layers", &all.layers),
            ("threads", &all.threads),
        ];
        let packed: Result<Vec<_>, String> = columns
            .into_iter()
            .map(|(name, column)| Ok((name, codec::pack(column).map_err(|e| e.to_string())?)))
            .collect();
        let packed = packed.map_err(unstorable)?;
        let transaction = self.change("store allocations")?;
        transaction
            .execute("DELETE FROM allocation WHERE run = $1", values![&id.0])
            .and_then(|_| {
                transaction.execute(
                    "INSERT INTO allocation (run, events, document) VALUES ($1, $2, $3)",
                    values![&id.0, all.len(), &document],
                )
            })
            .map_err(&fail)?;
        for (name, column) in packed {
            transaction
                .execute(
                    "INSERT INTO allocation_column (run, name, count, checksum, body)
                     VALUES ($1, $2, $3, $4, $5)",
                    values![&id.0, name, column.count, column.checksum, column.bytes.as_slice()],
                )
                .map_err(&fail)?;
        }
        transaction.commit().map_err(&fail)
    }

    /// The allocations of a run, where they were kept.
    ///
    /// # Errors
    /// Where the database cannot be read or what is stored is damaged.
    pub fn allocations(&self, id: &RunId) -> Result<Option<Allocations>, StoreError> {
        let fail = self.fail("read allocations");
        let view = self.view("read allocations")?;
        let document: Option<String> = view
            .optional("SELECT document FROM allocation WHERE run = $1", values![&id.0], |row| {
                row.get(0)
            })
            .map_err(&fail)?;
        let Some(document) = document else { return Ok(None) };
        let damaged = |why: String| self.damaged(format!("the allocations of run `{id}`: {why}"));
        let mut all: Allocations =
            serde_json::from_str(&document).map_err(|error| damaged(error.to_string()))?;
        let sql = "SELECT name, count, checksum, body FROM allocation_column WHERE run = $1";
        let rows: HashMap<String, codec::Packed> = view
            .rows(sql, values![&id.0], |row| {
                let packed =
                    codec::Packed { count: row.get(1)?, checksum: row.get(2)?, bytes: row.get(3)? };
                Ok((row.get(0)?, packed))
            })
            .map_err(&fail)?
            .into_iter()
            .collect();
        let column = |name: &str| {
            let packed = rows.get(name).ok_or_else(|| damaged(format!("`{name}` is missing")))?;
            codec::unpack(packed).map_err(|error| damaged(format!("`{name}`: {error}")))
        };
        all.times = column("times")?;
        all.blocks = column("blocks")?;
        all.sizes = column("sizes")?.into_iter().map(|size| size as i64).collect();
        all.layers = column("layers")?;
        all.threads = column("threads")?;
        match all.is_whole() {
            true => Ok(Some(all)),
            false => Err(damaged("the columns do not fit together".into())),
        }
    }
}
