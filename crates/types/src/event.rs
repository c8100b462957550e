//! What the runner says while it works; terminal, store and files are sinks of this stream.

use crate::{Cell, Run};
use serde::{Deserialize, Serialize};

/// What a cell is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Resolving the name, building the graph, writing weights.
    Prepare,
    /// Starting the worker.
    Start,
    /// Loading the model into the engine.
    Load,
    /// The first inference.
    First,
    /// Warming up.
    Warmup,
    /// Sampling.
    Sample,
    /// Looking inside, with instruments.
    Layers,
    /// Measuring the machine's ceilings, once a machine.
    Calibrate,
}

/// What the runner says while it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A cell begins.
    CellStarted {
        /// Its place in the plan, from 0.
        index: usize,
        /// How many the plan has.
        of: usize,
        /// What will be measured.
        cell: Box<Cell>,
    },
    /// A stage begins.
    StageStarted {
        /// Which.
        stage: Stage,
    },
    /// A stage goes on; `done` of `total` where an end is known.
    Progress {
        /// Which.
        stage: Stage,
        /// Units done: bytes, runs or nanoseconds, as `total`.
        done: u64,
        /// Units in all, as far as is known now.
        total: Option<u64>,
        /// What to show beside the bar.
        note: String,
    },
    /// A cell ended with a run.
    CellFinished {
        /// The run, whole.
        run: Box<Run>,
    },
    /// A cell ended without one.
    CellFailed {
        /// What was asked.
        cell: Box<Cell>,
        /// What went wrong, in plain words.
        error: String,
    },
}
