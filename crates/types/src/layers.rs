//! Time of an inference by layer, for one side and for several.

use crate::{Estimate, Phase, Pooling, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of one node or module, all inferences of the pass together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerTime {
    /// Its path in the model: `encoder.layer.0.attention.self.query`; a node's path ends in `/` and its operator.
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

/// Time by layer over several inferences of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerProfile {
    /// The side's label.
    pub label: String,
    /// How many inferences.
    pub runs: u64,
    /// Total time of all of them, measured around the inferences, in nanoseconds.
    pub total_nanos: u64,
    /// The nodes or modules, in the order in which they first ran.
    pub layers: Vec<LayerTime>,
    /// The cost of the instruments and how well the layers add up, if runs without instruments were interleaved.
    #[serde(default)]
    pub cost: Option<LayerCost>,
}

/// The cost of the instruments, and how well the layers add up to the time without them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerCost {
    /// Median inference without instruments.
    pub plain: Seconds,
    /// Time with instruments ÷ time without − 1.
    pub overhead: Estimate,
    /// Sum of all layers ÷ time without instruments.
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
    /// The module's path; `*` replaces a number if rows were merged.
    pub path: String,
    /// How many modules were merged: 1 unless the path has a `*`.
    pub modules: u64,
    /// One entry per side: the time of the module and of parts that only some sides split further.
    pub cells: Vec<LayerCell>,
    /// One entry per side: the first side's time ÷ its own, above 1 is faster; `None` if a time is 0.
    pub ratios: Vec<Option<f64>>,
}

/// How much of a side's time could be assigned to rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerSide {
    /// The side's label.
    pub label: String,
    /// Time of all its layers, one inference.
    pub total: Seconds,
    /// Total time of one inference, in the pass with instruments.
    pub outside: Seconds,
    /// Time that is in the rows.
    pub joined: LayerCell,
    /// Time outside the modules that all sides have in common.
    pub unjoined: LayerCell,
    /// Share of the time without a module in its name; it was assigned by what ran before and after it.
    pub placed: Ratio,
    /// The cost of the instruments and how well the layers add up, if that was measured.
    #[serde(default)]
    pub cost: Option<LayerCost>,
}

/// Several sides joined on the modules that all of them know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerJoin {
    /// The sides in the given order; ratios refer to the first.
    pub sides: Vec<LayerSide>,
    /// The modules in the order in which the first side ran them.
    pub rows: Vec<LayerRow>,
    /// Which modules one line may represent.
    #[serde(skip)]
    pub pooling: Pooling,
}

impl LayerRow {
    /// A row from one time per side and each side's total, both in seconds; ratios refer to the first side.
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
