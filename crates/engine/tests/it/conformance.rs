use modelmeter_engine::{FakeEngine, conformance};
use types::{Elements, HostTensor};

fn subject_input() -> Vec<HostTensor> {
    vec![HostTensor { name: "x".into(), dims: vec![2], elements: Elements::F32(vec![1.0, 2.0]) }]
}

#[test]
fn the_fake_keeps_every_rule() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let fake: FakeEngine = "1us".parse().unwrap();
    let broken = conformance::check(&conformance::Subject {
        engine: &fake,
        places: modelmeter_engine::Places::default(),
        device: types::Device::Cpu,
        onnx: file.path(),
        inputs: subject_input(),
        expected: vec![2.0, 4.0],
        tolerance: 0.0,
        corrupt: None,
    });
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn an_engine_that_computes_wrong_numbers_is_found() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let fake: FakeEngine = "nan".parse().unwrap();
    let broken = conformance::check(&conformance::Subject {
        engine: &fake,
        places: modelmeter_engine::Places::default(),
        device: types::Device::Cpu,
        onnx: file.path(),
        inputs: subject_input(),
        expected: vec![2.0, 4.0],
        tolerance: 1e-3,
        corrupt: None,
    });
    assert!(broken.iter().any(|rule| rule.contains("expected")), "{broken:?}");
}
