//! Recommendations as the document `modelmeter.recommendations/1`; `docs/schema/README.md` says what its keys are.

use super::words::{reason, why};
use crate::analysis::{cell, finite, interval, key, pooled};
use crate::number::milliseconds;
use serde_json::{Value, json};
use types::{Behind, Candidate, Exclusion, LeftOut, Objective, Recommendation, Wish};

/// The name and version of the document.
pub const RECOMMENDATIONS_SCHEMA: &str = "modelmeter.recommendations/1";

/// The recommendations as a JSON value of `modelmeter.recommendations/1`; keys keep the order of the document.
pub(super) fn recommendations_json(found: &[Recommendation]) -> Value {
    json!({
        "schema": RECOMMENDATIONS_SCHEMA,
        "recommendations": found.iter().map(recommendation).collect::<Vec<_>>(),
    })
}

fn recommendation(found: &Recommendation) -> Value {
    let wish = &found.wish;
    json!({
        "model": found.model,
        "weights": if found.random_weights { "random" } else { "real" },
        "mode": found.mode,
        "sequence_length": found.sequence_length,
        "objective": wish.objective,
        "slo": wish.slos.iter().map(|slo| {
            let limit = finite(milliseconds(slo.limit.0));
            json!({ "percentile": slo.percentile, "limit": limit, "unit": "ms" })
        }).collect::<Vec<_>>(),
        "memory_limit": wish.memory_limit,
        "currency": Some(&wish.prices.currency).filter(|name| !name.is_empty()),
        "best": found.best().map(|one| candidate(one, wish)),
        "runner_up": found.runner_up().map(|one| candidate(one, wish)),
        "candidates": found.candidates.iter().map(|one| candidate(one, wish)).collect::<Vec<_>>(),
        "not_measured": found.gaps,
        "left_out": found.left_out.iter().map(left_out).collect::<Vec<_>>(),
        "machines": found.machines,
        "measure_again": found.again,
        "remarks": found.remarks,
    })
}

fn candidate(one: &Candidate, wish: &Wish) -> Value {
    let unit = match wish.objective {
        Objective::Latency => "s",
        Objective::Throughput => "samples/s",
        Objective::Memory => "bytes",
        Objective::Energy => "J/sample",
        Objective::Cost => "currency/sample",
    };
    json!({
        "cell": cell(&one.cell),
        "value": finite(one.value.value),
        "ci95": interval(one.value.interval),
        "unit": unit,
        "behind": one.behind.as_ref().map(behind),
    })
}

fn behind(behind: &Behind) -> Value {
    json!({
        "factor": pooled(&behind.factor),
        "allowance": behind.allowance,
        "verdict": if behind.told_apart { "worse" } else { "cannot-tell" },
    })
}

fn left_out(one: &LeftOut) -> Value {
    json!({
        "cell": key(&one.cell),
        "reason": reason(&one.why),
        "why": why(&one.why),
        "reasons": match &one.why {
            Exclusion::Invalid { reasons } => Some(reasons),
            _ => None,
        },
        "runs": one.count,
        "run_ids": one.runs,
    })
}
