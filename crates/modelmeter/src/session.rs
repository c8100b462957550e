//! What all measurements of one session share: the machine, its ceilings, the database.

use crate::{
    Error, Folders, Notice, VERSION, above_ceiling,
    calibrate::{self, Keep},
    database::Database,
};
use hardware::Scope;
use meter::Bench;
use probe::IdlePower;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use store::Store;
use types::{
    Allocations, Ceilings, Cell, Device, Environment, Event, Machine, Noise, Phase, Precision,
    Revision, Run, RunId,
};

/// How long the idle machine is watched before the worker starts; twenty steps of the slowest counter.
///
/// Costs nothing where there is no counter.
const IDLE_WINDOW: Duration = Duration::from_secs(2);

/// The machine and, where wanted, the database.
pub struct Session {
    machine: Machine,
    database: Option<Database>,
    ceilings: Vec<Ceilings>,
    /// Threads and precisions whose ceilings were measured once more.
    rechecked: Vec<(u32, Precision)>,
    revision: Option<Revision>,
    kept: Arc<AtomicU64>,
}

impl Session {
    /// A session that remembers nothing.
    #[must_use]
    pub fn without_store() -> Session {
        let machine = hardware::machine();
        let kept = Arc::default();
        let (ceilings, rechecked) = (Vec::new(), Vec::new());
        Session { machine, database: None, ceilings, rechecked, revision: None, kept }
    }

    /// A session that keeps every run in this database: a file, or a server (`postgres://…`). A run that the database
    /// refuses is put aside, beside it or in the temporary folder; [`Session::take_notices`] tells.
    ///
    /// # Errors
    /// When the database cannot be opened or written.
    pub fn with_store(location: &Path) -> Result<Session, Error> {
        let database = Some(Database::open(location, None)?);
        Ok(Session { database, ..Session::without_store() })
    }

    /// A session that keeps every run in the database of these folders. Runs that it refuses, or that are measured while it
    /// is a server and away, are put aside and delivered when it takes them; [`Session::take_notices`] tells.
    ///
    /// # Errors
    /// When the database cannot be opened or written for another reason than that it is away.
    pub fn with_folders(folders: &Folders) -> Result<Session, Error> {
        let database = Some(Database::open(&folders.database, Some(&folders.waiting()))?);
        Ok(Session { database, ..Session::without_store() })
    }

    /// A session that looks into an open database and keeps nothing there.
    #[must_use]
    pub fn looking_into(store: Store) -> Session {
        Session { database: Some(Database::of(store)), ..Session::without_store() }
    }

    /// Every run of this session says that it was asked for in this checkout.
    #[must_use]
    pub fn at_revision(self, revision: Option<Revision>) -> Session {
        Session { revision, ..self }
    }

    /// The checkout that runs of this session belong to.
    #[must_use]
    pub fn revision(&self) -> Option<&Revision> {
        self.revision.as_ref()
    }

    /// The database, if there is one and it can be reached.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.database.as_ref()?.store()
    }

    /// The shortest name under which a run of this session is found in the database; `None` if it is not there.
    #[must_use]
    pub fn stored_as(&self, run: &RunId) -> Option<String> {
        let database = self.database.as_ref().filter(|database| !database.is_aside(run))?;
        // A database that cannot be read just now has the run all the same.
        let short = database.ask(|store| store.short_id(run)).ok().flatten();
        Some(short.unwrap_or_else(|| run.0.clone()))
    }

    /// Runs of this session that neither the database nor any other place took; whoever takes them has the only copy.
    #[must_use]
    pub fn take_unkept(&mut self) -> Vec<Run> {
        self.database.as_mut().map(Database::take_unkept).unwrap_or_default()
    }

    /// What a person should hear of what the database did not take at once; each is told once.
    #[must_use]
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.database.as_mut().map(Database::take_notices).unwrap_or_default()
    }

    /// Keeps a run, if there is a database; what the database does not take is put aside, and [`Session::take_notices`]
    /// tells. A finished measurement is never lost to an error here.
    pub fn remember(&mut self, run: &Run) {
        self.remember_with(run, None);
    }

    /// Keeps a run and every allocation of it, as [`Session::remember`] does.
    pub(crate) fn remember_with(&mut self, run: &Run, allocations: Option<&Allocations>) {
        if self.database.as_mut().is_some_and(|database| database.keep(run, allocations)) {
            self.kept.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How many runs of this session are kept by now; another thread may look while it measures.
    #[must_use]
    pub fn kept(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.kept)
    }

    /// What this machine was seen to do to measurements of one and the same thing, the newest test first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn noise(&self) -> Result<Vec<Noise>, Error> {
        let Some(database) = &self.database else { return Ok(Vec::new()) };
        let known = database.ask(|store| store.noise(&self.machine.key))?;
        Ok(known.unwrap_or_default())
    }

    /// Keeps a test of this machine's noise, if there is a database.
    pub(crate) fn keep_noise(&self, noise: &Noise) {
        if let Some(database) = &self.database {
            database.tell(|store| store.save_noise(&self.machine, noise));
        }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What a measurement of a cell needs to know of the machine.
    ///
    /// # Errors
    /// When the database cannot be read or written.
    pub(crate) fn bench(
        &mut self,
        cell: &Cell,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Bench, Error> {
        Ok(Bench {
            machine: self.machine.clone(),
            ceilings: self.ceilings_for(cell, sink)?,
            idle: IdlePower::measure(cell.device, IDLE_WINDOW),
            versions: BTreeMap::from([("modelmeter".to_owned(), VERSION.to_owned())]),
            revision: self.revision.clone(),
        })
    }

    /// The same where nothing is compared with the ceilings of the machine.
    pub(crate) fn bench_without_ceilings(&self) -> Bench {
        Bench {
            machine: self.machine.clone(),
            ceilings: None,
            idle: IdlePower::default(),
            versions: BTreeMap::from([("modelmeter".to_owned(), VERSION.to_owned())]),
            revision: self.revision.clone(),
        }
    }

    /// The machine as it is now, where no run tells.
    pub(crate) fn environment(&self, threads: u32) -> Environment {
        let now = probe::Snapshot::take();
        let conditions = now.diff(&probe::Snapshot::take(), &[std::process::id()]);
        let versions = BTreeMap::from([("modelmeter".to_owned(), VERSION.to_owned())]);
        let mut environment = meter::describe(&self.machine, conditions, versions, threads);
        environment.revision.clone_from(&self.revision);
        environment
    }

    /// The ceilings that bound a cell: known or stored; the processors' are otherwise measured now and kept.
    ///
    /// Another device is measured only when somebody asks for it: that takes an engine and most of a minute.
    pub(crate) fn ceilings_for(
        &mut self,
        cell: &Cell,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Ceilings>, Error> {
        let Some(device) = cell.device.bounded_by() else { return Ok(None) };
        let threads = self.counted_threads(device, cell.threads);
        let known = self.known_ceilings(device, threads)?;
        let enough = known.as_ref().is_some_and(|known| known.has_tried(cell.precision));
        if device != Device::Cpu || enough {
            return Ok(known);
        }
        let scope = Scope::Only(cell.precision);
        let measured = calibrate::processors(threads, scope, "this machine's ceilings, once", sink);
        Ok(Some(self.keep_ceilings(&measured, Keep::Higher)))
    }

    /// The ceilings that were measured earlier, in this session or another.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn known_ceilings(
        &mut self,
        device: Device,
        threads: u32,
    ) -> Result<Option<Ceilings>, Error> {
        let threads = self.counted_threads(device, threads);
        let same = |known: &&Ceilings| known.device == device && known.threads == threads;
        if let Some(known) = self.ceilings.iter().find(same) {
            return Ok(Some(known.clone()));
        }
        let Some(database) = &self.database else { return Ok(None) };
        let stored = database.ask(|store| store.ceilings(&self.machine.key, device, threads))?;
        let stored = stored.flatten();
        self.ceilings.extend(stored.clone());
        Ok(stored)
    }

    /// Keeps what was measured for this session and, if there is a database, for the next; returns what stands now.
    pub(crate) fn keep_ceilings(&mut self, measured: &Ceilings, keep: Keep) -> Ceilings {
        let same =
            |known: &Ceilings| known.device == measured.device && known.threads == measured.threads;
        let kept = match (&self.database, keep) {
            (None, _) => None,
            (Some(database), Keep::Higher) => {
                database.tell(|store| store.raise_ceilings(&self.machine, measured))
            }
            (Some(database), Keep::Newer) => {
                let saved = database.tell(|store| store.save_ceilings(&self.machine, measured));
                saved.map(|()| measured.clone())
            }
        };
        // Without a database, or while it is away, this session still remembers.
        let standing = match (kept, keep) {
            (Some(standing), _) => standing,
            (None, Keep::Newer) => measured.clone(),
            (None, Keep::Higher) => match self.ceilings.iter().find(|known| same(known)) {
                Some(known) => known.raised_by(measured),
                None => measured.clone(),
            },
        };
        self.ceilings.retain(|known| !same(known));
        self.ceilings.push(standing.clone());
        standing
    }

    /// Threads as ceilings are kept by: more than processors cannot do more than all processors, and other devices have none.
    pub(crate) fn counted_threads(&self, device: Device, threads: u32) -> u32 {
        if device == Device::Cpu { threads.clamp(1, self.machine.cpu.threads.max(1)) } else { 0 }
    }

    /// A rate above its ceiling means that one of the two is wrong: the processors' ceilings are measured once more, and only
    /// if the rate is above that too, it stays. A ceiling measured on a busy machine is too low for ever otherwise.
    pub(crate) fn recheck_ceiling(&mut self, run: &mut Run, sink: &mut dyn FnMut(Event)) {
        if run.cell.device.bounded_by() != Some(Device::Cpu) || !is_above(run) {
            return;
        }
        let precision = run.cell.precision;
        let threads = self.counted_threads(Device::Cpu, run.cell.threads);
        // For an earlier run of this session they may have been measured already.
        let asked = (threads, precision);
        let ceilings = if self.rechecked.contains(&asked) {
            self.known_ceilings(Device::Cpu, threads).ok().flatten()
        } else {
            self.rechecked.push(asked);
            let note = "this machine's ceilings, once more";
            let measured = calibrate::processors(threads, Scope::Only(precision), note, sink);
            Some(self.keep_ceilings(&measured, Keep::Higher))
        };
        if let Some(ceilings) = ceilings {
            let (metrics, verdict) = (&mut run.metrics, &mut run.verdict);
            above_ceiling::place_under(&ceilings, precision, metrics, verdict);
        }
    }
}

fn is_above(run: &Run) -> bool {
    let step = run.summaries.get(&Phase::Inference).map(|summary| summary.median);
    let cache = run.environment.machine.cpu.cache.map(|bytes| bytes.0);
    above_ceiling::is_above(&run.metrics, step, cache)
}
