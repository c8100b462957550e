//! Runs that wait for their database in a folder, a file each.
//!
//! A server may go away between the beginning of a measurement and its end. What was measured is then written here, whole
//! and to the disk before anybody is told, and brought to the database when it is back; its id keeps it from being there
//! twice.

use crate::{Store, StoreError, address, private, spools::spool_path};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};
use types::{Allocations, Run, RunId};

/// What a file says it is.
const SCHEMA: &str = "modelmeter.spooled-run/1";

/// What names of whole files end with; those that are being written end otherwise.
const ENDING: &str = ".run.json";

/// Where a run is now.
#[derive(Debug)]
pub enum Kept {
    /// In the database.
    Stored,
    /// In the spool, because the database refused for this reason.
    Spooled(StoreError),
}

/// What became of the runs that waited.
#[derive(Debug, Default)]
pub struct Delivery {
    /// How many are in the database by now and no longer wait.
    pub delivered: u64,
    /// How many still wait because the database went away again.
    pub waiting: u64,
    /// Why those wait on.
    pub why: Option<String>,
    /// Those that the database will not have, or that cannot be read; their files stay.
    pub left: Vec<Undelivered>,
}

impl Delivery {
    /// Adds what became of others.
    pub(crate) fn add(&mut self, other: Delivery) {
        self.delivered += other.delivered;
        self.waiting += other.waiting;
        self.why = self.why.take().or(other.why);
        self.left.extend(other.left);
    }
}

/// A run that waits and cannot be delivered.
#[derive(Debug)]
pub struct Undelivered {
    /// Its file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// A folder of runs that wait for one database.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

/// A file, when it is written.
#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    run: &'a Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<&'a Allocations>,
}

/// A file, when it is read.
#[derive(Deserialize)]
struct Waiting {
    schema: String,
    run: Run,
    #[serde(default)]
    allocations: Option<Allocations>,
}

impl Spool {
    /// The spool in this very folder; nothing is made before there is something to keep.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Spool {
        Spool { folder: folder.into() }
    }

    /// The spool of one database among others in `root`: runs never go to another database than they were meant for.
    #[must_use]
    pub fn of_database(root: &Path, location: &Path) -> Spool {
        Spool::new(root.join(name_of(location)))
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores a run, or keeps it here where the database is away; runs that waited are delivered with it.
    ///
    /// # Errors
    /// Where neither the database nor the folder takes it, or nobody ever could read it back.
    pub fn insert(&self, store: &Store, run: &Run) -> Result<Kept, StoreError> {
        self.insert_with(store, run, None)
    }

    /// As [`Spool::insert`], with the run's allocations.
    ///
    /// # Errors
    /// As [`Spool::insert`].
    pub fn insert_with(
        &self,
        store: &Store,
        run: &Run,
        allocations: Option<&Allocations>,
    ) -> Result<Kept, StoreError> {
        match put(store, run, allocations) {
            Ok(()) => {
                // The run is safe; what waited before it waits on if it has to.
                let _ = self.deliver(store);
                Ok(Kept::Stored)
            }
            Err(error) if error.keeps_run() => {
                self.keep_with(run, allocations)?;
                Ok(Kept::Spooled(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps a run here without asking any database, for when it could not even be opened.
    ///
    /// # Errors
    /// Where the folder does not take it.
    pub fn keep(&self, run: &Run) -> Result<(), StoreError> {
        self.keep_with(run, None)
    }

    /// As [`Spool::keep`], with the run's allocations.
    ///
    /// # Errors
    /// As [`Spool::keep`].
    pub fn keep_with(
        &self,
        run: &Run,
        allocations: Option<&Allocations>,
    ) -> Result<(), StoreError> {
        let unstorable = |error: serde_json::Error| StoreError::Unstorable {
            id: run.id.0.clone(),
            why: error.to_string(),
        };
        let bytes = serde_json::to_vec(&Written { schema: SCHEMA, run, allocations })
            .map_err(unstorable)?;
        // A number that is not finite is written as nothing and does not come back.
        serde_json::from_slice::<Waiting>(&bytes).map_err(unstorable)?;
        let path = self.folder.join(format!("{}{ENDING}", file_name(&run.id)));
        write_whole(&self.folder, &path, &bytes).map_err(|source| StoreError::Spool {
            path,
            doing: "save a run in",
            source,
        })
    }

    /// Brings what waits to the database, in the order of the names; nothing is stored twice, and a file goes only when its run
    /// is stored.
    ///
    /// # Errors
    /// Where the folder cannot be read. That the database is away again is no error: see [`Delivery::waiting`].
    pub fn deliver(&self, store: &Store) -> Result<Delivery, StoreError> {
        let mut delivery = Delivery::default();
        let files = self.files()?;
        for (index, path) in files.iter().enumerate() {
            match deliver_file(store, path) {
                Ok(true) => delivery.delivered += 1,
                // Another process was faster.
                Ok(false) => {}
                Err(error) if error.is_passing() && !matches!(error, StoreError::Query { .. }) => {
                    delivery.waiting = (files.len() - index) as u64;
                    delivery.why = Some(spell(&error));
                    break;
                }
                Err(error) => {
                    let why = spell(&error);
                    delivery.left.push(Undelivered { path: path.clone(), why });
                }
            }
        }
        if delivery.delivered > 0 {
            // Only an empty one goes; whoever keeps something next makes it again.
            let _ = fs::remove_dir(&self.folder);
        }
        Ok(delivery)
    }

    /// How many runs wait.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn waiting(&self) -> Result<u64, StoreError> {
        Ok(self.files()?.len() as u64)
    }

    /// The files of runs, by name; none where there is no folder.
    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let read = || -> io::Result<Vec<PathBuf>> {
            // What somebody else laid there was not measured here.
            private::check_own(&self.folder)?;
            let mut files = Vec::new();
            for entry in fs::read_dir(&self.folder)? {
                let path = entry?.path();
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                if name.is_some_and(|name| name.ends_with(ENDING) && !name.starts_with('.')) {
                    files.push(path);
                }
            }
            files.sort();
            Ok(files)
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other.map_err(|source| StoreError::Spool {
                path: self.folder.clone(),
                doing: "look for waiting runs in",
                source,
            }),
        }
    }
}

/// Stores a run with its allocations; one that is stored already stays, because the answer to a commit can be lost on its way.
///
/// # Errors
/// Where the database refuses, or another run has its id.
pub fn put(store: &Store, run: &Run, allocations: Option<&Allocations>) -> Result<(), StoreError> {
    match store.insert_run(run) {
        Err(StoreError::Duplicate { id }) => {
            let stored = store.run(&id)?;
            if stored.started_at != run.started_at || stored.samples != run.samples {
                return Err(StoreError::Duplicate { id });
            }
        }
        other => other?,
    }
    match allocations {
        Some(allocations) => store.save_allocations(&run.id, allocations),
        None => Ok(()),
    }
}

/// Whether the run of a file is stored and the file gone; false where there was no file any more.
fn deliver_file(store: &Store, path: &Path) -> Result<bool, StoreError> {
    let fail = |doing| move |source| StoreError::Spool { path: path.to_owned(), doing, source };
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(fail("read the waiting run"))?,
    };
    let damaged = |detail: String| StoreError::Corrupt { path: path.to_owned(), detail };
    let waiting: Waiting =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if waiting.schema != SCHEMA {
        return Err(damaged(format!("it is `{}`, not `{SCHEMA}`", waiting.schema)));
    }
    put(store, &waiting.run, waiting.allocations.as_ref())?;
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map_err(fail("remove the stored run")).map(|()| true),
    }
}

/// Writes a file that is there whole or not at all, even if the power fails.
fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    private::make_folder(folder)?;
    private::check_own(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    // Left over from a process of the same number that was killed.
    let _ = fs::remove_file(&temporary);
    let mut file = private::new_file(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        // What is left over is never taken for a run; the reason for it is what matters.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

/// A name for what belongs to one database, without its secrets.
pub(crate) fn name_of(location: &Path) -> String {
    let place = match address::is_server(location) {
        true => address::shown(location),
        false => spool_path(location),
    };
    let hash = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
    let last = place.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let word = last.chars().filter(|c| c.is_ascii_alphanumeric()).take(32).collect::<String>();
    format!("{word}-{}", &hash[..16])
}

/// A run's id as the name of a file; ids that are no name are hashed.
fn file_name(id: &RunId) -> String {
    let is_plain = id.0.len() <= 64 && id.0.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { id.0.clone() } else { blake3::hash(id.0.as_bytes()).to_hex().to_string() }
}

/// An error with its causes in one line.
pub(crate) fn spell(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
