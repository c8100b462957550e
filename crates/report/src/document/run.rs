//! The document itself, key by key.

use super::critical_path::CriticalPathDocument;
use super::groups::{Compute, Energy, Memory, Throughput};
use super::imported::ImportDocument;
use super::inputs::{InputDocument, inputs};
use super::latency::{ByPhase, Latency, Milliseconds};
use super::layers::Layers;
use super::memory::MemoryProfile;
use super::probes::{MetricDocument, ProbeDocument};
use super::training::TrainingDocument;
use crate::json::JsonOptions;
use crate::lookup::told;
use crate::timestamp::rfc3339;
use serde::Serialize;
use std::borrow::Cow;
use types::{
    Device, EngineOptions, Environment, LengthUnit, Mode, ModelSource, Phase, Precision, Run,
    StopReason, Verdict, Weights,
};

/// The name and version of the document.
pub const RUN_SCHEMA: &str = "modelmeter.run/1";

/// A run as it is written to JSON.
#[derive(Debug, Clone, Serialize)]
pub struct RunDocument<'a> {
    schema: &'static str,
    id: &'a str,
    started_at: Option<String>,
    elapsed: Option<Milliseconds>,
    model: &'a str,
    weights: Option<&'static str>,
    weights_seed: Option<u64>,
    model_details: ModelDetails<'a>,
    engine: &'a str,
    engine_version: Option<&'a str>,
    placement: &'a str,
    device: Option<Device>,
    precision: Option<Precision>,
    batch_size: Option<usize>,
    sequence_length: Option<usize>,
    length_unit: Option<LengthUnit>,
    mode: Mode,
    threads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_options: Option<&'a EngineOptions>,
    seed: Option<u64>,
    inputs: Vec<InputDocument<'a>>,
    text_lines: Option<usize>,
    process_start: Option<Milliseconds>,
    load: Option<Milliseconds>,
    first_inference: Option<Milliseconds>,
    warmup: Option<WarmupDocument>,
    stop: Option<StopReason>,
    latency_phase: &'static str,
    latency: Option<Latency<'a>>,
    phases: ByPhase<Latency<'a>>,
    throughput: Throughput,
    memory: Memory,
    compute: Compute,
    energy: Energy,
    metrics: Vec<MetricDocument<'a>>,
    probes: Vec<ProbeDocument<'a>>,
    environment: &'a Environment,
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<Layers<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_profile: Option<MemoryProfile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_path: Option<CriticalPathDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    training: Option<TrainingDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportDocument<'a>>,
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    samples_ns: Option<SamplesNs<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct ModelDetails<'a> {
    category: Option<&'static str>,
    architecture: &'a str,
    source: Source<'a>,
    fingerprint: &'a str,
}

/// Where the model came from; a path that is not Unicode loses what cannot be written.
#[derive(Debug, Clone, Serialize)]
struct Source<'a> {
    kind: &'static str,
    path: Option<Cow<'a, str>>,
    revision: Option<&'a str>,
}

impl<'a> From<&'a ModelSource> for Source<'a> {
    fn from(source: &'a ModelSource) -> Source<'a> {
        let (kind, path, revision) = match source {
            ModelSource::File { path } => ("file", Some(path), None),
            ModelSource::Folder { path } => ("folder", Some(path), None),
            ModelSource::Hub { revision } => ("hub", None, Some(revision.as_str())),
            ModelSource::Preset => ("preset", None, None),
            ModelSource::Elsewhere => ("elsewhere", None, None),
            ModelSource::Description { path } => ("description", Some(path), None),
        };
        Source { kind, path: path.map(|path| path.to_string_lossy()), revision }
    }
}

#[derive(Debug, Clone, Serialize)]
struct WarmupDocument {
    runs: u64,
    settled: Option<bool>,
}

/// Raw samples in nanoseconds, in the order they were taken.
#[derive(Debug, Clone, Serialize)]
struct SamplesNs<'a> {
    warmup: &'a [u64],
    #[serde(flatten)]
    phases: ByPhase<&'a [u64]>,
}

impl<'a> RunDocument<'a> {
    /// The document of a run.
    #[must_use]
    pub fn new(run: &'a Run, options: JsonOptions) -> RunDocument<'a> {
        let summary_of = |phase: Phase| run.summaries.get(&phase).map(Latency::from);
        let phase = run.main_phase();
        let (weights, weights_seed) = match run.model.weights {
            Weights::Real => ("real", None),
            Weights::Random { seed } => ("random", Some(seed)),
        };
        // Another tool neither says whether its warm-up had settled nor why it stopped.
        let ours = run.imported.is_none();
        let samples = || SamplesNs {
            warmup: &run.warmup.nanos,
            phases: ByPhase::from_each(|phase| run.samples_of(phase)),
        };
        RunDocument {
            schema: RUN_SCHEMA,
            id: &run.id.0,
            started_at: told(run, "started_at", rfc3339(run.started_at)),
            elapsed: told(run, "elapsed", run.elapsed.into()),
            model: &run.model.name,
            weights: told(run, "model.weights", weights),
            weights_seed,
            model_details: ModelDetails {
                category: told(run, "model.category", run.model.category.name()),
                architecture: &run.model.architecture,
                source: (&run.model.source).into(),
                fingerprint: &run.model.fingerprint,
            },
            engine: &run.engine.id,
            engine_version: told(run, "engine.version", run.engine.version.as_str()),
            placement: &run.engine.placement,
            device: told(run, "cell.device", run.cell.device),
            precision: told(run, "cell.precision", run.cell.precision),
            batch_size: told(run, "cell.batch_size", run.cell.batch_size),
            sequence_length: run.cell.sequence_length,
            length_unit: run.cell.sequence_length.map(|_| run.cell.feed.length_unit),
            mode: run.cell.mode,
            threads: told(run, "cell.threads", run.cell.threads),
            engine_options: (!run.cell.options.is_default()).then_some(&run.cell.options),
            seed: told(run, "cell.seed", run.cell.seed),
            inputs: inputs(run),
            text_lines: run.cell.text.as_ref().map(|text| text.lines.len()),
            process_start: told(run, "cold.process_start", run.cold.process_start.into()),
            load: told(run, "cold.load", run.cold.load.into()),
            first_inference: told(run, "cold.first_inference", run.cold.first_inference.into()),
            warmup: told(
                run,
                "warmup",
                WarmupDocument {
                    runs: run.warmup.runs,
                    settled: ours.then_some(run.warmup.settled),
                },
            ),
            stop: ours.then_some(run.stop),
            latency_phase: phase.name(),
            latency: summary_of(phase),
            phases: ByPhase::from_each(summary_of),
            throughput: run.into(),
            memory: run.into(),
            compute: run.into(),
            energy: run.into(),
            metrics: run.metrics.iter().map(MetricDocument::from).collect(),
            probes: run.probes.iter().map(ProbeDocument::from).collect(),
            environment: &run.environment,
            verdict: &run.verdict,
            layers: run.layers.as_deref().map(Layers::from),
            memory_profile: run.memory.as_deref().map(MemoryProfile::from),
            critical_path: run.critical_path.as_deref().map(CriticalPathDocument::from),
            training: TrainingDocument::of(run),
            imported: run.imported.as_deref().map(ImportDocument::from),
            tags: &run.tags,
            samples_ns: options.samples.then(samples),
        }
    }
}
