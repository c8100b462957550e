//! Where the memory goes, for programs.

use super::layers::EstimateDocument;
use serde::Serialize;
use types::{
    AllocatorMemory, Bytes, LeakCheck, MemoryPoint, MemoryReport, Reading, StaticMemory,
    StepMemory, SystemMemory,
};

/// Where the memory goes, in bytes.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MemoryProfile<'a> {
    unit: &'static str,
    #[serde(rename = "static")]
    graph: &'a StaticMemory,
    allocator: &'a AllocatorMemory,
    system: &'a SystemMemory,
    per_sample: &'a Reading<Bytes>,
    timeline: &'a [MemoryPoint],
    leak: &'a LeakCheck,
    cost: Reading<EstimateDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a StepMemory>,
    remarks: &'a [String],
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
