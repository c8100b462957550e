//! Every place where runs of one database may wait: one of them has room.
//!
//! The first is beside the database file, where people look; a full disk has no room there, so the next is in the user's
//! own data, and the last in the temporary folder, which is often another disk.

use crate::{
    Delivery, Spool, Store, StoreError, Undelivered, address, private,
    spool::{name_of, spell},
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use types::{Allocations, Run};

/// What the folder beside a database file ends with.
const BESIDE: &str = ".waiting";

/// The places where runs of one database may wait, the best first.
#[derive(Debug, Clone)]
pub struct Spools {
    places: Vec<Spool>,
}

impl Spools {
    /// The places for this database: beside it where it is a file, then `own`, a folder of this user, then the temporary
    /// folder. Nothing is made before there is something to keep.
    #[must_use]
    pub fn of_database(location: &Path, own: Option<&Path>) -> Spools {
        let mut places = Vec::new();
        if !address::is_server(location) {
            let mut beside = OsString::from(spool_path(location));
            beside.push(BESIDE);
            places.push(Spool::new(beside));
        }
        places.extend(own.map(|own| Spool::of_database(own, location)));
        let name = format!("waiting-{}", name_of(location));
        places.push(Spool::new(private::temporary(&name)));
        Spools { places }
    }

    /// The places themselves, the best first.
    #[must_use]
    pub fn places(&self) -> &[Spool] {
        &self.places
    }

    /// Keeps a run with its allocations in the first place that takes it.
    ///
    /// # Errors
    /// Where none does: each with its reason.
    pub fn keep_with(
        &self,
        run: &Run,
        allocations: Option<&Allocations>,
    ) -> Result<&Spool, Vec<StoreError>> {
        let mut refusals = Vec::new();
        for spool in &self.places {
            match spool.keep_with(run, allocations) {
                Ok(()) => return Ok(spool),
                Err(error) => refusals.push(error),
            }
        }
        Err(refusals)
    }

    /// Brings what waits anywhere to the database. A place that cannot be read is among what is left.
    #[must_use]
    pub fn deliver(&self, store: &Store) -> Delivery {
        let mut all = Delivery::default();
        for spool in &self.places {
            match spool.deliver(store) {
                Ok(delivery) => all.add(delivery),
                Err(error) => all
                    .left
                    .push(Undelivered { path: spool.folder().to_owned(), why: spell(&error) }),
            }
        }
        all
    }

    /// How many runs wait, with the first folder that holds some; places that cannot be read count as empty.
    #[must_use]
    pub fn waiting(&self) -> (u64, Option<&Path>) {
        let mut first = None;
        let mut total = 0;
        for spool in &self.places {
            let count = spool.waiting().unwrap_or(0);
            if count > 0 {
                first = first.or(Some(spool.folder()));
            }
            total += count;
        }
        (total, first)
    }
}

/// A database file as everybody names it, wherever they stand.
pub(crate) fn spool_path(location: &Path) -> PathBuf {
    let absolute = std::path::absolute(location).unwrap_or_else(|_| location.to_owned());
    if let Ok(found) = absolute.canonicalize() {
        return found;
    }
    let folder = absolute.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, absolute.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => absolute,
    }
}
