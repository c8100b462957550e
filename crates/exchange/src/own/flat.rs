//! The flat columns of a run, in SI base units: one list that CSV, Parquet and their documentation walk.
//!
//! A new column goes to the end; none changes its meaning or leaves. Missing is an empty cell.

use types::{Metric, Phase, Run, Stated, Weights, key};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A count.
    Whole,
    /// A number.
    Real,
    /// True or false.
    Flag,
    /// A moment, in UTC.
    Moment,
}

/// One cell; `None` beside it is an empty one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    Whole(u64),
    Real(f64),
    Flag(bool),
    /// Microseconds since the epoch.
    Moment(i64),
}

/// A flat column.
pub struct Column {
    /// Its name, with the unit behind it.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it says, in a few words.
    pub about: &'static str,
    pub(crate) cell: fn(&Run) -> Option<Cell>,
}

impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?})", self.name, self.kind)
    }
}

/// Every column in order.
#[must_use]
pub fn columns() -> &'static [Column] {
    COLUMNS
}

const fn column(
    name: &'static str,
    kind: Kind,
    about: &'static str,
    cell: fn(&Run) -> Option<Cell>,
) -> Column {
    Column { name, kind, about, cell }
}

use Kind::{Flag, Moment, Real, Text, Whole};

const COLUMNS: &[Column] = &[
    column("run_id", Text, "the run's id", |run| text(&run.id.0)),
    column("started_at", Moment, "start time, UTC", |run| {
        run.tells("started_at").then_some(Cell::Moment(run.started_at))
    }),
    column("provenance", Text, "`measured` or `imported`", |run| {
        text(if run.imported.is_some() { "imported" } else { "measured" })
    }),
    column("source_tool", Text, "the tool that measured an imported run", |run| {
        text(&run.imported.as_ref()?.tool)
    }),
    column("source_version", Text, "its version", |run| {
        text(run.imported.as_ref()?.version.as_ref()?)
    }),
    column("source_file", Text, "the file it was read from", |run| {
        text(&run.imported.as_ref()?.file)
    }),
    column("model", Text, "the model's name", |run| text(&run.model.name)),
    column("weights", Text, "`real` or `random`", |run| {
        let weights = match run.model.weights {
            Weights::Real => "real",
            Weights::Random { .. } => "random",
        };
        run.tells("model.weights").then(|| text(weights))?
    }),
    column("category", Text, "what the model is for", |run| text(run.model.category.name())),
    column("architecture", Text, "`distilbert`, `gpt2`, `onnx`", |run| {
        text(&run.model.architecture)
    }),
    column("fingerprint", Text, "a hash over graph and weights", |run| {
        text(&run.model.fingerprint)
    }),
    column("parameters", Whole, "trainable parameters", |run| {
        told(run, "model.parameters", run.model.parameters)
    }),
    column("model_size_bytes", Whole, "graph and weights on disk", |run| {
        told(run, "model.size", run.model.size.0)
    }),
    column("engine", Text, "the engine", |run| text(&run.engine.id)),
    column("engine_version", Text, "its version", |run| {
        run.tells("engine.version").then(|| text(&run.engine.version))?
    }),
    column(
        "placement",
        Text,
        "the device that really ran the model, as reported by the engine",
        |run| text(&run.engine.placement),
    ),
    column("device", Text, "what it ran on", |run| {
        run.tells("cell.device").then(|| text(&run.cell.device.to_string()))?
    }),
    column("precision", Text, "the precision", |run| {
        run.tells("cell.precision").then(|| text(run.cell.precision.name()))?
    }),
    column("batch_size", Whole, "samples in one inference", |run| {
        told(run, "cell.batch_size", run.cell.batch_size as u64)
    }),
    column("sequence_length", Whole, "tokens in each sample", |run| {
        run.cell.sequence_length.map(|length| Cell::Whole(length as u64))
    }),
    column("mode", Text, "`inference` or `training`", |run| text(run.cell.mode.name())),
    column("threads", Whole, "threads the engine could use", |run| {
        told(run, "cell.threads", u64::from(run.cell.threads))
    }),
    column("seed", Whole, "seed of weights and inputs", |run| {
        told(run, "cell.seed", run.cell.seed)
    }),
    column("options", Text, "other settings of the engine, as JSON", |run| {
        let said = !run.cell.options.is_default();
        said.then(|| serde_json::to_string(&run.cell.options).ok().map(Cell::Text))?
    }),
    column("machine", Text, "the machine's key", |run| text(&run.environment.machine.key)),
    column("hostname", Text, "the machine's name", |run| text(&run.environment.machine.hostname)),
    column("cpu", Text, "its processor", |run| text(&run.environment.machine.cpu.model)),
    column("gpus", Text, "its GPUs, with `; ` between", |run| {
        let names: Vec<&str> =
            run.environment.machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
        text(&names.join("; "))
    }),
    column("machine_memory_bytes", Whole, "installed memory", |run| {
        Some(Cell::Whole(run.environment.machine.memory.0).clone())
            .filter(|cell| *cell != Cell::Whole(0))
    }),
    column("process_start_seconds", Real, "from starting the worker to its first message", |run| {
        real(run.cold.process_start.as_secs_f64()).filter(|_| run.tells("cold.process_start"))
    }),
    column("load_seconds", Real, "from the request for the model until it is ready", |run| {
        real(run.cold.load.as_secs_f64()).filter(|_| run.tells("cold.load"))
    }),
    column("first_inference_seconds", Real, "the true first inference", |run| {
        real(run.cold.first_inference.as_secs_f64()).filter(|_| run.tells("cold.first_inference"))
    }),
    column("warmup_runs", Whole, "warm-up runs, not counted", |run| {
        told(run, "warmup", run.warmup.runs)
    }),
    column("latency_phase", Text, "the phase of the following columns", |run| {
        text(main_phase(run).name())
    }),
    column("latency_samples", Whole, "how many samples", |run| main(run)?.count.map(Cell::Whole)),
    column("latency_mean_seconds", Real, "mean", |run| real(main(run)?.mean?)),
    column("latency_std_seconds", Real, "standard deviation", |run| real(main(run)?.std?)),
    column("latency_min_seconds", Real, "smallest", |run| real(main(run)?.min?)),
    column("latency_max_seconds", Real, "largest", |run| real(main(run)?.max?)),
    column("latency_median_seconds", Real, "median", |run| real(main(run)?.median?)),
    column("latency_p90_seconds", Real, "90th percentile", |run| real(main(run)?.p90?)),
    column("latency_p95_seconds", Real, "95th percentile", |run| real(main(run)?.p95?)),
    column("latency_p99_seconds", Real, "99th percentile", |run| real(main(run)?.p99?)),
    column("latency_p99_9_seconds", Real, "99.9th percentile", |run| real(main(run)?.p999?)),
    column("latency_ci95_low_seconds", Real, "lower end of the median's 95 % interval", |run| {
        real(run.summaries.get(&main_phase(run))?.ci95_median.low)
    }),
    column("latency_ci95_high_seconds", Real, "upper end of it", |run| {
        real(run.summaries.get(&main_phase(run))?.ci95_median.high)
    }),
    column("latency_unsupported", Text, "percentiles that have too few samples", |run| {
        let summary = run.summaries.get(&main_phase(run))?;
        let names: Vec<&str> =
            summary.unsupported.iter().map(|entry| entry.percentile.as_str()).collect();
        text(&names.join(" "))
    }),
    column("throughput_samples_per_second", Real, "samples per second", |run| {
        metric(run, "throughput.samples")
    }),
    column("throughput_tokens_per_second", Real, "tokens per second", |run| {
        metric(run, "throughput.tokens")
    }),
    column("throughput_images_per_second", Real, "images per second", |run| {
        metric(run, "throughput.images")
    }),
    column("memory_peak_bytes", Real, "peak memory", |run| metric(run, key::MEMORY_PEAK)),
    column("memory_average_bytes", Real, "average memory", |run| metric(run, key::MEMORY_AVERAGE)),
    column("memory_host_peak_bytes", Real, "peak host memory beside a device's own", |run| {
        metric(run, key::MEMORY_HOST_PEAK)
    }),
    column("gpu_memory_used_bytes", Real, "memory in use on the GPU", |run| {
        metric(run, "gpu.memory.used")
    }),
    column("gpu_memory_process_bytes", Real, "memory of the process on the GPU", |run| {
        metric(run, "gpu.memory.process")
    }),
    column("gpu_energy_joules", Real, "energy of the GPU", |run| metric(run, "gpu.energy")),
    column("work_flops", Real, "operations of one inference", |run| {
        real(run.work.flops.0 as f64).filter(|_| run.tells("work.flops"))
    }),
    column("work_coverage", Real, "share of the operators that were counted", |run| {
        real(run.work.coverage.0).filter(|_| run.tells("work.coverage"))
    }),
    column("compute_flops_per_second", Real, "operations per second", |run| {
        metric(run, "compute.flops_per_second")
    }),
    column("compute_ceiling_share", Real, "share of the machine's ceiling", |run| {
        metric(run, "compute.ceiling_share")
    }),
    column("activation_peak_bytes", Whole, "peak of live activations, from shapes", |run| {
        run.work.activation_peak.map(|peak| Cell::Whole(peak.0))
    }),
    column("elapsed_seconds", Real, "how long everything took", |run| {
        real(run.elapsed.as_secs_f64()).filter(|_| run.tells("elapsed"))
    }),
    column("valid", Flag, "whether the numbers can be trusted", |run| {
        Some(Cell::Flag(run.verdict.valid))
    }),
    column("reasons", Text, "the reasons and remarks, with `; ` between", |run| {
        let texts: Vec<&str> =
            run.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
        text(&texts.join("; "))
    }),
    column("tags", Text, "labels, with spaces between", |run| text(&run.tags.join(" "))),
];

/// The metrics that have a column, with their keys.
pub(crate) const METRICS: &[(&str, &str)] = &[
    ("throughput_samples_per_second", "throughput.samples"),
    ("throughput_tokens_per_second", "throughput.tokens"),
    ("throughput_images_per_second", "throughput.images"),
    ("memory_peak_bytes", key::MEMORY_PEAK),
    ("memory_average_bytes", key::MEMORY_AVERAGE),
    ("memory_host_peak_bytes", key::MEMORY_HOST_PEAK),
    ("gpu_memory_used_bytes", "gpu.memory.used"),
    ("gpu_memory_process_bytes", "gpu.memory.process"),
    ("gpu_energy_joules", "gpu.energy"),
    ("compute_flops_per_second", "compute.flops_per_second"),
    ("compute_ceiling_share", "compute.ceiling_share"),
];

/// Empty text is an empty cell.
fn text(text: &str) -> Option<Cell> {
    (!text.is_empty()).then(|| Cell::Text(text.to_owned()))
}

fn real(number: f64) -> Option<Cell> {
    number.is_finite().then_some(Cell::Real(number))
}

fn told(run: &Run, path: &str, count: u64) -> Option<Cell> {
    run.tells(path).then_some(Cell::Whole(count))
}

fn metric(run: &Run, key: &str) -> Option<Cell> {
    let probes = run.probes.iter().flat_map(|probe| &probe.metrics);
    let found = run.metrics.iter().chain(probes).find(|metric: &&Metric| metric.key == key)?;
    real(found.value?)
}

/// The phase people mean by latency: everything where text was given or nothing else is known, the model alone otherwise.
pub(crate) fn main_phase(run: &Run) -> Phase {
    let has = |phase| run.summaries.contains_key(&phase) || run.stated(phase).is_some();
    let total = has(Phase::Total) && (run.cell.is_end_to_end() || !has(Phase::Inference));
    match (total, has(Phase::Inference)) {
        (true, _) => Phase::Total,
        (false, false) if has(Phase::Device) => Phase::Device,
        _ => Phase::Inference,
    }
}

/// What is known of the main phase, derived from samples or stated.
fn main(run: &Run) -> Option<Stated> {
    let phase = main_phase(run);
    let derived = run.summaries.get(&phase).map(|summary| Stated {
        count: Some(summary.count),
        mean: Some(summary.mean),
        std: Some(summary.std),
        min: Some(summary.min),
        max: Some(summary.max),
        median: Some(summary.median),
        p90: Some(summary.p90),
        p95: Some(summary.p95),
        p99: Some(summary.p99),
        p999: Some(summary.p999),
    });
    derived.or_else(|| run.stated(phase).copied())
}
