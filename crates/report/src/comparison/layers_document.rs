//! Where the time of every side goes, for programs: every module by itself.

use crate::document::finite;
use number::milliseconds;
use schemars::JsonSchema;
use serde::Serialize;
use types::{Estimate, LayerJoin};

/// Time by layer, one entry per side in the order of `sides`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Layers")]
pub(super) struct LayersDocument<'a> {
    #[schemars(extend("const" = "ms"))]
    unit: &'static str,
    sides: Vec<SideDocument<'a>>,
    rows: Vec<RowDocument<'a>>,
}

/// The layers of one side.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SideLayers")]
struct SideDocument<'a> {
    label: &'a str,
    /// All layers of one inference.
    #[schemars(range(min = 0))]
    total: Option<f64>,
    /// Total time of one inference, in the pass with instruments.
    #[schemars(range(min = 0))]
    outside: Option<f64>,
    /// Time that is in `rows`.
    #[schemars(range(min = 0))]
    joined: Option<f64>,
    #[schemars(range(min = 0))]
    joined_share: Option<f64>,
    /// Time outside the modules that all sides have in common.
    #[schemars(range(min = 0))]
    unjoined: Option<f64>,
    /// Share of the time without a module in its name; it was assigned by what ran before and after it.
    #[schemars(range(min = 0))]
    placed_share: Option<f64>,
    /// Median inference without instruments, interleaved with instrumented ones.
    #[schemars(range(min = 0))]
    plain: Option<f64>,
    /// The cost of the instruments: time with them ÷ without − 1.
    overhead: Option<EstimateDocument>,
    /// Sum of all layers ÷ time without instruments.
    closure: Option<EstimateDocument>,
}

/// A number with its 95 % interval.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Estimate")]
struct EstimateDocument {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// One module.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LayerRow")]
struct RowDocument<'a> {
    /// The module.
    path: &'a str,
    /// One entry per side, in the order of `sides`.
    #[schemars(inner(range(min = 0)))]
    times: Vec<Option<f64>>,
    /// Share of the side's time over all layers.
    #[schemars(inner(range(min = 0)))]
    shares: Vec<Option<f64>>,
}

impl<'a> From<&'a LayerJoin> for LayersDocument<'a> {
    fn from(join: &'a LayerJoin) -> LayersDocument<'a> {
        let ms = |seconds: f64| finite(seconds).map(milliseconds);
        let sides = join.sides.iter().map(|side| SideDocument {
            label: &side.label,
            total: ms(side.total.0),
            outside: ms(side.outside.0),
            joined: ms(side.joined.time.0),
            joined_share: finite(side.joined.share.0),
            unjoined: ms(side.unjoined.time.0),
            placed_share: finite(side.placed.0),
            plain: side.cost.map(|cost| milliseconds(cost.plain.0)),
            overhead: side.cost.map(|cost| EstimateDocument::from(&cost.overhead)),
            closure: side.cost.map(|cost| EstimateDocument::from(&cost.closure)),
        });
        let rows = join.rows.iter().map(|row| RowDocument {
            path: &row.path,
            times: row.cells.iter().map(|cell| ms(cell.time.0)).collect(),
            shares: row.cells.iter().map(|cell| finite(cell.share.0)).collect(),
        });
        LayersDocument { unit: "ms", sides: sides.collect(), rows: rows.collect() }
    }
}

impl From<&Estimate> for EstimateDocument {
    fn from(estimate: &Estimate) -> EstimateDocument {
        let Estimate { value, interval } = estimate;
        EstimateDocument {
            value: finite(*value),
            low: finite(interval.low),
            high: finite(interval.high),
        }
    }
}
