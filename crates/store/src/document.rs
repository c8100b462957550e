//! The part of a run that is kept as one JSON text: everything that has no table of its own.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use types::{
    Cell, Cold, CriticalPath, EngineInfo, Environment, FedInput, GenerationReport, GpuProfile,
    Import, LayerReport, LoadReport, MemoryReport, Metric, ModelInfo, Phase, ProbeReport, Run,
    RunId, Samples, StopReason, Summary, TrainingReport, Verdict, WarmupReport, Work,
};

/// What is read back; each field is named as in [`Run`].
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    elapsed: Duration,
    work: Work,
    #[serde(default)]
    unknown: BTreeMap<String, String>,
    engine: EngineInfo,
    environment: Environment,
    cold: Cold,
    warmup: Warmup,
    stop: StopReason,
    summaries: BTreeMap<Phase, Summary>,
    probes: Vec<ProbeReport>,
    verdict: Verdict,
    #[serde(default)]
    layers: Option<Box<LayerReport>>,
    #[serde(default)]
    memory: Option<Box<MemoryReport>>,
    #[serde(default)]
    critical_path: Option<Box<CriticalPath>>,
    #[serde(default)]
    gpu: Option<Box<GpuProfile>>,
    #[serde(default)]
    training: Option<Box<TrainingReport>>,
    #[serde(default)]
    generation: Option<Box<GenerationReport>>,
    #[serde(default)]
    load: Option<Box<LoadReport>>,
    #[serde(default)]
    imported: Option<Box<Import>>,
    #[serde(default)]
    inputs: Vec<FedInput>,
}

/// A warm-up report without its samples, which lie with the others.
#[derive(Debug, Serialize, Deserialize)]
struct Warmup {
    runs: u64,
    settled: bool,
}

/// The same as [`Document`], borrowed: a million samples are not copied to be left out.
#[derive(Serialize)]
struct Borrowed<'a> {
    elapsed: &'a Duration,
    work: &'a Work,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown: &'a BTreeMap<String, String>,
    engine: &'a EngineInfo,
    environment: &'a Environment,
    cold: &'a Cold,
    warmup: Warmup,
    stop: &'a StopReason,
    summaries: &'a BTreeMap<Phase, Summary>,
    probes: &'a [ProbeReport],
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<&'a LayerReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a MemoryReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    critical_path: Option<&'a CriticalPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<&'a GpuProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    training: Option<&'a TrainingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<&'a GenerationReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<&'a LoadReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<&'a Import>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    inputs: &'a [FedInput],
}

/// What the other tables hold of a run.
pub(crate) struct Elsewhere {
    pub(crate) id: RunId,
    pub(crate) started_at: i64,
    pub(crate) cell: Cell,
    pub(crate) model: ModelInfo,
    pub(crate) warmup: Vec<u64>,
    pub(crate) samples: Vec<Samples>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) tags: Vec<String>,
}

/// The text to store; an error where it could not be read back, because a number in it is not finite.
pub(crate) fn write(run: &Run) -> Result<String, serde_json::Error> {
    let body = serde_json::to_string(&Borrowed {
        elapsed: &run.elapsed,
        work: &run.work,
        unknown: &run.unknown,
        engine: &run.engine,
        environment: &run.environment,
        cold: &run.cold,
        warmup: Warmup { runs: run.warmup.runs, settled: run.warmup.settled },
        stop: &run.stop,
        summaries: &run.summaries,
        probes: &run.probes,
        verdict: &run.verdict,
        layers: run.layers.as_deref(),
        memory: run.memory.as_deref(),
        critical_path: run.critical_path.as_deref(),
        gpu: run.gpu.as_deref(),
        training: run.training.as_deref(),
        generation: run.generation.as_deref(),
        load: run.load.as_deref(),
        imported: run.imported.as_deref(),
        inputs: &run.inputs,
    })?;
    serde_json::from_str::<Document>(&body)?;
    Ok(body)
}

impl Document {
    /// The run, whole again.
    pub(crate) fn join(self, rest: Elsewhere) -> Run {
        Run {
            id: rest.id,
            started_at: rest.started_at,
            elapsed: self.elapsed,
            cell: rest.cell,
            model: rest.model,
            work: self.work,
            unknown: self.unknown,
            engine: self.engine,
            environment: self.environment,
            cold: self.cold,
            warmup: WarmupReport {
                runs: self.warmup.runs,
                settled: self.warmup.settled,
                nanos: rest.warmup,
            },
            stop: self.stop,
            samples: rest.samples,
            summaries: self.summaries,
            metrics: rest.metrics,
            probes: self.probes,
            verdict: self.verdict,
            layers: self.layers,
            memory: self.memory,
            critical_path: self.critical_path,
            gpu: self.gpu,
            training: self.training,
            generation: self.generation,
            load: self.load,
            imported: self.imported,
            inputs: self.inputs,
            tags: rest.tags,
        }
    }
}
