//! One execution of a cell on one machine at one time.

use crate::{
    Cell, CriticalPath, Environment, FedInput, Generation, GenerationReport, GenerationTest,
    GpuProfile, Import, LayerReport, LoadReport, MemoryReport, Metric, ModelInfo, Phase, Samples,
    Stated, StopReason, Summary, TrainingReport, Verdict, Work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, time::Duration};

/// A run's id: 16 hexadecimal digits, eight of them random and eight from the time, so that a few digits are enough to
/// identify a run.
///
/// The order of runs is in their `started_at`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The engine that really ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineInfo {
    /// Its id: `rten`.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The device that really ran the model, as reported by the engine.
    pub placement: String,
}

/// Times of the start (loading, first inference), separate from the warm ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cold {
    /// From starting the worker process to its first message.
    pub process_start: Duration,
    /// From requesting the model until it is ready.
    pub load: Duration,
    /// The true first inference.
    pub first_inference: Duration,
}

/// How warm-up went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmupReport {
    /// Runs that were discarded.
    pub runs: u64,
    /// Whether the last windows agreed, or a fixed count was requested.
    pub settled: bool,
    /// Every warm-up sample in nanoseconds.
    pub nanos: Vec<u64>,
}

/// The readings of one probe, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The probe's id: `cpu`.
    pub probe: String,
    /// Why it has no readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// Its readings.
    pub metrics: Vec<Metric>,
    /// Readings taken.
    pub readings: u64,
    /// Processor time used by its own readings.
    pub cost: Duration,
    /// Time between readings; `None` for counters read only at both ends.
    pub period: Option<Duration>,
}

/// One complete execution of a cell on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// When it began, in microseconds since the epoch.
    pub started_at: i64,
    /// How long everything took, worker start to end.
    pub elapsed: Duration,
    /// The request.
    pub cell: Cell,
    /// The model that ran.
    pub model: ModelInfo,
    /// Its work at this batch and length.
    pub work: Work,
    /// Values that could not be counted, by the path of their field, with the reason; the field's own value then has no
    /// meaning.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, String>,
    /// The engine that ran.
    pub engine: EngineInfo,
    /// The machine and its state.
    pub environment: Environment,
    /// Times of the start: loading and the first inference.
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
    /// The readings and the cost of each probe.
    pub probes: Vec<ProbeReport>,
    /// Whether the numbers are valid.
    pub verdict: Verdict,
    /// Time by layer, if requested.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::inside::stored"
    )]
    pub layers: Option<Box<LayerReport>>,
    /// Memory: predicted, allocated and observed; only if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<MemoryReport>>,
    /// The critical path, if the run was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<Box<CriticalPath>>,
    /// What a GPU did by its own records, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Box<GpuProfile>>,
    /// The results of the training; only for runs that trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Box<TrainingReport>>,
    /// The results of generating; only for runs that generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Box<GenerationReport>>,
    /// The results of a load; only for runs that loaded a server or a model with requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Box<LoadReport>>,
    /// The source file, if another tool measured it; `None` if Modelmeter did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<Import>>,
    /// Every input as it was used; empty for runs that were stored before this was recorded.
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

    /// Every step of a decode in its order: tokens in the cache before it, and its nanoseconds. Empty where the depth of a
    /// sample is not known.
    #[must_use]
    pub fn steps(&self) -> Vec<(usize, u64)> {
        let decodes = |one: &Generation| one.test == GenerationTest::Decode;
        let generation = self.cell.generation.filter(decodes);
        let first = self.generation.as_ref().and_then(|report| report.first_step);
        let (Some(generation), Some(first)) = (generation, first) else { return Vec::new() };
        let nanos = self.samples_of(Phase::Inference).unwrap_or_default();
        (first..).zip(nanos).map(|(step, nanos)| (generation.depth_of(step), *nanos)).collect()
    }

    /// What another tool states of a phase without giving its samples; `None` if we measured.
    #[must_use]
    pub fn stated(&self, phase: Phase) -> Option<&Stated> {
        self.imported.as_ref()?.stated.get(&phase)
    }

    /// Whether the field at this path (`cold.load`) holds a fact, and not a zero in the place of what is unknown.
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
