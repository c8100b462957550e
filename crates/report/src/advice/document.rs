//! Advice as the document `modelmeter.advice/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.advice-1.schema.json` says the same to programs. Keys may be added within version 1; none
//! changes its meaning or leaves.

use crate::document::Milliseconds;
use crate::number::milliseconds;
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{Advice, AdviceReport, Evidence, Interval, SweepPoint, Trial, Unjudged, Weights};

/// The name and version of the document.
pub const ADVICE_SCHEMA: &str = "modelmeter.advice/1";

/// The advice as a JSON value of `modelmeter.advice/1`; keys keep the order of the document.
#[must_use]
pub fn advice_json(report: &AdviceReport) -> Value {
    let (weights, weights_seed) = match report.model.weights {
        Weights::Real => ("real", None),
        Weights::Random { seed } => ("random", Some(seed)),
    };
    let cell = &report.cell;
    json!({
        "schema": ADVICE_SCHEMA,
        "started_at": rfc3339(report.started_at),
        "elapsed": Milliseconds::from(report.elapsed),
        "run": report.run,
        "model": report.model.name,
        "weights": weights,
        "weights_seed": weights_seed,
        "fingerprint": report.model.fingerprint,
        "engine": report.engine.id,
        "engine_version": report.engine.version,
        "device": cell.device,
        "precision": cell.precision,
        "batch_size": cell.batch_size,
        "sequence_length": cell.sequence_length,
        "threads": cell.threads,
        "latency": time(report.latency.map(|latency| latency.0)),
        "throughput": {"samples_per_second": report.samples_per_second.and_then(finite)},
        "memory": {"peak": report.peak_memory, "unit": "bytes"},
        "verdict": report.verdict,
        "goal": report.goal,
        "advice": report.advice.iter().map(advice).collect::<Vec<_>>(),
        "fine": report.fine.iter().map(|fine| {
            json!({"rule": fine.rule, "evidence": evidence(&fine.evidence)})
        }).collect::<Vec<_>>(),
        "not_judged": report.not_judged.iter().map(unjudged).collect::<Vec<_>>(),
        "not_concerned": report.beside.iter().map(unjudged).collect::<Vec<_>>(),
        "sweep": report.sweep.iter().map(point).collect::<Vec<_>>(),
        "remarks": report.remarks,
        "environment": report.environment,
    })
}

fn advice(advice: &Advice) -> Value {
    json!({
        "rule": advice.rule,
        "title": advice.title,
        "evidence": advice.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "expected": {
            "what": advice.gain.what,
            "factor": interval(Some(advice.gain.factor)),
            "saved": advice.gain.saved,
            "basis": advice.gain.basis,
        },
        "proof": advice.proof,
        "command": advice.command,
        "caveat": advice.caveat,
        "trial": advice.trial.as_ref().map(trial),
    })
}

fn trial(trial: &Trial) -> Value {
    json!({
        "verdict": trial.verdict,
        "factor": trial.found.and_then(finite),
        "interval": interval(trial.interval),
        "processes": trial.processes,
        "remarks": trial.remarks,
    })
}

fn evidence(evidence: &Evidence) -> Value {
    let value = finite(evidence.value);
    json!({"text": evidence.text, "key": evidence.key, "value": value, "unit": evidence.unit})
}

fn unjudged(one: &Unjudged) -> Value {
    json!({"rule": one.rule, "why": one.why, "hint": one.hint})
}

fn point(point: &SweepPoint) -> Value {
    json!({
        "batch_size": point.batch_size,
        "latency": time(Some(point.latency.0)),
        "latency_low": time(Some(point.interval.low)),
        "latency_high": time(Some(point.interval.high)),
        "samples_per_second": finite(point.samples_per_second),
        "memory_peak": point.peak_memory,
        "valid": point.valid,
        "passes": point.passes,
    })
}

fn time(seconds: Option<f64>) -> Value {
    json!({"value": seconds.and_then(finite).map(milliseconds), "unit": "ms"})
}

fn interval(interval: Option<Interval>) -> Option<Value> {
    interval.map(|Interval { low, high }| json!({"low": finite(low), "high": finite(high)}))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
