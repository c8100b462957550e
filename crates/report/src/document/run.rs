//! The document itself, key by key.

use super::critical_path::CriticalPathDocument;
use super::groups::{Compute, Energy, Memory, Throughput};
use super::imported::ImportDocument;
use super::inputs::{InputDocument, inputs};
use super::latency::{ByPhase, Latency};
use super::layers::Layers;
use super::memory::MemoryProfile;
use super::probes::{MetricDocument, ProbeDocument};
use super::training::TrainingDocument;
use super::values::{Milliseconds, Timestamp, WeightsKind};
use crate::generation::RunGenerationDocument;
use crate::json::JsonOptions;
use crate::load::RunLoadDocument;
use crate::lookup::told;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use types::{
    Category, Device, EngineOptions, Environment, GpuProfile, LengthUnit, Mode, ModelSource, Phase,
    Precision, Run, StopReason, Verdict,
};

/// The name and version of the document.
pub const RUN_SCHEMA: &str = "modelmeter.run/1";

/// One run of one model on one engine and device. Missing values are null, with the reason in a `why` next to them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = only_imports_leave_out)]
pub struct RunDocument<'a> {
    #[schemars(extend("const" = RUN_SCHEMA))]
    schema: &'static str,
    /// The run's name.
    #[schemars(length(min = 1))]
    id: &'a str,
    started_at: Option<Timestamp>,
    /// Everything, from the start of the worker to its end.
    elapsed: Option<Milliseconds>,
    /// The name people use.
    model: &'a str,
    /// Whether the weights are the trained ones.
    weights: Option<WeightsKind>,
    /// The seed of random weights.
    weights_seed: Option<u64>,
    model_details: ModelDetails<'a>,
    /// The id of the engine that really ran.
    engine: &'a str,
    engine_version: Option<&'a str>,
    /// The device that really ran the model, as reported by the engine.
    placement: &'a str,
    /// The device it ran on; never `auto`.
    #[schemars(regex(pattern = format!("^({})$", Device::RECORDED)))]
    device: Option<Device>,
    precision: Option<Precision>,
    #[schemars(range(min = 1))]
    batch_size: Option<usize>,
    /// Length of each sample in `length_unit`; null if it is fixed by the model.
    #[schemars(range(min = 1))]
    sequence_length: Option<usize>,
    /// What `sequence_length` counts: tokens of a text, samples of sound, frames of a spectrogram, steps of anything else.
    length_unit: Option<LengthUnit>,
    mode: Mode,
    threads: Option<u32>,
    /// Engine options other than device, precision and threads; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_options: Option<&'a EngineOptions>,
    seed: Option<u64>,
    /// Every input as it was used; runs stored before this was recorded have only shapes that the user gave.
    inputs: Vec<InputDocument<'a>>,
    /// Texts that were tokenised in every sample; null if token ids were random.
    text_lines: Option<usize>,
    /// From starting the worker process to its first message.
    process_start: Option<Milliseconds>,
    /// From requesting the model until it is ready.
    load: Option<Milliseconds>,
    /// The true first inference, cold.
    first_inference: Option<Milliseconds>,
    warmup: Option<WarmupDocument>,
    /// Why sampling ended.
    stop: Option<StopReason>,
    /// The phase that `latency` refers to: `total` for text input and training, `inference` otherwise.
    latency_phase: Phase,
    /// Null only where the run has no samples.
    latency: Option<Latency<'a>>,
    /// Every phase that was timed.
    phases: ByPhase<Latency<'a>>,
    throughput: Throughput,
    memory: Memory,
    compute: Compute,
    energy: Energy,
    metrics: Vec<MetricDocument<'a>>,
    probes: Vec<ProbeDocument<'a>>,
    environment: &'a Environment,
    verdict: &'a Verdict,
    /// Time by layer; present only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<Layers<'a>>,
    /// Memory: predicted, allocated and observed; present only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_profile: Option<MemoryProfile<'a>>,
    /// The critical path of a traced run and its waits; present only if a trace was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_path: Option<CriticalPathDocument<'a>>,
    /// What a GPU did in a stretch of inferences, by its own records; present only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<&'a GpuProfile>,
    /// How the model was trained, with the results; present only for training.
    #[serde(skip_serializing_if = "Option::is_none")]
    training: Option<TrainingDocument<'a>>,
    /// What was generated, and what the cache held; present only for generating.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<RunGenerationDocument<'a>>,
    /// What was asked of a server, and what came of it; present only for load.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_test: Option<RunLoadDocument<'a>>,
    /// The source of the run; present only if another tool measured it. What its file does not contain is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportDocument<'a>>,
    tags: &'a [String],
    /// Raw samples in nanoseconds, in the order they were taken; only where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples_ns: Option<SamplesNs<'a>>,
}

/// Says in a schema that every run of ours tells what only an imported one may leave out.
fn only_imports_leave_out(schema: &mut Schema) {
    let told = [
        ("started_at", "string"),
        ("elapsed", "object"),
        ("weights", "string"),
        ("engine_version", "string"),
        ("device", "string"),
        ("precision", "string"),
        ("batch_size", "integer"),
        ("threads", "integer"),
        ("seed", "integer"),
        ("process_start", "object"),
        ("load", "object"),
        ("first_inference", "object"),
        ("warmup", "object"),
        ("stop", "string"),
    ];
    let told: Map<String, Value> =
        told.into_iter().map(|(key, kind)| (key.to_owned(), json!({ "type": kind }))).collect();
    schema.insert("if".into(), json!({ "not": { "required": ["imported"] } }));
    schema.insert("then".into(), json!({ "properties": told }));
}

/// Information about the model, besides its name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ModelDetails<'a> {
    category: Option<Category>,
    architecture: &'a str,
    source: Source<'a>,
    /// Equal keys mean the same computation.
    fingerprint: &'a str,
}

/// The source of the model; in a path that is not Unicode, other characters are replaced.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Source<'a> {
    #[schemars(extend("enum" = ["file", "folder", "hub", "preset", "description", "elsewhere"]))]
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

/// How warm-up went.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct WarmupDocument {
    runs: u64,
    settled: Option<bool>,
}

/// Raw samples in nanoseconds, in the order they were taken.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
        let (weights, weights_seed) = WeightsKind::with_seed(run.model.weights);
        // Another tool neither says whether its warm-up had settled nor why it stopped.
        let ours = run.imported.is_none();
        let samples = || SamplesNs {
            warmup: &run.warmup.nanos,
            phases: ByPhase::from_each(|phase| run.samples_of(phase)),
        };
        RunDocument {
            schema: RUN_SCHEMA,
            id: &run.id.0,
            started_at: told(run, "started_at", run.started_at.into()),
            elapsed: told(run, "elapsed", run.elapsed.into()),
            model: &run.model.name,
            weights: told(run, "model.weights", weights),
            weights_seed,
            model_details: ModelDetails {
                category: told(run, "model.category", run.model.category),
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
            latency_phase: phase,
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
            gpu: run.gpu.as_deref(),
            training: TrainingDocument::of(run),
            generation: RunGenerationDocument::of(run),
            load_test: RunLoadDocument::of(run),
            imported: run.imported.as_deref().map(ImportDocument::from),
            tags: &run.tags,
            samples_ns: options.samples.then(samples),
        }
    }
}
