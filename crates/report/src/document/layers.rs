//! Where the time goes, for programs.

use crate::number::milliseconds;
use serde::Serialize;
use types::{Bound, Estimate, Layer, LayerReport, Rollup, Spent};

/// The layers of a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Layers<'a> {
    unit: &'static str,
    runs: u64,
    plain: f64,
    instrumented: f64,
    overhead: EstimateDocument,
    sum: f64,
    residue: f64,
    outside: f64,
    instruments_inside: f64,
    closure: EstimateDocument,
    placed: f64,
    layers: Vec<LayerDocument<'a>>,
    kinds: Vec<RollupDocument<'a>>,
    operators: Vec<RollupDocument<'a>>,
    remarks: &'a [String],
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct EstimateDocument {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Clone, Serialize)]
struct LayerDocument<'a> {
    path: &'a str,
    depth: usize,
    kind: &'static str,
    class: &'a str,
    #[serde(flatten)]
    spent: SpentDocument,
}

#[derive(Debug, Clone, Serialize)]
struct RollupDocument<'a> {
    name: &'a str,
    #[serde(flatten)]
    spent: SpentDocument,
}

#[derive(Debug, Clone, Serialize)]
struct SpentDocument {
    calls: f64,
    total: f64,
    own: f64,
    share: f64,
    flops: Option<u64>,
    bytes: Option<u64>,
    flops_per_second: Option<f64>,
    intensity: Option<f64>,
    bound: Option<Bound>,
    attained: Option<f64>,
}

impl<'a> From<&'a LayerReport> for Layers<'a> {
    fn from(report: &'a LayerReport) -> Layers<'a> {
        Layers {
            unit: "ms",
            runs: report.runs,
            plain: milliseconds(report.plain.0),
            instrumented: milliseconds(report.instrumented.0),
            overhead: (&report.overhead).into(),
            sum: milliseconds(report.sum.0),
            residue: milliseconds(report.residue().0),
            outside: milliseconds(report.outside().0),
            instruments_inside: milliseconds(report.instruments_inside().0),
            closure: (&report.closure).into(),
            placed: report.placed.0,
            layers: report.layers.iter().map(LayerDocument::from).collect(),
            kinds: report.kinds.iter().map(RollupDocument::from).collect(),
            operators: report.operators.iter().map(RollupDocument::from).collect(),
            remarks: &report.remarks,
        }
    }
}

impl From<&Estimate> for EstimateDocument {
    fn from(estimate: &Estimate) -> EstimateDocument {
        let Estimate { value, interval } = estimate;
        EstimateDocument { value: *value, low: interval.low, high: interval.high }
    }
}

impl<'a> From<&'a Layer> for LayerDocument<'a> {
    fn from(layer: &'a Layer) -> LayerDocument<'a> {
        LayerDocument {
            path: &layer.path,
            depth: layer.depth,
            kind: layer.kind.name(),
            class: &layer.class,
            spent: (&layer.spent).into(),
        }
    }
}

impl<'a> From<&'a Rollup> for RollupDocument<'a> {
    fn from(rollup: &'a Rollup) -> RollupDocument<'a> {
        RollupDocument { name: &rollup.name, spent: (&rollup.spent).into() }
    }
}

impl From<&Spent> for SpentDocument {
    fn from(spent: &Spent) -> SpentDocument {
        SpentDocument {
            calls: spent.calls,
            total: milliseconds(spent.total.0),
            own: milliseconds(spent.own.0),
            share: spent.share.0,
            flops: spent.flops.map(|flops| flops.0),
            bytes: spent.bytes.map(|bytes| bytes.0),
            flops_per_second: spent.flops_per_second(),
            intensity: spent.intensity(),
            bound: spent.roofline.map(|place| place.bound),
            attained: spent.roofline.map(|place| place.attained.0),
        }
    }
}
