//! The state of a plan.

use crate::{MeasuringError, unit::Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{CellState, PlannedCell};
use types::{FailureKind, InvalidRuns, PlanLeftOut, RunId, Task};

/// The state of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanReport {
    /// The plan's name.
    pub plan: String,
    /// Its cells, in the plan's order.
    pub cells: Vec<CellReport>,
    /// What is not measured, and why.
    pub left_out: Vec<PlanLeftOut>,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// Processes that were repeated because something disturbed them.
    pub repeated: u64,
    /// What ended the plan before everything was measured; finished cells are in this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interruption>,
}

/// What ended a plan early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interruption {
    /// What happened, with its causes.
    pub why: String,
    /// What to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The state of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellReport {
    /// The cell.
    pub task: Task,
    /// Its state.
    pub standing: CellStanding,
    /// Its runs, one for each process.
    pub runs: Vec<RunId>,
    /// Why it has none, if it failed.
    pub why: Option<String>,
    /// How many of its runs are not valid.
    pub not_valid: InvalidRuns,
}

impl Interruption {
    pub(crate) fn of(error: &impl MeasuringError) -> Interruption {
        let mut why = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            why += &format!(": {error}");
            cause = error.source();
        }
        Interruption { why, hint: error.hint() }
    }
}

impl CellReport {
    /// Whether it was measured and has no valid run.
    #[must_use]
    pub fn lacks_valid_run(&self) -> bool {
        !self.runs.is_empty() && self.not_valid.total() >= self.runs.len() as u64
    }
}

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellStanding {
    /// Every process has measured it.
    Measured,
    /// It cannot be measured.
    Failed,
    /// Not everything is measured yet.
    Open,
}

impl PlanReport {
    /// From what the database knows of this plan's own cells.
    pub(crate) fn new(
        plan: &str,
        tasks: &[Task],
        left_out: Vec<PlanLeftOut>,
        planned: &[PlannedCell],
        stopped: bool,
    ) -> PlanReport {
        let mut known: BTreeMap<String, Vec<&PlannedCell>> = BTreeMap::new();
        for cell in planned {
            if let Ok(unit) = serde_json::from_str::<Unit>(&cell.cell.document) {
                known.entry(unit.task.name()).or_default().push(cell);
            }
        }
        let report = |task: &Task| {
            let units = known.remove(&task.name()).unwrap_or_default();
            let failed = units.iter().find(|unit| unit.state == CellState::Failed);
            let is_done =
                !units.is_empty() && units.iter().all(|unit| unit.state == CellState::Done);
            CellReport {
                task: task.clone(),
                standing: match (failed, is_done) {
                    (Some(_), _) => CellStanding::Failed,
                    (None, true) => CellStanding::Measured,
                    (None, false) => CellStanding::Open,
                },
                runs: units.iter().filter_map(|unit| unit.run.clone()).collect(),
                why: failed.and_then(|unit| unit.reason.clone()),
                not_valid: InvalidRuns::default(),
            }
        };
        let cells = tasks.iter().map(report).collect();
        let plan = plan.to_owned();
        PlanReport { plan, cells, left_out, stopped, repeated: 0, interrupted: None }
    }

    /// How many cells stand so.
    #[must_use]
    pub fn count(&self, standing: CellStanding) -> usize {
        self.cells.iter().filter(|cell| cell.standing == standing).count()
    }

    /// Its runs that are not valid, by their reasons.
    #[must_use]
    pub fn not_valid(&self) -> InvalidRuns {
        let mut all = InvalidRuns::default();
        self.cells.iter().for_each(|cell| all.merge(&cell.not_valid));
        all
    }

    /// Whether a model could not be had.
    #[must_use]
    pub fn has_unknown_model(&self) -> bool {
        let kind = |cell: &CellReport| cell.why.as_deref().and_then(FailureKind::of_text);
        self.cells.iter().any(|cell| kind(cell) == Some(FailureKind::Model))
    }
}
