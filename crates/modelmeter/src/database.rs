//! Where runs are kept: a database file, or a team's server.
//!
//! A database that cannot be opened is an error before anything is measured. One that refuses a finished run must not cost
//! it: the run is put aside, in the first place that has room, and delivered when the database takes it. What became of
//! runs is told in [`Notice`]s.

use crate::{Error, Notice};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use store::{Spools, Store, StoreError};
use types::{Allocations, Run, RunId};

/// How long a server that gave no answer is left alone: every try would cost as much as the first.
const LEAVE_ALONE: Duration = Duration::from_secs(30);

/// Opens a database, a file or a server, and brings it the runs that wait for it, beside it or in a folder under `waiting`.
///
/// # Errors
/// When it cannot be opened.
pub fn open_database(location: &Path, waiting: &Path) -> Result<(Store, Vec<Notice>), Error> {
    let store = Store::open(location)?;
    let notices = deliver(&Spools::of_database(location, Some(waiting)), &store);
    Ok((store, notices))
}

/// Opens a database to look at it; one that cannot be written is read, and what waits for it is only named.
///
/// # Errors
/// When it cannot be read.
pub fn look_into_database(location: &Path, waiting: &Path) -> Result<(Store, Vec<Notice>), Error> {
    let store = Store::open_to_look(location)?;
    let spools = Spools::of_database(location, Some(waiting));
    if !store.is_read_only() {
        let notices = deliver(&spools, &store);
        return Ok((store, notices));
    }
    let notices = match spools.waiting() {
        (runs, Some(folder)) => {
            let why = "the database is read-only".to_owned();
            vec![Notice::Waiting { runs, why, folder: folder.to_owned() }]
        }
        _ => Vec::new(),
    };
    Ok((store, notices))
}

/// Where a session keeps its runs.
pub(crate) struct Database {
    location: PathBuf,
    /// `None` while the server is away.
    store: Option<Store>,
    spools: Spools,
    /// Runs that wait outside of the database.
    aside: BTreeSet<RunId>,
    /// Runs that nobody took, until somebody asks for them.
    unkept: Vec<Run>,
    /// The ids of all that nobody took.
    nowhere: BTreeSet<RunId>,
    notices: RefCell<Vec<Notice>>,
    /// When and why the server was last away.
    away: RefCell<Option<(Instant, String)>>,
}

impl Database {
    /// A database that takes what is measured. Its runs may wait in a folder under `waiting`; a server may be away.
    pub(crate) fn open(location: &Path, waiting: Option<&Path>) -> Result<Database, Error> {
        let mut database = Database::new(location, waiting);
        match Store::open(location) {
            // Said before minutes are spent on a run that it would not take.
            Ok(store) if store.is_read_only() => {
                return Err(StoreError::ReadOnly { path: store.path().to_owned() }.into());
            }
            Ok(store) => {
                database.notices = RefCell::new(deliver(&database.spools, &store));
                database.store = Some(store);
            }
            Err(error) if store::is_server(location) && waiting.is_some() && is_away(&error) => {
                database.note_away(&error);
                let places = database.spools.places().iter();
                let folder = places.map(|place| place.folder().to_owned()).next();
                let folder = folder.unwrap_or_default();
                database.notices.get_mut().push(Notice::Away { why: spell(&error), folder });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(database)
    }

    /// A database that is open.
    pub(crate) fn of(store: Store) -> Database {
        Database { store: Some(store), ..Database::new(Path::new(""), None) }
    }

    fn new(location: &Path, waiting: Option<&Path>) -> Database {
        Database {
            location: location.to_owned(),
            store: None,
            spools: Spools::of_database(location, waiting),
            aside: BTreeSet::new(),
            unkept: Vec::new(),
            nowhere: BTreeSet::new(),
            notices: RefCell::default(),
            away: RefCell::default(),
        }
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Whether this run is not in the database.
    pub(crate) fn is_aside(&self, run: &RunId) -> bool {
        self.aside.contains(run) || self.nowhere.contains(run)
    }

    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(self.notices.get_mut())
    }

    /// The runs that neither the database nor any other place took.
    pub(crate) fn take_unkept(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.unkept)
    }

    /// Asks something that a measurement can do without while the server is away.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<Option<T>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.known_away().is_none()) else {
            return Ok(None);
        };
        match question(store) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if store.is_on_server() && is_away(&error) => {
                self.note_away(&error);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the database something beside a run; that it refuses is told and costs nothing that was measured.
    pub(crate) fn tell<T>(
        &self,
        change: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Option<T> {
        let store = self.store.as_ref().filter(|_| self.known_away().is_none())?;
        match change(store) {
            Ok(answer) => Some(answer),
            Err(error) => {
                if store.is_on_server() && is_away(&error) {
                    self.note_away(&error);
                } else {
                    let notice = Notice::Refused { why: spell(&error), hint: error.hint() };
                    let mut notices = self.notices.borrow_mut();
                    if !notices.contains(&notice) {
                        notices.push(notice);
                    }
                }
                None
            }
        }
    }

    /// Keeps a run with its allocations: in the database, or aside, or at least in memory. Whether anything but memory has it.
    pub(crate) fn keep(&mut self, run: &Run, allocations: Option<&Allocations>) -> bool {
        let refusal = match self.put(run, allocations) {
            Ok(()) => return true,
            Err(refusal) => refusal,
        };
        let why = spell(&refusal);
        match self.spools.keep_with(run, allocations) {
            Ok(spool) => {
                let folder = spool.folder().to_owned();
                self.aside.insert(run.id.clone());
                let hint = refusal.hint();
                let is_away = is_away(&refusal);
                self.say_aside(Notice::Aside { runs: 1, why, hint, folder, is_away });
                true
            }
            Err(refusals) => {
                self.unkept.push(run.clone());
                self.nowhere.insert(run.id.clone());
                let tried = refusals.iter().map(spell).collect();
                let runs = self.unkept.len() as u64;
                let notices = self.notices.get_mut();
                notices.retain(|notice| !matches!(notice, Notice::Unkept { .. }));
                notices.push(Notice::Unkept { runs, why, tried });
                false
            }
        }
    }

    /// Stores a run, and brings along what waited.
    fn put(&mut self, run: &Run, allocations: Option<&Allocations>) -> Result<(), StoreError> {
        if let Some(detail) = self.known_away() {
            return Err(StoreError::Unreachable { path: store::shown(&self.location), detail });
        }
        let store = match self.store.take() {
            Some(store) => store,
            // It may be back by now; whatever is wrong with it otherwise, the run must not be lost.
            None => Store::open(&self.location).inspect_err(|error| self.note_away(error))?,
        };
        let stored = store::put(&store, run, allocations);
        if let Err(error) = &stored {
            self.note_away(error);
        } else if self.spools.waiting().0 > 0 {
            let notices = deliver(&self.spools, &store);
            let still_waits = notices.iter().any(Notice::is_warning);
            if !still_waits {
                self.aside.clear();
            }
            self.notices.get_mut().extend(notices);
        }
        self.store = Some(store);
        stored
    }

    /// One sentence for all runs of one place.
    fn say_aside(&mut self, notice: Notice) {
        let notices = self.notices.get_mut();
        let place_of = |notice: &Notice| match notice {
            Notice::Aside { folder, .. } => Some(folder.clone()),
            _ => None,
        };
        let place = place_of(&notice);
        match notices.iter_mut().find(|known| place_of(known) == place) {
            Some(Notice::Aside {
                runs, is_away: known_away, why: known_why, hint: known, ..
            }) => {
                *runs += 1;
                if let Notice::Aside { why, hint, is_away, .. } = notice {
                    // The graver reason is the one to hear.
                    if *known_away && !is_away {
                        (*known_away, *known_why, *known) = (is_away, why, hint);
                    }
                }
            }
            _ => notices.push(notice),
        }
    }

    fn note_away(&self, error: &StoreError) {
        if let StoreError::Unreachable { detail, .. } = error {
            *self.away.borrow_mut() = Some((Instant::now(), detail.clone()));
        }
    }

    /// Why the server was away a moment ago.
    fn known_away(&self) -> Option<String> {
        let away = self.away.borrow();
        let (since, why) = away.as_ref()?;
        (since.elapsed() < LEAVE_ALONE).then(|| why.clone())
    }
}

/// Brings what waits; that it still waits is no reason to refuse the database.
fn deliver(spools: &Spools, store: &Store) -> Vec<Notice> {
    let delivery = spools.deliver(store);
    let mut notices = Vec::new();
    if delivery.delivered > 0 {
        let database = store.path().to_owned();
        notices.push(Notice::Delivered { runs: delivery.delivered, database });
    }
    if let (Some(why), (runs, Some(folder))) = (delivery.why, spools.waiting()) {
        notices.push(Notice::Waiting { runs, why, folder: folder.to_owned() });
    }
    let left = delivery.left.into_iter();
    notices.extend(left.map(|run| Notice::Undelivered { path: run.path, why: run.why }));
    notices
}

/// Whether a database is away or busy rather than wrong: it will be back by itself.
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
