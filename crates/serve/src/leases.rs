//! Who measures which cell of a plan, as far as the database knows: what goes on on other machines.

use crate::stores::Stores;
use hardware::hostname;
use live::Activity;
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    fmt::Write,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use store::{CellState, LeasedCell, PlanProgress, PlannedCell, Store, StoreError};

/// So long a worker is told of whose lease is over: as long as a journal is kept.
const TOLD: Duration = Duration::from_secs(24 * 3600);

/// So long an answer of the database is good enough.
const FRESH: Duration = Duration::from_secs(1);

/// So long a database is left alone that did not answer.
const PAUSE: Duration = Duration::from_secs(10);

/// A cell of a plan that a worker has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LeaseNow {
    /// The plan.
    pub(crate) plan: String,
    /// The name of the cell in the plan.
    pub(crate) cell: String,
    /// The machine that measures it; null if the worker's name does not say it.
    pub(crate) machine: Option<String>,
    /// The number of the process there; null if the worker's name does not say it.
    pub(crate) pid: Option<u32>,
    /// Whether the worker is lost: its lease is over, so the next worker that asks gets the cell.
    pub(crate) is_lost: bool,
    /// Since when, in microseconds since the epoch by the database's clock.
    pub(crate) since: i64,
    /// Until when without another sign of life, by the same clock.
    pub(crate) until: i64,
    /// How often the cell was taken, this time included.
    pub(crate) attempt: u64,
}

/// What the database said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) leases: Vec<LeaseNow>,
    /// Why nothing is known of other machines.
    pub(crate) silence: Option<String>,
}

/// The newest answer of the database, shared by everybody who looks.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    asked: Option<Instant>,
    known: Known,
}

impl Leases {
    /// Who has what. Asks the database if its last answer is old, or if something changed there.
    pub(crate) fn look(&self, stores: &Stores, is_changed: bool) -> Known {
        {
            let mut last = self.last();
            let age = last.asked.map(|at| at.elapsed());
            let enough = if last.known.silence.is_some() { PAUSE } else { FRESH };
            if age.is_some_and(|age| age < enough && !is_changed) {
                return last.known.clone();
            }
            // Others take the answer before while this one waits for the next.
            last.asked = Some(Instant::now());
        }
        let known = match stores.is_there().then(|| stores.with(|store| Ok(read(store)?))) {
            None => Known::default(),
            Some(Ok(leases)) => Known { leases, silence: None },
            Some(Err(refusal)) => Known { leases: Vec::new(), silence: Some(refusal.why) },
        };
        let mut last = self.last();
        last.asked = Some(Instant::now());
        last.known = known.clone();
        known
    }

    /// What the database said last, however long ago.
    pub(crate) fn known(&self) -> Known {
        self.last().known.clone()
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(store: &Store) -> Result<Vec<LeaseNow>, StoreError> {
    let host = hostname();
    let lease = |LeasedCell { plan, mut cell }: LeasedCell| {
        expire(&mut cell, &host);
        let place = cell.worker.as_deref().and_then(plan::machine_and_process);
        LeaseNow {
            plan,
            machine: place.map(|(machine, _)| machine.to_owned()),
            pid: place.map(|(_, pid)| pid),
            is_lost: cell.is_expired,
            since: cell.leased_at.unwrap_or_default(),
            until: cell.expires_at.unwrap_or_default(),
            attempt: cell.attempts,
            cell: cell.cell.key,
        }
    };
    Ok(store.leased_cells(TOLD)?.into_iter().map(lease).collect())
}

/// Those that no process measures whose journal is here: it says more.
pub(crate) fn elsewhere(leases: &[LeaseNow], activities: &[Activity]) -> Vec<LeaseNow> {
    let host = hostname();
    let is_told = |lease: &LeaseNow| {
        let here = lease.machine.as_deref() == Some(host.as_str());
        here && activities.iter().any(|one| Some(one.pid) == lease.pid)
    };
    leases.iter().filter(|lease| !is_told(lease)).cloned().collect()
}

/// What tells moments apart that people want to see at once.
pub(crate) fn outline(known: &Known) -> String {
    let mut text = format!("{:?}", known.silence);
    for one in &known.leases {
        let _ = write!(text, "{}{}{}{}{:?};", one.plan, one.cell, one.since, one.is_lost, one.pid);
    }
    text
}

/// The cells of a plan, as they stand.
pub(crate) fn cells(store: &Store, plan: &str) -> Result<Vec<PlannedCell>, StoreError> {
    let host = hostname();
    let mut cells = store.plan_cells(plan)?;
    cells.iter_mut().for_each(|cell| expire(cell, &host));
    Ok(cells)
}

/// How far every plan is. A cell waits as soon as its worker is dead.
pub(crate) fn progress(store: &Store) -> Result<Vec<PlanProgress>, StoreError> {
    let (host, mut plans) = (hostname(), store.plans()?);
    if plans.iter().all(|plan| plan.leased == 0) {
        return Ok(plans);
    }
    for mut leased in store.leased_cells(Duration::ZERO)? {
        expire(&mut leased.cell, &host);
        let plan = plans.iter_mut().find(|plan| plan.plan == leased.plan && plan.leased > 0);
        if let Some(plan) = plan.filter(|_| leased.cell.is_expired) {
            plan.leased -= 1;
            plan.waiting += 1;
        }
    }
    Ok(plans)
}

/// A lease ends a minute after its worker did; of this machine's workers it is known at once.
fn expire(cell: &mut PlannedCell, host: &str) {
    let is_dead = |worker: &str| plan::is_dead_worker(worker, host);
    let is_leased = cell.state == CellState::Leased;
    cell.is_expired |= is_leased && cell.worker.as_deref().is_some_and(is_dead);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(machine: &str, pid: u32) -> LeaseNow {
        LeaseNow {
            plan: "night".into(),
            cell: format!("cell of {pid}"),
            machine: Some(machine.into()),
            pid: Some(pid),
            is_lost: false,
            since: 100,
            until: 160,
            attempt: 1,
        }
    }

    #[test]
    fn what_a_journal_tells_is_not_told_twice() {
        let activity = Activity { pid: 12, ..Activity::default() };
        // The second has the same number on another machine, the third is another process here.
        let leases = [lease(&hostname(), 12), lease("rack-7", 12), lease(&hostname(), 13)];
        assert_eq!(elsewhere(&leases, &[activity]), leases[1..]);
        assert_eq!(elsewhere(&leases, &[]), leases);
    }
}
