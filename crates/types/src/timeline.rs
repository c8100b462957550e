//! What happened when: spans on tracks, counters beside them, arrows between them. What traces are written from.

use serde::{Deserialize, Serialize};

/// The kind of a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// A whole sample: tokenising, inference and postprocessing together.
    Step,
    /// A part of a sample: `inference`, `tokenise`.
    Phase,
    /// A module with everything inside it.
    Module,
    /// One operator on the host.
    Operator,
    /// A call into the device's runtime that starts work there.
    Launch,
    /// Work on a device: a kernel or a copy.
    Kernel,
}

/// A span of time on one track.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// What it is called: an operator, a kernel, a module's path.
    pub name: String,
    /// What it is.
    pub kind: SpanKind,
    /// The track it lies on, as an index into [`Timeline::tracks`].
    pub track: u32,
    /// When it began, in nanoseconds since the timeline's begin.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub length: u64,
    /// The module it belongs to; empty if that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Spans with the same number are cause and effect: a launch and its kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<u64>,
}

/// Where spans lie: a thread of the host or a queue of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Track {
    /// The process or device: `worker`, `cuda:0`.
    pub group: String,
    /// The thread or queue: `main`, `stream 7`.
    pub name: String,
}

/// A number that changes over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// What it counts: `memory`, `processors`.
    pub name: String,
    /// Its unit, for people: `MB`, `%`.
    pub unit: String,
    /// When, in nanoseconds since the timeline's begin, and how much.
    pub points: Vec<(u64, f64)>,
}

/// What happened when, in one worker.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// When it begins, in microseconds since the epoch.
    pub began_at: i64,
    /// Where spans lie.
    pub tracks: Vec<Track>,
    /// The spans; those of one track nest or follow each other, never overlap otherwise.
    pub spans: Vec<Span>,
    /// Numbers beside them.
    #[serde(default)]
    pub counters: Vec<Counter>,
    /// The critical path, one segment after the other; empty if it is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_path: Vec<Span>,
    /// Whether the engine tells only how long each part took, so that starts were laid end to end.
    #[serde(default)]
    pub laid_out: bool,
}
