//! The way of one cell: measured, told to the database, perhaps opened once more.

use crate::{
    Executor, Measured, PlanError,
    disturbance::disturbance,
    lease_heartbeat::LeaseHeartbeat,
    session::{GONE, PlanSession, is_finished},
    unit::Unit,
};
use std::time::Instant;
use store::{Lease, Outcome, StoreError};
use types::{CellFailure, Event, FailureKind, Run, RunId, Task};

impl PlanSession<'_> {
    /// Measures until nothing is left or somebody stops it.
    pub(crate) fn measure_all<E: Executor>(
        &mut self,
        executor: &mut E,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), E::Error> {
        loop {
            while let Some(lease) = self.next(sink)? {
                self.measure(executor, &lease, sink)?;
            }
            if !self.reopen_disturbed(sink)? {
                return Ok(());
            }
        }
    }

    /// Opens the next process again that was disturbed; whether there was one. One at a time, so that a plan that is stopped here
    /// has nothing open but what it was about to measure.
    fn reopen_disturbed(&mut self, sink: &mut dyn FnMut(Event)) -> Result<bool, PlanError> {
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
            sink(Event::TaskRepeated {
                task: Box::new(unit.task.clone()),
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
    fn measure<E: Executor>(
        &mut self,
        executor: &mut E,
        lease: &Lease,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), E::Error> {
        let Some(unit) = self.own.get(&lease.cell.key).cloned() else {
            return Ok(self.finish(lease, None, &Outcome::Failed(GONE.into()), sink)?);
        };
        let task = &unit.task;
        if let Some(known) = self.known_failure(task) {
            let outcome = Outcome::Failed(known.text());
            return Ok(self.finish(lease, Some(task), &outcome, sink)?);
        }
        self.control.hold(Some((self.lease_store.location().to_owned(), lease.clone())));
        let result = self.attempt(executor, &unit, lease, sink);
        self.control.hold(None);
        match result {
            Ok(Some(Ok(run))) => self.finish(lease, Some(task), &Outcome::Done(run), sink)?,
            Ok(Some(Err(failure))) => {
                let outcome = Outcome::Failed(failure.text());
                if failure.kind == FailureKind::Model {
                    self.models.insert(task.model.clone(), failure.clone());
                }
                self.failed.insert(task.name(), failure);
                self.finish(lease, Some(task), &outcome, sink)?;
            }
            // The cell is as good as before; the lease would only keep others waiting.
            Ok(None) => {
                self.ask(sink, |store| store.release(lease))?;
            }
            Err(error) => {
                let _ = self.ask(sink, |store| store.release(lease));
                return Err(error);
            }
        }
        Ok(())
    }

    fn known_failure(&self, task: &Task) -> Option<CellFailure> {
        self.failed.get(&task.name()).or_else(|| self.models.get(&task.model)).cloned()
    }

    /// `None` if somebody stopped the plan before the device was free.
    fn attempt<E: Executor>(
        &mut self,
        executor: &mut E,
        unit: &Unit,
        lease: &Lease,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Option<Result<RunId, CellFailure>>, E::Error> {
        let _heartbeat = LeaseHeartbeat::start(self.lease_store.location(), lease);
        let planned = self.planned(sink)?.unwrap_or_default();
        let open = planned.iter().filter(|cell| !is_finished(cell));
        let open = open.filter_map(|cell| self.own.get(&cell.cell.key));
        let names: Vec<String> = open.map(|unit| unit.task.name()).collect();
        let task = &unit.task;
        sink(Event::TaskStarted {
            task: Box::new(task.clone()),
            process: unit.process,
            finished: planned.iter().filter(|cell| is_finished(cell)).count(),
            of: self.own.len(),
            eta: self.eta.left(names.iter().map(String::as_str)),
        });
        let begin = Instant::now();
        let plan = &self.runner.spec.name;
        let mut hear = |event: Event| match event {
            // The task's own end has the run.
            Event::CellFinished { .. } | Event::CellFailed { .. } => {}
            event => sink(event),
        };
        let measured = executor.measure(plan, task, self.control, &mut hear)?;
        let Some(Measured { result, fitting }) = measured else { return Ok(None) };
        self.eta.learn(&task.name(), begin.elapsed());
        if let Some(run) = fitting {
            let fitting = Task { batch_size: Some(run.cell.batch_size), ..task.clone() };
            sink(Event::TaskFinished { task: Box::new(fitting), process: 1, run });
        }
        Ok(Some(match result {
            Ok(run) => {
                if let Some(reason) = run.verdict.main_reason() {
                    self.reasons.insert(run.id.clone(), reason);
                }
                self.note_disturbed(&lease.cell.key, &run);
                let id = run.id.clone();
                let task = Box::new(task.clone());
                sink(Event::TaskFinished { task, process: unit.process, run });
                Ok(id)
            }
            Err(failure) => {
                sink(Event::TaskFailed { task: Box::new(task.clone()), failure: failure.clone() });
                Err(failure)
            }
        }))
    }

    fn finish(
        &mut self,
        lease: &Lease,
        task: Option<&Task>,
        outcome: &Outcome,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), PlanError> {
        self.told.insert(lease.cell.key.clone(), outcome.clone());
        match self.ask(sink, |store| store.finish(lease, outcome)) {
            Err(PlanError::Store(StoreError::LeaseLost { .. })) => {
                if let Some(task) = task {
                    sink(Event::TaskTaken { task: Box::new(task.clone()) });
                }
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }
}
