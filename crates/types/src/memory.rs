//! Where memory goes: what the graph says, what the allocator did, and what the system saw, side by side.

use crate::{Bytes, Estimate, Ratio, Reading, TrainingMemory};
use serde::{Deserialize, Serialize};

/// The most points a timeline has.
pub const TIMELINE_POINTS: usize = 2000;

/// Where memory goes in an inference, seen from three sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// From shapes and lifetimes alone.
    #[serde(rename = "static")]
    pub graph: StaticMemory,
    /// What the engine really asked for.
    pub allocator: AllocatorMemory,
    /// What the operating system and the device saw, without instruments.
    pub system: SystemMemory,
    /// Activations of one sample: the allocator's peak above its base ÷ batch, the static one where there is none.
    pub per_sample: Reading<Bytes>,
    /// Allocated bytes above the base over the inference that holds the peak.
    pub timeline: Vec<MemoryPoint>,
    /// Whether inferences leave memory behind.
    pub leak: LeakCheck,
    /// What the instruments cost: time with them ÷ without − 1, interleaved in the same worker.
    pub cost: Reading<Estimate>,
    /// What a training step holds, by module; `None` for an inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepMemory>,
    /// What a reader must know.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// What a training step holds in memory, by module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepMemory {
    /// Every module that holds something, those that ran or were read first in front.
    pub modules: Vec<ModuleMemory>,
}

/// What a training step holds in memory of one module, without the modules inside it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModuleMemory {
    /// The module; empty for what lies in none.
    pub path: String,
    /// Its bytes, by what they are.
    #[serde(flatten)]
    pub held: TrainingMemory,
}

impl StepMemory {
    /// All modules together.
    #[must_use]
    pub fn total(&self) -> TrainingMemory {
        self.modules.iter().fold(TrainingMemory::default(), |sum, module| sum.plus(module.held))
    }
}

/// Memory as the graph foretells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StaticMemory {
    /// All constants.
    pub weights: Reading<Bytes>,
    /// The most that activations need at once where every value has a buffer of its own.
    pub apart: Reading<Bytes>,
    /// The most they need where an engine fuses element-wise nodes and works in place.
    pub in_place: Reading<Bytes>,
    /// What a pool comes to hold that works so and keeps every buffer until the end of the inference.
    pub pooled: Reading<Bytes>,
    /// The node at the peak of `in_place`; empty without one.
    pub node: String,
    /// What lives there, the largest first.
    pub live: Vec<LiveTensor>,
}

/// A tensor that lives at the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTensor {
    /// Its name in the graph.
    pub name: String,
    /// The module that made it; empty for an input.
    pub module: String,
    /// Its size.
    pub bytes: Bytes,
}

/// Memory as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AllocatorMemory {
    /// Who counted.
    pub source: String,
    /// Inferences that were watched.
    pub runs: u64,
    /// Allocated before the first of them: weights that are not mapped, inputs, the engine itself.
    pub base: Reading<Bytes>,
    /// The most above the base.
    pub peak: Reading<Bytes>,
    /// The most that tensors held of what is reserved; the rest is kept for later or scratch space.
    pub in_use: Reading<Bytes>,
    /// The most that a pool or an arena held.
    pub reserved: Reading<Bytes>,
    /// 1 − in use ÷ reserved, where what is not in use was needed once; missing where room is taken ahead of need.
    pub fragmentation: Reading<Ratio>,
    /// Allocations in one inference.
    pub allocations: Reading<f64>,
    /// Frees in one inference.
    pub frees: Reading<f64>,
    /// What ran at the peak; empty where nobody knows.
    pub node: String,
    /// What was live at the peak, by layer and size, the largest first.
    pub live: Vec<LiveBlocks>,
    /// Everything that was allocated, by layer, in the order they ran first; or why nobody knows which ran.
    pub layers: Reading<Vec<LayerMemory>>,
    /// Events that found no room; the numbers above are then of the first ones only.
    pub dropped: u64,
}

/// Blocks of one size from one layer that are live at the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveBlocks {
    /// The module; empty where the name says none.
    pub module: String,
    /// The node or module as the engine calls it.
    pub node: String,
    /// The size of each.
    pub bytes: Bytes,
    /// How many.
    pub count: u64,
}

/// What one layer asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerMemory {
    /// The module; empty where the name says none.
    pub path: String,
    /// Allocated in one inference, freed or not.
    pub allocated: Bytes,
    /// Allocations in one inference, all inferences rounded to the nearest.
    pub count: u64,
    /// Its share of what is live at the peak.
    pub at_peak: Bytes,
}

/// Memory as the operating system and the device see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemMemory {
    /// Most resident memory of the worker, loading included.
    pub peak: Reading<Bytes>,
    /// Resident memory of the worker on average while it ran.
    pub average: Reading<Bytes>,
    /// Most memory in use on the device by everybody, where one computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_peak: Option<Reading<Bytes>>,
    /// Most memory in use on the device by the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_process: Option<Reading<Bytes>>,
}

/// How much was allocated at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, i64)", into = "(u64, i64)")]
pub struct MemoryPoint {
    /// When, in nanoseconds since the inference began.
    pub at: u64,
    /// Bytes above the base; negative where something from before was freed.
    pub bytes: i64,
}

impl From<(u64, i64)> for MemoryPoint {
    fn from((at, bytes): (u64, i64)) -> MemoryPoint {
        MemoryPoint { at, bytes }
    }
}

impl From<MemoryPoint> for (u64, i64) {
    fn from(point: MemoryPoint) -> (u64, i64) {
        (point.at, point.bytes)
    }
}

/// Whether inferences leave memory behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeakCheck {
    /// What is said.
    pub verdict: LeakVerdict,
    /// Bytes above the base after each inference.
    pub levels: Vec<i64>,
    /// Bytes that each inference leaves behind; `None` where too little is known.
    pub growth: Option<f64>,
    /// The rule that decided, with its numbers.
    pub why: String,
}

/// What a leak check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakVerdict {
    /// Memory grows with every stretch of inferences.
    Leak,
    /// It does not grow.
    None,
    /// Neither can be said.
    CannotTell,
}
