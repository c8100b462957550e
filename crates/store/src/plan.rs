//! The cells of a plan, leased to workers one by one, so that several machines share it and a dead one loses nothing.
//!
//! A lease runs out by the database's clock: the server's where there is one, so that machines need not agree on the time.

use crate::{
    Store, StoreError,
    connection::Transaction,
    failure::DatabaseError,
    insert::placeholders,
    value::{Row, Value, values, whole},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use types::RunId;

/// Cells that are added by one statement.
const BLOCK: usize = 32;

/// A cell that somebody shall measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanCell {
    /// Its name in the plan; equal names are the same cell.
    pub key: String,
    /// Its place in the order of the plan.
    pub position: u64,
    /// What is to be done, as JSON; the store only keeps it.
    pub document: String,
}

/// A cell that a worker has for itself until the lease runs out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The plan.
    pub plan: String,
    /// The cell.
    pub cell: PlanCell,
    /// Who has it.
    pub worker: String,
    /// How long it lasts after each sign of life.
    pub duration: Duration,
    /// How often the cell was leased, this time included: beyond the first, earlier workers died or gave it back.
    pub attempt: u64,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was measured, and this is the run.
    Done(RunId),
    /// It cannot be measured, and this is why.
    Failed(String),
}

/// Where a cell of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellState {
    /// Nobody has it.
    Waiting,
    /// A worker has it, or had it and is not heard of any more.
    Leased,
    /// It was measured.
    Done,
    /// It cannot be measured.
    Failed,
}

impl CellState {
    /// Every state, in the order of a cell's life.
    pub const ALL: [CellState; 4] =
        [CellState::Waiting, CellState::Leased, CellState::Done, CellState::Failed];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CellState::Waiting => "waiting",
            CellState::Leased => "leased",
            CellState::Done => "done",
            CellState::Failed => "failed",
        }
    }
}

/// A cell of a plan with everything that is known of it; times are microseconds since the epoch by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedCell {
    /// What is to be done.
    pub cell: PlanCell,
    /// Where it stands.
    pub state: CellState,
    /// Whether its lease ran out: the next worker that asks may get it.
    pub is_expired: bool,
    /// How often it was leased.
    pub attempts: u64,
    /// Who had it last.
    pub worker: Option<String>,
    /// Since when.
    pub leased_at: Option<i64>,
    /// Until when, without another sign of life.
    pub expires_at: Option<i64>,
    /// When it was done or failed.
    pub finished_at: Option<i64>,
    /// The run that came out of it.
    #[schemars(with = "Option<String>")]
    pub run: Option<RunId>,
    /// Why it failed.
    pub reason: Option<String>,
}

/// A cell that somebody has, and the plan that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedCell {
    /// The plan.
    pub plan: String,
    /// The cell.
    pub cell: PlannedCell,
}

/// The progress of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanProgress {
    /// The plan.
    pub plan: String,
    /// Cells that no worker has: nobody leased them, or the lease is over.
    pub waiting: u64,
    /// Cells that are leased by workers.
    pub leased: u64,
    /// Cells that were measured.
    pub done: u64,
    /// Cells that cannot be measured.
    pub failed: u64,
}

impl Store {
    /// Adds cells to a plan, making it where there is none; how many are new. Those that it has already stay as they are.
    ///
    /// # Errors
    /// Where they cannot be written; then none is.
    pub fn plan_put(&self, plan: &str, cells: &[PlanCell]) -> Result<u64, StoreError> {
        let fail = self.fail("store a plan");
        let transaction = self.add("store a plan")?;
        // In one order, so that two that add at once wait for each other but never in a circle.
        let mut sorted: Vec<&PlanCell> = cells.iter().collect();
        sorted.sort_by(|a, b| a.key.cmp(&b.key));
        let mut added = 0;
        for block in sorted.chunks(BLOCK) {
            let mut values = Vec::with_capacity(block.len() * 6);
            for cell in block {
                let waiting = Value::from(CellState::Waiting.name());
                let (key, document) = (Value::from(&cell.key), Value::from(&cell.document));
                let position = Value::from(cell.position);
                values.extend([plan.into(), key, position, document, waiting, 0i64.into()]);
            }
            let sql = format!(
                "INSERT INTO plan_cell (plan, key, position, document, state, token) VALUES {}
                 ON CONFLICT DO NOTHING",
                placeholders(block.len(), 6)
            );
            added += transaction.execute(&sql, &values).map_err(&fail)?;
        }
        transaction.commit().map_err(&fail)?;
        Ok(added)
    }

    /// Gives a plan another name, unless a plan has it already; how many cells it has.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_rename(&self, from: &str, to: &str) -> Result<u64, StoreError> {
        let fail = self.fail("rename a plan");
        let transaction = self.add("rename a plan")?;
        let renamed = transaction
            .execute(
                "UPDATE plan_cell SET plan = $2
                 WHERE plan = $1 AND NOT EXISTS (SELECT 1 FROM plan_cell AS other WHERE other.plan = $2)",
                values![from, to],
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(renamed)
    }

    /// Takes the first cell of the plan that nobody has, or whose lease ran out; none where all are taken or finished.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn lease(
        &self,
        plan: &str,
        worker: &str,
        duration: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let fail = self.fail("lease a cell");
        let transaction = self.add("lease a cell")?;
        let now = now(&transaction).map_err(&fail)?;
        // A server passes over what another is taking at this moment; a file has one writer at a time anyway.
        let passing = if self.is_on_server() { " FOR UPDATE SKIP LOCKED" } else { "" };
        let sql = format!(
            "SELECT key, position, document, token FROM plan_cell
             WHERE plan = $1 AND (state = 'waiting' OR (state = 'leased' AND expires_at <= $2))
             ORDER BY position, key LIMIT 1{passing}"
        );
        let found = transaction
            .optional(&sql, values![plan, now], |row| {
                let cell =
                    PlanCell { key: row.get(0)?, position: row.get(1)?, document: row.get(2)? };
                Ok((cell, row.get::<u64>(3)? + 1))
            })
            .map_err(&fail)?;
        let Some((cell, attempt)) = found else { return Ok(None) };
        transaction
            .execute(
                "UPDATE plan_cell SET state = 'leased', token = $3, worker = $4, leased_at = $5,
                 expires_at = $6 WHERE plan = $1 AND key = $2",
                values![plan, &cell.key, attempt, worker, now, after(now, duration)],
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(Some(Lease {
            plan: plan.to_owned(),
            cell,
            worker: worker.to_owned(),
            duration,
            attempt,
        }))
    }

    /// A sign of life: the lease lasts its whole duration from now on.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] where another has the cell by now; what is being measured is then measured twice.
    pub fn heartbeat(&self, lease: &Lease) -> Result<(), StoreError> {
        let fail = self.fail("extend a lease");
        let transaction = self.add("extend a lease")?;
        let now = now(&transaction).map_err(&fail)?;
        let changed = transaction
            .execute(
                "UPDATE plan_cell SET expires_at = $4
                 WHERE plan = $1 AND key = $2 AND token = $3 AND state = 'leased'",
                values![&lease.plan, &lease.cell.key, lease.attempt, after(now, lease.duration)],
            )
            .map_err(&fail)?;
        self.end(transaction, changed, lease, "extend a lease")
    }

    /// The cell is finished. Store its run first: this may be refused, and the run counts all the same.
    ///
    /// A lease that ran out but that nobody else took is as good as any; saying the same twice is saying it once.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] where another has the cell by now, or has finished it.
    pub fn finish(&self, lease: &Lease, outcome: &Outcome) -> Result<(), StoreError> {
        let fail = self.fail("finish a cell");
        let transaction = self.add("finish a cell")?;
        let now = now(&transaction).map_err(&fail)?;
        let (state, run, reason) = match outcome {
            Outcome::Done(run) => (CellState::Done, Some(run.0.as_str()), None),
            Outcome::Failed(reason) => (CellState::Failed, None, Some(reason.as_str())),
        };
        let changed = transaction
            .execute(
                "UPDATE plan_cell SET state = $4, finished_at = $5, run = $6, reason = $7,
                 expires_at = NULL WHERE plan = $1 AND key = $2 AND token = $3
                 AND (state = 'leased' OR (state = $4 AND COALESCE(run, '') = COALESCE($6, '')))",
                values![
                    &lease.plan,
                    &lease.cell.key,
                    lease.attempt,
                    state.name(),
                    now,
                    run,
                    reason
                ],
            )
            .map_err(&fail)?;
        self.end(transaction, changed, lease, "finish a cell")
    }

    /// Gives the cell back unmeasured; the next worker that asks may have it.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] where another has the cell by now.
    pub fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let transaction = self.add("release a cell")?;
        let changed = transaction
            .execute(
                "UPDATE plan_cell SET state = 'waiting', expires_at = NULL
                 WHERE plan = $1 AND key = $2 AND token = $3 AND state = 'leased'",
                values![&lease.plan, &lease.cell.key, lease.attempt],
            )
            .map_err(self.fail("release a cell"))?;
        self.end(transaction, changed, lease, "release a cell")
    }

    /// Lets the failed cells of a plan be measured once more; how many there were.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_retry(&self, plan: &str) -> Result<u64, StoreError> {
        let fail = self.fail("retry cells");
        let transaction = self.add("retry cells")?;
        let changed = transaction
            .execute(
                "UPDATE plan_cell SET state = 'waiting', finished_at = NULL, reason = NULL
                 WHERE plan = $1 AND state = 'failed'",
                values![plan],
            )
            .map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(changed)
    }

    /// Lets every finished cell of a plan be measured once more; how many there were.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_again(&self, plan: &str) -> Result<u64, StoreError> {
        self.reopen("measure a plan again", "state IN ('done', 'failed')", values![plan])
    }

    /// Lets the cells of a plan be measured once more whose runs are not valid or not there any more; how many there were.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_reopen_invalid(&self, plan: &str) -> Result<u64, StoreError> {
        let which =
            "state = 'done' AND (run IS NULL OR run NOT IN (SELECT id FROM run WHERE valid = $2))";
        self.reopen("look for invalid runs of a plan", which, values![plan, true])
    }

    /// Lets a cell be measured once more whose run was disturbed; whether it still is that run's. Another may have measured it
    /// meanwhile.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_reopen_run(&self, plan: &str, key: &str, run: &RunId) -> Result<bool, StoreError> {
        let which = "state = 'done' AND key = $2 AND run = $3";
        let reopened = self.reopen("repeat a cell", which, values![plan, key, &run.0])?;
        Ok(reopened > 0)
    }

    /// Lets failed cells of a plan be measured once more that failed for exactly this reason; how many there were.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn plan_reopen_failed(&self, plan: &str, reason: &str) -> Result<u64, StoreError> {
        let which = "state = 'failed' AND reason = $2";
        self.reopen("retry cells", which, values![plan, reason])
    }

    /// Takes every lease of a worker that is known to be dead; how many it had.
    ///
    /// # Errors
    /// Where the database cannot be written.
    pub fn release_worker(&self, plan: &str, worker: &str) -> Result<u64, StoreError> {
        let which = "state = 'leased' AND worker = $2";
        self.reopen("release the cells of a dead worker", which, values![plan, worker])
    }

    fn reopen(
        &self,
        doing: &'static str,
        which: &str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let fail = self.fail(doing);
        let transaction = self.add(doing)?;
        let sql = format!(
            "UPDATE plan_cell SET state = 'waiting', finished_at = NULL, reason = NULL, run = NULL,
             expires_at = NULL WHERE plan = $1 AND {which}"
        );
        let changed = transaction.execute(&sql, values).map_err(&fail)?;
        transaction.commit().map_err(&fail)?;
        Ok(changed)
    }

    /// Every cell of a plan in its order; none where there is no such plan.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn plan_cells(&self, plan: &str) -> Result<Vec<PlannedCell>, StoreError> {
        let fail = self.fail("read a plan");
        let view = self.view("read a plan")?;
        let now = now(&view).map_err(&fail)?;
        view.rows(
            "SELECT key, position, document, state, token, worker, leased_at, expires_at,
             finished_at, run, reason FROM plan_cell WHERE plan = $1 ORDER BY position, key",
            values![plan],
            |row| planned(row, now),
        )
        .map_err(&fail)
    }

    /// Every cell that somebody has, of all plans, the one that was taken first before the others. One whose lease is over is
    /// among them for so long after it.
    ///
    /// # Errors
    /// Where the database cannot be read or is damaged.
    pub fn leased_cells(&self, after: Duration) -> Result<Vec<LeasedCell>, StoreError> {
        let fail = self.fail("list leases");
        let view = self.view("list leases")?;
        let now = now(&view).map_err(&fail)?;
        view.rows(
            "SELECT key, position, document, state, token, worker, leased_at, expires_at,
             finished_at, run, reason, plan FROM plan_cell
             WHERE state = 'leased' AND expires_at > $1 ORDER BY leased_at, plan, position, key",
            values![now.saturating_sub(micros(after))],
            |row| Ok(LeasedCell { plan: row.get(11)?, cell: planned(row, now)? }),
        )
        .map_err(&fail)
    }

    /// How far every plan is, by name. A cell whose lease is over waits: whoever asks next gets it.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn plans(&self) -> Result<Vec<PlanProgress>, StoreError> {
        let fail = self.fail("list plans");
        let view = self.view("list plans")?;
        let now = now(&view).map_err(&fail)?;
        let count = |state: CellState| {
            let is_over = "(state = 'leased' AND expires_at <= $1)";
            let is_it = match state {
                CellState::Waiting => format!("state = 'waiting' OR {is_over}"),
                CellState::Leased => format!("state = 'leased' AND NOT {is_over}"),
                other => format!("state = '{}'", other.name()),
            };
            format!("CAST(SUM(CASE WHEN {is_it} THEN 1 ELSE 0 END) AS BIGINT)")
        };
        let counts = CellState::ALL.map(count).join(", ");
        let sql = format!("SELECT plan, {counts} FROM plan_cell GROUP BY plan ORDER BY plan");
        view.rows(&sql, values![now], |row| {
            Ok(PlanProgress {
                plan: row.get(0)?,
                waiting: row.get(1)?,
                leased: row.get(2)?,
                done: row.get(3)?,
                failed: row.get(4)?,
            })
        })
        .map_err(&fail)
    }

    /// Commits what was changed for a lease, or says that it is no longer one.
    fn end(
        &self,
        transaction: Transaction<'_>,
        changed: u64,
        lease: &Lease,
        doing: &'static str,
    ) -> Result<(), StoreError> {
        if changed == 0 {
            return Err(StoreError::LeaseLost {
                plan: lease.plan.clone(),
                key: lease.cell.key.clone(),
                worker: lease.worker.clone(),
            });
        }
        transaction.commit().map_err(self.fail(doing))
    }
}

fn planned(row: &Row<'_>, now: i64) -> Result<PlannedCell, DatabaseError> {
    let word: String = row.get(3)?;
    let state = CellState::ALL
        .into_iter()
        .find(|state| state.name() == word)
        .ok_or_else(|| DatabaseError::Shape(format!("`{word}` is not a state of a cell")))?;
    let expires_at: Option<i64> = row.get(7)?;
    let run: Option<String> = row.get(9)?;
    Ok(PlannedCell {
        cell: PlanCell { key: row.get(0)?, position: row.get(1)?, document: row.get(2)? },
        state,
        is_expired: state == CellState::Leased && expires_at.is_some_and(|at| at <= now),
        attempts: row.get(4)?,
        worker: row.get(5)?,
        leased_at: row.get(6)?,
        expires_at,
        finished_at: row.get(8)?,
        run: run.map(RunId),
        reason: row.get(10)?,
    })
}

/// Microseconds since the epoch by the database's clock.
fn now(transaction: &Transaction<'_>) -> Result<i64, DatabaseError> {
    if transaction.is_server() {
        let sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
        return transaction.one(sql, &[], |row| row.get(0));
    }
    Ok(clock::now())
}

fn after(now: i64, duration: Duration) -> i64 {
    now.saturating_add(micros(duration))
}

fn micros(duration: Duration) -> i64 {
    whole(duration.as_micros().try_into().unwrap_or(u64::MAX))
}
