//! What an engine tells of its memory, and the recorder of allocations that it may use for it.

use crate::EngineError;
use serde::{Deserialize, Serialize};
use types::{Allocations, Bytes, MissingCode, Reading, Recorded, Remark, StepMemory};

/// Says how many events were recorded so far.
pub type EventCount<'a> = &'a dyn Fn() -> u64;

/// Writes down every allocation and free of the worker's process; the crate that has such a recorder hands it in.
pub trait AllocationTracker {
    /// Records while `work` runs. `mark` is asked at every event what runs now; it must be quick and must not allocate.
    ///
    /// # Errors
    /// When nothing can be recorded in this process, in plain words.
    fn record(
        &self,
        mark: fn() -> u64,
        work: &mut dyn FnMut(EventCount<'_>),
    ) -> Result<Recorded, String>;

    /// Bytes of this process that are allocated right now, where the system's allocator tells.
    fn allocated(&self) -> Reading<Bytes>;
}

/// Tells where the memory of an inference goes, in a pass of its own.
pub trait MemoryReporter {
    /// Runs `count` times under instruments and tells every allocation and free, or what statistics there are.
    ///
    /// # Errors
    /// When a run fails or the engine's record cannot be read.
    fn remember(
        &mut self,
        count: u64,
        tracker: &dyn AllocationTracker,
    ) -> Result<MemoryRecord, EngineError>;
}

/// What an engine's memory did in several inferences.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// Who counted, in plain words.
    pub source: String,
    /// Time of each inference from outside, under instruments, in nanoseconds.
    pub run_nanos: Vec<u64>,
    /// Every allocation and free, where they can be told. Between processes the columns travel in a file of their own.
    pub allocations: Reading<Allocations>,
    /// Whether the names of the allocations say which part of the model ran, or why they do not.
    pub layers: Reading<bool>,
    /// Bytes that were allocated before the first inference.
    pub base: Reading<Bytes>,
    /// The most above the base, where no list of allocations tells it.
    #[serde(default)]
    pub peak: Reading<Bytes>,
    /// What ran at that peak; empty if is unknown.
    #[serde(default)]
    pub peak_node: String,
    /// The most that tensors held of a pool or an arena.
    pub in_use_peak: Reading<Bytes>,
    /// The most that the pool or arena held, with what it keeps for later.
    pub reserved_peak: Reading<Bytes>,
    /// Why what is reserved and not in use is no fragmentation: room that the pool takes ahead of need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_ahead: Option<String>,
    /// Allocations in one inference, where no list tells them.
    #[serde(default)]
    pub asked: Reading<f64>,
    /// Bytes above the base after each inference, where no list of allocations tells them.
    #[serde(default)]
    pub levels: Vec<i64>,
    /// What a training step holds, by module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepMemory>,
    /// Remarks that limit or explain the result.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// Where nothing can be recorded: the place of a tracker in a program that has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untracked;

impl AllocationTracker for Untracked {
    fn record(
        &self,
        _mark: fn() -> u64,
        _work: &mut dyn FnMut(EventCount<'_>),
    ) -> Result<Recorded, String> {
        Err("this worker cannot record allocations".into())
    }

    fn allocated(&self) -> Reading<Bytes> {
        Reading::missing(MissingCode::NotReported, "this worker cannot record allocations")
    }
}
