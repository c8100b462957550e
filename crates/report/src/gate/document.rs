//! A gate as the document `modelmeter.check/1`.
//!
//! `docs/schema/modelmeter.check-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit. Numbers are in SI base units.

use crate::document::{Timestamp, finite, to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use types::{
    Check, GateCell, GateDesign, GatePlan, GateReport, Gauge, Interval, Missing, Question, Reason,
    Remark, Revision, Ruling, RunId, Unit,
};

/// The name and version of the document.
pub const CHECK_SCHEMA: &str = "modelmeter.check/1";

/// The report as a JSON value of `modelmeter.check/1`; keys keep the order of the document.
pub(super) fn gate_json(report: &GateReport) -> Value {
    to_json(&CheckDocument::from(report))
}

/// The questions, evidence and rulings of a gate; numbers in SI base units.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckDocument<'a> {
    #[schemars(extend("const" = CHECK_SCHEMA))]
    schema: &'static str,
    /// The worst of them.
    ruling: Ruling,
    started_at: Timestamp,
    #[schemars(range(min = 0))]
    seconds: f64,
    /// The machine's key.
    machine: &'a str,
    hostname: &'a str,
    /// The Git checkout that the command was run in.
    revision: Option<&'a Revision>,
    /// The baseline; null if only thresholds were checked.
    baseline: Option<&'a str>,
    baseline_revision: Option<&'a Revision>,
    design: DesignDocument<'a>,
    checks: Vec<OneCheck<'a>>,
    missing: &'a [Missing],
    remarks: &'a [Remark],
}

impl<'a> From<&'a GateReport> for CheckDocument<'a> {
    fn from(report: &'a GateReport) -> CheckDocument<'a> {
        CheckDocument {
            schema: CHECK_SCHEMA,
            ruling: report.ruling(),
            started_at: report.started_at.into(),
            seconds: report.elapsed.as_secs_f64(),
            machine: &report.environment.machine.key,
            hostname: &report.environment.machine.hostname,
            revision: report.environment.revision.as_ref(),
            baseline: report.baseline.as_deref(),
            baseline_revision: report.baseline_revision.as_ref(),
            design: DesignDocument::from(&report.plan),
            checks: report.checks.iter().map(OneCheck::from).collect(),
            missing: &report.missing,
            remarks: &report.remarks,
        }
    }
}

/// How many times it would check, and with which certainty.
#[derive(Debug, Serialize, JsonSchema)]
struct DesignDocument<'a> {
    /// After how many processes per side the gate would check.
    #[schemars(inner(range(min = 1)))]
    looks: &'a [u32],
    /// How many looks it took.
    looked: u32,
    /// Turns of each side in a process; 0 if there is only one side.
    turns: u32,
    #[schemars(range(min = 0))]
    turn_seconds: f64,
    /// The accepted chance of a false alarm over all questions and looks.
    false_alarms: f64,
}

impl<'a> From<&'a GatePlan> for DesignDocument<'a> {
    fn from(plan: &'a GatePlan) -> DesignDocument<'a> {
        DesignDocument {
            looks: &plan.looks,
            looked: plan.looked,
            turns: plan.turns,
            turn_seconds: plan.turn.0,
            false_alarms: plan.chance,
        }
    }
}

/// One question with its evidence and its ruling.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Check")]
struct OneCheck<'a> {
    cell: &'a GateCell,
    metric: Gauge,
    unit: CheckUnit,
    question: QuestionDocument,
    ruling: Ruling,
    value: Option<f64>,
    baseline: Option<f64>,
    /// The value for a limit; for a change how many times worse, above 1 is worse.
    estimate: Option<f64>,
    /// The interval of the estimate, low and high; an end that is not finite is null.
    interval: Option<[Option<f64>; 2]>,
    p_value: Option<f64>,
    adjusted_p: Option<f64>,
    /// The smallest worsening that is detected with 95 % probability, as a share.
    detectable: Option<f64>,
    processes: u64,
    /// How many times worse each round was; empty if sides were not interleaved.
    rounds: Vec<Option<f64>>,
    why: Option<&'a str>,
    settle: Option<&'a str>,
    reasons: &'a [Reason],
    runs: &'a [RunId],
}

impl<'a> From<&'a Check> for OneCheck<'a> {
    fn from(check: &'a Check) -> OneCheck<'a> {
        let evidence = check.evidence.as_ref();
        OneCheck {
            cell: &check.cell,
            metric: check.gauge,
            unit: CheckUnit::of(check.gauge),
            question: QuestionDocument::from(&check.question),
            ruling: check.ruling,
            value: check.value.and_then(finite),
            baseline: check.baseline.and_then(finite),
            estimate: evidence.and_then(|found| finite(found.estimate)),
            interval: evidence
                .map(|found| found.interval)
                .map(|Interval { low, high }| [finite(low), finite(high)]),
            p_value: evidence.and_then(|found| finite(found.p_value)),
            adjusted_p: evidence.and_then(|found| finite(found.adjusted_p)),
            detectable: evidence.and_then(|found| finite(found.detectable)),
            processes: check.processes,
            rounds: check.rounds.iter().map(|round| finite(*round)).collect(),
            why: check.why.as_deref(),
            settle: check.settle.as_deref(),
            reasons: &check.reasons,
            runs: &check.runs,
        }
    }
}

/// The unit of a check's numbers.
#[derive(Debug, Serialize, JsonSchema)]
enum CheckUnit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    #[serde(rename = "1/s")]
    PerSecond,
}

impl CheckUnit {
    fn of(gauge: Gauge) -> CheckUnit {
        match gauge.unit() {
            Unit::Seconds => CheckUnit::Seconds,
            Unit::Bytes => CheckUnit::Bytes,
            _ => CheckUnit::PerSecond,
        }
    }
}

/// The request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
#[schemars(rename = "Question")]
enum QuestionDocument {
    /// A number must stay within a limit.
    Limit {
        #[schemars(extend("exclusiveMinimum" = 0))]
        limit: f64,
    },
    /// A number must not become worse.
    Change {
        #[schemars(extend("exclusiveMinimum" = 0))]
        alert: f64,
        /// Never below the machine's own noise.
        #[schemars(extend("exclusiveMinimum" = 0))]
        effective_alert: f64,
        design: GateDesign,
        /// The change that drift alone can cause; only a larger one counts as worse.
        #[schemars(range(min = 0))]
        drift: f64,
    },
}

impl From<&Question> for QuestionDocument {
    fn from(question: &Question) -> QuestionDocument {
        match *question {
            Question::Limit { limit } => QuestionDocument::Limit { limit },
            Question::Change { alert, effective, design, drift } => {
                QuestionDocument::Change { alert, effective_alert: effective, design, drift }
            }
        }
    }
}
