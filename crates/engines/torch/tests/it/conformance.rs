//! The worker under the suite that every worker must pass, and the promises beyond it.

use crate::worker::{Worker, converse, floats, job, job_with, places, stranger};
use engine::{
    Engine, EngineErrorKind, LoadJob, Reply, Request,
    conformance::{WorkerSubject, check_worker},
};
use modelmeter_engine_torch::Torch;
use safetensors::{Dtype, tensor::TensorView};
use std::path::Path;
use types::{Device, Module, ModuleTensor, ModuleWeights, Precision};

/// `relu(x · [[1, 2], [3, -4]] + [0.5, 0]) · [[2, 1], [1, 1]] + [0, -1]`, its weights as the graph keeps them.
pub(crate) fn small_network(folder: &Path) -> Module {
    let file = folder.join("weights.safetensors");
    let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let all = [
        ("layers.0.weight", vec![2, 2], bytes(&[1.0, 2.0, 3.0, -4.0])),
        ("layers.0.bias", vec![2], bytes(&[0.5, 0.0])),
        ("layers.2.weight", vec![2, 2], bytes(&[2.0, 1.0, 1.0, 1.0])),
        ("layers.2.bias", vec![2], bytes(&[0.0, -1.0])),
    ];
    let view = |dims: &Vec<usize>, bytes| TensorView::new(Dtype::F32, dims.clone(), bytes).unwrap();
    let tensors = all.iter().map(|(name, dims, bytes)| (*name, view(dims, bytes)));
    safetensors::serialize_to_file(tensors, None, &file).unwrap();
    let tensor = |name: &str, dims: &[usize]| ModuleTensor {
        names: vec![name.into()],
        stored: name.into(),
        transposed: dims.len() == 2,
    };
    Module::FeedForward {
        config: r#"{"input_size": 2, "hidden_layers": [2], "output_size": 2}"#.into(),
        weights: ModuleWeights {
            file,
            tensors: all.iter().map(|(name, dims, _)| tensor(name, dims)).collect(),
        },
    }
}

pub(crate) fn small_job(folder: &Path) -> LoadJob {
    let input = floats("input", &[2, 2], &[1.0, 1.0, 0.0, 1.0]);
    job_with(small_network(folder), &[input], folder)
}

pub(crate) const EXPECTED: [f32; 4] = [9.0, 3.5, 7.0, 2.5];

fn with_weights(job: &LoadJob, change: impl FnOnce(&mut ModuleWeights)) -> LoadJob {
    let mut job = job.clone();
    match &mut job.request.module {
        Some(Module::FeedForward { weights, .. }) => change(weights),
        other => panic!("{other:?}"),
    }
    job
}

#[test]
fn the_worker_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let good = small_job(folder.path());
    let cut = folder.path().join("cut.safetensors");
    let whole = std::fs::read(folder.path().join("weights.safetensors")).unwrap();
    std::fs::write(&cut, &whole[..whole.len() - 4]).unwrap();
    let text = folder.path().join("text.safetensors");
    std::fs::write(&text, "these are no weights at all").unwrap();
    let absent = [Device::Cuda(0), Device::Rocm(0), Device::Mps];
    let present = Torch.devices(&places());
    let broken = check_worker(&WorkerSubject {
        start: &converse,
        job: good.clone(),
        expected: ("output", EXPECTED.to_vec()),
        tolerance: 1e-6,
        bad_models: vec![
            with_weights(&good, |weights| weights.file = folder.path().join("none")),
            with_weights(&good, |weights| weights.file.clone_from(&cut)),
            with_weights(&good, |weights| weights.file.clone_from(&text)),
        ],
        absent: absent.into_iter().find(|device| !present.contains(device)).unwrap(),
        folder: folder.path(),
    });
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn what_cannot_run_is_refused_with_its_reason_and_the_worker_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let good = small_job(folder.path());
    let mut worker = Worker::start();

    let failure = worker.refuse(&job(None), EngineErrorKind::Unsupported);
    assert!(failure.message.contains("not ONNX files"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("onnxruntime"));
    let mut strange = good.clone();
    strange.request.options.compile = Some("fastest".into());
    let failure = worker.refuse(&strange, EngineErrorKind::Unsupported);
    assert!(failure.hint.unwrap().contains("`max-autotune`"));

    // From here on PyTorch is imported; the worker stays the same.
    for device in [Device::Npu, Device::Cuda(99), Device::Rocm(99), Device::Xpu(99)] {
        let mut elsewhere = good.clone();
        elsewhere.request.device = device;
        let failure = worker.refuse(&elsewhere, EngineErrorKind::Unsupported);
        assert!(failure.message.contains(&format!("`{device}`")), "{failure:?}");
    }
    let mut strange = good.clone();
    strange.inputs_file = None;
    strange.inputs.push(stranger("nobody"));
    let failure = worker.refuse(&strange, EngineErrorKind::BadInput);
    assert!(failure.message.contains("`nobody`"), "{failure:?}");
    assert!(failure.hint.unwrap().contains("`input`"));
    let undrawn = LoadJob { inputs_file: None, ..good.clone() };
    let failure = worker.refuse(&undrawn, EngineErrorKind::BadInput);
    assert!(failure.message.contains("`input`"), "{failure:?}");

    let unknown = with_weights(&good, |weights| {
        weights.tensors[1].names = vec!["layers.7.bias".into()];
    });
    let failure = worker.refuse(&unknown, EngineErrorKind::BadModel);
    assert!(failure.causes[0].contains("`layers.0.bias`"), "{failure:?}");
    let lacking = with_weights(&good, |weights| weights.tensors.truncate(1));
    let failure = worker.refuse(&lacking, EngineErrorKind::BadModel);
    assert!(failure.causes[0].contains("no weight for the module's `layers.0.bias`"));
    let turned = with_weights(&good, |weights| weights.tensors.swap(0, 1));
    worker.load(&turned);
    match worker.ask(&Request::Load(Box::new(good))) {
        Reply::Failed(failure) => assert!(failure.message.contains("one model"), "{failure:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn int8_is_dynamic_and_says_what_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = small_job(folder.path());
    job.request.precision = Precision::Int8;
    let mut worker = Worker::start();
    let report = worker.load(&job);
    assert!(report.remarks.iter().any(|one| one.code == types::RemarkCode::PartlyQuantised));
    assert!(report.versions.contains_key("python") && report.versions.contains_key("torch"));
    let outputs = worker.outputs(folder.path());
    let values = crate::worker::values(&outputs, "output");
    for (value, expected) in values.iter().zip(EXPECTED) {
        assert!((value - expected).abs() < 0.1, "{values:?}");
    }
    assert_ne!(values, EXPECTED, "int8 that rounds nothing is no int8");
}
