//! The inside of a model: its layers as a tree, with time, work and their place on the machine's roofline.

use crate::{Bytes, Flops, Interval, LayerKind, LayerTime, Ratio, Seconds};
use serde::{Deserialize, Deserializer, Serialize};

/// The work of one node of the graph, for the module it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerWork {
    /// The node's name.
    pub name: String,
    /// The module's path; empty where the name holds none.
    pub path: String,
    /// Its operator.
    pub operator: String,
    /// What its layer is for.
    pub kind: LayerKind,
    /// Its operations in one inference; `None` where nobody could count them.
    pub flops: Option<Flops>,
    /// Bytes it reads and writes in one inference; `None` where a shape is unknown.
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
}

/// What keeps a layer from being faster, by the roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The arithmetic units.
    Compute,
    /// The memory's bandwidth.
    Memory,
}

/// A place on the machine's roofline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Roofline {
    /// What bounds it.
    pub bound: Bound,
    /// The share reached of what that bound allows; above 1 where the data stayed in a cache.
    pub attained: Ratio,
}

/// Time and work of a part of the model, one inference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// How often it ran in one inference.
    pub calls: f64,
    /// Time, with everything inside.
    pub total: Seconds,
    /// Time, without the modules inside.
    pub own: Seconds,
    /// Share of `total` in what all layers sum to.
    pub share: Ratio,
    /// Operations, with everything inside; `None` where nothing inside was counted.
    pub flops: Option<Flops>,
    /// Bytes read and written, with everything inside.
    pub bytes: Option<Bytes>,
    /// Its place on the roofline; `None` without work, time or ceilings.
    pub roofline: Option<Roofline>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Its path; empty for what lies in no module.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollup {
    /// The kind or the operator.
    pub name: String,
    /// Time and work.
    #[serde(flatten)]
    pub spent: Spent,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Where it lies with 95 % confidence.
    pub interval: Interval,
}

/// Where the time of an inference goes, with how far that can be believed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerReport {
    /// Inferences with instruments.
    pub runs: u64,
    /// Median inference without instruments, in turns with those that had them.
    pub plain: Seconds,
    /// Median inference with instruments, from outside.
    pub instrumented: Seconds,
    /// What the instruments cost: instrumented ÷ plain − 1.
    pub overhead: Estimate,
    /// Sum of all layers, median over the turns.
    pub sum: Seconds,
    /// `sum` ÷ `plain`: 1 is all of the time found.
    pub closure: Estimate,
    /// Share of the time whose name says no module and that was placed by its neighbours in time.
    pub placed: Ratio,
    /// The tree, every module before those inside it, in the order they ran.
    pub layers: Vec<Layer>,
    /// The same time by kind of layer.
    pub kinds: Vec<Rollup>,
    /// The same time by operator; empty where the engine times modules.
    pub operators: Vec<Rollup>,
    /// What a reader must know: an engine that rounds, a loop whose rounds nobody counted.
    #[serde(default)]
    pub remarks: Vec<String>,
}

impl LayerReport {
    /// Time without instruments less what all layers sum to; negative where instruments cost more than was missed.
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
