//! Material with fixed numbers.

use modelmeter_draw::{Detail, LoadDetail, Material, Steps, thin};
use types::{
    Bytes, CacheBandwidth, Ceiling, Ceilings, CellKey, Device, Flops, Interval, LoadMetric,
    MissingCode, Mode, Percentiles, Phase, Pooled, PooledCell, Precision, Ratio, Reading, RunId,
    Seconds, StepGrowth, Work,
};

/// A cell whose time grows with its batch.
pub(crate) fn cell(
    model: &str,
    engine: &str,
    precision: Precision,
    batch: u64,
    seconds: f64,
) -> PooledCell {
    let rate = batch as f64 / seconds;
    let around = |value: f64| Interval { low: value * 0.97, high: value * 1.04 };
    let peak = 120e6 + batch as f64 * 4e6 + if precision == Precision::Int8 { 0.0 } else { 80e6 };
    PooledCell {
        key: CellKey {
            model: model.into(),
            random_weights: true,
            mode: Mode::Inference,
            sequence_length: Some(128),
            imported: false,
            machine: "m-1".into(),
            device: Device::Cpu,
            engine: engine.into(),
            precision,
            threads: 2,
            variant: String::new(),
            batch_size: batch,
        },
        engine_version: "1.2.3".into(),
        invalid: None,
        invalid_runs: Default::default(),
        newest_is_valid: true,
        fingerprint: "f".into(),
        runs: vec![RunId("1".into()), RunId("2".into())],
        older: 0,
        began: (0, 1),
        samples: 400,
        fewest_samples: 200,
        latency: Pooled { value: seconds, interval: Some(around(seconds)) },
        slowest: seconds,
        percentiles: Percentiles::default(),
        throughput: Reading::of(Pooled { value: rate, interval: Some(around(rate)) }),
        memory: Reading::of(Bytes(peak as u64)),
        memory_spread: Reading::of(Pooled { value: peak, interval: Some(around(peak)) }),
        energy: Reading::missing(MissingCode::NotMeasured, "no counter"),
        efficiency: Reading::missing(MissingCode::Underivable, "no ceiling"),
    }
}

/// Samples around a time, with a tail; the same each time.
pub(crate) fn samples(seconds: f64, count: usize) -> Vec<f64> {
    let wave = |index: usize| {
        let turn = (index as f64 * 0.618_033_988_75).fract();
        seconds * (0.96 + 0.08 * turn + 0.25 * turn.powi(24))
    };
    thin((0..count).map(wave).collect(), 2000)
}

/// Fills in what more is known of a cell.
pub(crate) fn know(material: &mut Material, cell: &PooledCell) {
    let batch = cell.key.batch_size;
    let gain = if cell.key.precision == Precision::Int8 { 2.5 } else { 1.0 };
    let slow = if cell.key.engine == "rten" { 0.7 } else { 1.0 };
    let large = if cell.key.model == "small-transformer" { 1.3 } else { 1.0 };
    let flops = cell.latency.value * 40e9 * gain * slow * large * (batch as f64).powf(0.3);
    let bytes = flops / (3.0 + batch as f64 * 0.7 * gain * large);
    let work = Work {
        flops: Flops(flops as u64),
        coverage: Ratio(1.0),
        bytes_read: Bytes((bytes * 0.6) as u64),
        bytes_written: Bytes((bytes * 0.4) as u64),
        activation_peak: Some(Bytes(batch * 2_000_000)),
    };
    let is_training = cell.key.mode == Mode::Training;
    let phases = [
        (Phase::Forward, 0.34),
        (Phase::Loss, 0.02),
        (Phase::Backward, 0.5),
        (Phase::Optimizer, 0.12),
    ];
    let detail = Detail {
        work: (cell.key.mode == Mode::Inference).then_some(work),
        weights: Some(Bytes(40_000_000)),
        gradients: is_training.then_some(Bytes(60_000_000)),
        activations: work.activation_peak,
        limit: (cell.key.precision == Precision::Int8).then_some(Bytes(300_000_000)),
        phases: phases.map(|(phase, share)| (phase, share * cell.latency.value)).to_vec(),
        steps: (cell.key.mode == Mode::Generate).then(|| steps(cell)).flatten(),
        load: (cell.key.mode == Mode::Load).then(|| waits(cell)),
    };
    material.samples.insert(cell.key.clone(), samples(cell.latency.value, 3000));
    material.details.insert(cell.key.clone(), detail);
}

/// Waits that grow with the users; the limit breaks where an answer takes 200 ms.
fn waits(cell: &PooledCell) -> LoadDetail {
    let time = cell.latency.value;
    let of = |part: f64| [1.0, 1.3, 1.7].map(|slow| Some(part * time * slow));
    let mut first = of(0.2);
    // Too few requests.
    first[2] = None;
    LoadDetail {
        times: vec![
            (LoadMetric::E2e, of(1.0)),
            (LoadMetric::Ttft, first),
            (LoadMetric::Itl, of(0.01)),
        ],
        held: Some(time < 0.2),
    }
}

/// A server with so many requests a second, or so many users.
fn loaded(scenario: &str, seconds: f64) -> PooledCell {
    // An engine of the others, so that their colours stay.
    let mut cell = cell("served-model", "rten", Precision::Fp32, 1, seconds);
    cell.key.mode = Mode::Load;
    cell.key.variant = format!(
        r#"{{"load":{{"scenario":{scenario},"protocol":"openai-chat","streaming":true,"content":"random prompts"}}}}"#
    );
    assert!(types::Variant::parse(&cell.key.variant).is_some(), "{}", cell.key.variant);
    cell.memory = Reading::missing(MissingCode::NotMeasured, "a server");
    cell.memory_spread = Reading::missing(MissingCode::NotMeasured, "a server");
    cell
}

/// Steps that grow by a microsecond a token.
fn steps(cell: &PooledCell) -> Option<Steps> {
    let generation = types::Variant::parse(&cell.key.variant)?.generation?;
    let times = samples(cell.latency.value, generation.tokens);
    let point = |index: usize| {
        // Samples come in the order of their size.
        let time = times[index * 7919 % times.len()];
        ((generation.depth + index) as f64, time + index as f64 * 1e-6)
    };
    let growth = StepGrowth {
        at_zero: Seconds(cell.latency.value),
        per_thousand: Seconds(0.001),
        interval: Interval { low: 0.000_6, high: 0.001_4 },
    };
    Steps::new((0..generation.tokens).map(point).collect(), Some(growth))
}

/// A model that writes so many tokens behind so many others.
fn writing(engine: &str, depth: usize, seconds: f64) -> PooledCell {
    let mut cell = cell("small-transformer", engine, Precision::Fp32, 1, seconds);
    cell.key.mode = Mode::Generate;
    cell.key.sequence_length = Some(1);
    cell.key.variant = format!(
        r#"{{"generation":{{"test":"decode","tokens":300,"depth":{depth},"sampling":{{"how":"greedy"}}}}}}"#
    );
    assert!(types::Variant::parse(&cell.key.variant).is_some());
    cell.memory = Reading::missing(MissingCode::NotMeasured, "not asked");
    cell.memory_spread = Reading::missing(MissingCode::NotMeasured, "not asked");
    cell
}

/// What a machine can do at best.
pub(crate) fn ceilings() -> Ceilings {
    let ceiling = |value: f64| Ceiling { value, interval: Interval { low: value, high: value } };
    let cache = |level: u32, value: f64| CacheBandwidth {
        level,
        size: Bytes(1 << (14 + level)),
        ceiling: ceiling(value),
    };
    Ceilings {
        flops: vec![
            (Precision::Fp32, ceiling(180e9)),
            (Precision::Bf16, ceiling(500e9)),
            (Precision::Int8, ceiling(640e9)),
        ],
        bandwidth: Some(ceiling(21e9)),
        caches: vec![cache(1, 290e9), cache(2, 120e9), cache(3, 52e9)],
        ..Ceilings::of(Device::Cpu, 2)
    }
}

/// A material out of these cells.
pub(crate) fn of(cells: Vec<PooledCell>) -> Material {
    let mut material = Material::default();
    for cell in &cells {
        know(&mut material, cell);
        material.ceilings.insert(cell.key.machine.clone(), vec![ceilings()]);
    }
    material.machines =
        [("m-1".to_owned(), "bench".to_owned()), ("m-2".to_owned(), "gpu1".to_owned())].into();
    material.cells = cells;
    material.cells.sort_by(|one, other| one.key.cmp(&other.key));
    material
}

/// Two models on two engines in two precisions with four batches, a GPU, a training, a model that writes, and a server under
/// load.
pub(crate) fn usual() -> Material {
    let mut cells = Vec::new();
    for (model, scale) in [("feed-forward-baseline", 0.000_4), ("small-transformer", 0.004)] {
        for (engine, speed) in [("onnxruntime", 1.0), ("rten", 1.35)] {
            for (precision, gain) in [(Precision::Fp32, 1.0), (Precision::Int8, 0.62)] {
                for batch in [1_u64, 4, 8, 16] {
                    let seconds = scale * speed * gain * (batch as f64).powf(0.8);
                    cells.push(cell(model, engine, precision, batch, seconds));
                }
            }
        }
    }
    let mut gpu = cell("small-transformer", "onnxruntime", Precision::Fp32, 16, 0.002_1);
    gpu.key.machine = "m-2".into();
    gpu.key.device = Device::Cuda(0);
    cells.push(gpu);
    let mut training = cell("small-transformer", "rten", Precision::Fp32, 4, 0.055);
    training.key.mode = Mode::Training;
    training.key.variant = concat!(
        r#"{"training":{"optimizer":"adamw","loss":"cross-entropy","learning_rate":0.0001,"#,
        r#""accumulation":1,"checkpointing":false,"world_size":1}}"#
    )
    .into();
    assert!(types::Variant::parse(&training.key.variant).is_some());
    cells.push(training);
    cells.extend([
        writing("rten", 0, 0.010),
        writing("rten", 1024, 0.011),
        writing("onnxruntime", 0, 0.013),
    ]);
    for (rate, seconds) in [(1.0, 0.06), (2.0, 0.065), (4.0, 0.09), (6.0, 0.15), (8.0, 0.9)] {
        let scenario =
            format!(r#"{{"kind":"server","rate":{rate:?},"arrivals":{{"kind":"poisson"}}}}"#);
        cells.push(loaded(&scenario, seconds));
    }
    for (users, seconds) in [(1, 0.05), (2, 0.07), (4, 0.13)] {
        let scenario = format!(r#"{{"kind":"concurrency","users":{users}}}"#);
        cells.push(loaded(&scenario, seconds));
    }
    of(cells)
}
