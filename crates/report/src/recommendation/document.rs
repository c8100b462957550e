//! Recommendations as the document `modelmeter.recommendations/1`; `docs/schema/README.md` says what its keys are.

use super::words::{reason, why};
use crate::analysis::{CellDocument, KeyDocument, RatioDocument};
use crate::document::{Ends, WeightsKind, finite, to_json};
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use types::{
    Behind, Bytes, Candidate, CapacityReport, Exclusion, Gap, InvalidRuns, LeftOut, Mode,
    Objective, Percentile, Recommendation, Remark, RunId, Slo,
};

/// The name and version of the document.
pub const RECOMMENDATIONS_SCHEMA: &str = "modelmeter.recommendations/1";

/// The recommendations as a JSON value of `modelmeter.recommendations/1`; keys keep the order of the document.
pub(super) fn recommendations_json(found: &[Recommendation], capacity: &[CapacityReport]) -> Value {
    to_json(&RecommendationsDocument {
        schema: RECOMMENDATIONS_SCHEMA,
        recommendations: found.iter().map(RecommendationDocument::from).collect(),
        capacity,
        predictions: None,
    })
}

/// The best configuration for each model, and the evidence.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecommendationsDocument<'a> {
    #[schemars(extend("const" = RECOMMENDATIONS_SCHEMA))]
    schema: &'static str,
    recommendations: Vec<RecommendationDocument<'a>>,
    /// How many replicas the rate takes that was given; one entry a model, absent without a rate.
    #[serde(skip_serializing_if = "<[CapacityReport]>::is_empty")]
    capacity: &'a [CapacityReport],
    /// With `--with-predictions`: a document `modelmeter.prediction/1` of what was not measured. No recommendation rests on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Value>,
}

/// The best configuration for one model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Recommendation")]
struct RecommendationDocument<'a> {
    model: &'a str,
    weights: WeightsKind,
    mode: Mode,
    /// Tokens in each sample; null for models without a length.
    sequence_length: Option<u64>,
    /// What is to be optimised.
    objective: Objective,
    /// Service levels that must hold.
    slo: Vec<SloDocument>,
    /// The memory limit, in bytes.
    memory_limit: Option<Bytes>,
    /// The currency of prices.
    currency: Option<&'a str>,
    /// The first of `candidates`; null if there is none.
    best: Option<CandidateDocument<'a>>,
    /// The second of `candidates`; null if there is none.
    runner_up: Option<CandidateDocument<'a>>,
    /// Every configuration at its best batch size, the best first.
    candidates: Vec<CandidateDocument<'a>>,
    /// Configurations that other models were measured with.
    not_measured: &'a [Gap],
    /// Cells that were not considered.
    left_out: Vec<LeftOutDocument<'a>>,
    /// Host names by machine keys.
    machines: &'a BTreeMap<String, String>,
    /// The command that measures the newest cell without a valid run again.
    measure_again: Option<&'a str>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
}

impl<'a> From<&'a Recommendation> for RecommendationDocument<'a> {
    fn from(found: &'a Recommendation) -> RecommendationDocument<'a> {
        let wish = &found.wish;
        let candidate = |one| CandidateDocument::new(one, wish.objective);
        RecommendationDocument {
            model: &found.model,
            weights: WeightsKind::of(found.random_weights),
            mode: found.mode,
            sequence_length: found.sequence_length,
            objective: wish.objective,
            slo: wish.slos.iter().map(SloDocument::from).collect(),
            memory_limit: wish.memory_limit,
            currency: Some(wish.prices.currency.as_str()).filter(|name| !name.is_empty()),
            best: found.best().map(candidate),
            runner_up: found.runner_up().map(candidate),
            candidates: found.candidates.iter().map(candidate).collect(),
            not_measured: &found.gaps,
            left_out: found.left_out.iter().map(LeftOutDocument::from).collect(),
            machines: &found.machines,
            measure_again: found.again.as_deref(),
            remarks: &found.remarks,
        }
    }
}

/// A percentile of the latency that must not be above a limit.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Slo")]
struct SloDocument {
    percentile: Percentile,
    limit: Option<f64>,
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
}

impl From<&Slo> for SloDocument {
    fn from(slo: &Slo) -> SloDocument {
        let limit = finite(milliseconds(slo.limit.0));
        SloDocument { percentile: slo.percentile, limit, unit: "ms" }
    }
}

/// A device, an engine, a precision and a batch, and how good they are.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Candidate")]
struct CandidateDocument<'a> {
    cell: CellDocument<'a>,
    /// What the objective is about.
    value: Option<f64>,
    ci95: Option<Ends>,
    unit: CandidateUnit,
    /// How far it is behind the best; null for the best.
    behind: Option<BehindDocument>,
}

/// The unit of what the objective is about.
#[derive(Debug, Serialize, JsonSchema)]
enum CandidateUnit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "samples/s")]
    SamplesPerSecond,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "J/sample")]
    JoulesPerSample,
    #[serde(rename = "currency/sample")]
    MoneyPerSample,
}

impl From<Objective> for CandidateUnit {
    fn from(objective: Objective) -> CandidateUnit {
        match objective {
            Objective::Latency => CandidateUnit::Seconds,
            Objective::Throughput => CandidateUnit::SamplesPerSecond,
            Objective::Memory => CandidateUnit::Bytes,
            Objective::Energy => CandidateUnit::JoulesPerSample,
            Objective::Cost => CandidateUnit::MoneyPerSample,
        }
    }
}

impl<'a> CandidateDocument<'a> {
    fn new(one: &'a Candidate, objective: Objective) -> CandidateDocument<'a> {
        CandidateDocument {
            cell: CellDocument::from(&one.cell),
            value: finite(one.value.value),
            ci95: one.value.interval.map(Ends::from),
            unit: objective.into(),
            behind: one.behind.as_ref().map(BehindDocument::from),
        }
    }
}

/// How far a candidate is behind the best.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Behind")]
struct BehindDocument {
    /// How many times worse it is.
    factor: RatioDocument,
    /// Allowance for effects that stored runs cannot show, as a share of the factor.
    allowance: f64,
    verdict: BehindVerdict,
}

/// Whether it is certainly slower or worse.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BehindVerdict {
    Worse,
    CannotTell,
}

impl From<&Behind> for BehindDocument {
    fn from(behind: &Behind) -> BehindDocument {
        BehindDocument {
            factor: RatioDocument::from(&behind.factor),
            allowance: behind.allowance,
            verdict: match behind.told_apart {
                true => BehindVerdict::Worse,
                false => BehindVerdict::CannotTell,
            },
        }
    }
}

/// A cell that was not considered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LeftOut")]
struct LeftOutDocument<'a> {
    cell: KeyDocument<'a>,
    /// A code.
    #[schemars(extend("enum" = [
        "slo", "too-few-samples", "no-percentile", "memory", "no-memory", "no-value", "no-price", "imported", "invalid"
    ]))]
    reason: &'static str,
    /// As text.
    why: String,
    /// Why its runs are not valid, if they are not.
    reasons: Option<&'a InvalidRuns>,
    /// Number of runs this affects.
    runs: u64,
    /// Some of them, newest first.
    run_ids: &'a [RunId],
}

impl<'a> From<&'a LeftOut> for LeftOutDocument<'a> {
    fn from(one: &'a LeftOut) -> LeftOutDocument<'a> {
        LeftOutDocument {
            cell: KeyDocument::from(&one.cell),
            reason: reason(&one.why),
            why: why(&one.why),
            reasons: match &one.why {
                Exclusion::Invalid { reasons } => Some(reasons),
                _ => None,
            },
            runs: one.count,
            run_ids: &one.runs,
        }
    }
}
