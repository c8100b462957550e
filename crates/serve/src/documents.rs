//! The documents that only this server writes. Their fields and comments are the published schemas.

use crate::launcher::Job;
use live::RunNow;
use schemars::JsonSchema;
use serde::Serialize;
use store::{PlanProgress, PlannedCell, Status};
use types::{Ceilings, Machine, Noise};

/// The name and version of a refusal.
pub const REFUSAL_SCHEMA: &str = "modelmeter.refusal/1";
/// The name and version of the message to a webhook.
pub const MEASUREMENT_SCHEMA: &str = "modelmeter.measurement/1";
/// The name and version of what is stored, in short.
pub const STORED_SCHEMA: &str = "modelmeter.stored/1";
/// The name and version of the plans.
pub const PLANS_SCHEMA: &str = "modelmeter.plans/1";
/// The name and version of the cells of a plan.
pub const PLAN_CELLS_SCHEMA: &str = "modelmeter.plan-cells/1";
/// The name and version of the machines.
pub const MACHINES_SCHEMA: &str = "modelmeter.machines/1";
/// The name and version of the measurements that were started here.
pub const MEASUREMENTS_SCHEMA: &str = "modelmeter.measurements/1";
/// The name and version of what a change did.
pub const CHANGE_SCHEMA: &str = "modelmeter.change/1";

/// Why a request does not get what it asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusalDocument<'a> {
    #[schemars(extend("const" = REFUSAL_SCHEMA))]
    pub(crate) schema: &'static str,
    /// The status of HTTP.
    pub(crate) status: u16,
    /// The reason.
    pub(crate) error: &'a str,
    /// What to try instead.
    pub(crate) hint: Option<&'a str>,
}

/// What a webhook is told when a measurement ended or died.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasurementDocument<'a> {
    #[schemars(extend("const" = MEASUREMENT_SCHEMA))]
    pub(crate) schema: &'static str,
    /// All of it as a sentence.
    pub(crate) text: &'a str,
    /// `finished`, `failed` or `lost`.
    pub(crate) kind: &'a str,
    /// The command: `profile`, `bench`.
    pub(crate) command: &'a str,
    /// The number of the process.
    pub(crate) pid: u32,
    /// Its exit code; null if it was killed.
    pub(crate) exit: Option<i32>,
    /// Its last runs, the newest first.
    pub(crate) runs: &'a [RunNow],
    /// What failed last, the newest first.
    pub(crate) failures: &'a [String],
}

/// What is stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredDocument {
    #[schemars(extend("const" = STORED_SCHEMA))]
    pub(crate) schema: &'static str,
    /// The version of the program that answers.
    pub(crate) version: &'static str,
    /// The database.
    pub(crate) status: Status,
    /// Every plan by name.
    pub(crate) plans: Vec<PlanProgress>,
}

/// Plans and how far they are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlansDocument {
    #[schemars(extend("const" = PLANS_SCHEMA))]
    pub(crate) schema: &'static str,
    /// Every plan by name.
    pub(crate) plans: Vec<PlanProgress>,
}

/// The cells of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanCellsDocument<'a> {
    #[schemars(extend("const" = PLAN_CELLS_SCHEMA))]
    pub(crate) schema: &'static str,
    /// The name of the plan.
    pub(crate) plan: &'a str,
    /// Its cells in their order.
    pub(crate) cells: Vec<PlannedCell>,
}

/// Machines, their ceilings and their noise.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachinesDocument {
    #[schemars(extend("const" = MACHINES_SCHEMA))]
    pub(crate) schema: &'static str,
    /// Every machine in the database.
    pub(crate) machines: Vec<MachineDocument>,
}

/// A machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MachineDocument {
    /// What it is.
    pub(crate) machine: Machine,
    /// What its devices can do at best.
    pub(crate) ceilings: Vec<Ceilings>,
    /// Its tests of noise, the newest first.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub(crate) noise: Vec<Noise>,
}

/// Measurements that were started here.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeasurementsDocument {
    #[schemars(extend("const" = MEASUREMENTS_SCHEMA))]
    pub(crate) schema: &'static str,
    /// The newest first.
    pub(crate) jobs: Vec<Job>,
}

/// What a change did; what it was not about is null.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeDocument {
    #[schemars(extend("const" = CHANGE_SCHEMA))]
    pub(crate) schema: &'static str,
    /// The process that was started.
    pub(crate) pid: Option<u32>,
    /// The process that was asked to stop.
    pub(crate) stopping: Option<i32>,
    /// The run whose labels were to change.
    pub(crate) run: Option<String>,
    /// Whether they did.
    pub(crate) changed: Option<bool>,
    /// How many runs were deleted.
    pub(crate) deleted: Option<u64>,
}

impl Default for ChangeDocument {
    fn default() -> ChangeDocument {
        ChangeDocument {
            schema: CHANGE_SCHEMA,
            pid: None,
            stopping: None,
            run: None,
            changed: None,
            deleted: None,
        }
    }
}
