//! How much of a model's own functions is looked into.
//!
//! Functions that call each other twice, a few dozen deep, are more nodes than any machine can walk, in a file of a
//! kilobyte. ONNX does not forbid them.

use std::cell::Cell;

/// Nodes inside calls that are looked into, in all: exporters write thousands, and each takes about 7 kB.
const MOST_NODES: usize = 30_000;

/// What is left to be looked into.
pub(crate) struct Calls(Cell<usize>);

impl Calls {
    pub(crate) fn new() -> Calls {
        Calls(Cell::new(MOST_NODES))
    }

    /// Whether one more body with so many nodes may be looked into.
    pub(crate) fn take(&self, nodes: usize) -> bool {
        // A body without nodes is a call, too.
        let left = self.0.get().checked_sub(nodes.max(1));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
