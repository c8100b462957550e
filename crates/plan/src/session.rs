//! One session of one process over a plan: what it leases from the database, what it remembers of it.

use crate::{
    Control, PlanError, PlanRunner, Resume, eta::Eta, lease_store::LeaseStore, unit::Unit,
    worker_name,
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::Path,
    thread,
    time::Duration,
};
use store::{CellState, Lease, Outcome, PlanCell, PlannedCell, StoreError};
use types::{CellFailure, Event, FailureKind, ReasonCode, RunId, WaitReason};

/// How often a plan whose last cells others measure is looked at again.
const LOOK: Duration = Duration::from_secs(1);

/// Why a cell is not measured that an earlier form of the plan had.
pub(crate) const GONE: &str = "it is no longer in the plan";

/// One session of one process over a plan.
pub(crate) struct PlanSession<'a> {
    pub(crate) runner: &'a PlanRunner,
    pub(crate) plan: String,
    pub(crate) worker: String,
    pub(crate) lease_store: LeaseStore,
    pub(crate) own: HashMap<String, Unit>,
    pub(crate) eta: Eta,
    /// Cells that failed, and why: their other processes would too.
    pub(crate) failed: HashMap<String, CellFailure>,
    /// Models that cannot be had.
    pub(crate) models: HashMap<String, CellFailure>,
    /// Processes that were disturbed and may be repeated, with their runs and what disturbed them.
    pub(crate) disturbed: VecDeque<(String, RunId, ReasonCode)>,
    /// How often a process was repeated, by its name.
    pub(crate) repetitions: HashMap<String, u32>,
    /// What became of the cells of this session, by their names, whether or not the database took it.
    pub(crate) told: HashMap<String, Outcome>,
    /// Why runs of this session are not valid.
    pub(crate) reasons: HashMap<RunId, ReasonCode>,
    pub(crate) control: &'a Control,
}

impl<'a> PlanSession<'a> {
    pub(crate) fn new(
        runner: &'a PlanRunner,
        plan: String,
        hostname: &str,
        database: &Path,
        own: HashMap<String, Unit>,
        control: &'a Control,
    ) -> Result<PlanSession<'a>, PlanError> {
        Ok(PlanSession {
            runner,
            plan,
            worker: worker_name::of_this_process(hostname),
            lease_store: LeaseStore::open(database)?,
            own,
            eta: Eta::default(),
            failed: HashMap::new(),
            models: HashMap::new(),
            disturbed: VecDeque::new(),
            repetitions: HashMap::new(),
            told: HashMap::new(),
            reasons: HashMap::new(),
            control,
        })
    }

    /// Goes on with a plan that an earlier version stored by another name.
    pub(crate) fn rename(
        &mut self,
        former: &str,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), PlanError> {
        let plan = self.plan.clone();
        self.ask(sink, |store| store.plan_rename(former, &plan)).map(|_| ())
    }

    /// Writes the plan into the database and opens what shall be measured once more.
    pub(crate) fn prepare(
        &mut self,
        hostname: &str,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), PlanError> {
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
    pub(crate) fn remember_failures(&mut self, planned: &[PlannedCell]) {
        for cell in planned.iter().filter(|cell| cell.state == CellState::Failed) {
            let Some(unit) = self.own.get(&cell.cell.key) else { continue };
            let text = cell.reason.clone().unwrap_or_default();
            let Some(kind) = FailureKind::of_text(&text) else { continue };
            let why = text.split_once(": ").map_or("", |(_, why)| why).to_owned();
            self.failed.entry(unit.task.name()).or_insert(CellFailure { kind, why });
        }
    }

    pub(crate) fn ask<T>(
        &mut self,
        sink: &mut dyn FnMut(Event),
        question: impl Fn(&store::Store) -> Result<T, StoreError>,
    ) -> Result<Option<T>, PlanError> {
        let mut away = |why: &str| {
            sink(Event::Waiting { reason: WaitReason::Database { why: why.to_owned() } });
        };
        self.lease_store.ask(self.control, &mut away, question)
    }

    /// What the database knows of this plan's own cells.
    pub(crate) fn planned(
        &mut self,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Vec<PlannedCell>>, PlanError> {
        let plan = self.plan.clone();
        let planned = self.ask(sink, |store| store.plan_cells(&plan))?;
        let own = |mut cells: Vec<PlannedCell>| {
            cells.retain(|cell| self.own.contains_key(&cell.cell.key));
            cells
        };
        Ok(planned.map(own))
    }

    /// The next cell; `None` when the plan is finished or stopped.
    pub(crate) fn next(&mut self, sink: &mut dyn FnMut(Event)) -> Result<Option<Lease>, PlanError> {
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
            sink(Event::Waiting { reason: WaitReason::LastCells { cells: leased } });
            thread::sleep(LOOK);
        }
    }

    /// Where the plan's cells stand, and why runs are not valid.
    pub(crate) fn standing(&mut self, sink: &mut dyn FnMut(Event)) -> Result<Standing, PlanError> {
        let planned = self.planned(sink)?.unwrap_or_default();
        let runs: Vec<RunId> = planned.iter().filter_map(|cell| cell.run.clone()).collect();
        let known = self.ask(sink, |store| store.reasons(&runs))?.unwrap_or_default();
        let mut reasons = self.reasons.clone();
        reasons.extend(known);
        Ok((planned, reasons))
    }

    /// The same where the database failed: what it still tells, else what it told at the beginning, with what became of the
    /// cells of this session.
    pub(crate) fn last_standing(&mut self, at_first: Vec<PlannedCell>) -> Standing {
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
}

/// Where cells stand, and why runs are not valid.
pub(crate) type Standing = (Vec<PlannedCell>, HashMap<RunId, ReasonCode>);

pub(crate) fn is_finished(cell: &PlannedCell) -> bool {
    matches!(cell.state, CellState::Done | CellState::Failed)
}
