//! One cell from worker start to verdict.

use crate::{
    Bench, Evidence, Job, Launch, Link, MeterError,
    counting::{self, Counted},
    derive::{self, Basis},
    generation, judge, sampling,
};
use engine::{FirstReport, LoadJob, LoadReport, LoadRequest, Reply, Request, TextJob};
use probe::{Conditions, PROBES, Probe, Snapshot, Target, Watcher};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use types::{
    BrokenLoss, Cold, Device, Direction, EngineInfo, Environment, Event, FedInput,
    GenerationReport, Machine, Metric, ModelInfo, Phase, ProbeReport, Reason, ReasonCode, Remark,
    RemarkCode, Run, Samples, Seconds, Stage, StopReason, StoppingRule, Summary, TrainingReport,
    Unit, WarmupReport,
};

/// Seed of the bootstrap: fixed, so that the same samples always give the same interval.
const BOOTSTRAP_SEED: u64 = 0x6d6f_6465_6c6d;

/// Measures one cell in one fresh worker.
///
/// # Errors
/// When the worker cannot be started, dies, stays silent, or the engine fails.
pub fn measure(
    job: &Job<'_>,
    bench: &Bench,
    launch: &Launch,
    rule: &StoppingRule,
    sink: &mut dyn FnMut(Event),
) -> Result<Run, MeterError> {
    let begin = Instant::now();
    let started_at = clock::now();
    let before = Snapshot::take();
    sink(Event::stage(Stage::Start));
    let mut link = Link::open(launch, rule.timeout)?;
    let target = Target::new(link.pid(), job.cell.device).with_idle(bench.idle);

    let loading = Watcher::start(&loading_probes(job.cell.device), &target);
    sink(Event::stage(Stage::Load));
    let loaded = load(&mut link, job)?;
    sink(Event::stage(Stage::First));
    let first = first_inference(&mut link)?;
    let time = Seconds(first.inference.as_secs_f64());
    sink(Event::FirstTime { stage: Stage::First, time, samples: 1 });
    let warmup = sampling::warm_up(&mut link, &job.cell, rule, sink)?;
    if let Some(median) = stats::median(sampling::latest(&warmup)) {
        let samples = sampling::latest(&warmup).len() as u64;
        sink(Event::FirstTime { stage: Stage::Warmup, time: Seconds(median), samples });
    }
    // What a machine elsewhere does is not seen from here.
    let is_here = loaded.machine.is_none();
    let mut loading = loading.stop();
    loading.retain(|_| is_here);

    let watcher = Watcher::start(if is_here { PROBES } else { &[] }, &target);
    let (samples, stop) = sampling::sample(&mut link, &job.cell, rule, sink)?;
    let probes = watcher.stop();
    let conditions = before.diff(&Snapshot::take(), &[link.pid(), std::process::id()]);
    let cold = Cold {
        process_start: link.started_in(),
        load: loaded.load,
        first_inference: first.inference,
    };
    let work = count_work(&mut link, job)?;
    let training = trained(&mut link, job)?;
    let generation = generation::report(&mut link, job, &warmup, &samples)?;
    let limit = link.limit();
    link.close();

    let reasons = Vec::new();
    let findings = Findings {
        loaded,
        first,
        warmup,
        samples,
        stop,
        loading,
        probes,
        work,
        training,
        generation,
        reasons,
    };
    let mut environment = environment(job, bench, conditions, &findings.loaded);
    environment.memory_limit = limit;
    Ok(assemble(job, bench, launch, rule, findings, environment, cold, started_at, begin.elapsed()))
}

/// What the worker and the probes found.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    pub(crate) loaded: LoadReport,
    pub(crate) first: FirstReport,
    pub(crate) warmup: WarmupReport,
    pub(crate) samples: Vec<Samples>,
    pub(crate) stop: StopReason,
    pub(crate) loading: Vec<ProbeReport>,
    pub(crate) probes: Vec<ProbeReport>,
    pub(crate) work: Counted,
    pub(crate) training: Option<TrainingReport>,
    pub(crate) generation: Option<GenerationReport>,
    /// What else is to be said of the run.
    pub(crate) reasons: Vec<Reason>,
}

/// What is watched while a model is loaded: its memory, on a device too, and what it reads to get there.
pub(crate) fn loading_probes(device: Device) -> Vec<&'static dyn Probe> {
    let wanted = |id: &str| {
        matches!(id, "memory" | "disk" | "network") || (id == "gpu" && device.has_own_memory())
    };
    PROBES.iter().copied().filter(|probe| wanted(probe.id())).collect()
}

/// What sees a worker's memory, on a device too.
pub(crate) fn memory_probes(device: Device) -> Vec<&'static dyn Probe> {
    let wanted = |id: &str| id == "memory" || (id == "gpu" && device.has_own_memory());
    PROBES.iter().copied().filter(|probe| wanted(probe.id())).collect()
}

/// What a worker is asked to load, with the cell's engine or another.
pub(crate) fn load_request(job: &Job<'_>, engine: &str) -> Request {
    let cell = &job.cell;
    let text = match (&cell.text, &job.tokenizer) {
        (Some(text), Some(tokenizer)) => Some(TextJob {
            lines: text.lines.iter().cycle().take(cell.batch_size).cloned().collect(),
            tokenizer: tokenizer.clone(),
            // A step takes one token, whatever text came before.
            max_length: cell.sequence_length.filter(|_| cell.generation.is_none()),
        }),
        _ => None,
    };
    Request::Load(Box::new(LoadJob {
        engine: engine.to_owned(),
        request: LoadRequest {
            onnx: job.onnx.clone(),
            module: job.module.clone(),
            gguf: job.gguf.clone(),
            device: cell.device,
            precision: cell.precision,
            threads: cell.threads,
            options: cell.options.clone(),
            places: job.places.clone(),
            input_dims: job
                .inputs
                .iter()
                .map(|input| (input.name.clone(), input.dims.clone()))
                .collect(),
        },
        inputs: job.inputs.clone(),
        inputs_file: job.inputs_file.clone(),
        seed: cell.seed,
        text,
        media: job.media.clone(),
        postprocess: job.postprocess,
        training: job.training.clone(),
        generation: job.generation.clone(),
    }))
}

pub(crate) fn load(link: &mut Link, job: &Job<'_>) -> Result<LoadReport, MeterError> {
    let request = load_request(job, &job.cell.engine);
    match link.ask(&request, "load the model")? {
        Reply::Loaded(report) => Ok(*report),
        other => Err(MeterError::Protocol { doing: "load the model", said: format!("{other:?}") }),
    }
}

pub(crate) fn first_inference(link: &mut Link) -> Result<FirstReport, MeterError> {
    let doing = "run the first inference";
    match link.ask(&Request::First, doing)? {
        Reply::First(report) => Ok(*report),
        other => Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    }
}

/// The work of one inference, counted on the graph or by the program's own framework.
pub(crate) fn count_work(link: &mut Link, job: &Job<'_>) -> Result<Counted, MeterError> {
    counting::count(link, job)
}

/// The dims that these values have in a run of the job on another engine: all of them where it can observe values, else
/// those that are outputs of the job's graph. Empty where it cannot run the job.
#[must_use]
pub fn observe_shapes(
    job: &Job<'_>,
    engine: &str,
    launch: &Launch,
    timeout: Duration,
    values: &[String],
) -> Vec<(String, Vec<usize>)> {
    let Ok(mut link) = Link::open(launch, timeout) else { return Vec::new() };
    let request = load_request(job, engine);
    if link.ask(&request, "load the model").is_err() {
        return Vec::new();
    }
    let request = Request::Observe { values: values.to_vec() };
    let mut found = match link.ask(&request, "report its shapes") {
        Ok(Reply::Observed { shapes }) => shapes,
        _ => Vec::new(),
    };
    if found.is_empty()
        && let Ok(first) = first_inference(&mut link)
    {
        found = first.outputs;
        found.retain(|(name, _)| values.contains(name));
    }
    link.close();
    found
}

/// How the training went, where it was one.
pub(crate) fn trained(
    link: &mut Link,
    job: &Job<'_>,
) -> Result<Option<TrainingReport>, MeterError> {
    if job.training.is_none() {
        return Ok(None);
    }
    let doing = "report the result of the training";
    match link.ask(&Request::Trained, doing)? {
        Reply::Trained { report } => {
            Ok(Some(TrainingReport { flops: job.phase_flops.clone(), ..*report }))
        }
        other => Err(MeterError::Protocol { doing, said: format!("{other:?}") }),
    }
}

/// A loss that is no number makes every later step another one than was asked for.
fn broken(training: Option<&TrainingReport>) -> Vec<Reason> {
    let Some(broken) = training.and_then(|report| report.broken.as_ref()) else {
        return Vec::new();
    };
    let BrokenLoss { step, place } = broken;
    vec![Reason {
        code: ReasonCode::NonFiniteOutput,
        invalidates: true,
        text: format!(
            "the loss is NaN from step {step} on; `{place}` is the first value that is not finite"
        ),
        hint: Some("try a smaller `--learning-rate`".into()),
        about: None,
    }]
}

pub(crate) fn environment(
    job: &Job<'_>,
    bench: &Bench,
    conditions: Conditions,
    loaded: &LoadReport,
) -> Environment {
    let mut versions = bench.versions.clone();
    versions.extend(loaded.versions.clone());
    versions.insert(job.cell.engine.clone(), loaded.version.clone());
    let (machine, conditions) = match &loaded.machine {
        Some(elsewhere) => (elsewhere, Conditions::default()),
        None => (&bench.machine, conditions),
    };
    let mut environment = describe(machine, conditions, versions, job.cell.threads);
    if loaded.machine.is_some() {
        environment.os.clone_from(&machine.os);
        environment.kernel = String::new();
    }
    environment.model_commit.clone_from(&job.model_commit);
    environment.revision.clone_from(&bench.revision);
    environment
}

/// A machine in its present state.
#[must_use]
pub fn describe(
    machine: &Machine,
    conditions: Conditions,
    versions: BTreeMap<String, String>,
    threads: u32,
) -> Environment {
    Environment {
        machine: machine.clone(),
        os: hardware::os(),
        kernel: hardware::kernel(),
        governor: conditions.governor,
        frequency: conditions.frequency,
        smt: conditions.smt,
        load_average: conditions.load_average,
        steal: conditions.steal,
        memory_available: conditions.memory_available,
        cgroup: conditions.cgroup,
        memory_limit: None,
        throttle: conditions.throttle,
        gpus: conditions.gpus,
        versions,
        threads,
        model_commit: None,
        revision: None,
    }
}

#[expect(clippy::too_many_arguments, reason = "the run is where everything meets, once")]
pub(crate) fn assemble(
    job: &Job<'_>,
    bench: &Bench,
    launch: &Launch,
    rule: &StoppingRule,
    findings: Findings,
    environment: Environment,
    cold: Cold,
    started_at: i64,
    elapsed: Duration,
) -> Run {
    let summaries = summarise(&findings.samples);
    let Counted { work, parameters, size, unknown } = findings.work;
    let headline = derive::headline_phase(&job.cell);
    let summary = &summaries[&headline];
    let metrics = derive::metrics(&Basis {
        cell: &job.cell,
        inputs: &job.inputs,
        headline: summary,
        inference: &summaries[&derive::model_phase(&job.cell)],
        work: &work,
        unknown: &unknown,
        ceilings: bench.ceilings.as_ref().filter(|_| findings.loaded.machine.is_none()),
        real_tokens: findings.loaded.real_tokens,
        loading: &findings.loading,
        sampling: &findings.probes,
        summaries: &summaries,
        weights_read: job.weights_read,
        reads_windows: job.reads_windows,
        generation: findings.generation.as_ref(),
    });
    let metrics = [metrics, load_steps(&findings.loaded)].concat();
    let nanos = findings.samples.iter().find(|samples| samples.phase == headline);
    let verdict = judge(
        &Evidence {
            phase: headline,
            summary,
            nanos: nanos.map_or(&[], |samples| &samples.nanos),
            rule,
            stop: findings.stop,
            warmup: &findings.warmup,
            cell: &job.cell,
            environment: &environment,
            metrics: &metrics,
            coverage: match unknown.contains_key("work.coverage") {
                true => 1.0,
                false => work.coverage.0,
            },
            non_finite: &findings.first.non_finite,
            isolated: launch.is_isolated(),
            waits_busily: job.waits_busily,
        },
        &[
            job.remarks.as_slice(),
            &said(&findings.loaded),
            &in_tf32(job, bench, &metrics),
            &broken(findings.training.as_ref()),
            &findings.reasons,
        ]
        .concat(),
    );
    let mut run = Run {
        id: job.id.clone(),
        started_at,
        elapsed,
        cell: job.cell.clone(),
        model: ModelInfo {
            parameters: parameters.unwrap_or(job.model.parameters),
            size: size.unwrap_or(job.model.size),
            ..job.model.clone()
        },
        work,
        unknown,
        engine: EngineInfo {
            id: job.cell.engine.clone(),
            version: findings.loaded.version,
            placement: findings.loaded.placement,
        },
        environment,
        cold,
        warmup: findings.warmup,
        stop: findings.stop,
        samples: findings.samples,
        summaries,
        metrics,
        probes: findings.probes,
        verdict,
        layers: None,
        memory: None,
        critical_path: None,
        gpu: None,
        training: findings.training.map(Box::new),
        generation: findings.generation.map(Box::new),
        load: None,
        imported: None,
        inputs: job.inputs.iter().map(FedInput::from).collect(),
        tags: Vec::new(),
    };
    run.settle_memory();
    run
}

/// What loading consisted of, where the engine tells: `cold.load.runtime-download`.
fn load_steps(loaded: &LoadReport) -> Vec<Metric> {
    let metric = |step: &engine::LoadStep| {
        let key = format!("cold.load.{}", step.name.replace(' ', "-"));
        Metric::measured(key, Unit::Seconds, Direction::Lower, step.time.as_secs_f64())
    };
    loaded.steps.iter().map(metric).collect()
}

/// What the engine itself said of the run.
fn said(loaded: &LoadReport) -> Vec<Reason> {
    loaded.remarks.iter().cloned().map(Reason::from).collect()
}

/// An engine that rounds fp32 without saying so gives itself away by its speed.
fn in_tf32(job: &Job<'_>, bench: &Bench, metrics: &[Metric]) -> Vec<Reason> {
    let rate = metrics.iter().find(|metric| metric.key == "compute.flops_per_second");
    let rate = rate.and_then(|metric| metric.value);
    let (Some(ceilings), Some(rate)) = (&bench.ceilings, rate) else { return Vec::new() };
    if !derive::is_in_tf32(ceilings, job.cell.precision, rate) {
        return Vec::new();
    }
    let text = "faster than the fp32 ceiling: the products were computed in TF32, whose ceiling is used instead";
    vec![Reason::from(Remark::new(RemarkCode::Tf32, text))]
}

fn summarise(samples: &[Samples]) -> BTreeMap<Phase, Summary> {
    samples
        .iter()
        .filter_map(|s| Some((s.phase, stats::summarise(&s.nanos, BOOTSTRAP_SEED)?)))
        .collect()
}
