//! Where runs are kept: a database file, or a team's server that may be away for a while.
//!
//! A file is there or it is an error. A server that cannot be reached must not cost a measurement: the run is put aside
//! in a folder of this user and delivered when the server is back. What became of runs is told in [`Notice`]s.

use crate::Error;
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};
use store::{Delivery, Kept, Spool, Store, StoreError};
use types::{Allocations, Run, RunId};

/// What a person should hear of runs that a server could not take at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server is away; what is measured will be put aside.
    Away {
        /// Why it cannot be had, with its address, without the password.
        why: String,
        /// Where runs wait.
        folder: PathBuf,
    },
    /// Runs were put aside.
    Aside {
        /// How many.
        runs: u64,
        /// Why the database did not take them.
        why: String,
        /// Where they wait.
        folder: PathBuf,
    },
    /// Runs that had waited are in the database now.
    Delivered {
        /// How many.
        runs: u64,
        /// The database, without its password.
        database: PathBuf,
    },
    /// A run that waits and that the database will not have.
    Undelivered {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Notice {
    /// Whether something is not as it should be.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        !matches!(self, Notice::Delivered { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Away { why, folder } => write!(
                f,
                "{why}; runs are put aside in `{}` and delivered when it is back",
                folder.display()
            ),
            Notice::Aside { runs: 1, why, folder } => write!(
                f,
                "the run is not in the database yet: {why}; it waits in `{}` and is delivered when the database is back",
                folder.display()
            ),
            Notice::Aside { runs, why, folder } => write!(
                f,
                "{runs} runs are not in the database yet: {why}; they wait in `{}` and are delivered when the database is back",
                folder.display()
            ),
            Notice::Delivered { runs: 1, database } => {
                write!(f, "delivered a run that had waited to {}", database.display())
            }
            Notice::Delivered { runs, database } => {
                write!(f, "delivered {runs} runs that had waited to {}", database.display())
            }
            Notice::Undelivered { path, why } => {
                write!(f, "the run in `{}` cannot be delivered: {why}", path.display())
            }
        }
    }
}

/// Opens a database, a file or a server, and brings it the runs that wait for it in a folder under `waiting`.
///
/// # Errors
/// When it cannot be opened.
pub fn open_database(location: &Path, waiting: &Path) -> Result<(Store, Vec<Notice>), Error> {
    let store = Store::open(location)?;
    if !store.is_on_server() {
        return Ok((store, Vec::new()));
    }
    let notices = deliver(&Spool::of_database(waiting, location), &store);
    Ok((store, notices))
}

/// Where a session keeps its runs.
pub(crate) struct Database {
    /// `None` while the server is away.
    store: Option<Store>,
    /// Only for a server.
    server: Option<Server>,
    notices: Vec<Notice>,
}

struct Server {
    location: PathBuf,
    spool: Spool,
    aside: BTreeSet<RunId>,
}

impl Database {
    /// A database that must be there.
    pub(crate) fn present(location: &Path) -> Result<Database, Error> {
        Ok(Database { store: Some(Store::open(location)?), server: None, notices: Vec::new() })
    }

    /// A database whose runs may wait in a folder under `waiting` where it is a server that is away.
    pub(crate) fn open(location: &Path, waiting: &Path) -> Result<Database, Error> {
        if !store::is_server(location) {
            return Database::present(location);
        }
        let spool = Spool::of_database(waiting, location);
        let (store, notices) = match Store::open(location) {
            Ok(store) => {
                let notices = deliver(&spool, &store);
                (Some(store), notices)
            }
            Err(error) if is_away(&error) => {
                let folder = spool.folder().to_owned();
                (None, vec![Notice::Away { why: spell(&error), folder }])
            }
            Err(error) => return Err(error.into()),
        };
        let location = location.to_owned();
        let server = Some(Server { location, spool, aside: BTreeSet::new() });
        Ok(Database { store, server, notices })
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Whether this run waits outside of the database.
    pub(crate) fn is_aside(&self, run: &RunId) -> bool {
        self.server.as_ref().is_some_and(|server| server.aside.contains(run))
    }

    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Asks something that a measurement can do without while the server is away.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<Option<T>, Error> {
        let Some(store) = &self.store else { return Ok(None) };
        match question(store) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if self.server.is_some() && is_away(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a run with its allocations, in the database or aside.
    pub(crate) fn keep(
        &mut self,
        run: &Run,
        allocations: Option<&Allocations>,
    ) -> Result<(), Error> {
        let Some(server) = &mut self.server else {
            let Some(store) = &self.store else { return Ok(()) };
            store.insert_run(run)?;
            if let Some(allocations) = allocations {
                store.save_allocations(&run.id, allocations)?;
            }
            return Ok(());
        };
        let why = match &self.store {
            Some(_) => None,
            // It may be back by now; whatever is wrong with it otherwise, the run must not be lost.
            None => match Store::open(&server.location) {
                Ok(store) => {
                    self.store = Some(store);
                    None
                }
                Err(error) => Some(error),
            },
        };
        let waited = server.spool.waiting()?;
        let kept = match (&self.store, why) {
            (Some(store), None) => server.spool.insert_with(store, run, allocations)?,
            (_, Some(why)) => {
                server.spool.keep_with(run, allocations)?;
                Kept::Spooled(why)
            }
            (None, None) => return Ok(()),
        };
        match kept {
            Kept::Stored => {
                let waiting = server.spool.waiting()?;
                let runs = waited.saturating_sub(waiting);
                if waiting == 0 {
                    server.aside.clear();
                }
                if runs > 0 {
                    let database = store::shown(&server.location);
                    self.notices.push(Notice::Delivered { runs, database });
                }
            }
            Kept::Spooled(error) => {
                server.aside.insert(run.id.clone());
                let aside = Notice::Aside {
                    runs: server.aside.len() as u64,
                    why: spell(&error),
                    folder: server.spool.folder().to_owned(),
                };
                // One sentence for all of them.
                self.notices.retain(|notice| !matches!(notice, Notice::Aside { .. }));
                self.notices.push(aside);
            }
        }
        Ok(())
    }
}

/// Brings what waits; that it still waits is no reason to refuse the database.
fn deliver(spool: &Spool, store: &Store) -> Vec<Notice> {
    let delivery = spool.deliver(store).unwrap_or_else(|error| Delivery {
        left: vec![store::Undelivered { path: spool.folder().to_owned(), why: spell(&error) }],
        ..Delivery::default()
    });
    let mut notices = Vec::new();
    if delivery.delivered > 0 {
        let database = store.path().to_owned();
        notices.push(Notice::Delivered { runs: delivery.delivered, database });
    }
    let left = delivery.left.into_iter();
    notices.extend(left.map(|run| Notice::Undelivered { path: run.path, why: run.why }));
    notices
}

/// Whether a server is away rather than wrong: only then is it worth measuring without it.
fn is_away(error: &StoreError) -> bool {
    matches!(error, StoreError::Unreachable { .. } | StoreError::Locked { .. })
}

/// An error with its causes in one line.
fn spell(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
