//! Where the time of an inference goes, layer by layer, on one side and on several.

use crate::{Ratio, Seconds};
use serde::{Deserialize, Serialize};

/// The time of one node or module, all inferences of the pass together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerTime {
    /// Its path in the model: `encoder.layer.0.attention.self.query`, for a node with `/` and its operator behind.
    pub path: String,
    /// The operator or the module's class.
    pub kind: String,
    /// How often it ran.
    pub calls: u64,
    /// Its own time without that of modules inside it, in nanoseconds.
    pub nanos: u64,
}

/// Where the time of several inferences of one side went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerProfile {
    /// The side's label.
    pub label: String,
    /// How many inferences.
    pub runs: u64,
    /// Time of all of them from outside, in nanoseconds.
    pub total_nanos: u64,
    /// The nodes or modules, in the order they ran first.
    pub layers: Vec<LayerTime>,
}

/// What one side spends in one module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayerCell {
    /// Time of one inference.
    pub time: Seconds,
    /// Its share of the side's time over all layers.
    pub share: Ratio,
}

/// One module on every side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerRow {
    /// The module's path; `*` stands for a number where rows were put together.
    pub path: String,
    /// How many modules were put together: 1 unless the path has a `*`.
    pub modules: u64,
    /// One entry a side: the time of the module itself and of what only some sides split further.
    pub cells: Vec<LayerCell>,
    /// One entry a side: the first side's time ÷ its own, above 1 is faster; `None` where a time is 0.
    pub ratios: Vec<Option<f64>>,
}

/// How much of a side's time found its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerSide {
    /// The side's label.
    pub label: String,
    /// Time of all its layers, one inference.
    pub total: Seconds,
    /// Time of one inference from outside, in the pass with instruments.
    pub outside: Seconds,
    /// Time that stands in the rows.
    pub joined: LayerCell,
    /// Time outside every module that all sides know.
    pub unjoined: LayerCell,
    /// Share of the time whose name says no module and that was placed by its neighbours in time.
    pub placed: Ratio,
}

/// Several sides joined on the modules that all of them know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerJoin {
    /// The sides in the order they were given; the first is what ratios are held against.
    pub sides: Vec<LayerSide>,
    /// The modules in the order in which the first side ran them.
    pub rows: Vec<LayerRow>,
}
