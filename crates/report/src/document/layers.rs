//! Where the time goes, for programs.

use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use types::{Bound, Estimate, Layer, LayerKind, LayerReport, Remark, Rollup, Spent};

/// The layers of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Layers<'a> {
    /// The unit of every time here.
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    /// Inferences with instruments.
    #[schemars(range(min = 1))]
    runs: u64,
    /// Median inference without instruments, in milliseconds.
    plain: f64,
    /// Median inference with instruments, in milliseconds.
    instrumented: f64,
    /// The cost of the instruments: time with them ÷ without − 1.
    overhead: EstimateDocument,
    /// Sum of all layers, and of `idle`, in milliseconds.
    sum: f64,
    /// Time in which the device did nothing, in milliseconds; null if the times are not a device's own records.
    idle: Option<f64>,
    /// plain − sum, in milliseconds; below 0 if the instruments cost more than the time outside the layers.
    residue: f64,
    /// Time outside every layer, in milliseconds: the residue if it is above 0.
    #[schemars(range(min = 0))]
    outside: f64,
    /// Lower bound of the instruments' cost inside the layers' times, in milliseconds: −residue if the residue is below 0.
    #[schemars(range(min = 0))]
    instruments_inside: f64,
    /// Sum of all layers ÷ time without instruments.
    closure: EstimateDocument,
    /// Share of the time that was assigned by what ran before and after it.
    placed: f64,
    layers: Vec<LayerDocument<'a>>,
    kinds: Vec<RollupDocument<'a>>,
    operators: Vec<RollupDocument<'a>>,
    remarks: &'a [Remark],
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct EstimateDocument {
    /// The number.
    value: f64,
    /// The interval's lower end.
    low: f64,
    /// The interval's upper end.
    high: f64,
}

/// A module of the model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct LayerDocument<'a> {
    /// The module's path; empty for what lies in no module.
    path: &'a str,
    /// How many modules it lies in.
    depth: usize,
    /// What it is for.
    kind: LayerKind,
    /// The module's class, or the operators that run directly in it.
    class: &'a str,
    #[serde(flatten)]
    spent: SpentDocument,
}

/// All layers of one kind, or all nodes of one operator.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct RollupDocument<'a> {
    /// The kind or the operator.
    name: &'a str,
    #[serde(flatten)]
    spent: SpentDocument,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct SpentDocument {
    /// Calls in one inference.
    calls: f64,
    /// Milliseconds of one inference, including the modules inside.
    total: f64,
    /// Milliseconds without the modules inside.
    own: f64,
    /// Milliseconds of the host, including the modules inside; null if `total` is the host's own.
    host: Option<f64>,
    /// Share of the inference without instruments.
    share: f64,
    /// Floating-point operations of one inference; null if they were not counted.
    flops: Option<u64>,
    /// Bytes read and written in one inference.
    bytes: Option<u64>,
    /// Operations a second.
    flops_per_second: Option<f64>,
    /// Operations for each byte read or written.
    intensity: Option<f64>,
    /// What limits its speed, by the machine's roofline.
    bound: Option<Bound>,
    /// Achieved share of what that bound allows; above 1 if the data stayed in a cache.
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
            idle: report.device.map(|device| milliseconds(device.idle.0)),
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
            kind: layer.kind,
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
            host: spent.host.map(|host| milliseconds(host.0)),
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
