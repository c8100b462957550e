//! One execution of a cell on one machine at one time.

use crate::{
    Cell, CriticalPath, Environment, FedInput, Import, LayerReport, MemoryReport, Metric,
    ModelInfo, Phase, Samples, Stated, StopReason, Summary, TrainingReport, Verdict, Work,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, time::Duration};

/// A run's name: 16 hexadecimal digits, eight drawn and eight of the time, so that a few digits tell runs apart.
///
/// The order of runs is in their `started_at`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The engine that really ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// Its id: `rten`.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Where the model really ran, in the engine's words.
    pub placement: String,
}

/// The cold numbers, kept apart from the warm ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cold {
    /// From spawning the worker to its greeting.
    pub process_start: Duration,
    /// From asking for the model to its being ready.
    pub load: Duration,
    /// The true first inference.
    pub first_inference: Duration,
}

/// How warm-up went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmupReport {
    /// Runs that were thrown away.
    pub runs: u64,
    /// Whether the windows agreed in the end, or a fixed count was asked for.
    pub settled: bool,
    /// Every warm-up sample in nanoseconds.
    pub nanos: Vec<u64>,
}

/// What one probe saw, or why it could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// The probe's id: `cpu`.
    pub probe: String,
    /// Why it saw nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// What it saw.
    pub metrics: Vec<Metric>,
    /// Readings taken.
    pub readings: u64,
    /// Processor time its own readings cost.
    pub cost: Duration,
    /// Time between readings; `None` for counters read only at both ends.
    pub period: Option<Duration>,
}

/// One execution of a cell on one machine at one time, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long everything took, worker start to end.
    pub elapsed: Duration,
    /// What was asked.
    pub cell: Cell,
    /// The model that ran.
    pub model: ModelInfo,
    /// Its work at this batch and length.
    pub work: Work,
    /// What nobody could count, by the path of its field, and why; the field's own value then means nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, String>,
    /// The engine that ran.
    pub engine: EngineInfo,
    /// The machine and its state.
    pub environment: Environment,
    /// Cold numbers.
    pub cold: Cold,
    /// How warm-up went.
    pub warmup: WarmupReport,
    /// Why sampling ended.
    pub stop: StopReason,
    /// Raw samples by phase.
    pub samples: Vec<Samples>,
    /// Summaries by phase, in seconds; derived from the samples.
    pub summaries: BTreeMap<Phase, Summary>,
    /// Everything else that was measured: throughput, memory, energy, utilisation.
    pub metrics: Vec<Metric>,
    /// What each probe saw and cost.
    pub probes: Vec<ProbeReport>,
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// Where the time goes inside the model, where that was asked for.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::inside::stored"
    )]
    pub layers: Option<Box<LayerReport>>,
    /// Where the memory goes, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<MemoryReport>>,
    /// What the time went through, where a run was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<Box<CriticalPath>>,
    /// How a training went, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Box<TrainingReport>>,
    /// Where it was read, where another tool measured it; `None` where we did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<Import>>,
    /// Every input as it really was; empty for runs that were stored before this was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<FedInput>,
    /// Labels given by people.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Run {
    /// The metric with this key.
    #[must_use]
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == key)
    }

    /// What a user waits for: everything where text came in, the whole step in a training, the model alone otherwise.
    #[must_use]
    pub fn headline(&self) -> Option<&Summary> {
        self.summaries.get(&self.main_phase())
    }

    /// The phase people mean by latency: everything where text was given, the model alone otherwise.
    #[must_use]
    pub fn main_phase(&self) -> Phase {
        let has = |phase| self.summaries.contains_key(&phase) || self.stated(phase).is_some();
        if has(Phase::Total) && (self.cell.is_end_to_end() || !has(Phase::Inference)) {
            Phase::Total
        } else {
            Phase::Inference
        }
    }

    /// What another tool states of a phase without giving its samples; `None` where we measured.
    #[must_use]
    pub fn stated(&self, phase: Phase) -> Option<&Stated> {
        self.imported.as_ref()?.stated.get(&phase)
    }

    /// Whether the field at this path (`cold.load`) holds a fact, and not a zero in the place of what nobody knows.
    #[must_use]
    pub fn tells(&self, path: &str) -> bool {
        let is_told = |import: &Import| import.untold.iter().all(|name| name != path);
        !self.unknown.contains_key(path) && self.imported.as_deref().is_none_or(is_told)
    }

    /// The raw samples of a phase, in nanoseconds.
    #[must_use]
    pub fn samples_of(&self, phase: Phase) -> Option<&[u64]> {
        self.samples.iter().find(|samples| samples.phase == phase).map(|s| s.nanos.as_slice())
    }
}
