//! Allocations and frees as they happened: one at a time, and as columns that a million of them fit into.

use serde::{Deserialize, Serialize};

/// One allocation or free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllocationEvent {
    /// When, in nanoseconds since the recording began.
    pub at: u64,
    /// Where the block lies.
    pub address: u64,
    /// Its size in bytes: positive when it is made, negative when it is freed.
    pub bytes: i64,
    /// What the engine's mark said at that moment.
    pub mark: u64,
    /// The thread, numbered from 1 in the order they came.
    pub thread: u32,
}

/// All allocations and frees in a span of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// The events, in the order they happened.
    pub events: Vec<AllocationEvent>,
    /// Events that did not fit into the recorder; only the first ones are kept.
    pub dropped: u64,
}

/// Allocations and frees of several inferences in columns, an entry an event in each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allocations {
    /// When, in nanoseconds since the recording began; never falls.
    pub times: Vec<u64>,
    /// Which block; a number comes again when its address does.
    pub blocks: Vec<u64>,
    /// The size in bytes: positive when the block is made, negative when it is freed.
    pub sizes: Vec<i64>,
    /// What ran, as an index into `names`.
    pub layers: Vec<u64>,
    /// The thread, numbered from 1.
    pub threads: Vec<u64>,
    /// What `layers` points into: nodes or modules.
    pub names: Vec<LayerName>,
    /// How many events had happened at the end of each inference.
    pub ends: Vec<u64>,
    /// Events that did not fit into the recorder; only the first ones are kept.
    #[serde(default)]
    pub dropped: u64,
}

/// What ran when something was allocated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct LayerName {
    /// A node's name or a module's path; empty for what belongs to none.
    pub name: String,
    /// The operator or the module's class.
    pub kind: String,
}

impl Allocations {
    /// How many events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Leaves names and ends, for the columns travel apart.
    pub fn clear_columns(&mut self) {
        self.times = Vec::new();
        self.blocks = Vec::new();
        self.sizes = Vec::new();
        self.layers = Vec::new();
        self.threads = Vec::new();
    }

    /// Whether every column has an entry for every event and points at a name.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let columns = [self.blocks.len(), self.sizes.len(), self.layers.len(), self.threads.len()];
        columns.iter().all(|len| *len == self.len())
            && self.layers.iter().all(|layer| (*layer as usize) < self.names.len())
            && self.ends.is_sorted()
            && self.ends.last().is_none_or(|end| *end as usize <= self.len())
    }
}
