//! An analysis as the document `modelmeter.analysis/1`; `docs/schema/README.md` says what its keys are.

use super::against::AgainstDocument;
use super::cell::{CellDocument, KeyDocument, RatioDocument};
use crate::document::{Ends, Timestamp, finite, to_json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use types::{
    Against, AnalysedCell, Analysis, BatchSeries, InvalidRuns, LengthSeries, NotValidCell, Remark,
    RunId, Scaling, Tally,
};

/// The name and version of the document.
pub const ANALYSIS_SCHEMA: &str = "modelmeter.analysis/1";

/// The analysis as a JSON value of `modelmeter.analysis/1`, with how it stands against a file where somebody asked; keys
/// keep the order of the document.
#[must_use]
pub fn analysis_json(found: &Analysis, compared_to: Option<(&Against, &str)>) -> Value {
    to_json(&AnalysisDocument {
        schema: ANALYSIS_SCHEMA,
        cells: found.cells.iter().map(AnalysedDocument::from).collect(),
        best_batches: found.batches.iter().map(BatchesDocument::from).collect(),
        lengths: found.lengths.iter().map(LengthsDocument::from).collect(),
        machines: &found.machines,
        runs: &found.tally,
        not_valid: found.not_valid.iter().map(NotValidDocument::from).collect(),
        measure_again: found.again.as_deref(),
        remarks: &found.remarks,
        compared_to: compared_to.map(|(against, file)| AgainstDocument::new(against, file)),
    })
}

/// Cells with their runs pooled, beside each other.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnalysisDocument<'a> {
    #[schemars(extend("const" = ANALYSIS_SCHEMA))]
    schema: &'static str,
    /// In the order of model, mode, length, machine, device, engine, precision, threads, batch.
    cells: Vec<AnalysedDocument<'a>>,
    /// Cells that differ in their batch alone.
    best_batches: Vec<BatchesDocument<'a>>,
    /// Cells that differ in their length alone.
    lengths: Vec<LengthsDocument<'a>>,
    /// Host names by machine keys.
    machines: &'a BTreeMap<String, String>,
    runs: &'a Tally,
    /// Cells that were measured but have no valid run.
    not_valid: Vec<NotValidDocument<'a>>,
    /// The command that measures the newest of those again.
    measure_again: Option<&'a str>,
    /// Remarks that limit or explain the result.
    remarks: &'a [Remark],
    /// With `--compare-to`: the cells compared with those of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_to: Option<AgainstDocument<'a>>,
}

/// A cell that has no valid run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotValidCell")]
struct NotValidDocument<'a> {
    #[serde(flatten)]
    key: KeyDocument<'a>,
    reasons: &'a InvalidRuns,
    newest_run: &'a RunId,
    /// When that run began: RFC 3339, UTC.
    started_at: Timestamp,
}

impl<'a> From<&'a NotValidCell> for NotValidDocument<'a> {
    fn from(one: &'a NotValidCell) -> NotValidDocument<'a> {
        NotValidDocument {
            key: KeyDocument::from(&one.key),
            reasons: &one.reasons,
            newest_run: &one.newest,
            started_at: one.began.into(),
        }
    }
}

/// A cell, and how it compares with other cells.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AnalysedCell")]
struct AnalysedDocument<'a> {
    #[serde(flatten)]
    cell: CellDocument<'a>,
    speed_up_over_cpu: SpeedUpDocument<'a>,
    /// Whether no other cell is better in latency, throughput and memory together; null if one of them is unknown.
    pareto: Option<bool>,
}

/// The processor's time ÷ its own: above 1 is faster.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SpeedUp")]
struct SpeedUpDocument<'a> {
    ratio: Option<f64>,
    ci95: Option<Ends>,
    /// Why there is none.
    why: Option<&'a str>,
}

impl<'a> From<&'a AnalysedCell> for AnalysedDocument<'a> {
    fn from(one: &'a AnalysedCell) -> AnalysedDocument<'a> {
        let found = one.speed_up.value;
        AnalysedDocument {
            cell: CellDocument::from(&one.cell),
            speed_up_over_cpu: SpeedUpDocument {
                ratio: found.and_then(|found| finite(found.value)),
                ci95: found.and_then(|found| found.interval).map(Ends::from),
                why: one.speed_up.why.as_deref(),
            },
            pareto: one.on_front.value,
        }
    }
}

/// Cells that differ in their batch alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BatchSeries")]
struct BatchesDocument<'a> {
    /// The cell with the highest throughput.
    best: KeyDocument<'a>,
    samples_per_second: Option<f64>,
    /// The smallest batch within 5 % of that.
    nearly_from: u64,
    scaling: Option<ScalingDocument>,
}

impl<'a> From<&'a BatchSeries> for BatchesDocument<'a> {
    fn from(series: &'a BatchSeries) -> BatchesDocument<'a> {
        BatchesDocument {
            best: KeyDocument::from(&series.best),
            samples_per_second: finite(series.throughput.value),
            nearly_from: series.enough,
            scaling: series.scaling.value.as_ref().map(ScalingDocument::from),
        }
    }
}

/// Cells that differ in their length alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LengthSeries")]
struct LengthsDocument<'a> {
    /// The cell of the shortest length.
    shortest: KeyDocument<'a>,
    scaling: ScalingDocument,
}

impl<'a> From<&'a LengthSeries> for LengthsDocument<'a> {
    fn from(series: &'a LengthSeries) -> LengthsDocument<'a> {
        LengthsDocument {
            shortest: KeyDocument::from(&series.shortest),
            scaling: ScalingDocument::from(&series.scaling),
        }
    }
}

/// How the time of an inference grows with a size.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Scaling")]
struct ScalingDocument {
    /// The smallest.
    from: u64,
    /// The largest.
    to: u64,
    /// How many were measured.
    points: u64,
    /// The exponent e of time = c · sizeᵉ; 1 means proportional.
    exponent: RatioDocument,
    /// Work per second at the largest size ÷ at the smallest.
    gain: Option<f64>,
    /// The gain relative to ideal scaling.
    efficiency: Option<f64>,
}

impl From<&Scaling> for ScalingDocument {
    fn from(found: &Scaling) -> ScalingDocument {
        ScalingDocument {
            from: found.from,
            to: found.to,
            points: found.points,
            exponent: RatioDocument::from(&found.exponent),
            gain: finite(found.gain),
            efficiency: finite(found.efficiency),
        }
    }
}
