//! The suites every engine must pass.

use crate::{models, places, request, tensor};
use engine::{
    Engine, LoadJob,
    conformance::{self, Conversation, Subject, WorkerSubject},
    serve,
};
use modelmeter_engine_openvino::OpenVino;
use std::{io::BufReader, os::unix::net::UnixStream, path::Path, thread};
use types::{Device, ElementType, Elements, Fill, InputRole, InputSpec, Postprocess};

#[test]
fn openvino_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::dense(folder.path(), "Identity");
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, &std::fs::read(&onnx).unwrap()[..60]).unwrap();
    let broken = conformance::check(&Subject {
        engine: &OpenVino,
        places: places(),
        device: types::Device::Cpu,
        onnx: &onnx,
        inputs: vec![tensor("x", &[2, 2], Elements::F32(vec![1.0, 1.0, 0.0, 1.0]))],
        expected: vec![4.0, 0.0, 3.0, 0.0],
        tolerance: 1e-6,
        corrupt: Some(&corrupt),
    });
    assert_eq!(broken, Vec::<String>::new());
}

/// A worker on a thread of its own.
fn start() -> Conversation {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let engines: [&dyn Engine; 1] = [&OpenVino];
        let reader = BufReader::new(theirs.try_clone().unwrap());
        serve(&engines, &|_| Err("no tokenizers here".into()), reader, theirs)
    });
    let reader = Box::new(BufReader::new(ours.try_clone().unwrap()));
    Conversation { reader, writer: Box::new(ours) }
}

fn job(onnx: &Path, rows: usize) -> LoadJob {
    LoadJob {
        engine: "openvino".into(),
        request: request(onnx),
        inputs: vec![InputSpec {
            name: "x".into(),
            dtype: ElementType::F32,
            dims: vec![rows, models::WIDE],
            role: InputRole::Other,
            fill: Fill::Constant { value: 1.0 },
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

#[test]
fn a_worker_with_openvino_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::wide(folder.path());
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, &std::fs::read(&onnx).unwrap()[..600]).unwrap();
    let rows = 64;
    let broken = conformance::check_worker(&WorkerSubject {
        start: &start,
        job: job(&onnx, rows),
        expected: ("y", vec![1.0; rows * models::WIDE]),
        tolerance: 1e-5,
        bad_models: vec![job(&corrupt, rows), job(&folder.path().join("missing.onnx"), rows)],
        absent: Device::Cuda(0),
        folder: folder.path(),
    });
    assert_eq!(broken, Vec::<String>::new());
}
