//! What the tests share: a job for the fake and a way to start it.

use modelmeter_meter::{Bench, Job, Launch, MeterError, measure};
use probe::IdlePower;
use std::{collections::BTreeMap, path::Path, time::Duration};
use types::{
    Bytes, Category, Ceiling, Ceilings, Cell, Device, ElementType, Event, Fill, Flops, InputRole,
    InputSpec, Interval, Mode, ModelInfo, ModelSource, Postprocess, Precision, Ratio, Run, RunId,
    StoppingRule, Warmup, Weights, Work,
};

/// A worker process that follows the script.
pub(crate) fn scripted(script: &str) -> Launch {
    Launch::Process {
        program: env!("CARGO_BIN_EXE_fake-worker").into(),
        arguments: vec![script.into()],
        environment: vec![],
    }
}

/// Ten runs, two of warm-up: enough to see every path and quick.
pub(crate) fn short_rule() -> StoppingRule {
    StoppingRule {
        warmup: Warmup::Runs { count: 2 },
        min_runs: 12,
        max_runs: 12,
        min_duration: Duration::ZERO,
        max_duration: Duration::from_secs(20),
        timeout: Duration::from_secs(20),
        ..StoppingRule::default()
    }
}

pub(crate) fn bench() -> Bench {
    let ceiling = Ceiling { value: 1e9, interval: Interval { low: 0.9e9, high: 1e9 } };
    Bench {
        machine: hardware::machine(),
        ceilings: Some(Ceilings {
            flops: vec![(Precision::Fp32, ceiling)],
            ..Ceilings::of(Device::Cpu, 1)
        }),
        idle: IdlePower::default(),
        versions: BTreeMap::new(),
        revision: None,
    }
}

pub(crate) fn job(onnx: &Path) -> Job<'static> {
    Job {
        cell: Cell {
            model: "fake".into(),
            engine: "fake".into(),
            device: Device::Cpu,
            precision: Precision::Fp32,
            batch_size: 3,
            sequence_length: None,
            mode: Mode::Inference,
            training: None,
            threads: 1,
            seed: 0,
            inputs: vec![],
            text: None,
            options: Default::default(),
            feed: Default::default(),
        },
        id: RunId("00".into()),
        model: ModelInfo {
            name: "fake".into(),
            category: Category::Other,
            architecture: "fake".into(),
            source: ModelSource::File { path: onnx.to_owned() },
            weights: Weights::Real,
            parameters: 1,
            size: Bytes(1),
            fingerprint: "0".into(),
            made_from: None,
        },
        onnx: onnx.to_owned(),
        module: None,
        counting: Default::default(),
        places: Default::default(),
        inputs_file: None,
        inputs: vec![InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: vec![3],
            role: InputRole::Other,
            fill: Fill::Constant { value: 1.0 },
        }],
        tokenizer: None,
        media: None,
        postprocess: Postprocess::None,
        training: None,
        phase_flops: Vec::new(),
        work: work(1000),
        unknown_shapes: vec![],
        refine: &|_| work(2000),
        model_commit: None,
        remarks: vec![],
        prepared_in: Duration::ZERO,
    }
}

pub(crate) fn work(flops: u64) -> Work {
    Work {
        flops: Flops(flops),
        coverage: Ratio(1.0),
        bytes_read: Bytes(0),
        bytes_written: Bytes(0),
        activation_peak: None,
    }
}

/// Measures the fake with this script and rule; also gives back every event.
pub(crate) fn measured(script: &str, rule: &StoppingRule) -> (Result<Run, MeterError>, Vec<Event>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut events = Vec::new();
    let mut sink = |event| events.push(event);
    let run = measure(&job(file.path()), &bench(), &scripted(script), rule, &mut sink);
    (run, events)
}
