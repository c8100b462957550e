//! Runs built by hand, with the numbers of a real one and every knob a test needs.

use std::collections::BTreeMap;
use std::time::Duration;
use types::*;

/// A text model on a processor with random weights: 212 runs of about 245 ms, valid, with one remark.
pub(crate) fn text_run() -> Run {
    let mut run = bare_run("distilbert-base-uncased", 0.2451, 212);
    run.verdict = Verdict::from_reasons(vec![Reason {
        code: ReasonCode::UnsupportedPercentile,
        invalidates: false,
        text: "p99 needs 662 runs and there are 212".into(),
        hint: Some("add `--duration 3m`".into()),
        about: None,
    }]);
    run
}

/// The same with text given: tokenise, inference, postprocess and total.
pub(crate) fn tokenised_run() -> Run {
    let mut run = text_run();
    run.cell.text = Some(Text { lines: vec!["a sentence".into(), "and another".into()] });
    run.model.name = "sentence-transformers/all-MiniLM-L6-v2".into();
    run.model.weights = Weights::Real;
    for (phase, median) in
        [(Phase::Tokenise, 0.000_42), (Phase::Postprocess, 0.000_031), (Phase::Total, 0.2456)]
    {
        set_phase(&mut run, phase, median, 212);
    }
    run
}

/// A vision model on a GPU with an energy counter, real weights, and enough runs for every percentile.
pub(crate) fn vision_run() -> Run {
    let mut run = bare_run("google/vit-base-patch16-224", 0.003_36, 8_000);
    run.model.category = Category::Vision;
    run.model.architecture = "vit".into();
    run.model.weights = Weights::Real;
    run.model.source = ModelSource::Hub { revision: "3f49326".into() };
    run.cell.device = Device::Cuda(0);
    run.cell.batch_size = 8;
    run.cell.sequence_length = None;
    run.cell.precision = Precision::Bf16;
    run.cell.inputs = vec![InputShape { name: "pixel_values".into(), dims: vec![8, 3, 224, 224] }];
    run.engine = EngineInfo {
        id: "torch".into(),
        version: "2.11.0".into(),
        placement: "every node on cuda:0".into(),
    };
    run.environment.machine.gpus = vec![Gpu {
        index: 0,
        name: "NVIDIA H200".into(),
        uuid: "GPU-5d2f".into(),
        memory: Bytes(150_754_820_096),
    }];
    run.environment.gpus = vec![GpuState {
        index: 0,
        driver: "580.82".into(),
        clock_graphics: Some(1.98e9),
        clock_memory: None,
        power_limit: Some(700.0),
        temperature: Some(41.0),
        throttle_reasons: vec!["none".to_owned().into()],
        other_processes: vec![4242],
    }];
    run.metrics.retain(|metric| metric.key != "throughput.tokens" && metric.unit != Unit::Joules);
    for (key, unit, value) in [
        ("throughput.samples", Unit::PerSecond, 2_380.9),
        ("throughput.images", Unit::PerSecond, 2_380.9),
        ("compute.flops_per_second", Unit::FlopsPerSecond, 8.37e13),
        ("gpu.energy", Unit::Joules, 1_843.2),
        ("gpu.memory.process", Unit::Bytes, 1.21e9),
    ] {
        run.metrics.retain(|metric| metric.key != key);
        run.metrics.push(Metric::measured(key, unit, Direction::Neutral, value));
    }
    run.metrics.retain(|metric| metric.key != "compute.ceiling_share");
    run.metrics.push(Metric::missing(
        "compute.ceiling_share",
        Unit::Ratio,
        Direction::Higher,
        "no bf16 ceiling was measured on this device",
    ));
    run.work = Work {
        flops: Flops(281_000_000_000),
        coverage: Ratio(0.973),
        bytes_read: Bytes(1_200_000_000),
        bytes_written: Bytes(700_000_000),
        activation_peak: None,
    };
    run.settle_memory();
    run
}

/// A run that cannot be believed: never warm, throttled, and shared.
pub(crate) fn invalid_run() -> Run {
    let mut run = text_run();
    run.warmup.settled = false;
    run.warmup.runs = 41;
    run.stop = StopReason::DurationCap;
    run.verdict = Verdict::from_reasons(vec![
        Reason {
            code: ReasonCode::FrequencyScaling,
            invalidates: false,
            text: "the clock frequency is not fixed: the governor is `powersave`".into(),
            hint: Some("`sudo cpupower frequency-set -g performance` fixes it".into()),
            about: None,
        },
        Reason {
            code: ReasonCode::NotWarm,
            invalidates: true,
            text: "warm-up did not settle: the last three windows of 41 runs differ by 27 %".into(),
            hint: Some("close other programs, or warm up longer with `--warmup 100`".into()),
            about: None,
        },
        Reason {
            code: ReasonCode::BusyMachine,
            invalidates: true,
            text: "other work took 38 % of the processor while this was measured".into(),
            hint: None,
            about: None,
        },
    ]);
    run
}

/// A run with nothing that could be missing.
pub(crate) fn bare_run(name: &str, median: f64, count: u64) -> Run {
    let mut run = Run {
        id: RunId("7f3a09c41be2d650".into()),
        started_at: 1_794_809_554_123_456,
        elapsed: Duration::from_millis(58_300),
        cell: Cell {
            model: name.into(),
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
            seed: 42,
            inputs: Vec::new(),
            text: None,
            options: Default::default(),
            feed: Default::default(),
        },
        model: ModelInfo {
            name: name.into(),
            category: Category::Text,
            architecture: "distilbert".into(),
            source: ModelSource::Preset,
            weights: Weights::Random { seed: 42 },
            parameters: 66_362_880,
            size: Bytes(265_491_187),
            fingerprint: "b1946ac92492d234".into(),
            made_from: None,
        },
        work: Work {
            flops: Flops(45_210_000_000),
            coverage: Ratio(1.0),
            bytes_read: Bytes(812_000_000),
            bytes_written: Bytes(391_000_000),
            activation_peak: Some(Bytes(38_200_000)),
        },
        engine: EngineInfo {
            id: "rten".into(),
            version: "0.27.0".into(),
            placement: "cpu, 2 threads".into(),
        },
        environment: environment(),
        cold: Cold {
            process_start: Duration::from_micros(12_140),
            load: Duration::from_millis(173),
            first_inference: Duration::from_micros(412_300),
        },
        warmup: WarmupReport { runs: 6, settled: true, nanos: vec![412_300_000, 250_000_000] },
        stop: StopReason::Settled,
        samples: Vec::new(),
        summaries: BTreeMap::new(),
        metrics: metrics(),
        probes: probes(),
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
    };
    set_phase(&mut run, Phase::Inference, median, count);
    run
}

/// Gives a phase samples and a summary around a median in seconds.
pub(crate) fn set_phase(run: &mut Run, phase: Phase, median: f64, count: u64) {
    let nanos = (median * 1e9) as u64;
    run.samples.push(Samples { phase, nanos: vec![nanos, nanos + 1_000, nanos + 2_000] });
    run.summaries.insert(phase, summary(median, count));
}

/// A summary whose other figures follow from the median, as on a quiet machine.
pub(crate) fn summary(median: f64, count: u64) -> Summary {
    let unsupported = PERCENTILE_FLOORS.iter().filter(|floor| count < floor.samples);
    Summary {
        count,
        mean: median * 1.011,
        std: median * 0.0404,
        min: median * 0.943,
        max: median * 1.181,
        median,
        mad: median * 0.021,
        p90: median * 1.062,
        p95: median * 1.086,
        p99: median * 1.146,
        p999: median * 1.177,
        ci95_mean: Interval { low: median * 1.006, high: median * 1.016 },
        ci95_median: Interval { low: median * 0.992, high: median * 1.008 },
        outliers: 3,
        unsupported: unsupported
            .map(|floor| Unsupported { percentile: floor.name.into(), needs: floor.samples })
            .collect(),
    }
}

fn metrics() -> Vec<Metric> {
    vec![
        Metric::measured("throughput.samples", Unit::PerSecond, Direction::Higher, 16.32),
        Metric::measured("throughput.tokens", Unit::PerSecond, Direction::Higher, 2_089.0),
        Metric::measured(
            "compute.flops_per_second",
            Unit::FlopsPerSecond,
            Direction::Higher,
            1.84e11,
        ),
        Metric::measured("compute.ceiling_share", Unit::Ratio, Direction::Higher, 0.607),
        Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, 285_212_672.0),
        Metric::measured("memory.average", Unit::Bytes, Direction::Lower, 271_581_184.0),
    ]
}

fn probes() -> Vec<ProbeReport> {
    let counter = |probe: &str| ProbeReport {
        probe: probe.into(),
        unavailable: None,
        metrics: Vec::new(),
        readings: 521,
        cost: Duration::from_millis(27),
        period: Some(Duration::from_millis(100)),
    };
    let fact = |key: &str, unit, value| Metric::measured(key, unit, Direction::Neutral, value);
    let used = vec![
        fact("cpu.process.cores", Unit::Count, 1.922),
        fact("cpu.process.utilisation", Unit::Ratio, 0.961),
        fact("cpu.others.utilisation", Unit::Ratio, 0.012),
    ];
    vec![
        ProbeReport { metrics: used, ..counter("cpu") },
        counter("memory"),
        ProbeReport {
            unavailable: Some("this machine has no energy counter".into()),
            cost: Duration::ZERO,
            readings: 0,
            period: None,
            ..counter("rapl")
        },
    ]
}

fn environment() -> Environment {
    let versions = [("modelmeter", "0.1.0"), ("rten", "0.27.0")];
    Environment {
        machine: Machine {
            key: "c0ffee12c0ffee12".into(),
            hostname: "bench".into(),
            os: "linux".into(),
            cpu: Cpu {
                model: "Intel(R) Xeon(R) Processor @ 2.50GHz".into(),
                architecture: "x86_64".into(),
                cores: 2,
                threads: 2,
                sockets: 1,
                numa_nodes: 1,
                features: vec!["avx2".into(), "avx512f".into()],
                cache: Some(Bytes(37_748_736)),
            },
            memory: Bytes(17_179_869_184),
            gpus: Vec::new(),
            hypervisor: Some("kvm".into()),
        },
        os: "Debian GNU/Linux 12".into(),
        kernel: "6.1.0".into(),
        governor: None,
        frequency: None,
        smt: Some(false),
        load_average: Some(0.27),
        steal: Some(0.001),
        memory_available: Some(Bytes(14_000_000_000)),
        cgroup: CgroupLimits { version: Some(2), cpus: Some(2.0), memory: None, cpuset: None },
        memory_limit: None,
        throttle: Throttle { events: None, why: Some("the kernel counts none here".into()) },
        gpus: Vec::new(),
        versions: versions.map(|(name, version)| (name.to_string(), version.to_string())).into(),
        threads: 2,
        model_commit: None,
        revision: None,
    }
}
