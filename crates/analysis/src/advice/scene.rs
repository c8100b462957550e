//! A run and its facts, made by hand: every number is chosen so that what follows can be worked out on paper.

use super::facts::{Alternative, Facts, Fragmentation, MemoryLimit, Missing, Padding};
use std::{collections::BTreeMap, time::Duration};
use types::*;

/// Ten milliseconds a batch of 4, 1 GFLOP, at a ceiling of 200 GFLOP/s: half of it is reached.
pub(crate) fn run() -> Run {
    Run {
        id: RunId("7f3a".into()),
        started_at: 0,
        elapsed: Duration::from_secs(5),
        cell: Cell {
            model: "bert".into(),
            engine: "rten".into(),
            device: Device::Cpu,
            precision: Precision::Fp32,
            batch_size: 4,
            sequence_length: Some(128),
            mode: Mode::Inference,
            training: None,
            generation: None,
            load: None,
            threads: 2,
            seed: 0,
            inputs: Vec::new(),
            text: None,
            options: EngineOptions::default(),
            feed: Default::default(),
        },
        model: ModelInfo {
            name: "bert".into(),
            category: Category::Text,
            architecture: "bert".into(),
            source: ModelSource::Preset,
            weights: Weights::Random { seed: 0 },
            parameters: 50_000_000,
            size: Bytes(200_000_000),
            fingerprint: "f".into(),
            made_from: None,
        },
        work: Work {
            flops: Flops(1_000_000_000),
            coverage: Ratio(1.0),
            bytes_read: Bytes(400_000_000),
            bytes_written: Bytes(160_000_000),
            activation_peak: Some(Bytes(40_000_000)),
        },
        engine: EngineInfo { id: "rten".into(), version: "1".into(), placement: "cpu".into() },
        environment: environment(),
        cold: Cold {
            process_start: Duration::from_millis(10),
            load: Duration::from_millis(100),
            first_inference: Duration::from_millis(20),
        },
        warmup: WarmupReport { runs: 3, settled: true, nanos: Vec::new() },
        stop: StopReason::Settled,
        samples: Vec::new(),
        summaries: BTreeMap::from([(Phase::Inference, summary(0.010))]),
        metrics: vec![
            metric("memory.peak", Unit::Bytes, 300e6),
            metric("cpu.process.cores", Unit::Count, 1.8),
            metric("compute.ceiling_share", Unit::Ratio, 0.5),
            metric("throughput.samples", Unit::PerSecond, 400.0),
        ],
        probes: Vec::new(),
        verdict: Verdict::from_reasons(Vec::new()),
        layers: None,
        memory: None,
        critical_path: None,
        gpu: None,
        training: None,
        generation: None,
        load: None,
        imported: None,
        unknown: Default::default(),
        inputs: Vec::new(),
        tags: Vec::new(),
    }
}

pub(crate) fn metric(key: &str, unit: Unit, value: f64) -> Metric {
    Metric::measured(key, unit, Direction::Neutral, value)
}

fn environment() -> Environment {
    Environment {
        machine: Machine {
            key: "k".into(),
            hostname: "here".into(),
            os: "linux".into(),
            cpu: Cpu {
                model: "Xeon".into(),
                architecture: "x86_64".into(),
                cores: 2,
                threads: 2,
                sockets: 1,
                numa_nodes: 1,
                features: Vec::new(),
                cache: None,
            },
            memory: Bytes(8_000_000_000),
            gpus: Vec::new(),
            hypervisor: None,
        },
        os: String::new(),
        kernel: String::new(),
        governor: None,
        frequency: None,
        smt: None,
        load_average: None,
        steal: None,
        memory_available: Some(Bytes(8_000_000_000)),
        cgroup: CgroupLimits::default(),
        memory_limit: None,
        throttle: Throttle::default(),
        gpus: Vec::new(),
        versions: BTreeMap::new(),
        threads: 2,
        model_commit: None,
        revision: None,
    }
}

/// A summary whose median is this, known exactly.
pub(crate) fn summary(median: f64) -> Summary {
    let exact = Interval { low: median, high: median };
    Summary {
        count: 100,
        mean: median,
        std: 0.0,
        min: median,
        max: median,
        median,
        mad: 0.0,
        p90: median,
        p95: median,
        p99: median,
        p999: median,
        ci95_mean: exact,
        ci95_median: exact,
        outliers: 0,
        unsupported: Vec::new(),
    }
}

/// A point of a sweep: batch size and milliseconds, known to ± 1 %.
pub(crate) fn point(batch_size: usize, milliseconds: f64) -> SweepPoint {
    let latency = milliseconds / 1e3;
    SweepPoint {
        batch_size,
        latency: Seconds(latency),
        interval: Interval { low: 0.99 * latency, high: 1.01 * latency },
        samples_per_second: batch_size as f64 / latency,
        peak_memory: Some(Bytes(300_000_000)),
        valid: true,
        passes: 2,
    }
}

/// Facts in which everything but layers is known and nothing is wrong.
pub(crate) fn facts(run: &Run) -> Facts<'_> {
    let exact = |value: f64| Ceiling { value, interval: Interval { low: value, high: value } };
    Facts {
        run,
        goal: None,
        sweep: Ok(vec![point(1, 3.0), point(2, 5.2), point(4, 10.0), point(8, 20.0)]),
        ceilings: Ok(Ceilings {
            flops: vec![(Precision::Fp32, exact(200e9))],
            bandwidth: Some(exact(20e9)),
            ..Ceilings::of(types::Device::Cpu, 2)
        }),
        alternatives: Ok(vec![Alternative {
            engine: "rten".into(),
            precisions: vec![Precision::Fp32, Precision::Int8],
            fusing: None,
        }]),
        cores: Ok(2),
        padding: Err(Missing::because("token ids were generated")),
        memory: Ok(MemoryLimit { available: Bytes(8_000_000_000), whose: "this machine".into() }),
        fragmentation: Ok(Fragmentation {
            in_use: Bytes(290_000_000),
            reserved: Bytes(300_000_000),
        }),
        cache_choices: Err(Missing::because("the run does not generate")),
        stored_weights: None,
        blocks: Some(16),
        measured: Vec::new(),
        subject: "7f3a".into(),
    }
}

/// A cell of the database: its latency, in so many runs that follow each other.
pub(crate) fn pooled(key: CellKey, latency: Pooled, runs: usize) -> PooledCell {
    let first = (latency.value * 1e9) as i64;
    PooledCell {
        engine_version: "1".into(),
        fingerprint: "f".into(),
        runs: (0..runs).map(|run| RunId(format!("{first:08x}{run}"))).collect(),
        older: 0,
        began: (first, first + 1),
        samples: 100,
        fewest_samples: 100,
        slowest: latency.value,
        percentiles: Percentiles::default(),
        throughput: Reading::or_missing(None, MissingCode::NotMeasured, "not asked"),
        memory: Reading::or_missing(None, MissingCode::NotMeasured, "not asked"),
        memory_spread: Reading::or_missing(None, MissingCode::NotMeasured, "not asked"),
        energy: Reading::or_missing(None, MissingCode::NotMeasured, "not asked"),
        efficiency: Reading::or_missing(None, MissingCode::NotMeasured, "not asked"),
        latency,
        key,
        invalid: None,
        invalid_runs: types::InvalidRuns::default(),
        newest_is_valid: true,
    }
}

/// A training step of 40 ms: 12 forward, 1 loss, 20 backward, 6 optimiser; 800 MB at its peak.
pub(crate) fn training_run() -> Run {
    let mut run = run();
    run.cell.mode = Mode::Training;
    run.cell.training = Some(Training {
        optimizer: Optimizer::AdamW,
        loss: Loss::CrossEntropy,
        learning_rate: Rate(1e-4),
        accumulation: 1,
        checkpointing: false,
        world_size: 1,
    });
    run.summaries = BTreeMap::from([
        (Phase::Forward, summary(0.012)),
        (Phase::Loss, summary(0.001)),
        (Phase::Backward, summary(0.020)),
        (Phase::Optimizer, summary(0.006)),
        (Phase::Total, summary(0.040)),
    ]);
    run.metrics.retain(|metric| metric.key != "memory.peak");
    run.metrics.push(metric("memory.peak", Unit::Bytes, 1200e6));
    run.training = Some(Box::new(TrainingReport {
        memory: TrainingMemory {
            weights: Bytes(200_000_000),
            gradients: Bytes(200_000_000),
            optimizer: Bytes(400_000_000),
            activations: Bytes(160_000_000),
        },
        ..TrainingReport::default()
    }));
    run
}

/// A step of writing at a depth of 1,000 tokens: 200 MB of weights and 6 MB of cache.
pub(crate) fn decoding_run(step: f64) -> Run {
    let mut run = run();
    run.cell.mode = Mode::Generate;
    run.cell.batch_size = 1;
    run.cell.generation = Some(Generation {
        test: GenerationTest::Decode,
        tokens: 1000,
        depth: 500,
        sampling: Sampling::Greedy,
    });
    let shape = DecoderShape {
        layers: 15,
        key_heads: 5,
        head_dim: 10,
        vocabulary: 100,
        context: None,
        window: None,
        sliding_layers: 0,
    };
    run.generation = Some(Box::new(GenerationReport {
        cache_type: "f32".into(),
        cache_per_token: shape.cache_per_token(4),
        cache_tokens: 1000,
        cache: shape.cache(1000, 4),
        cache_reported: Reading::missing(MissingCode::NotMeasured, "not asked"),
        cache_kept: "by hand".into(),
        tokens: Vec::new(),
        answer: None,
        first_step: None,
        growth: None,
        shape,
    }));
    set_traffic(&mut run, 206e6, step);
    run
}

/// A load on the model in a worker: ten seconds, of which two are the warm-up, with a limit.
pub(crate) fn load_run(scenario: Scenario) -> Run {
    let mut run = run();
    run.cell.mode = Mode::Load;
    run.cell.load = Some(Load {
        scenario,
        protocol: Protocol::InProcess,
        streaming: false,
        max_in_flight: None,
        batching: Some(LoadBatching { most: 4, wait_micros: 500 }),
        texts: None,
        content: "input_ids 1×128".into(),
    });
    let unknown = || Reading::missing(MissingCode::NotMeasured, "by hand");
    let limit = "p99:200ms".parse().expect("a limit");
    run.load = Some(Box::new(LoadReport {
        target: "rten 1 (cpu)".into(),
        window: LoadWindow { from: Seconds(2.0), to: Seconds(10.0) },
        counts: LoadCounts { scheduled: 400, sent: 400, completed: 400, ..LoadCounts::default() },
        rates: LoadRates {
            offered: unknown(),
            sent: unknown(),
            completed: unknown(),
            good: unknown(),
            tokens: unknown(),
        },
        latencies: Vec::new(),
        tokens: None,
        errors: Vec::new(),
        limits: vec![LimitOutcome {
            limit,
            value: unknown(),
            kept: 400,
            of: 400,
            holds: Some(true),
        }],
        generator: GeneratorReport::default(),
        server: Vec::new(),
        batches: None,
        requests: LoadRequests::default(),
    }));
    run
}

/// Where a run comes from that another tool measured.
pub(crate) fn imported(tool: &str) -> Import {
    Import {
        tool: tool.into(),
        version: None,
        file: "results.json".into(),
        stated: BTreeMap::new(),
        corrections: Vec::new(),
        untold: Vec::new(),
        profile: None,
    }
}

/// So many bytes in a step that takes so long.
pub(crate) fn set_traffic(run: &mut Run, bytes: f64, step: f64) {
    run.summaries = BTreeMap::from([(Phase::Inference, summary(step))]);
    run.metrics.retain(|metric| metric.key != key::STEP_BANDWIDTH);
    run.metrics.push(metric(key::STEP_BANDWIDTH, Unit::BytesPerSecond, bytes / step));
}

/// Adds a ceiling for another precision.
pub(crate) fn with_ceiling(mut facts: Facts<'_>, precision: Precision, value: f64) -> Facts<'_> {
    let ceiling = Ceiling { value, interval: Interval { low: value, high: value } };
    if let Ok(ceilings) = &mut facts.ceilings {
        ceilings.flops.push((precision, ceiling));
    }
    facts
}

/// An engine that computes in these.
pub(crate) fn engine(id: &str, precisions: &[Precision]) -> Alternative {
    Alternative { engine: id.into(), precisions: precisions.to_vec(), fusing: None }
}

/// Texts with so many real and filling tokens.
pub(crate) fn padding(real: u64, padding: u64, longest: usize, bucketed: u64) -> Padding {
    Padding { real, padding, longest, bucketed }
}

/// Layers by kind and by operator: name, share of 10 ms, what bounds it.
pub(crate) fn layers(
    kinds: &[(&str, f64, Option<Bound>)],
    operators: &[(&str, f64, Option<Bound>)],
) -> Option<Box<LayerReport>> {
    let rollup = |(name, share, bound): &(&str, f64, Option<Bound>)| Rollup {
        name: (*name).into(),
        spent: Spent {
            calls: 1.0,
            total: Seconds(0.010 * share),
            own: Seconds(0.010 * share),
            share: Ratio(*share),
            flops: Some(Flops(100_000_000)),
            bytes: Some(Bytes(40_000_000)),
            roofline: bound.map(|bound| Roofline { bound, attained: Ratio(0.5) }),
            host: None,
        },
    };
    let exactly = |value: f64| Estimate { value, interval: Interval { low: value, high: value } };
    Some(Box::new(LayerReport {
        runs: 10,
        plain: Seconds(0.010),
        instrumented: Seconds(0.010),
        overhead: exactly(0.0),
        sum: Seconds(0.010),
        device: None,
        closure: exactly(1.0),
        placed: Ratio(0.0),
        layers: Vec::new(),
        kinds: kinds.iter().map(rollup).collect(),
        operators: operators.iter().map(rollup).collect(),
        remarks: Vec::new(),
    }))
}

/// An advice that gains between these.
pub(crate) fn advice(what: Goal, low: f64, high: f64) -> Advice {
    Advice {
        rule: "rule".into(),
        title: "do it".into(),
        evidence: Vec::new(),
        gain: super::judgement::gain(what, low, high, "by hand"),
        proof: Proof::Repeat,
        command: None,
        caveat: None,
        trial: None,
    }
}
