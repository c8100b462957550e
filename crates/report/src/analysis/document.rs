//! An analysis as the document `modelmeter.analysis/1`; `docs/schema/README.md` says what its keys are.

use crate::number::milliseconds;
use crate::timestamp::rfc3339;
use crate::variant::variant;
use serde_json::{Value, json};
use types::{
    AnalysedCell, Analysis, BatchSeries, CellKey, Interval, LengthSeries, NotValidCell, Pooled,
    PooledCell, Scaling,
};

/// The name and version of the document.
pub const ANALYSIS_SCHEMA: &str = "modelmeter.analysis/1";

/// The analysis as a JSON value of `modelmeter.analysis/1`; keys keep the order of the document.
#[must_use]
pub fn analysis_json(found: &Analysis) -> Value {
    json!({
        "schema": ANALYSIS_SCHEMA,
        "cells": found.cells.iter().map(analysed).collect::<Vec<_>>(),
        "best_batches": found.batches.iter().map(batches).collect::<Vec<_>>(),
        "lengths": found.lengths.iter().map(lengths).collect::<Vec<_>>(),
        "machines": found.machines,
        "runs": found.tally,
        "not_valid": found.not_valid.iter().map(not_valid).collect::<Vec<_>>(),
        "measure_again": found.again,
        "remarks": found.remarks,
    })
}

fn not_valid(one: &NotValidCell) -> Value {
    let mut document = key(&one.key);
    if let Value::Object(map) = &mut document {
        map.insert("reasons".into(), json!(one.reasons));
        map.insert("newest_run".into(), json!(one.newest));
        map.insert("started_at".into(), json!(rfc3339(one.began)));
    }
    document
}

fn analysed(one: &AnalysedCell) -> Value {
    let mut document = cell(&one.cell);
    if let Value::Object(map) = &mut document {
        let speed_up = json!({
            "ratio": one.speed_up.value.and_then(|found| finite(found.value)),
            "ci95": one.speed_up.value.and_then(|found| interval(found.interval)),
            "why": one.speed_up.why,
        });
        map.insert("speed_up_over_cpu".into(), speed_up);
        map.insert("pareto".into(), json!(one.on_front.value));
    }
    document
}

/// A pooled cell, its key first.
pub(crate) fn cell(cell: &PooledCell) -> Value {
    let mut document = key(&cell.key);
    let numbers = json!({
        "engine_version": cell.engine_version,
        "runs": cell.runs,
        "valid": cell.invalid.is_none(),
        "not_valid": cell.invalid,
        "older_runs": cell.older,
        "started_at": { "first": rfc3339(cell.began.0), "last": rfc3339(cell.began.1) },
        "samples": cell.samples,
        "latency": {
            "median": finite(milliseconds(cell.latency.value)),
            "ci95": cell.latency.interval.map(|Interval { low, high }| {
                json!({ "low": finite(milliseconds(low)), "high": finite(milliseconds(high)) })
            }),
            "p90": cell.percentiles.p90.map(milliseconds).and_then(finite),
            "p95": cell.percentiles.p95.map(milliseconds).and_then(finite),
            "p99": cell.percentiles.p99.map(milliseconds).and_then(finite),
            "p99.9": cell.percentiles.p999.map(milliseconds).and_then(finite),
            "unit": "ms",
        },
        "throughput": {
            "samples_per_second": cell.throughput.value.and_then(|found| finite(found.value)),
            "ci95": cell.throughput.value.and_then(|found| interval(found.interval)),
            "why": cell.throughput.why,
        },
        "memory": { "peak": cell.memory.value, "unit": "bytes", "why": cell.memory.why },
        "energy": {
            "joules_per_sample": cell.energy.value.and_then(|found| finite(found.value)),
            "ci95": cell.energy.value.and_then(|found| interval(found.interval)),
            "why": cell.energy.why,
        },
        "ceiling_share": cell.efficiency.value.and_then(finite),
    });
    if let (Value::Object(map), Value::Object(numbers)) = (&mut document, numbers) {
        map.extend(numbers);
    }
    document
}

/// What was asked.
pub(crate) fn key(key: &CellKey) -> Value {
    json!({
        "model": key.model,
        "weights": if key.random_weights { "random" } else { "real" },
        "provenance": if key.imported { "imported" } else { "measured" },
        "machine": key.machine,
        "device": key.device,
        "engine": key.engine,
        "precision": key.precision,
        "batch_size": key.batch_size,
        "sequence_length": key.sequence_length,
        "mode": key.mode,
        "threads": key.threads,
        "variant": variant(&key.variant),
    })
}

fn batches(series: &BatchSeries) -> Value {
    json!({
        "best": key(&series.best),
        "samples_per_second": finite(series.throughput.value),
        "nearly_from": series.enough,
        "scaling": series.scaling.value.as_ref().map(scaling),
    })
}

fn lengths(series: &LengthSeries) -> Value {
    json!({ "shortest": key(&series.shortest), "scaling": scaling(&series.scaling) })
}

fn scaling(found: &Scaling) -> Value {
    json!({
        "from": found.from,
        "to": found.to,
        "points": found.points,
        "exponent": pooled(&found.exponent),
        "gain": finite(found.gain),
        "efficiency": finite(found.efficiency),
    })
}

pub(crate) fn pooled(found: &Pooled) -> Value {
    json!({ "ratio": finite(found.value), "ci95": interval(found.interval) })
}

pub(crate) fn interval(interval: Option<Interval>) -> Option<Value> {
    interval.map(|Interval { low, high }| json!({ "low": finite(low), "high": finite(high) }))
}

pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
