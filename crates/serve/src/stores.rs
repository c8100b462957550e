//! Connections to the database, kept open between requests.

use crate::answer::Refusal;
use modelmeter::Folders;
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Store, StoreError};

/// So long a request waits for another process that writes.
const PATIENCE: Duration = Duration::from_secs(3);

/// So many connections are kept.
const KEPT: usize = 4;

/// Connections to the database.
#[derive(Debug)]
pub(crate) struct Stores {
    location: PathBuf,
    idle: Mutex<Vec<Store>>,
}

impl Stores {
    pub(crate) fn new(folders: &Folders) -> Stores {
        Stores { location: folders.database.clone(), idle: Mutex::default() }
    }

    /// Whether there is a database; a server always is.
    pub(crate) fn is_there(&self) -> bool {
        store::is_server(&self.location) || self.location.exists()
    }

    /// Asks the database something.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        // A file that was removed or replaced meanwhile can still be read as long as it is open, and is not what is meant.
        let kept = self.idle().pop().filter(Store::is_in_place);
        let store = match kept {
            Some(store) => store,
            None => self.open()?,
        };
        let done = work(&store);
        let is_sound = !matches!(&done, Err(refusal) if refusal.status == 503);
        if is_sound {
            let mut idle = self.idle();
            idle.retain(Store::is_in_place);
            if idle.len() < KEPT {
                idle.push(store);
            }
        }
        done
    }

    /// Opens a database that is there; a look must not make one.
    pub(crate) fn open(&self) -> Result<Store, Refusal> {
        if !self.is_there() {
            return Err(Refusal::new(
                503,
                format!("there is no database at `{}` yet", self.location.display()),
            )
            .hint("`modelmeter profile small-transformer` makes one"));
        }
        match Store::open_waiting(&self.location, PATIENCE) {
            Err(StoreError::ReadOnly { .. } | StoreError::Unreadable { .. })
                if !store::is_server(&self.location) =>
            {
                Ok(Store::open_to_read(&self.location)?)
            }
            opened => Ok(opened?),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Store>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
