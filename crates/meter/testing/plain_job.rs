//! A job without a model and the bench that it is measured on, for workers that only pretend: in the tests of the meter
//! and in fuzzing.

use super::{Bench, Job};
use probe::IdlePower;
use std::{collections::BTreeMap, path::Path, time::Duration};
use types::{
    Bytes, Category, Ceiling, Ceilings, Cell, Device, ElementType, Fill, Flops, InputRole,
    InputSpec, Interval, Mode, ModelInfo, ModelSource, Postprocess, Precision, Ratio, RunId,
    Weights, Work,
};

/// This machine with a ceiling that nothing measured.
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

/// An inference of a batch of three with one input; the model and the engine have the same name.
pub(crate) fn job(name: &str, onnx: &Path) -> Job<'static> {
    Job {
        cell: Cell {
            model: name.into(),
            engine: name.into(),
            device: Device::Cpu,
            precision: Precision::Fp32,
            batch_size: 3,
            sequence_length: None,
            mode: Mode::Inference,
            training: None,
            generation: None,
            load: None,
            threads: 1,
            seed: 0,
            inputs: vec![],
            text: None,
            options: Default::default(),
            feed: Default::default(),
        },
        id: RunId("00".into()),
        model: ModelInfo {
            name: name.into(),
            category: Category::Other,
            architecture: name.into(),
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
        generation: None,
        weights_read: None,
        gguf: None,
        phase_flops: Vec::new(),
        work: work(1000),
        unknown_shapes: vec![],
        waits_busily: false,
        reads_windows: false,
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
