//! Where the memory goes, for programs.

use super::layers::EstimateDocument;
use schemars::JsonSchema;
use serde::Serialize;
use types::{
    AllocatorMemory, Bytes, LeakCheck, MemoryPoint, MemoryReport, Reading, Remark, StaticMemory,
    StepMemory, SystemMemory,
};

/// Memory: predicted, allocated and observed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct MemoryProfile<'a> {
    /// The unit of every amount here.
    #[schemars(extend("const" = "bytes"))]
    unit: &'static str,
    /// From shapes and lifetimes alone.
    #[serde(rename = "static")]
    graph: &'a StaticMemory,
    /// The memory that the engine allocated.
    allocator: &'a AllocatorMemory,
    /// Memory that the operating system and the device observed, without instruments.
    system: &'a SystemMemory,
    /// Activations of one sample: the peak above the base ÷ batch.
    per_sample: &'a Reading<Bytes>,
    /// The inference that holds the peak: nanoseconds since its begin, and bytes above the base.
    #[schemars(length(max = types::TIMELINE_POINTS))]
    timeline: &'a [MemoryPoint],
    /// Whether inferences leak memory.
    leak: &'a LeakCheck,
    /// The cost of the instruments: time with them ÷ without − 1.
    cost: Reading<EstimateDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a StepMemory>,
    remarks: &'a [Remark],
}

impl<'a> From<&'a MemoryReport> for MemoryProfile<'a> {
    fn from(report: &'a MemoryReport) -> MemoryProfile<'a> {
        MemoryProfile {
            unit: "bytes",
            graph: &report.graph,
            allocator: &report.allocator,
            system: &report.system,
            per_sample: &report.per_sample,
            timeline: &report.timeline,
            leak: &report.leak,
            cost: report.cost.as_ref().map(EstimateDocument::from),
            step: report.step.as_ref(),
            remarks: &report.remarks,
        }
    }
}
