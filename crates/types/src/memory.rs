//! Where memory goes: what the graph says, what the allocator did, and what the system saw, side by side.

use crate::{Bytes, Estimate, Ratio, Reading, Remark, TrainingMemory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most points a timeline has.
pub const TIMELINE_POINTS: usize = 2000;

/// Memory of an inference: predicted, allocated and observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReport {
    /// From shapes and lifetimes alone.
    #[serde(rename = "static")]
    pub graph: StaticMemory,
    /// The memory that the engine allocated.
    pub allocator: AllocatorMemory,
    /// Memory that the operating system and the device observed, without instruments.
    pub system: SystemMemory,
    /// Activations of one sample: the allocator's peak above its base ÷ batch, or the predicted peak without one.
    pub per_sample: Reading<Bytes>,
    /// Allocated bytes above the base over the inference that holds the peak.
    pub timeline: Vec<MemoryPoint>,
    /// Whether inferences leak memory.
    pub leak: LeakCheck,
    /// The cost of the instruments: time with them ÷ without − 1, interleaved in the same worker.
    pub cost: Reading<Estimate>,
    /// Memory of a training step, by module; `None` for an inference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepMemory>,
    /// Remarks that limit or explain the result.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// Memory of a training step, by module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepMemory {
    /// Every module that holds memory, in the order in which they first ran or were read.
    pub modules: Vec<ModuleMemory>,
}

/// Memory of one module in a training step, without the modules inside it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

/// Memory as predicted from the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaticMemory {
    /// All values are constant.
    pub weights: Reading<Bytes>,
    /// Peak memory of activations if every value has its own buffer.
    pub apart: Reading<Bytes>,
    /// Peak memory of activations if the engine fuses element-wise nodes and works in place.
    pub in_place: Reading<Bytes>,
    /// The size of a memory pool that works this way and keeps every buffer until the end of the inference.
    pub pooled: Reading<Bytes>,
    /// The node at the peak of `in_place`; empty without one.
    pub node: String,
    /// The contents at the peak, the largest first.
    pub live: Vec<LiveTensor>,
}

/// A tensor that lives at the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveTensor {
    /// Its name in the graph.
    pub name: String,
    /// The module that produced it; empty for an input.
    pub module: String,
    /// Its size.
    pub bytes: Bytes,
}

/// Memory by the requests for it: allocations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorMemory {
    /// What counted the memory.
    pub source: String,
    /// Inferences that were watched.
    pub runs: u64,
    /// Allocated before the first inference: weights that are not memory-mapped, inputs, the engine itself.
    pub base: Reading<Bytes>,
    /// Peak above the base.
    pub peak: Reading<Bytes>,
    /// Peak memory of tensors within the reserved memory; the rest is kept for later use or scratch space.
    pub in_use: Reading<Bytes>,
    /// The largest size of a pool or an arena.
    pub reserved: Reading<Bytes>,
    /// 1 − in use ÷ reserved, if memory that is not in use was in use before; missing if the engine reserves memory in
    /// advance.
    pub fragmentation: Reading<Ratio>,
    /// Allocations in one inference.
    pub allocations: Reading<f64>,
    /// Frees in one inference.
    pub frees: Reading<f64>,
    /// The module that ran at the peak; empty if it is unknown.
    pub node: String,
    /// What was live at the peak, by layer and size, the largest first.
    pub live: Vec<LiveBlocks>,
    /// All allocations by layer, in the order in which the layers first ran; or the reason why layers are unknown.
    pub layers: Reading<Vec<LayerMemory>>,
    /// Events that did not fit into the recorder; the numbers above then cover only the first ones.
    pub dropped: u64,
}

/// Blocks of one size from one layer that are live at the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveBlocks {
    /// The module; empty if the name contains none.
    pub module: String,
    /// The node or module, as named by the engine.
    pub node: String,
    /// The size of each.
    pub bytes: Bytes,
    /// How many.
    #[schemars(range(min = 1))]
    pub count: u64,
}

/// Memory that one layer allocated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerMemory {
    /// The module; empty if the name contains none.
    pub path: String,
    /// Allocated in one inference, freed or not.
    pub allocated: Bytes,
    /// Allocations in one inference, all inferences rounded to the nearest.
    pub count: u64,
    /// Its share of what is live at the peak.
    pub at_peak: Bytes,
}

/// Memory as the operating system and the device see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemMemory {
    /// Most resident memory of the worker, loading included.
    pub peak: Reading<Bytes>,
    /// Average resident memory of the worker while it ran.
    pub average: Reading<Bytes>,
    /// Largest memory in use on the device by all processes, if the model runs on a device with its own memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_peak: Option<Reading<Bytes>>,
    /// Most memory in use on the device by the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_process: Option<Reading<Bytes>>,
}

/// How much was allocated at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(u64, i64)", into = "(u64, i64)")]
pub struct MemoryPoint {
    /// When, in nanoseconds since the inference began.
    pub at: u64,
    /// Bytes above the base; negative if older allocations were freed.
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

/// Whether inferences leak memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeakCheck {
    /// Whether allocated memory grows from inference to inference.
    pub verdict: LeakVerdict,
    /// Bytes above the base after each inference.
    pub levels: Vec<i64>,
    /// Bytes that each inference leaves allocated; `None` if there is too little data.
    pub growth: Option<f64>,
    /// The rule that decided, with its numbers.
    pub why: String,
}

/// The result of a leak check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeakVerdict {
    /// Memory grows with every series of inferences.
    Leak,
    /// It does not grow.
    None,
    /// Undecided.
    CannotTell,
}
