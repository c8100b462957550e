//! Graphs that run on values which the caller holds: what an engine needs to train.

use crate::{EngineError, LoadRequest, OutputView};
use types::Remark;

/// Loads graphs that run on values which the caller holds.
pub trait RunnerLoader {
    /// Reads a graph and makes it ready.
    ///
    /// # Errors
    /// As [`Loader::load`](crate::Loader::load).
    fn runner(&self, request: &LoadRequest) -> Result<Box<dyn GraphRunner>, EngineError>;

    /// The same graph with instruments.
    ///
    /// # Errors
    /// As [`RunnerLoader::runner`].
    fn profiled_runner(
        &self,
        request: &LoadRequest,
    ) -> Result<Box<dyn ProfiledRunner>, EngineError>;
}

/// A graph whose runs are written down, node by node, in a pass of its own.
pub trait ProfiledRunner: GraphRunner {
    /// Ends the record and tells every run, in their order; the newest `count` of them.
    ///
    /// # Errors
    /// When the engine's record cannot be read or lacks a run.
    fn finish(self: Box<Self>, count: usize) -> Result<Vec<RunRecord>, EngineError>;
}

/// One run of a graph, node by node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// The calls, outer ones before those inside them; empty if somebody spoilt the record of this run.
    pub calls: Vec<NodeCall>,
    /// Nanoseconds between the begin of the run and that of its first node that belong to the record, not the engine.
    pub before: u64,
    /// All nanoseconds of the run that belong to the record, `before` included.
    pub paused: u64,
    /// Whether the engine tells only how long each node took, so that starts were laid end to end.
    pub laid_out: bool,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

/// One call of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCall {
    /// The node, as in [`NodeTime::path`](crate::NodeTime::path).
    pub path: String,
    /// Its operator.
    pub kind: String,
    /// The thread that ran it, 0 for the one that asked.
    pub thread: usize,
    /// When it began, in nanoseconds since the engine's run did.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub length: u64,
    /// The same without the calls inside it.
    pub own: u64,
}

/// A graph that runs on values which the caller holds.
pub trait GraphRunner {
    /// The names of its inputs.
    fn inputs(&self) -> &[String];

    /// Where it really runs.
    fn placement(&self) -> String;

    /// Runs once on exactly its inputs, read where they lie; returns only when the device has finished.
    ///
    /// # Errors
    /// When an input does not fit or the graph fails.
    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError>;

    /// What the engine's own arena holds, or why it does not tell; `None` if it allocates as the worker does.
    fn arena(&self) -> Option<Result<Arena, String>> {
        None
    }
}

/// The memory of an arena, in bytes where it is no count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arena {
    /// In use now.
    pub in_use: u64,
    /// The most that ever was.
    pub most_in_use: u64,
    /// What it holds, in use or kept for later.
    pub reserved: u64,
    /// How often something was asked of it.
    pub allocations: u64,
}

/// What a run left behind; gone when dropped.
pub trait RunOutputs {
    /// The outputs where they lie.
    ///
    /// # Errors
    /// When an output cannot be shown.
    fn views(&self) -> Result<Vec<OutputView<'_>>, EngineError>;
}
