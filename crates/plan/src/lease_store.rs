//! Where cells are leased: the database, which may be away for a while.

use crate::{Control, PlanError};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use store::{Store, StoreError};

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(600);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// The database as the plan asks it.
pub(crate) struct LeaseStore {
    location: PathBuf,
    store: Option<Store>,
}

impl LeaseStore {
    pub(crate) fn open(location: &Path) -> Result<LeaseStore, PlanError> {
        Ok(LeaseStore { location: location.to_owned(), store: Some(Store::open(location)?) })
    }

    pub(crate) fn location(&self) -> &Path {
        &self.location
    }

    /// Asks, and waits for a database that is away or busy; `None` if somebody wants to stop meanwhile.
    pub(crate) fn ask<T>(
        &mut self,
        control: &Control,
        away: &mut dyn FnMut(&str),
        question: impl Fn(&Store) -> Result<T, StoreError>,
    ) -> Result<Option<T>, PlanError> {
        let begin = Instant::now();
        loop {
            let error = match self.once(&question) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) => error,
            };
            let is_away =
                matches!(error, StoreError::Unreachable { .. } | StoreError::Locked { .. });
            if !is_away || begin.elapsed() > PATIENCE {
                return Err(error.into());
            }
            self.store = None;
            if control.is_stopping() {
                return Ok(None);
            }
            away(&error.to_string());
            std::thread::sleep(PAUSE);
        }
    }

    /// Asks once; waits for nobody.
    pub(crate) fn once<T>(
        &mut self,
        question: &impl Fn(&Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let store = match self.store.take() {
            Some(store) => store,
            None => Store::open(&self.location)?,
        };
        let answer = question(&store);
        self.store = Some(store);
        answer
    }
}
