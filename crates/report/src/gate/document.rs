//! A gate as the document `modelmeter.check/1`.
//!
//! `docs/schema/modelmeter.check-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit. Numbers are in SI base units.

use crate::analysis::finite;
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{Check, GateReport, Interval, Question, Unit};

/// The name and version of the document.
pub const CHECK_SCHEMA: &str = "modelmeter.check/1";

/// The report as a JSON value of `modelmeter.check/1`; keys keep the order of the document.
pub(super) fn gate_json(report: &GateReport) -> Value {
    json!({
        "schema": CHECK_SCHEMA,
        "ruling": report.ruling().name(),
        "started_at": rfc3339(report.started_at),
        "seconds": report.elapsed.as_secs_f64(),
        "machine": report.environment.machine.key,
        "hostname": report.environment.machine.hostname,
        "revision": report.environment.revision,
        "baseline": report.baseline,
        "baseline_revision": report.baseline_revision,
        "design": {
            "looks": report.plan.looks,
            "looked": report.plan.looked,
            "turns": report.plan.turns,
            "turn_seconds": report.plan.turn.0,
            "false_alarms": report.plan.chance,
        },
        "checks": report.checks.iter().map(check).collect::<Vec<_>>(),
        "missing": report.missing,
        "remarks": report.remarks,
    })
}

fn check(check: &Check) -> Value {
    let evidence = check.evidence.as_ref();
    let question = match &check.question {
        Question::Limit { limit } => json!({ "kind": "limit", "limit": limit }),
        Question::Change { alert, effective, design, drift } => json!({
            "kind": "change",
            "alert": alert,
            "effective_alert": effective,
            "design": design,
            "drift": drift,
        }),
    };
    json!({
        "cell": check.cell,
        "metric": check.gauge,
        "unit": match check.gauge.unit() {
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            _ => "1/s",
        },
        "question": question,
        "ruling": check.ruling.name(),
        "value": check.value.and_then(finite),
        "baseline": check.baseline.and_then(finite),
        "estimate": evidence.and_then(|found| finite(found.estimate)),
        "interval": evidence.map(|found| ends(found.interval)),
        "p_value": evidence.and_then(|found| finite(found.p_value)),
        "adjusted_p": evidence.and_then(|found| finite(found.adjusted_p)),
        "detectable": evidence.and_then(|found| finite(found.detectable)),
        "processes": check.processes,
        "rounds": check.rounds.iter().map(|round| finite(*round)).collect::<Vec<_>>(),
        "why": check.why,
        "settle": check.settle,
        "reasons": check.reasons,
        "runs": check.runs,
    })
}

/// An end that no number can say is null.
fn ends(interval: Interval) -> Value {
    json!([finite(interval.low), finite(interval.high)])
}
