//! Duels and runs built by hand.

use std::{collections::BTreeMap, time::Duration};
use types::*;

/// A side that was measured without trouble.
pub(crate) fn info(label: &str, engine: &str) -> SideInfo {
    SideInfo {
        label: label.into(),
        engine: EngineInfo { id: engine.into(), version: "1.0".into(), placement: "cpu".into() },
        device: Device::Cpu,
        precision: Precision::Fp32,
        threads: 2,
        options: EngineOptions::default(),
        mode: Mode::Inference,
        phases: Vec::new(),
        training: None,
        generation: None,
        peak_memory: Some(Bytes(300_000_000)),
        verdict: Verdict::from_reasons(Vec::new()),
        remarks: Vec::new(),
        failed: None,
    }
}

/// Rounds of turns around so many microseconds. The machine drifts over a round, each process has its own luck, and
/// nothing is drawn: the same numbers come every time.
pub(crate) fn side(label: &str, micros: f64, rounds: usize) -> Side {
    let luck = label.bytes().map(usize::from).sum::<usize>();
    let turn = |round: usize, turn: usize| {
        let process = 1.0 + 0.004 * ((luck + 3 * round) % 5) as f64;
        let drift = 1.0 + 0.03 * turn as f64;
        let sample = |at: usize| (1e3 * micros * process * drift) as u64 + (at * 37 % 11) as u64;
        Turn::quiet((0..15).map(sample).collect())
    };
    Side {
        info: info(label, label),
        rounds: (0..rounds).map(|round| (0..6).map(|at| turn(round, at)).collect()).collect(),
        load: (0..rounds).map(|round| Seconds(0.2 + 0.1 * round as f64)).collect(),
        first: vec![Seconds(0.4); rounds],
    }
}

/// Every side compared with the first, within tolerance.
pub(crate) fn duel(sides: Vec<Side>) -> Duel {
    let labels: Vec<String> = sides.iter().map(|side| side.info.label.clone()).collect();
    Duel {
        started_at: 1_794_809_554_123_456,
        elapsed: Duration::from_secs(60),
        model: model(),
        batch_size: 4,
        sequence_length: Some(128),
        mode: Mode::Inference,
        seed: 42,
        environment: environment(),
        parity: labels[1..].iter().map(|label| parity(label, &labels[0])).collect(),
        sides,
        remarks: Vec::new(),
        looks: None,
    }
}

/// Two sides whose one output is equal within tolerance.
pub(crate) fn parity(side: &str, reference: &str) -> Parity {
    let output = OutputParity {
        output: "last_hidden_state".into(),
        max_abs: Some(2.7e-6),
        cosine: Some(1.0),
        error: Some(3e-6),
        tolerance: Some(1e-3),
        rounding: None,
        holds: true,
        undecided: false,
        why: None,
        note: None,
    };
    Parity {
        side: side.into(),
        reference: reference.into(),
        outputs: vec![output],
        holds: true,
        first_difference: None,
    }
}

/// A run of so many microseconds that began at this minute.
pub(crate) fn run(engine: &str, micros: u64, minute: i64) -> Run {
    let nanos = (0..200u64).map(|at| micros * 1000 + at * 7919 % (micros * 20)).collect();
    Run {
        id: RunId(format!("{engine}-{minute}")),
        started_at: minute * 60_000_000,
        elapsed: Duration::from_secs(10),
        cell: Cell {
            model: "bert".into(),
            engine: engine.into(),
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
            options: EngineOptions::default(),
            feed: Default::default(),
        },
        model: model(),
        work: Work {
            flops: Flops(1),
            coverage: Ratio(1.0),
            bytes_read: Bytes(1),
            bytes_written: Bytes(1),
            activation_peak: None,
        },
        engine: EngineInfo { id: engine.into(), version: "1.0".into(), placement: "cpu".into() },
        environment: environment(),
        cold: Cold {
            process_start: Duration::from_millis(2),
            load: Duration::from_millis(200),
            first_inference: Duration::from_millis(400),
        },
        warmup: WarmupReport { runs: 3, settled: true, nanos: Vec::new() },
        stop: StopReason::Settled,
        samples: vec![Samples { phase: Phase::Inference, nanos }],
        summaries: BTreeMap::new(),
        metrics: vec![Metric::measured("memory.peak", Unit::Bytes, Direction::Lower, 3e8)],
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

fn model() -> ModelInfo {
    ModelInfo {
        name: "bert".into(),
        category: Category::Text,
        architecture: "bert".into(),
        source: ModelSource::Preset,
        weights: Weights::Random { seed: 42 },
        parameters: 1,
        size: Bytes(1),
        fingerprint: "b1946ac9".into(),
        made_from: None,
    }
}

fn environment() -> Environment {
    Environment {
        machine: Machine {
            key: "c0ffee12".into(),
            hostname: "bench".into(),
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
            memory: Bytes(17_179_869_184),
            gpus: Vec::new(),
            hypervisor: None,
        },
        os: "Debian GNU/Linux 12".into(),
        kernel: "6.1.0".into(),
        governor: None,
        frequency: None,
        smt: None,
        load_average: None,
        steal: None,
        memory_available: None,
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

/// A reason that makes a measurement invalid.
pub(crate) fn throttled() -> Verdict {
    Verdict::from_reasons(vec![Reason {
        code: ReasonCode::Throttled,
        invalidates: true,
        text: "the clock was throttled 7 times".into(),
        hint: None,
        about: None,
    }])
}
