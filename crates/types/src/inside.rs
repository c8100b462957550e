//! The inside of a model: its layers as a tree, with time, work and their place on the machine's roofline.

use crate::{Bytes, Flops, Interval, LayerKind, LayerTime, Ratio, Remark, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The work of one node of the graph, for the module it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerWork {
    /// The node's name.
    pub name: String,
    /// The module's path; empty if the name holds none.
    pub path: String,
    /// Its operator.
    pub operator: String,
    /// What its layer is for.
    pub kind: LayerKind,
    /// Its operations in one inference; `None` if they could not be counted.
    pub flops: Option<Flops>,
    /// Bytes it reads and writes in one inference; `None` if a shape is unknown.
    pub bytes: Option<Bytes>,
}

/// Inferences without instruments and, next to them in time, with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerTurn {
    /// Each inference without instruments, in nanoseconds.
    pub plain: Vec<u64>,
    /// Each inference with them, from outside, in nanoseconds.
    pub profiled: Vec<u64>,
    /// Time of the nodes or modules, all inferences with instruments together.
    pub layers: Vec<LayerTime>,
    /// What a device's own records say; the times of the layers are those of the device then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceTurn>,
}

/// What the records of a device say of the inferences of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTurn {
    /// Time in which the device worked, each inference with instruments, in nanoseconds.
    pub busy: Vec<u64>,
    /// Time in which it did nothing, each inference without instruments, in nanoseconds.
    pub idle: Vec<u64>,
    /// The host's own time in each layer, in the order of the layers, all inferences with instruments together, in
    /// nanoseconds.
    pub host: Vec<u64>,
}

/// Time of an inference on a device that works beside the host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceTime {
    /// Time in which the device worked: the sum of all layers.
    pub busy: Seconds,
    /// Time in which it did nothing: the host had not launched anything yet, or waited for it.
    pub idle: Seconds,
}

/// What limits a layer's speed, by the roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The arithmetic units.
    Compute,
    /// The memory's bandwidth.
    Memory,
}

/// The position on the machine's roofline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Roofline {
    /// What limits its speed.
    pub bound: Bound,
    /// The achieved share of what that bound allows; above 1 if the data stayed in a cache.
    pub attained: Ratio,
}

/// Time and work of a part of the model, one inference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// How often it ran in one inference.
    pub calls: f64,
    /// Time, including the modules inside.
    pub total: Seconds,
    /// Time, without the modules inside.
    pub own: Seconds,
    /// Share of the sum of all layers.
    pub share: Ratio,
    /// Operations, including the modules inside; `None` if nothing inside was counted.
    pub flops: Option<Flops>,
    /// Bytes read and written, including the modules inside.
    pub bytes: Option<Bytes>,
    /// Its position on the roofline; `None` without work, time or ceilings.
    pub roofline: Option<Roofline>,
    /// Time of the host, including the modules inside and the cost of the instruments; `None` if the times above are the
    /// host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Seconds>,
}

impl Spent {
    /// Operations a second.
    #[must_use]
    pub fn flops_per_second(&self) -> Option<f64> {
        let flops = self.flops.filter(|flops| flops.0 > 0)?;
        (self.total.0 > 0.0).then(|| flops.0 as f64 / self.total.0)
    }

    /// Operations for each byte that is read or written.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| bytes.0 > 0)?;
        self.flops.map(|flops| flops.0 as f64 / bytes.0 as f64)
    }
}

/// A module of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// Its path; empty for work outside every module.
    pub path: String,
    /// How many modules it lies in.
    pub depth: usize,
    /// What it is for.
    pub kind: LayerKind,
    /// The module's class, or the operators that run directly in it.
    pub class: String,
    /// Time and work.
    #[serde(flatten)]
    pub spent: Spent,
}

/// All layers of one kind, or all nodes of one operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rollup {
    /// The kind or the operator.
    pub name: String,
    /// Time and work.
    #[serde(flatten)]
    pub spent: Spent,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The 95 % confidence interval.
    pub interval: Interval,
}

/// Time of an inference by layer, and how reliable it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerReport {
    /// Inferences with instruments.
    pub runs: u64,
    /// Median inference without instruments, interleaved with instrumented ones.
    pub plain: Seconds,
    /// Median inference with instruments, from outside.
    pub instrumented: Seconds,
    /// The cost of the instruments: time with them ÷ without − 1.
    pub overhead: Estimate,
    /// Sum of all layers, and of the time in which a device did nothing; median over the turns.
    pub sum: Seconds,
    /// What `sum` consists of, where the times are those of a device's own records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceTime>,
    /// `sum` ÷ `plain`; 1 means that the layers explain all of the time.
    pub closure: Estimate,
    /// Share of the time without a module in its name; it was assigned by what ran before and after it.
    pub placed: Ratio,
    /// The tree, every module before those inside it, in the order they ran.
    pub layers: Vec<Layer>,
    /// The same time by kind of layer.
    pub kinds: Vec<Rollup>,
    /// The same time by operator; empty if the engine times modules.
    pub operators: Vec<Rollup>,
    /// Remarks that limit or explain the result: an engine that rounds, a loop with an unknown number of iterations.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

impl LayerReport {
    /// Time without instruments − sum of all layers; negative if the instruments cost more than the time outside the layers.
    #[must_use]
    pub fn residue(&self) -> Seconds {
        Seconds(self.plain.0 - self.sum.0)
    }

    /// Whether these are the layers of a training step: its parts stand around all modules.
    #[must_use]
    pub fn is_step(&self) -> bool {
        let is_part = |layer: &Layer| {
            let part = layer.path.split('.').next().unwrap_or_default();
            ["forward", "loss", "backward", "optimizer"].contains(&part)
        };
        !self.layers.is_empty() && self.layers.iter().all(is_part)
    }

    /// Time without instruments that no layer has; nothing where the layers sum to more.
    #[must_use]
    pub fn outside(&self) -> Seconds {
        Seconds(self.residue().0.max(0.0))
    }

    /// What the instruments cost for certain inside the layers: by how much these sum to more than the time without.
    #[must_use]
    pub fn instruments_inside(&self) -> Seconds {
        Seconds((-self.residue().0).max(0.0))
    }

    /// Shares of what all layers sum to, whatever they were shares of when they were stored.
    #[must_use]
    pub fn with_own_shares(mut self) -> LayerReport {
        let sum = self.sum.0;
        let share = |spent: &mut Spent| {
            spent.share = Ratio(if sum > 0.0 { spent.total.0 / sum } else { 0.0 });
        };
        self.layers.iter_mut().for_each(|layer| share(&mut layer.spent));
        self.kinds.iter_mut().for_each(|kind| share(&mut kind.spent));
        self.operators.iter_mut().for_each(|operator| share(&mut operator.spent));
        self
    }
}

/// Layers out of a stored run: older ones have shares of the time without instruments.
pub(crate) fn stored<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<LayerReport>>, D::Error> {
    let found = Option::<LayerReport>::deserialize(from)?;
    Ok(found.map(|report| Box::new(report.with_own_shares())))
}
