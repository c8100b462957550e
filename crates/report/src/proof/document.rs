//! A proof as the document `modelmeter.proof/1`, a search as `modelmeter.optimize/1`.
//!
//! `docs/schema/modelmeter.proof-1.schema.json` says the same to programs. Keys may be added within version 1; none is
//! renamed, removed or given another unit.

use crate::analysis::{finite, interval};
use crate::document::Milliseconds;
use crate::number::milliseconds;
use crate::timestamp::rfc3339;
use serde_json::{Value, json};
use types::{
    Attempt, Drift, ModelFacts, OptimizeReport, OutputDrift, ProofReport, SpeedProof, Summary,
    Weights,
};

/// The name and version of a proof.
pub const PROOF_SCHEMA: &str = "modelmeter.proof/1";
/// The name and version of a search.
pub const OPTIMIZE_SCHEMA: &str = "modelmeter.optimize/1";

/// A proof as a JSON value of `modelmeter.proof/1`.
pub(super) fn proof_json(report: &ProofReport) -> Value {
    let random = matches!(report.model.weights, Weights::Random { .. });
    json!({
        "schema": PROOF_SCHEMA,
        "started_at": rfc3339(report.started_at),
        "elapsed": Milliseconds::from(report.elapsed),
        "model": report.model.name,
        "weights": if random { "random" } else { "real" },
        "fingerprint": report.model.fingerprint,
        "optimisation": report.optimisation,
        "folder": report.folder,
        "changed_in": milliseconds(report.changed_in.0),
        "batch_size": report.batch_size,
        "sequence_length": report.sequence_length,
        "before": facts(&report.before),
        "after": facts(&report.after),
        "layers": report.weights.iter().map(|one| json!({
            "name": one.name,
            "before": { "numbers": one.before[0], "nonzeros": one.before[1] },
            "after": { "numbers": one.after[0], "nonzeros": one.after[1] },
            "sparsity": 1.0 - one.after[1] as f64 / one.before[0].max(1) as f64,
        })).collect::<Vec<_>>(),
        "blocks": report.blocks,
        "drift": report.drift.as_ref().map(drift),
        "speed": report.speed.iter().map(speed).collect::<Vec<_>>(),
        "remarks": report.remarks,
    })
}

fn facts(facts: &ModelFacts) -> Value {
    json!({
        "parameters": facts.parameters,
        "nonzeros": facts.nonzeros,
        "sparsity": facts.sparsity(),
        "size": facts.size,
        "compressed": facts.compressed,
        "flops": facts.flops,
        "precision": facts.precision,
    })
}

fn drift(drift: &Drift) -> Value {
    json!({
        "engine": drift.engine,
        "samples": drift.samples,
        "inputs": if drift.given { "given" } else { "drawn" },
        "worst": drift.worst().and_then(finite),
        "outputs": drift.outputs.iter().map(output).collect::<Vec<_>>(),
        "layers": drift.layers.iter().map(output).collect::<Vec<_>>(),
        "similarities": drift.similarities,
    })
}

fn output(one: &OutputDrift) -> Value {
    json!({
        "name": one.output,
        "cosine": one.cosine.and_then(finite),
        "relative_error": one.relative_error.and_then(finite),
        "top1": one.top1.and_then(finite),
        "why": one.why,
    })
}

fn speed(one: &SpeedProof) -> Value {
    let times = |summary: &Option<Summary>| {
        summary.as_ref().map(|s| {
            json!({
                "median": milliseconds(s.median),
                "mean": milliseconds(s.mean),
                "p95": milliseconds(s.p95),
                "count": s.count,
            })
        })
    };
    let found = one.speed_up.as_ref();
    json!({
        "engine": one.engine,
        "engine_version": one.version,
        "before": times(&one.before),
        "after": times(&one.after),
        "memory_before": one.memory_before,
        "memory_after": one.memory_after,
        "speed_up": found.and_then(|found| finite(found.ratio)),
        "interval": interval(found.and_then(|found| found.interval)),
        "detectable": found.and_then(|found| found.detectable),
        "verdict": one.verdict,
        "valid": one.verdicts.iter().all(|verdict| verdict.valid),
        "why": one.why,
        "instead": one.instead,
    })
}

/// A search as a JSON value of `modelmeter.optimize/1`.
pub(super) fn optimize_json(report: &OptimizeReport) -> Value {
    let attempt = |one: &Attempt| {
        json!({
            "command": one.command,
            "gain": one.gain.and_then(finite),
            "sure_gain": one.sure_gain.and_then(finite),
            "refused": one.refused,
            "open": one.is_open,
            "proof": one.proof.as_ref().map(|proof| proof_json(proof)),
        })
    };
    json!({
        "schema": OPTIMIZE_SCHEMA,
        "started_at": rfc3339(report.started_at),
        "elapsed": Milliseconds::from(report.elapsed),
        "model": report.model.name,
        "target": report.target,
        "max_drift": report.max_drift,
        "engine": report.engine,
        "best": report.best().map(attempt),
        "attempts": report.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "folder": report.folder,
        "remarks": report.remarks,
    })
}
