//! The embedded engine under the suite every engine must pass.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod memory;
mod profile;
mod uncaptured;

use engine::{EngineErrorKind, LoadRequest, Loader, Places, conformance};
use graph::{Attribute, DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo};
use modelmeter_engine_rten::Rten;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use types::{Device, Elements, HostTensor, Precision};

#[global_allocator]
static ALLOCATOR: probe::TrackingAllocator = probe::TrackingAllocator;

/// `y = relu(x · w)` with a 2 × 2 weight, and whatever operator the test wants in front of it.
fn write_model(folder: &Path, first_operator: &str) -> PathBuf {
    let value = |name: &str| ValueInfo {
        name: name.into(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Symbol("batch".into()), Dim::Fixed(2)]),
    };
    let node = |name: &str, op: &str, inputs: &[&str], output: &str| Node {
        name: name.into(),
        op_type: op.into(),
        domain: String::new(),
        inputs: inputs.iter().map(|&s| s.into()).collect(),
        outputs: vec![output.into()],
        attributes: BTreeMap::<String, Attribute>::new(),
    };
    let weight: Vec<u8> = [1f32, 2.0, 3.0, -4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let model = Model {
        graph: Graph {
            name: "test".into(),
            inputs: vec![value("x")],
            outputs: vec![value("y")],
            nodes: vec![
                node("first", first_operator, &["x"], "h"),
                node("dense.MatMul", "MatMul", &["h", "w"], "product"),
                node("dense.Relu", "Relu", &["product"], "y"),
            ],
            initializers: vec![Tensor {
                name: "w".into(),
                dtype: DataType::Float,
                dims: vec![2, 2],
                data: TensorData::Inline(weight.into()),
            }],
            value_infos: vec![],
        },
        opsets: BTreeMap::from([(String::new(), 17)]),
        ir_version: 8,
        producer: "test".into(),
        metadata: BTreeMap::new(),
        functions: vec![],
        folder: None,
    };
    let path = folder.join("model.onnx");
    model.write(&path).unwrap();
    path
}

fn input() -> Vec<HostTensor> {
    let elements = Elements::F32(vec![1.0, 1.0, 0.0, 1.0]);
    vec![HostTensor { name: "x".into(), dims: vec![2, 2], elements }]
}

fn request(onnx: PathBuf) -> LoadRequest {
    LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, 2)
}

#[test]
fn rten_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Identity");
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, &std::fs::read(&onnx).unwrap()[..60]).unwrap();
    let broken = uncaptured::uncaptured(move || {
        conformance::check(&conformance::Subject {
            engine: &Rten,
            places: Places::default(),
            device: types::Device::Cpu,
            onnx: &onnx,
            inputs: input(),
            expected: vec![4.0, 0.0, 3.0, 0.0],
            tolerance: 1e-6,
            corrupt: Some(&corrupt),
        })
    });
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn packing_changes_the_placement_and_no_bit_of_the_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Identity");
    let outputs = |packing: Option<&str>| {
        let mut request = request(onnx.clone());
        let set = |value: &str| ("packing".to_owned(), value.to_owned());
        request.options.settings = packing.map(set).into_iter().collect();
        let model = Rten.load(&request).unwrap();
        let mut session = model.session().unwrap();
        session.bind(&input()).unwrap();
        session.infer().unwrap();
        let outputs = session.outputs().unwrap()[0].to_host();
        (model.placement(), outputs.elements)
    };
    let (packed, plain) = (outputs(None), outputs(Some("off")));
    assert_eq!((packed.0.as_str(), plain.0.as_str()), ("cpu, 2 threads, packed", "cpu, 2 threads"));
    assert_eq!(packed.1, plain.1);
    assert_eq!(outputs(Some("on")), packed);
}

#[test]
fn an_operator_it_does_not_have_is_named_and_is_no_fault_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "NoSuchOperator");
    let error = Rten.load(&request(onnx)).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("NoSuchOperator"), "{cause}");
}

#[test]
fn shapes_of_values_that_fusion_removes_can_be_observed() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Identity");
    let model = Rten.load(&request(onnx)).unwrap();
    let mut session = model.session().unwrap();
    session.bind(&input()).unwrap();
    let observer = session.shape_observer().unwrap();
    let shapes = observer.observe(&["product".into(), "h".into(), "nobody".into()]).unwrap();
    assert_eq!(shapes, [("product".to_string(), vec![2, 2]), ("h".to_string(), vec![2, 2])]);
}

#[test]
fn an_input_of_the_wrong_shape_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let model = Rten.load(&request(write_model(folder.path(), "Identity"))).unwrap();
    let mut session = model.session().unwrap();
    let elements = Elements::F32(vec![1.0; 3]);
    session.bind(&[HostTensor { name: "x".into(), dims: vec![1, 3], elements }]).unwrap();
    let error = session.infer().unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::BadInput);
    assert!(std::error::Error::source(&error).unwrap().to_string().contains('x'));
}

#[test]
fn causes_are_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let error = Rten.load(&request(write_model(folder.path(), "NoSuchOperator"))).err().unwrap();
    let cause = std::error::Error::source(&error).unwrap();
    assert!(cause.source().is_none(), "{cause} repeats {:?}", cause.source());
}

#[test]
fn an_operator_that_fails_carries_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let model = Rten.load(&request(write_model(folder.path(), "Transpose"))).unwrap();
    let mut session = model.session().unwrap();
    // Three rows turned have three columns, one more than the weight has rows.
    let elements = Elements::F32(vec![1.0; 6]);
    session.bind(&[HostTensor { name: "x".into(), dims: vec![3, 2], elements }]).unwrap();
    let error = session.infer().unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::Failed);
    assert!(error.hint.unwrap().contains("--input NAME="));
}

#[test]
fn external_weights_without_an_offset_come_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Identity");
    let mut model = Model::read(&onnx).unwrap();
    let weight = &mut model.graph.initializers[0];
    std::fs::write(folder.path().join("model.data"), model_bytes(&weight.data)).unwrap();
    weight.data = TensorData::External { path: "model.data".into(), offset: 0, length: 16 };
    model.write(&onnx).unwrap();
    Rten.load(&request(onnx.clone())).unwrap();
    // The offset becomes a length, which the real one overrides: no offset is said any more.
    let mut bytes = std::fs::read(&onnx).unwrap();
    let place = bytes.windows(6).position(|part| part == b"offset").unwrap();
    bytes[place..place + 6].copy_from_slice(b"length");
    std::fs::write(&onnx, bytes).unwrap();
    let error = Rten.load(&request(onnx)).err().unwrap();
    let hint = error.hint.clone().unwrap_or_default();
    assert!(hint.contains("onnx.save_model"), "{error:?}");
}

fn model_bytes(data: &TensorData) -> Vec<u8> {
    match data {
        TensorData::Inline(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}
