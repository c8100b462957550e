//! A whole run with every field set, and variations of it.

use std::{collections::BTreeMap, time::Duration};
use types::{
    Bytes, Category, Cell, CgroupLimits, Cold, Cpu, Device, Direction, EngineInfo, Environment,
    Flops, Gpu, GpuState, InputShape, Interval, Machine, Measured, Metric, Mode, ModelInfo,
    ModelSource, Phase, Precision, ProbeReport, Provenance, Ratio, Reason, ReasonCode, Run, RunId,
    Samples, StopReason, Summary, Text, Throttle, Unit, Unsupported, Verdict, WarmupReport,
    Weights, Work,
};

/// Run number `n` of one machine and one model: its id, time and samples differ from every other's.
pub(crate) fn run(n: u64) -> Run {
    let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Run {
        id: RunId(format!("{id:016x}")),
        started_at: 1_700_000_000_000_000 + n as i64 * 1_000_000,
        elapsed: Duration::new(12, 345_678_901),
        cell: cell(),
        model: model(),
        work: Work {
            flops: Flops(45_000_000_000),
            coverage: Ratio(0.975),
            bytes_read: Bytes(1 << 32),
            bytes_written: Bytes(1 << 31),
            activation_peak: Some(Bytes(77_000_000)),
        },
        engine: EngineInfo {
            id: "rten".into(),
            version: "0.21.0".into(),
            placement: "cpu, 2 threads".into(),
        },
        environment: environment(),
        cold: Cold {
            process_start: Duration::from_millis(31),
            load: Duration::from_millis(412),
            first_inference: Duration::from_micros(287_654),
        },
        warmup: WarmupReport { runs: 4, settled: true, nanos: vec![9, 8, 7, 6 + n] },
        stop: StopReason::Settled,
        samples: vec![samples(Phase::Tokenise, n, 20), samples(Phase::Total, n, 20)],
        summaries: BTreeMap::from([
            (Phase::Tokenise, summary(0.001)),
            (Phase::Total, summary(0.1 + 0.2)),
        ]),
        metrics: vec![
            Metric::measured("throughput.samples", Unit::PerSecond, Direction::Higher, 16.5),
            Metric::missing("energy", Unit::Joules, Direction::Lower, "no counter"),
            Metric {
                provenance: Provenance::Predicted,
                ..Metric::measured("memory.activation", Unit::Bytes, Direction::Lower, 1e300)
            },
        ],
        probes: vec![ProbeReport {
            probe: "memory".into(),
            unavailable: None,
            metrics: vec![Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, 5e8)],
            readings: 40,
            cost: Duration::from_micros(321),
            period: Some(Duration::from_millis(100)),
        }],
        verdict: Verdict::from_reasons(vec![Reason {
            code: ReasonCode::UnsupportedPercentile,
            invalidates: false,
            text: "20 samples do not support p99".into(),
            hint: Some("measure longer".into()),
            about: None,
        }]),
        layers: None,
        memory: None,
        critical_path: None,
        gpu: None,
        training: None,
        generation: None,
        load: None,
        imported: None,
        unknown: BTreeMap::new(),
        inputs: Vec::new(),
        tags: vec!["baseline".into(), "night ☾".into()],
    }
}

/// Run number `n` as it is compared with others; labels are not part of that.
pub(crate) fn light(n: u64) -> Measured {
    Measured { tags: Vec::new(), ..Measured::from(&run(n)) }
}

fn cell() -> Cell {
    Cell {
        model: "distilbert-base-uncased".into(),
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
        seed: u64::MAX,
        inputs: vec![InputShape { name: "input_ids".into(), dims: vec![4, 128] }],
        text: Some(Text { lines: vec!["hello".into(), "wörld".into()] }),
        options: Default::default(),
        feed: Default::default(),
    }
}

fn model() -> ModelInfo {
    ModelInfo {
        name: "distilbert-base-uncased".into(),
        category: Category::Text,
        architecture: "distilbert".into(),
        source: ModelSource::Preset,
        weights: Weights::Random { seed: 7 },
        parameters: 66_362_880,
        size: Bytes(265_451_520),
        fingerprint: "c0ffee".into(),
        made_from: None,
    }
}

pub(crate) fn machine() -> Machine {
    Machine {
        key: "m-5ca1ab1e".into(),
        hostname: "bench-1".into(),
        os: "linux".into(),
        cpu: Cpu {
            model: "Example CPU".into(),
            architecture: "x86_64".into(),
            cores: 2,
            threads: 4,
            sockets: 1,
            numa_nodes: 1,
            features: vec!["avx2".into()],
            cache: Some(Bytes(32 << 20)),
        },
        memory: Bytes(16 << 30),
        gpus: vec![Gpu {
            index: 0,
            name: "Example GPU".into(),
            uuid: "GPU-1".into(),
            memory: Bytes(8 << 30),
        }],
        hypervisor: Some("kvm".into()),
    }
}

fn environment() -> Environment {
    Environment {
        machine: machine(),
        os: "Example Linux 12".into(),
        kernel: "6.1.0".into(),
        governor: None,
        frequency: Some(2.5e9),
        smt: Some(true),
        load_average: Some(0.25),
        steal: Some(0.0),
        memory_available: Some(Bytes(12 << 30)),
        cgroup: CgroupLimits {
            version: Some(2),
            cpus: Some(2.0),
            memory: None,
            cpuset: Some("0-1".into()),
        },
        memory_limit: None,
        throttle: Throttle { events: None, why: Some("not counted here".into()) },
        gpus: vec![GpuState { index: 0, driver: "580".into(), ..GpuState::default() }],
        versions: BTreeMap::from([("modelmeter".into(), "0.1.0".into())]),
        threads: 2,
        model_commit: None,
        revision: None,
    }
}

pub(crate) fn samples(phase: Phase, n: u64, count: u64) -> Samples {
    let nanos = (0..count).map(|i| 300_000_000 + (i * 7919 + n * 31) % 100_003).collect();
    Samples { phase, nanos }
}

fn summary(median: f64) -> Summary {
    Summary {
        count: 20,
        mean: median * 1.01,
        std: median / 30.0,
        min: median * 0.9,
        max: median * 1.2,
        median,
        mad: median / 50.0,
        p90: median * 1.1,
        p95: median * 1.15,
        p99: median * 1.19,
        p999: median * 1.199,
        ci95_mean: Interval { low: median, high: median * 1.02 },
        ci95_median: Interval { low: median * 0.99, high: median * 1.01 },
        outliers: 1,
        unsupported: vec![Unsupported { percentile: "p99".into(), needs: 662 }],
    }
}
