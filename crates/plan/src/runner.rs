//! Measures a plan: its settings, the order of its cells, and the report at the end.

use crate::{
    Control, EngineOffer, Executor, Expansion, Interruption, LocalExecutor, Measurer, PlanError,
    PlanReport, PlanSpec, Shard, machine_kind,
    session::{PlanSession, is_finished},
    unit::Unit,
};
use std::{collections::HashMap, path::PathBuf, time::Duration};
use types::{Event, Task, stable_hash};

/// How long a lease lasts after the last sign of life of whoever has it.
const LEASE: Duration = Duration::from_secs(60);

/// How often a process that was disturbed is repeated where nobody says otherwise: a machine that is busy three times in a row
/// stays so.
const REPEATS: u32 = 2;

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

/// Measures a plan.
#[derive(Debug, Clone)]
pub struct PlanRunner {
    pub(crate) spec: PlanSpec,
    database: PathBuf,
    shard: Option<Shard>,
    pub(crate) resume: Resume,
    pub(crate) retry_failed: bool,
    pub(crate) lease: Duration,
    pub(crate) repeats: u32,
}

impl PlanRunner {
    /// Measures this plan; its cells are leased in this database.
    #[must_use]
    pub fn new(spec: PlanSpec, database: impl Into<PathBuf>) -> PlanRunner {
        PlanRunner {
            spec,
            database: database.into(),
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

    /// The plan's name in the database for machines of this kind.
    fn stored_name(&self, kind: &str) -> String {
        let shard = self.shard.map_or_else(String::new, |shard| format!(" {shard}"));
        format!("{}@{kind}{shard}", self.spec.name)
    }

    /// The cells of the plan on a machine with these engines, and what is not among them.
    ///
    /// # Errors
    /// Where the plan contradicts itself.
    pub fn expand(&self, engines: &[impl EngineOffer]) -> Result<Expansion, PlanError> {
        Ok(self.part_of(self.spec.expand(engines)?))
    }

    /// What belongs to this part of the plan.
    fn part_of(&self, mut expansion: Expansion) -> Expansion {
        if let Some(shard) = self.shard {
            expansion.cells = shard.of(expansion.cells);
        }
        expansion
    }

    /// Measures on this machine until nothing is left, or until somebody stops it; `sink` hears what goes on.
    ///
    /// # Errors
    /// Where the plan is wrong or the database fails; what is wrong with a cell is in the report.
    pub fn run<M: Measurer>(
        &self,
        measurer: &mut M,
        control: &Control,
        sink: &mut dyn FnMut(Event),
    ) -> Result<PlanReport, M::Error> {
        self.run_on(&mut LocalExecutor::new(measurer), control, sink)
    }

    /// Measures wherever the executor does, and keeps the runs where it does.
    ///
    /// # Errors
    /// As [`PlanRunner::run`], and where the executor cannot measure at all.
    pub fn run_on<E: Executor>(
        &self,
        executor: &mut E,
        control: &Control,
        sink: &mut dyn FnMut(Event),
    ) -> Result<PlanReport, E::Error> {
        executor.check()?;
        let expansion = self.part_of(executor.expand(&self.spec)?);
        let here = hardware::machine().hostname;
        let plan = self.stored_name(&machine_kind::kind(executor.machine()));
        let former = self.stored_name(&machine_kind::former_kind(executor.machine()));
        let own = self.units(&expansion.cells);
        let mut session = PlanSession::new(self, plan, &here, &self.database, own, control)?;
        session.rename(&former, sink)?;
        session.prepare(&here, sink)?;
        let planned = session.planned(sink)?.unwrap_or_default();
        sink(Event::PlanStarted {
            plan: self.spec.name.clone(),
            tasks: expansion.cells.clone(),
            processes: session.own.len(),
            finished: planned.iter().filter(|cell| is_finished(cell)).count(),
            left_out: expansion.left_out.clone(),
        });
        if expansion.cells.is_empty() {
            let hint = "`modelmeter devices` shows what works here";
            let why = "nothing of this plan can be measured here";
            return Err(PlanError::wrong(why, Some(hint.into())).into());
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
        let stopped = control.is_stopping();
        let mut report = PlanReport::new(&self.spec.name, &cells, left_out, &planned, stopped);
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
    pub(crate) fn position(&self, unit: &Unit) -> u64 {
        let key = unit.key();
        let hash = stable_hash(self.spec.seed.to_le_bytes().into_iter().chain(key.bytes()));
        (u64::from(unit.process) << 40) | (hash >> 24)
    }
}
