//! Where the time of an inference goes, layer by layer, on one side and on several.

use crate::{Estimate, Phase, Pooling, Ratio, Seconds};
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
    /// The part of a training step that it ran in; `None` in an inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// Where the time of several inferences of one side went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerProfile {
    /// The side's label.
    pub label: String,
    /// How many inferences.
    pub runs: u64,
    /// Time of all of them from outside, in nanoseconds.
    pub total_nanos: u64,
    /// The nodes or modules, in the order they ran first.
    pub layers: Vec<LayerTime>,
    /// What finding out cost and how far the layers add up, where runs without instruments stood beside.
    #[serde(default)]
    pub cost: Option<LayerCost>,
}

/// What instruments cost, and how far layers add up to the time without them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayerCost {
    /// Median inference without instruments.
    pub plain: Seconds,
    /// Instrumented ÷ plain − 1.
    pub overhead: Estimate,
    /// Sum of all layers ÷ plain.
    pub closure: Estimate,
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
    /// What finding out cost and how far the layers add up, where that was measured.
    #[serde(default)]
    pub cost: Option<LayerCost>,
}

/// Several sides joined on the modules that all of them know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerJoin {
    /// The sides in the order they were given; the first is what ratios are held against.
    pub sides: Vec<LayerSide>,
    /// The modules in the order in which the first side ran them.
    pub rows: Vec<LayerRow>,
    /// Which modules one line may stand for.
    #[serde(skip)]
    pub pooling: Pooling,
}

impl LayerRow {
    /// A row from one time a side and each side's total, both in seconds; ratios are held against the first side.
    #[must_use]
    pub fn new(path: String, modules: u64, times: &[f64], totals: &[f64]) -> LayerRow {
        let cells = times.iter().zip(totals).map(|(time, total)| LayerCell::new(*time, *total));
        let first = times.first().copied().unwrap_or(0.0);
        let ratio = |time: &f64| (*time > 0.0 && first > 0.0).then(|| first / time);
        LayerRow {
            path,
            modules,
            cells: cells.collect(),
            ratios: times.iter().map(ratio).collect(),
        }
    }
}

impl LayerCell {
    /// A time and its share of a total, both in seconds; the share of nothing is 0.
    #[must_use]
    pub fn new(time: f64, total: f64) -> LayerCell {
        // The sum of no times is −0, which would be shown and stored as such.
        let time = time + 0.0;
        let share = if total > 0.0 { time / total } else { 0.0 };
        LayerCell { time: Seconds(time), share: Ratio(share) }
    }
}

impl LayerJoin {
    /// The same place in every layer put together: `encoder.layer.*.output.dense`.
    #[must_use]
    pub fn pooled(&self) -> LayerJoin {
        let mut pools: Vec<(String, u64, Vec<f64>)> = Vec::new();
        for row in &self.rows {
            let path = self.pooling.path(&row.path);
            let times = row.cells.iter().map(|cell| cell.time.0);
            match pools.iter_mut().find(|(known, ..)| *known == path) {
                Some((_, modules, sums)) => {
                    *modules += row.modules;
                    sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
                }
                None => pools.push((path, row.modules, times.collect())),
            }
        }
        let totals: Vec<f64> = self.sides.iter().map(|side| side.total.0).collect();
        let row = |(path, modules, times): (String, u64, Vec<f64>)| {
            LayerRow::new(path, modules, &times, &totals)
        };
        LayerJoin {
            sides: self.sides.clone(),
            rows: pools.into_iter().map(row).collect(),
            pooling: self.pooling.clone(),
        }
    }
}

/// The path of a module in a part of a training step: `backward.encoder.layer.0`. Loss and optimiser have no modules.
#[must_use]
pub fn step_path(phase: Phase, module: &str) -> String {
    match (phase, module) {
        (Phase::Forward | Phase::Backward, module) if !module.is_empty() => {
            format!("{}.{module}", phase.name())
        }
        _ => phase.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_and_optimiser_are_one_place_each() {
        assert_eq!(step_path(Phase::Backward, "encoder.layer.0"), "backward.encoder.layer.0");
        assert_eq!(step_path(Phase::Forward, ""), "forward");
        assert_eq!(step_path(Phase::Loss, "ReduceMean"), "loss");
        assert_eq!(step_path(Phase::Optimizer, "encoder"), "optimizer");
    }
}
