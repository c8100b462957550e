//! What fits as the document `modelmeter.fit/1`.
//!
//! `docs/schema/modelmeter.fit-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit.

use super::words::share;
use crate::analysis::{finite, interval};
use crate::document::Milliseconds;
use crate::number::milliseconds;
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{
    Confirmation, FitCell, FitOutcome, FitReport, FitWay, Interval, Pooled, Refusal, Weights,
};

/// The name and version of the document.
pub const FIT_SCHEMA: &str = "modelmeter.fit/1";

/// The report as a JSON value of `modelmeter.fit/1`; keys keep the order of the document.
pub(super) fn fit_json(report: &FitReport) -> Value {
    let random = matches!(report.model.weights, Weights::Random { .. });
    json!({
        "schema": FIT_SCHEMA,
        "started_at": rfc3339(report.started_at),
        "elapsed": Milliseconds::from(report.elapsed),
        "model": report.model.name,
        "weights": if random { "random" } else { "real" },
        "fingerprint": report.model.fingerprint,
        "parameters": Some(report.model.parameters).filter(|count| *count > 0),
        "sequence_length": report.sequence_length,
        "device": report.device,
        "threads": report.threads,
        "machine": report.machine.key,
        "memory_limit": { "bytes": report.limit, "by": report.limited_by },
        "max_batch": report.most,
        "best": report.best().map(|best| confirmation(best, report)),
        "confirmations":
            report.confirmations.iter().map(|one| confirmation(one, report)).collect::<Vec<_>>(),
        "ways": report.ways.iter().map(|one| way(one, report)).collect::<Vec<_>>(),
        "left_out": report.left_out,
        "smallest_need": report.smallest_need,
        "remarks": report.remarks,
    })
}

fn way(way: &FitWay, report: &FitReport) -> Value {
    json!({
        "engine": way.engine,
        "engine_version": way.engine_version,
        "precision": way.precision,
        "first_batch": way.start,
        "largest_batch": way.largest,
        "refused_batch": way.refused,
        "stopped": way.stopped,
        "cells": way.cells.iter().map(|one| cell(one, report)).collect::<Vec<_>>(),
        "tries": way.tries.iter().map(|one| json!({
            "batch_size": one.batch,
            "peak": one.peak,
            "refused": one.refused.as_ref().map(refusal),
        })).collect::<Vec<_>>(),
    })
}

fn cell(cell: &FitCell, report: &FitReport) -> Value {
    let (outcome, refused, why) = match &cell.outcome {
        FitOutcome::Fits => ("fits", None, None),
        FitOutcome::Refused(found) => ("refused", Some(refusal(found)), None),
        FitOutcome::NotTimed { why } => ("not-timed", None, Some(why)),
    };
    json!({
        "batch_size": cell.batch,
        "outcome": outcome,
        "refused": refused,
        "why": why,
        "memory": {
            "estimate": cell.estimate,
            "peak": cell.peak,
            "share_of_limit": share(cell.peak, report.limit).and_then(finite),
            "unit": "bytes",
        },
        "throughput": throughput(cell.throughput),
        "latency": latency(cell.latency),
        "samples": cell.samples,
        "valid": cell.valid,
    })
}

fn confirmation(one: &Confirmation, report: &FitReport) -> Value {
    json!({
        "engine": one.cell.engine,
        "precision": one.cell.precision,
        "batch_size": one.cell.batch_size,
        "run": one.run,
        "memory": {
            "peak": one.peak,
            "share_of_limit": share(one.peak, report.limit).and_then(finite),
            "unit": "bytes",
        },
        "throughput": throughput(one.throughput),
        "latency": latency(one.latency),
        "verdict": one.verdict,
        "refused": one.refused.as_ref().map(refusal),
        "command": one.command,
    })
}

fn refusal(refusal: &Refusal) -> Value {
    json!({ "kind": refusal.kind, "why": refusal.why })
}

fn throughput(found: Option<Pooled>) -> Value {
    json!({
        "samples_per_second": found.and_then(|found| finite(found.value)),
        "ci95": found.and_then(|found| interval(found.interval)),
    })
}

fn latency(found: Option<Pooled>) -> Value {
    json!({
        "median": found.and_then(|found| finite(milliseconds(found.value))),
        "ci95": found.and_then(|found| found.interval).map(|Interval { low, high }| {
            json!({ "low": finite(milliseconds(low)), "high": finite(milliseconds(high)) })
        }),
        "unit": "ms",
    })
}
