//! The suites every engine must pass.

use crate::{
    models::{self, DENSE_OUTPUT},
    places, request,
};
use engine::{LoadJob, conformance, serve};
use modelmeter_engine_onnxruntime::OnnxRuntime;
use std::{io::BufReader, os::unix::net::UnixStream, path::Path, thread};
use types::{Device, ElementType, Fill, InputRole, InputSpec, Postprocess};

#[test]
fn onnx_runtime_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("Identity"));
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, &std::fs::read(&onnx).unwrap()[..60]).unwrap();
    let broken = conformance::check(&conformance::Subject {
        engine: &OnnxRuntime,
        places: places(),
        device: types::Device::Cpu,
        onnx: &onnx,
        inputs: models::dense_input(),
        expected: DENSE_OUTPUT.to_vec(),
        tolerance: 1e-6,
        corrupt: Some(&corrupt),
    });
    assert_eq!(broken, Vec::<String>::new());
}

fn job(onnx: &Path) -> LoadJob {
    LoadJob {
        engine: "onnxruntime".into(),
        request: request(onnx),
        inputs: vec![InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: vec![2, 2],
            role: InputRole::Other,
            fill: Fill::Values { values: vec![1.0, 1.0, 0.0, 1.0] },
        }],
        inputs_file: None,
        seed: 0,
        text: None,
        media: None,
        postprocess: Postprocess::None,
        training: None,
        generation: None,
    }
}

/// A worker on a thread of its own, as it would be in a process of its own.
fn start() -> conformance::Conversation {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let reader = BufReader::new(theirs.try_clone().unwrap());
        let _ = serve(&[&OnnxRuntime], &|_| Err("no tokenizer".into()), reader, theirs);
    });
    let reader = BufReader::new(ours.try_clone().unwrap());
    conformance::Conversation { reader: Box::new(reader), writer: Box::new(ours) }
}

#[test]
fn a_worker_with_onnx_runtime_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("Identity"));
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, "this is no model").unwrap();
    let broken = conformance::check_worker(&conformance::WorkerSubject {
        start: &start,
        job: job(&onnx),
        expected: ("y", DENSE_OUTPUT.to_vec()),
        tolerance: 1e-6,
        bad_models: vec![job(&corrupt), job(&folder.path().join("missing.onnx"))],
        absent: Device::Cuda(0),
        folder: folder.path(),
    });
    assert_eq!(broken, Vec::<String>::new());
}
