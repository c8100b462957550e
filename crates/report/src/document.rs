//! A run as the document `modelmeter.run/1`: what its keys are and in which order they stand.
//!
//! `docs/schema/modelmeter.run-1.schema.json` says the same to programs. Keys may be added within version 1;
//! none changes its meaning or leaves. Missing is `null`, and a `why` beside it says why.

use crate::json::JsonOptions;
use crate::lookup::{Reading, energy, main_phase, reading_or_why};
use crate::timestamp::rfc3339;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;
use types::{
    Device, Direction, Environment, InputShape, Metric, Mode, ModelSource, Phase, Precision,
    ProbeReport, Provenance, Run, StopReason, Summary, Unit, Unsupported, Verdict, Weights,
};

/// The name and version of the document.
pub const RUN_SCHEMA: &str = "modelmeter.run/1";

/// A run as it is written to JSON.
#[derive(Debug, Clone, Serialize)]
pub struct RunDocument<'a> {
    schema: &'static str,
    id: &'a str,
    started_at: String,
    elapsed: Milliseconds,
    model: &'a str,
    weights: &'static str,
    weights_seed: Option<u64>,
    model_details: ModelDetails<'a>,
    engine: &'a str,
    engine_version: &'a str,
    placement: &'a str,
    device: Device,
    precision: Precision,
    batch_size: usize,
    sequence_length: Option<usize>,
    mode: Mode,
    threads: u32,
    seed: u64,
    inputs: &'a [InputShape],
    text_lines: Option<usize>,
    process_start: Milliseconds,
    load: Milliseconds,
    first_inference: Milliseconds,
    warmup: WarmupDocument,
    stop: StopReason,
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
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    samples_ns: Option<SamplesNs<'a>>,
}

/// A time span; the unit stands beside the number.
#[derive(Debug, Clone, Copy, Serialize)]
struct Milliseconds {
    value: f64,
    unit: &'static str,
}

impl From<Duration> for Milliseconds {
    fn from(duration: Duration) -> Milliseconds {
        // Whole nanoseconds over a power of ten: the nearest number to what was measured.
        Milliseconds { value: duration.as_nanos() as f64 / 1e6, unit: "ms" }
    }
}

#[derive(Debug, Clone, Serialize)]
struct ModelDetails<'a> {
    category: &'static str,
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
            ModelSource::Description { path } => ("description", Some(path), None),
        };
        Source { kind, path: path.map(|path| path.to_string_lossy()), revision }
    }
}

/// Something for each phase that was timed, in the order phases happen.
#[derive(Debug, Clone, Serialize)]
struct ByPhase<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenise: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postprocess: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<T>,
}

impl<T> ByPhase<T> {
    fn from_each(of: impl Fn(Phase) -> Option<T>) -> ByPhase<T> {
        ByPhase {
            tokenise: of(Phase::Tokenise),
            inference: of(Phase::Inference),
            postprocess: of(Phase::Postprocess),
            total: of(Phase::Total),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct WarmupDocument {
    runs: u64,
    settled: bool,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct IntervalMs {
    low: Option<f64>,
    high: Option<f64>,
}

/// What the samples of a phase say, in milliseconds; `ci95` is the interval of the median.
#[derive(Debug, Clone, Serialize)]
struct Latency<'a> {
    unit: &'static str,
    mean: Option<f64>,
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    median: Option<f64>,
    mad: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
    ci95: IntervalMs,
    ci95_mean: IntervalMs,
    samples: u64,
    outliers: u64,
    unsupported: &'a [Unsupported],
}

impl<'a> From<&'a Summary> for Latency<'a> {
    fn from(summary: &'a Summary) -> Latency<'a> {
        let ms = |seconds: f64| seconds.is_finite().then_some(seconds * 1e3);
        let interval =
            |interval: types::Interval| IntervalMs { low: ms(interval.low), high: ms(interval.high) };
        Latency {
            unit: "ms",
            mean: ms(summary.mean),
            std: ms(summary.std),
            min: ms(summary.min),
            max: ms(summary.max),
            median: ms(summary.median),
            mad: ms(summary.mad),
            p50: ms(summary.median),
            p90: ms(summary.p90),
            p95: ms(summary.p95),
            p99: ms(summary.p99),
            p99_9: ms(summary.p999),
            ci95: interval(summary.ci95_median),
            ci95_mean: interval(summary.ci95_mean),
            samples: summary.count,
            outliers: summary.outliers,
            unsupported: &summary.unsupported,
        }
    }
}

/// Why a key beside it is null, by that key.
type Why = BTreeMap<&'static str, String>;

/// Takes readings by key and remembers why one is missing.
struct Readings<'a> {
    run: &'a Run,
    why: Why,
}

impl<'a> Readings<'a> {
    fn of(run: &'a Run) -> Readings<'a> {
        Readings { run, why: Why::new() }
    }

    fn take(&mut self, name: &'static str, key: &str) -> Option<f64> {
        match reading_or_why(self.run, key) {
            Reading::Known(value) => Some(value),
            Reading::Missing(why) => {
                self.why.insert(name, why);
                None
            }
        }
    }

    fn bytes(&mut self, name: &'static str, key: &str) -> Option<u64> {
        self.take(name, key).map(|value| value.round().max(0.0) as u64)
    }
}

#[derive(Debug, Clone, Serialize)]
struct Throughput {
    samples_per_second: Option<f64>,
    tokens_per_second: Option<f64>,
    images_per_second: Option<f64>,
    why: Why,
}

impl From<&Run> for Throughput {
    fn from(run: &Run) -> Throughput {
        let mut readings = Readings::of(run);
        Throughput {
            samples_per_second: readings.take("samples_per_second", "throughput.samples"),
            tokens_per_second: readings.take("tokens_per_second", "throughput.tokens"),
            images_per_second: readings.take("images_per_second", "throughput.images"),
            why: readings.why,
        }
    }
}

/// Memory in bytes.
#[derive(Debug, Clone, Serialize)]
struct Memory {
    unit: &'static str,
    peak: Option<u64>,
    average: Option<u64>,
    activation: Option<u64>,
    why: Why,
}

impl From<&Run> for Memory {
    fn from(run: &Run) -> Memory {
        let mut readings = Readings::of(run);
        let activation = run.work.activation_peak.map(|peak| peak.0);
        if activation.is_none() {
            let why = "some shapes of the graph are not known before it runs";
            readings.why.insert("activation", why.into());
        }
        Memory {
            unit: "bytes",
            peak: readings.bytes("peak", "memory.peak"),
            average: readings.bytes("average", "memory.average"),
            activation,
            why: readings.why,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Compute {
    flops: u64,
    parameters: u64,
    model_size: u64,
    coverage: Option<f64>,
    bytes_read: u64,
    bytes_written: u64,
    flops_per_second: Option<f64>,
    ceiling_share: Option<f64>,
    why: Why,
}

impl From<&Run> for Compute {
    fn from(run: &Run) -> Compute {
        let mut readings = Readings::of(run);
        let coverage = Some(run.work.coverage.0).filter(|share| share.is_finite());
        if coverage.is_none() {
            readings.why.insert("coverage", "the graph has no operator that could be counted".into());
        }
        Compute {
            flops: run.work.flops.0,
            parameters: run.model.parameters,
            model_size: run.model.size.0,
            coverage,
            bytes_read: run.work.bytes_read.0,
            bytes_written: run.work.bytes_written.0,
            flops_per_second: readings.take("flops_per_second", "compute.flops_per_second"),
            ceiling_share: readings.take("ceiling_share", "compute.ceiling_share"),
            why: readings.why,
        }
    }
}

/// The first energy counter that answered, in joules; all of them stand under `metrics` and `probes`.
#[derive(Debug, Clone, Serialize)]
struct Energy {
    value: Option<f64>,
    unit: &'static str,
    of: Option<String>,
    why: Option<String>,
}

impl From<&Run> for Energy {
    fn from(run: &Run) -> Energy {
        let (value, of, why) = match energy(run) {
            Ok(known) => {
                let first = known.into_iter().next();
                let of = first.as_ref().map(|entry| entry.whose.clone());
                (first.map(|entry| entry.joules), of.filter(|of| !of.is_empty()), None)
            }
            Err(why) => (None, None, Some(why)),
        };
        Energy { value, unit: "J", of, why }
    }
}

#[derive(Debug, Clone, Serialize)]
struct ProbeDocument<'a> {
    probe: &'a str,
    unavailable: Option<&'a str>,
    readings: u64,
    cost: Milliseconds,
    period: Option<Milliseconds>,
    metrics: Vec<MetricDocument<'a>>,
}

/// A metric; `why` stands exactly where there is no value.
#[derive(Debug, Clone, Serialize)]
struct MetricDocument<'a> {
    key: &'a str,
    value: Option<f64>,
    unit: Unit,
    direction: Direction,
    provenance: Provenance,
    why: Option<String>,
}

impl<'a> From<&'a Metric> for MetricDocument<'a> {
    fn from(metric: &'a Metric) -> MetricDocument<'a> {
        let reading = Reading::of(metric);
        MetricDocument {
            key: &metric.key,
            value: reading.known(),
            unit: metric.unit,
            direction: metric.direction,
            provenance: metric.provenance,
            why: reading.why().map(String::from),
        }
    }
}

impl<'a> From<&'a ProbeReport> for ProbeDocument<'a> {
    fn from(probe: &'a ProbeReport) -> ProbeDocument<'a> {
        ProbeDocument {
            probe: &probe.probe,
            unavailable: probe.unavailable.as_deref(),
            readings: probe.readings,
            cost: probe.cost.into(),
            period: probe.period.map(Milliseconds::from),
            metrics: probe.metrics.iter().map(MetricDocument::from).collect(),
        }
    }
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
        let phase = main_phase(run);
        let (weights, weights_seed) = match run.model.weights {
            Weights::Real => ("real", None),
            Weights::Random { seed } => ("random", Some(seed)),
        };
        let samples = || SamplesNs {
            warmup: &run.warmup.nanos,
            phases: ByPhase::from_each(|phase| run.samples_of(phase)),
        };
        RunDocument {
            schema: RUN_SCHEMA,
            id: &run.id.0,
            started_at: rfc3339(run.started_at),
            elapsed: run.elapsed.into(),
            model: &run.model.name,
            weights,
            weights_seed,
            model_details: ModelDetails {
                category: run.model.category.name(),
                architecture: &run.model.architecture,
                source: (&run.model.source).into(),
                fingerprint: &run.model.fingerprint,
            },
            engine: &run.engine.id,
            engine_version: &run.engine.version,
            placement: &run.engine.placement,
            device: run.cell.device,
            precision: run.cell.precision,
            batch_size: run.cell.batch_size,
            sequence_length: run.cell.sequence_length,
            mode: run.cell.mode,
            threads: run.cell.threads,
            seed: run.cell.seed,
            inputs: &run.cell.inputs,
            text_lines: run.cell.text.as_ref().map(|text| text.lines.len()),
            process_start: run.cold.process_start.into(),
            load: run.cold.load.into(),
            first_inference: run.cold.first_inference.into(),
            warmup: WarmupDocument { runs: run.warmup.runs, settled: run.warmup.settled },
            stop: run.stop,
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
            tags: &run.tags,
            samples_ns: options.samples.then(samples),
        }
    }
}
