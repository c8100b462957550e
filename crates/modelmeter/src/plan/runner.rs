//! Measures a plan, cell by cell, whatever becomes of one of them.
//!
//! It stays whole because a cell's way (leased, measured, told, perhaps opened once more) is one loop over one state.

use crate::{
    Error, Folders, Profiler, Session,
    plan::{
        CellFailure, Control, Expansion, FailureKind, Interruption, LeftOut, PlanReport, PlanSpec,
        Shard, Task,
        disturbance::disturbance,
        eta::Eta,
        executor::{Executor, LocalExecutor, Measured, Said},
        host::Host,
        lease_heartbeat::LeaseHeartbeat,
        lease_store::LeaseStore,
        task::Unit,
        worker_name,
    },
};
use probe::Heat;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    thread,
    time::{Duration, Instant},
};
use store::{CellState, Lease, Outcome, PlanCell, PlannedCell, StoreError};
use types::{Device, Event, Machine, ReasonCode, Run, RunId};

/// How long a lease lasts after the last sign of life of whoever has it.
const LEASE: Duration = Duration::from_secs(60);

/// How often a plan whose last cells others measure is looked at again.
const LOOK: Duration = Duration::from_secs(1);

/// How often a process that was disturbed is repeated where nobody says otherwise: a machine that is busy three times in a row
/// stays so.
const REPEATS: u32 = 2;

/// Why a cell is not measured that an earlier form of the plan had.
const GONE: &str = "it is no longer in the plan";

/// What becomes of cells that were measured before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resume {
    /// They stay as they are; only what is new or was left is measured.
    #[default]
    Join,
    /// As [`Resume::Join`], but those without a valid run are measured once more.
    Invalid,
    /// All are measured once more.
    Again,
}

/// What goes on while a plan is measured.
#[derive(Debug)]
pub enum PlanEvent<'a> {
    /// The plan is in the database.
    Ready {
        /// Its name.
        plan: &'a str,
        /// Its cells here.
        tasks: &'a [Task],
        /// Processes that will measure, over all cells.
        units: usize,
        /// Of those, how many are finished already.
        finished: usize,
        /// What is not measured, and why.
        left_out: &'a [LeftOut],
    },
    /// The database is away; it is waited for.
    Away {
        /// What it said.
        why: &'a str,
    },
    /// The machine is too hot; it is waited for.
    Hot(&'a Heat),
    /// Somebody else measures on the device; they are waited for.
    Busy {
        /// The device.
        device: Device,
        /// Who, where they said so.
        who: &'a str,
    },
    /// Nobody can be kept away from the device meanwhile; it is measured all the same.
    Unguarded {
        /// The device.
        device: Device,
        /// Why not.
        why: &'a str,
    },
    /// Others measure the last cells; they are waited for, because they might die.
    Others {
        /// How many cells.
        cells: usize,
    },
    /// A process of a cell begins.
    Started {
        /// The cell.
        task: &'a Task,
        /// Which process, from 1.
        process: u32,
        /// How many processes of the plan are finished.
        finished: usize,
        /// How many there are.
        units: usize,
        /// How long all that is left will take, as far as is known.
        left: Option<Duration>,
    },
    /// What the measurement of the cell says.
    Measuring(&'a Event),
    /// It ended with a run.
    Measured {
        /// The cell.
        task: &'a Task,
        /// Which process, from 1.
        process: u32,
        /// The run.
        run: &'a Run,
    },
    /// It ended without one.
    Failed {
        /// The cell.
        task: &'a Task,
        /// Why.
        failure: &'a CellFailure,
    },
    /// The largest batch that fits was looked for, because memory ran out.
    Fits {
        /// The cell that ran out of memory.
        task: &'a Task,
        /// The largest that ran; `None` where not even one sample fits.
        batch: Option<usize>,
    },
    /// A process that was disturbed is measured once more, at the end.
    Repeating {
        /// The cell.
        task: &'a Task,
        /// Which process, from 1.
        process: u32,
        /// What disturbed it.
        reason: ReasonCode,
        /// Which repetition, from 1.
        repetition: u32,
        /// How many there are at most.
        most: u32,
    },
    /// Another process took the cell meanwhile; the run counts all the same.
    Lost {
        /// The cell.
        task: &'a Task,
    },
}

/// Measures a plan.
#[derive(Debug, Clone)]
pub struct PlanRunner {
    spec: PlanSpec,
    base: Profiler,
    folders: Folders,
    shard: Option<Shard>,
    resume: Resume,
    retry_failed: bool,
    lease: Duration,
    repeats: u32,
}

impl PlanRunner {
    /// Measures this plan; `base` says what all cells have in common, and the plan's database is that of `folders`.
    #[must_use]
    pub fn new(spec: PlanSpec, base: Profiler, folders: Folders) -> PlanRunner {
        let base = base.folders(folders.clone());
        PlanRunner {
            spec,
            base,
            folders,
            shard: None,
            resume: Resume::Join,
            retry_failed: false,
            lease: LEASE,
            repeats: REPEATS,
        }
    }

    /// Measures only this part of the plan.
    #[must_use]
    pub fn shard(mut self, shard: Option<Shard>) -> PlanRunner {
        self.shard = shard;
        self
    }

    /// What becomes of cells that were measured before.
    #[must_use]
    pub fn resume(mut self, resume: Resume) -> PlanRunner {
        self.resume = resume;
        self
    }

    /// Tries cells once more that failed before.
    #[must_use]
    pub fn retry_failed(mut self, retry: bool) -> PlanRunner {
        self.retry_failed = retry;
        self
    }

    /// How long a lease lasts after the last sign of life; a minute unless said.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> PlanRunner {
        self.lease = lease;
        self
    }

    /// How often a process is repeated at the end that other work, stolen time, throttling or a shared device disturbed; twice by
    /// default, 0 is never.
    #[must_use]
    pub fn repeats(mut self, repeats: u32) -> PlanRunner {
        self.repeats = repeats;
        self
    }

    /// The plan's name in the database: machines of one kind share it.
    #[must_use]
    pub fn stored_name(&self, machine: &Machine) -> String {
        let shard = self.shard.map_or_else(String::new, |shard| format!(" {shard}"));
        format!("{}@{}{shard}", self.spec.name, kind(machine))
    }

    /// The cells of the plan here, and what is not among them.
    ///
    /// # Errors
    /// Where the plan contradicts itself.
    pub fn expand(&self) -> Result<Expansion, Error> {
        let mut expansion = self.spec.expand(&self.base.places)?;
        if let Some(shard) = self.shard {
            expansion.cells = shard.of(expansion.cells);
        }
        Ok(expansion)
    }

    /// Measures until nothing is left, or until somebody stops it; `sink` hears what goes on.
    ///
    /// # Errors
    /// Where the plan is wrong or the database fails; what is wrong with a cell is in the report.
    pub fn run(
        &self,
        session: &mut Session,
        control: &Control,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<PlanReport, Error> {
        self.run_on(&mut LocalExecutor { session, plan: &self.spec.name }, control, sink)
    }

    /// Measures on another machine and keeps the runs here.
    ///
    /// # Errors
    /// As [`PlanRunner::run`], and where the other machine goes away.
    pub fn run_there(
        &self,
        host: &mut Host,
        session: &mut Session,
        control: &Control,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<PlanReport, Error> {
        self.run_on(&mut host.with(session), control, sink)
    }

    pub(crate) fn run_on(
        &self,
        executor: &mut dyn Executor,
        control: &Control,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<PlanReport, Error> {
        self.base.check_rule()?;
        let mut expansion = executor.expand(&self.spec, &self.base)?;
        if let Some(shard) = self.shard {
            expansion.cells = shard.of(expansion.cells);
        }
        let here = hardware::machine().hostname;
        let plan = self.stored_name(executor.machine());
        let mut session = PlanSession {
            worker: worker_name::of_this_process(&here),
            lease_store: LeaseStore::open(&self.folders.database)?,
            own: self.units(&expansion.cells),
            runner: self,
            plan,
            eta: Eta::default(),
            failed: HashMap::new(),
            models: HashMap::new(),
            disturbed: VecDeque::new(),
            repetitions: HashMap::new(),
            told: HashMap::new(),
            reasons: HashMap::new(),
            control,
        };
        session.prepare(&here, sink)?;
        let planned = session.planned(sink)?.unwrap_or_default();
        sink(PlanEvent::Ready {
            plan: &self.spec.name,
            tasks: &expansion.cells,
            units: session.own.len(),
            finished: planned.iter().filter(|cell| is_finished(cell)).count(),
            left_out: &expansion.left_out,
        });
        if expansion.cells.is_empty() {
            return Err(Error::Plan {
                path: None,
                line: None,
                why: "nothing of this plan can be measured here".into(),
                hint: Some("`modelmeter devices` shows what works here".into()),
            });
        }
        session.remember_failures(&planned);
        let interrupted = match session.measure_all(executor, sink) {
            // Nothing was measured: the error is all there is to say.
            Err(error) if session.told.is_empty() => return Err(error),
            other => other.err(),
        };
        let (planned, reasons) = match &interrupted {
            None => session.standing(sink)?,
            Some(_) => session.last_standing(planned),
        };
        let Expansion { cells, left_out } = expansion;
        let mut report =
            PlanReport::new(&self.spec.name, &cells, left_out, &planned, control.is_stopping())?;
        report.interrupted = interrupted.map(|error| Interruption::of(&error));
        report.repeated = session.repetitions.values().map(|times| u64::from(*times)).sum();
        for cell in &mut report.cells {
            cell.not_valid = cell.runs.iter().filter_map(|id| reasons.get(id).copied()).collect();
        }
        Ok(report)
    }

    /// The processes of all cells by their names.
    fn units(&self, cells: &[Task]) -> HashMap<String, Unit> {
        let unit = |task: &Task, process| Unit { task: task.clone(), process };
        (1..=self.spec.processes)
            .flat_map(|process| cells.iter().map(move |task| unit(task, process)))
            .map(|unit| (unit.key(), unit))
            .collect()
    }

    /// Rounds one after the other, each in an order of its own: a machine that changes while it is measured changes for
    /// all cells alike, and a plan that is stopped early has something of everything.
    fn position(&self, unit: &Unit) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.spec.seed, unit.key()).hash(&mut hasher);
        (u64::from(unit.process) << 40) | (hasher.finish() >> 24)
    }
}

/// One session of one process over a plan.
struct PlanSession<'a> {
    runner: &'a PlanRunner,
    plan: String,
    worker: String,
    lease_store: LeaseStore,
    own: HashMap<String, Unit>,
    eta: Eta,
    /// Cells that failed, and why: their other processes would too.
    failed: HashMap<String, CellFailure>,
    /// Models that cannot be had.
    models: HashMap<String, CellFailure>,
    /// Processes that were disturbed and may be repeated, with their runs and what disturbed them.
    disturbed: VecDeque<(String, RunId, ReasonCode)>,
    /// How often a process was repeated, by its name.
    repetitions: HashMap<String, u32>,
    /// What became of the cells of this session, by their names, whether or not the database took it.
    told: HashMap<String, Outcome>,
    /// Why runs of this session are not valid.
    reasons: HashMap<RunId, ReasonCode>,
    control: &'a Control,
}

impl PlanSession<'_> {
    /// Writes the plan into the database and opens what shall be measured once more.
    fn prepare(
        &mut self,
        hostname: &str,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<(), Error> {
        let cell = |(key, unit): (&String, &Unit)| PlanCell {
            key: key.clone(),
            position: self.runner.position(unit),
            document: serde_json::to_string(unit).unwrap_or_default(),
        };
        let cells: Vec<PlanCell> = self.own.iter().map(cell).collect();
        let (plan, runner) = (self.plan.clone(), self.runner);
        let dead: HashSet<String> = self
            .planned(sink)?
            .unwrap_or_default()
            .into_iter()
            .filter(|cell| cell.state == CellState::Leased)
            .filter_map(|cell| cell.worker)
            .filter(|worker| worker_name::is_dead(worker, hostname))
            .collect();
        self.ask(sink, |store| {
            for worker in &dead {
                store.release_worker(&plan, worker)?;
            }
            match runner.resume {
                Resume::Join => {}
                Resume::Invalid => {
                    store.plan_reopen_invalid(&plan)?;
                }
                Resume::Again => {
                    store.plan_again(&plan)?;
                }
            }
            store.plan_reopen_failed(&plan, GONE)?;
            if runner.retry_failed {
                store.plan_retry(&plan)?;
            }
            store.plan_put(&plan, &cells)
        })?;
        Ok(())
    }

    /// A cell that failed in another session fails in its other processes too.
    fn remember_failures(&mut self, planned: &[PlannedCell]) {
        for cell in planned.iter().filter(|cell| cell.state == CellState::Failed) {
            let Some(unit) = self.own.get(&cell.cell.key) else { continue };
            let text = cell.reason.clone().unwrap_or_default();
            let Some(kind) = FailureKind::of_text(&text) else { continue };
            let why = text.split_once(": ").map_or("", |(_, why)| why).to_owned();
            self.failed.entry(unit.task.name()).or_insert(CellFailure { kind, why });
        }
    }

    fn ask<T>(
        &mut self,
        sink: &mut dyn FnMut(PlanEvent<'_>),
        question: impl Fn(&store::Store) -> Result<T, StoreError>,
    ) -> Result<Option<T>, Error> {
        self.lease_store.ask(self.control, &mut |why| sink(PlanEvent::Away { why }), question)
    }

    /// What the database knows of this plan's own cells.
    fn planned(
        &mut self,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<Option<Vec<PlannedCell>>, Error> {
        let plan = self.plan.clone();
        let planned = self.ask(sink, |store| store.plan_cells(&plan))?;
        let own = |mut cells: Vec<PlannedCell>| {
            cells.retain(|cell| self.own.contains_key(&cell.cell.key));
            cells
        };
        Ok(planned.map(own))
    }

    /// The next cell; `None` when the plan is finished or stopped.
    fn next(&mut self, sink: &mut dyn FnMut(PlanEvent<'_>)) -> Result<Option<Lease>, Error> {
        let (plan, worker, lasting) = (self.plan.clone(), self.worker.clone(), self.runner.lease);
        loop {
            if self.control.is_stopping() {
                return Ok(None);
            }
            let found = self.ask(sink, |store| store.lease(&plan, &worker, lasting))?;
            if let Some(lease) = found.flatten() {
                return Ok(Some(lease));
            }
            let planned = self.planned(sink)?.unwrap_or_default();
            let leased = planned.iter().filter(|cell| cell.state == CellState::Leased).count();
            if leased == 0 {
                return Ok(None);
            }
            sink(PlanEvent::Others { cells: leased });
            thread::sleep(LOOK);
        }
    }

    /// Measures until nothing is left or somebody stops it.
    fn measure_all(
        &mut self,
        executor: &mut dyn Executor,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<(), Error> {
        loop {
            while let Some(lease) = self.next(sink)? {
                self.measure(executor, &lease, sink)?;
            }
            if !self.reopen_disturbed(sink)? {
                return Ok(());
            }
        }
    }

    /// Where the plan's cells stand, and why runs are not valid.
    fn standing(&mut self, sink: &mut dyn FnMut(PlanEvent<'_>)) -> Result<Standing, Error> {
        let planned = self.planned(sink)?.unwrap_or_default();
        let runs: Vec<RunId> = planned.iter().filter_map(|cell| cell.run.clone()).collect();
        let known = self.ask(sink, |store| store.reasons(&runs))?.unwrap_or_default();
        let mut reasons = self.reasons.clone();
        reasons.extend(known);
        Ok((planned, reasons))
    }

    /// The same where the database failed: what it still tells, else what it told at the beginning, with what became of the
    /// cells of this session.
    fn last_standing(&mut self, at_first: Vec<PlannedCell>) -> Standing {
        let plan = self.plan.clone();
        let mut planned = self.lease_store.once(&|store: &store::Store| store.plan_cells(&plan));
        if let Ok(cells) = &mut planned {
            cells.retain(|cell| self.own.contains_key(&cell.cell.key));
        }
        let mut planned = planned.unwrap_or(at_first);
        let runs: Vec<RunId> = planned.iter().filter_map(|cell| cell.run.clone()).collect();
        let mut reasons = self.reasons.clone();
        reasons.extend(
            self.lease_store.once(&|store: &store::Store| store.reasons(&runs)).unwrap_or_default(),
        );
        for cell in &mut planned {
            match self.told.get(&cell.cell.key) {
                Some(Outcome::Done(run)) => {
                    (cell.state, cell.run) = (CellState::Done, Some(run.clone()));
                }
                Some(Outcome::Failed(why)) => {
                    (cell.state, cell.reason) = (CellState::Failed, Some(why.clone()));
                }
                None => {}
            }
        }
        (planned, reasons)
    }

    /// Opens the next process again that was disturbed; whether there was one. One at a time, so that a plan that is stopped here
    /// has nothing open but what it was about to measure.
    fn reopen_disturbed(&mut self, sink: &mut dyn FnMut(PlanEvent<'_>)) -> Result<bool, Error> {
        let (plan, most) = (self.plan.clone(), self.runner.repeats);
        while let Some((key, run, reason)) = self.disturbed.pop_front() {
            if self.control.is_stopping() {
                return Ok(false);
            }
            let reopened = self.ask(sink, |store| store.plan_reopen_run(&plan, &key, &run))?;
            let Some(unit) = self.own.get(&key).filter(|_| reopened == Some(true)) else {
                continue;
            };
            let times = self.repetitions.entry(key).or_default();
            *times += 1;
            sink(PlanEvent::Repeating {
                task: &unit.task,
                process: unit.process,
                reason,
                repetition: *times,
                most,
            });
            return Ok(true);
        }
        Ok(false)
    }

    /// Remembers a run that was disturbed, unless it was repeated often enough or would not be valid anyway.
    fn note_disturbed(&mut self, key: &str, run: &Run) {
        let times = self.repetitions.get(key).copied().unwrap_or(0);
        if let Some(reason) = disturbance(run).filter(|_| times < self.runner.repeats) {
            self.disturbed.push_back((key.to_owned(), run.id.clone(), reason));
        }
    }

    /// Measures one process of one cell and says in the database what came out.
    fn measure(
        &mut self,
        executor: &mut dyn Executor,
        lease: &Lease,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<(), Error> {
        let Some(unit) = self.own.get(&lease.cell.key).cloned() else {
            return self.finish(lease, None, &Outcome::Failed(GONE.into()), sink);
        };
        let task = &unit.task;
        if let Some(known) = self.known_failure(task) {
            return self.finish(lease, Some(task), &Outcome::Failed(known.text()), sink);
        }
        self.control.hold(Some((self.lease_store.location().to_owned(), lease.clone())));
        let result = self.attempt(executor, &unit, lease, sink);
        self.control.hold(None);
        match result {
            Ok(Some(Ok(run))) => self.finish(lease, Some(task), &Outcome::Done(run), sink),
            Ok(Some(Err(failure))) => {
                let outcome = Outcome::Failed(failure.text());
                if failure.kind == FailureKind::Model {
                    self.models.insert(task.model.clone(), failure.clone());
                }
                self.failed.insert(task.name(), failure);
                self.finish(lease, Some(task), &outcome, sink)
            }
            // The cell is as good as before; the lease would only keep others waiting.
            Ok(None) => self.ask(sink, |store| store.release(lease)).map(|_| ()),
            Err(error) => {
                let _ = self.ask(sink, |store| store.release(lease));
                Err(error)
            }
        }
    }

    /// The measurement of a cell, labelled with the plan.
    fn profiler(&self, task: &Task) -> Profiler {
        let profiler = task.profiler(&self.runner.base);
        let name = &self.runner.spec.name;
        if profiler.tags.contains(name) { profiler } else { profiler.tag(name) }
    }

    fn known_failure(&self, task: &Task) -> Option<CellFailure> {
        self.failed.get(&task.name()).or_else(|| self.models.get(&task.model)).cloned()
    }

    /// `None` where somebody stopped the plan before the device was free.
    fn attempt(
        &mut self,
        executor: &mut dyn Executor,
        unit: &Unit,
        lease: &Lease,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<Option<Result<RunId, CellFailure>>, Error> {
        let _keeper = LeaseHeartbeat::start(self.lease_store.location(), lease);
        let planned = self.planned(sink)?.unwrap_or_default();
        let open = planned.iter().filter(|cell| !is_finished(cell));
        let open = open.filter_map(|cell| self.own.get(&cell.cell.key));
        let names: Vec<String> = open.map(|unit| unit.task.name()).collect();
        let task = &unit.task;
        sink(PlanEvent::Started {
            task,
            process: unit.process,
            finished: planned.iter().filter(|cell| is_finished(cell)).count(),
            units: self.own.len(),
            left: self.eta.left(names.iter().map(String::as_str)),
        });
        let begin = Instant::now();
        let measured = executor.measure(&self.profiler(task), self.control, &mut |said| {
            sink(match said {
                Said::Hot(heat) => PlanEvent::Hot(heat),
                Said::Busy { device, who } => PlanEvent::Busy { device, who },
                Said::Unguarded { device, why } => PlanEvent::Unguarded { device, why },
                Said::Measuring(event) => PlanEvent::Measuring(event),
                Said::Fits(batch) => PlanEvent::Fits { task, batch },
            });
        })?;
        let Some(Measured { result, fitting }) = measured else { return Ok(None) };
        self.eta.learn(&task.name(), begin.elapsed());
        if let Some(run) = fitting {
            let fitting = Task { batch_size: Some(run.cell.batch_size), ..task.clone() };
            sink(PlanEvent::Measured { task: &fitting, process: 1, run: &run });
        }
        Ok(Some(match result {
            Ok(run) => {
                sink(PlanEvent::Measured { task, process: unit.process, run: &run });
                if let Some(reason) = run.verdict.main_reason() {
                    self.reasons.insert(run.id.clone(), reason);
                }
                self.note_disturbed(&lease.cell.key, &run);
                Ok(run.id.clone())
            }
            Err(failure) => {
                sink(PlanEvent::Failed { task, failure: &failure });
                Err(failure)
            }
        }))
    }

    fn finish(
        &mut self,
        lease: &Lease,
        task: Option<&Task>,
        outcome: &Outcome,
        sink: &mut dyn FnMut(PlanEvent<'_>),
    ) -> Result<(), Error> {
        self.told.insert(lease.cell.key.clone(), outcome.clone());
        match self.ask(sink, |store| store.finish(lease, outcome)) {
            Err(Error::Store(StoreError::LeaseLost { .. })) => {
                if let Some(task) = task {
                    sink(PlanEvent::Lost { task });
                }
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }
}

/// Where cells stand, and why runs are not valid.
type Standing = (Vec<PlannedCell>, HashMap<RunId, ReasonCode>);

fn is_finished(cell: &PlannedCell) -> bool {
    matches!(cell.state, CellState::Done | CellState::Failed)
}

/// Machines whose numbers are comparable share a plan; serial numbers of cards do not matter for that.
fn kind(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let mut hasher = DefaultHasher::new();
    (&machine.os, &cpu.model, &cpu.architecture, cpu.cores, cpu.threads).hash(&mut hasher);
    machine.memory.0.hash(&mut hasher);
    for gpu in &machine.gpus {
        (&gpu.name, gpu.memory.0).hash(&mut hasher);
    }
    format!("{:08x}", hasher.finish() >> 32)
}
