//! Models of every kind, and refusals in words.

use crate::{
    cause, load,
    models::{self, Op, Sketch},
    places, refusal, request, tensor,
};
use engine::{Engine, EngineErrorKind, LoadRequest, LoadedModel, Loader, Session};
use graph::{DataType, Model, TensorData};
use modelmeter_engine_openvino::OpenVino;
use std::{fs, path::Path};
use types::{Device, Elements, HostTensor, PerformanceHint, Precision, Remark, RemarkCode};

fn outputs(model: &dyn LoadedModel, inputs: &[HostTensor]) -> Vec<HostTensor> {
    let mut session = model.session().unwrap();
    session.bind(inputs).unwrap();
    session.infer().unwrap();
    session.outputs().unwrap().iter().map(|output| output.to_host()).collect()
}

fn ones(rows: usize) -> HostTensor {
    tensor("x", &[rows, 2], Elements::F32(vec![1.0; rows * 2]))
}

#[test]
fn an_operator_it_does_not_have_is_named_and_is_no_fault_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(&request(&models::dense(folder.path(), "NoSuchOperator")));
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(cause(&error).contains("NoSuchOperator"), "{}", cause(&error));
    assert!(!cause(&error).contains(".cpp"), "{}", cause(&error));
}

#[test]
fn a_damaged_file_says_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::dense(folder.path(), "Identity");
    let bytes = fs::read(&onnx).unwrap();
    fs::write(&onnx, &bytes[..bytes.len() / 2]).unwrap();
    let error = refusal(&request(&onnx));
    assert_eq!(error.kind, EngineErrorKind::BadModel);
    assert!(cause(&error).contains("the file ends inside"), "{}", cause(&error));
}

#[test]
fn a_setting_it_does_not_have_is_refused_with_those_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.options.settings.insert("NO_SUCH_SETTING".into(), "1".into());
    let error = refusal(&request);
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(error.message.contains("`NO_SUCH_SETTING=1`"), "{error}");
    assert!(cause(&error).contains("NO_SUCH_SETTING"), "{}", cause(&error));
    assert!(error.hint.unwrap().contains("INFERENCE_NUM_THREADS"));
}

#[test]
fn a_value_that_a_setting_does_not_take_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.options.settings.insert("NUM_STREAMS".into(), "many".into());
    let error = refusal(&request);
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(error.message.contains("`NUM_STREAMS=many`"), "{error}");
}

#[test]
fn a_setting_of_the_plugin_reaches_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.options.settings.insert("INFERENCE_NUM_THREADS".into(), "1".into());
    let model = OpenVino.load(&request).unwrap();
    assert_eq!(model.placement(), "cpu, 1 thread");
    let remarks = model.remarks();
    let expected = "2 threads were requested, but OpenVINO uses 1";
    assert_eq!(remarks, [Remark::new(RemarkCode::OtherThreads, expected)]);
}

#[test]
fn a_model_that_got_what_was_asked_has_no_remarks() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.threads = 1;
    let model = OpenVino.load(&request).unwrap();
    assert!(model.remarks().is_empty(), "{:?}", model.remarks());
    assert_eq!(model.placement(), "cpu, 1 thread");
    request.options.hint = Some(PerformanceHint::Throughput);
    let model = OpenVino.load(&request).unwrap();
    assert_eq!(outputs(&*model, &[ones(1)])[0].elements, Elements::F32(vec![4.0, 0.0]));
}

#[test]
fn more_threads_than_the_machine_has_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.threads = 4096;
    let model = OpenVino.load(&request).unwrap();
    assert!(
        model.remarks()[0].text.contains("4096 threads were requested"),
        "{:?}",
        model.remarks()
    );
    assert!(!model.placement().contains("4096"), "{}", model.placement());
}

#[test]
fn a_precision_the_plugin_was_told_otherwise_is_remarked() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(&models::dense(folder.path(), "Identity"));
    request.threads = 1;
    request.options.settings.insert("INFERENCE_PRECISION_HINT".into(), "bf16".into());
    let model = OpenVino.load(&request).unwrap();
    let expected = "f32 was requested, but OpenVINO computes in bf16";
    assert_eq!(model.remarks(), [Remark::new(RemarkCode::OtherPrecision, expected)]);
}

#[test]
fn sixteen_bits_run_where_listed_and_are_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::dense(folder.path(), "Identity");
    let listed = OpenVino.precisions(&places(), Device::Cpu);
    for precision in [Precision::Fp16, Precision::Bf16] {
        let request = LoadRequest { precision, ..request(&onnx) };
        let loaded = OpenVino.load(&request);
        match (listed.contains(&precision), loaded) {
            (true, Ok(model)) => {
                let elements = &outputs(&*model, &[ones(1)])[0].elements;
                assert_eq!(*elements, Elements::F32(vec![4.0, 0.0]), "{precision}");
            }
            (false, Err(error)) => assert_eq!(error.kind, EngineErrorKind::Unsupported),
            (listed, loaded) => panic!("{precision}: listed {listed}, loads {}", loaded.is_ok()),
        }
    }
}

#[test]
fn devices_that_are_not_here_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::dense(folder.path(), "Identity");
    let here = OpenVino.devices(&places());
    for device in [Device::Xpu(7), Device::Npu, Device::Cuda(0), Device::Mps] {
        if here.contains(&device) {
            continue;
        }
        let error = refusal(&LoadRequest { device, ..request(&onnx) });
        assert_eq!(error.kind, EngineErrorKind::Unsupported, "{device}");
        assert!(error.message.contains(&device.to_string()), "{error}");
        let knows_why = matches!(device, Device::Xpu(_) | Device::Npu);
        assert_eq!(OpenVino.absence(&places(), device).is_some(), knows_why, "{device}");
        assert_eq!(std::error::Error::source(&error).is_some(), knows_why, "{device}");
        assert_eq!(OpenVino.precisions(&places(), device), []);
    }
}

#[test]
fn weights_in_a_file_beside_the_model_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::dense(folder.path(), "Identity");
    let mut model = Model::read(&onnx).unwrap();
    // Something else comes first in the file, as in prepared models.
    let mut bytes = vec![0xff; 64];
    let TensorData::Inline(weight) = &model.graph.initializers[0].data else { panic!() };
    bytes.extend_from_slice(weight);
    let data = folder.path().join("model.safetensors.data");
    fs::write(&data, bytes).unwrap();
    model.graph.initializers[0].data =
        TensorData::External { path: "model.safetensors.data".into(), offset: 64, length: 16 };
    model.write(&onnx).unwrap();
    let expected = Elements::F32(vec![4.0, 0.0]);
    assert_eq!(outputs(&*load(&onnx), &[ones(1)])[0].elements, expected);
    fs::remove_file(data).unwrap();
    let error = refusal(&request(&onnx));
    assert_eq!(error.kind, EngineErrorKind::BadModel, "{error}: {}", cause(&error));
    assert!(cause(&error).contains("model.safetensors.data"), "{}", cause(&error));
}

#[test]
fn every_element_type_goes_in_and_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let all = [
        (DataType::Float, Elements::F32(vec![1.5, -2.0])),
        (DataType::Double, Elements::F64(vec![0.5, 3.0])),
        (DataType::Float16, Elements::F16(vec![0x3c00, 0x4000])),
        (DataType::Bfloat16, Elements::Bf16(vec![0x3f80, 0x4000])),
        (DataType::Int64, Elements::I64(vec![-5, 1 << 20])),
        (DataType::Int32, Elements::I32(vec![-7, 5])),
        (DataType::Int16, Elements::I16(vec![-3, 5])),
        (DataType::Int8, Elements::I8(vec![-1, 5])),
        (DataType::Uint8, Elements::U8(vec![200, 5])),
        (DataType::Bool, Elements::Bool(vec![1, 0])),
    ];
    for (dtype, elements) in all {
        let nodes = [Op("turn", "Transpose", &["x"], &["y"])];
        let onnx = Sketch::new().input("x", dtype, 2).write(
            &folder.path().join(format!("{dtype:?}.onnx")),
            &nodes,
            &[("y", dtype)],
        );
        let model = load(&onnx);
        let signature = model.signature();
        assert_eq!(signature.inputs[0].dtype, Some(elements.element_type()));
        assert_eq!(signature.inputs[0].dims, Some(vec![None, Some(2)]));
        let out = outputs(&*model, &[tensor("x", &[1, 2], elements.clone())]);
        assert_eq!(out, [tensor("y", &[2, 1], elements)], "{dtype:?}");
    }
}

#[test]
fn inputs_and_outputs_keep_the_names_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = [
        Op("drop", "Dropout", &["x"], &["dropped"]),
        Op("act", "Relu", &["dropped"], &["a"]),
        Op("same", "Identity", &["a"], &["z"]),
    ];
    let ends = [("z", DataType::Float), ("a", DataType::Float)];
    let path = folder.path().join("m.onnx");
    let onnx = Sketch::new().input("x", DataType::Float, 2).write(&path, &nodes, &ends);
    let model = load(&onnx);
    let out = outputs(&*model, &[tensor("x", &[1, 2], Elements::F32(vec![-1.0, 2.0]))]);
    let expected = Elements::F32(vec![0.0, 2.0]);
    assert_eq!(out, [tensor("z", &[1, 2], expected.clone()), tensor("a", &[1, 2], expected)]);
}

#[test]
fn an_input_that_nothing_uses_is_listed_and_taken() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = [Op("act", "Relu", &["x"], &["y"])];
    let onnx = Sketch::new()
        .input("idle", DataType::Float, 2)
        .input("x", DataType::Float, 2)
        .write(&folder.path().join("m.onnx"), &nodes, &[("y", DataType::Float)]);
    let model = load(&onnx);
    let signature = model.signature();
    let mut names: Vec<&str> = signature.inputs.iter().map(|input| input.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["idle", "x"]);
    let idle = tensor("idle", &[1, 2], Elements::F32(vec![7.0; 2]));
    let out = outputs(&*model, &[idle, tensor("x", &[1, 2], Elements::F32(vec![-1.0, 2.0]))]);
    assert_eq!(out, [tensor("y", &[1, 2], Elements::F32(vec![0.0, 2.0]))]);
}

#[test]
fn inputs_that_do_not_fit_are_refused_by_name_and_the_earlier_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::dense(folder.path(), "Identity"));
    let mut session = model.session().unwrap();
    assert_eq!(session.infer().unwrap_err().kind, EngineErrorKind::BadInput);
    session.bind(&[ones(1)]).unwrap();
    let wrong = [
        (tensor("x", &[1, 3], Elements::F32(vec![1.0; 3])), "takes [?, 2], not [1, 3]"),
        (tensor("x", &[2], Elements::F32(vec![1.0; 2])), "takes [?, 2], not [2]"),
        (tensor("x", &[1, 2], Elements::I64(vec![1; 2])), "takes f32, not i64"),
        (tensor("x", &[1, 2], Elements::F32(vec![1.0; 3])), "has 3 elements for [1, 2]"),
        (tensor("X", &[1, 2], Elements::F32(vec![1.0; 2])), "no input `X`"),
    ];
    for (input, words) in wrong {
        let error = session.bind(&[input]).unwrap_err();
        assert_eq!(error.kind, EngineErrorKind::BadInput);
        assert!(error.message.contains(words), "{error}");
    }
    assert!(session.bind(&[]).unwrap_err().message.contains("`x` is not given"));
    session.infer().unwrap();
    assert_eq!(session.outputs().unwrap()[0].dims, [1, 2]);
}

#[test]
fn shapes_may_change_between_inferences() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::dense(folder.path(), "Identity"));
    let mut session = model.session().unwrap();
    for (rows, value) in [(1, 1.0), (3, 1.0), (3, 2.0), (1, 1.0)] {
        let elements = Elements::F32(vec![value; rows * 2]);
        session.bind(&[tensor("x", &[rows, 2], elements)]).unwrap();
        assert!(session.outputs().is_err(), "outputs of other inputs are not shown");
        session.infer().unwrap();
        let expected = Elements::F32([4.0 * value, 0.0].repeat(rows));
        assert_eq!(session.outputs().unwrap()[0].to_host(), tensor("y", &[rows, 2], expected));
    }
}

#[test]
fn looking_at_outputs_copies_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::dense(folder.path(), "Identity"));
    let mut session = model.session().unwrap();
    session.bind(&[ones(1)]).unwrap();
    session.infer().unwrap();
    let address = |session: &dyn Session| match session.outputs().unwrap()[0].elements {
        engine::ElementsView::F32(elements) => elements.as_ptr() as usize,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(address(&*session), address(&*session));
}

#[test]
fn a_node_that_fails_while_running_carries_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::dense(folder.path(), "Transpose"));
    let mut session = model.session().unwrap();
    // Three rows turned have three columns, one more than the weight has rows.
    session.bind(&[ones(3)]).unwrap();
    let error = session.infer().unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::Failed);
    assert!(error.hint.as_deref().unwrap().contains("--input NAME="));
    assert!(session.outputs().is_err());
}

/// `x · w` with `w` as 8-bit numbers and `x` quantised on the way.
fn quantised(folder: &Path) -> std::path::PathBuf {
    let nodes = [
        Op("q.Quantise", "DynamicQuantizeLinear", &["x"], &["xq", "xs", "xz"]),
        Op("q.MatMul", "MatMulInteger", &["xq", "w", "xz"], &["sum"]),
        Op("q.Cast", "Cast", &["sum"], &["wide"]),
        Op("q.Scale", "Mul", &["xs", "ws"], &["scale"]),
        Op("q.Mul", "Mul", &["wide", "scale"], &["y"]),
    ];
    let weights = [50i8, -100, 127, 25].map(|x| x as u8).to_vec();
    Sketch::new()
        .input("x", DataType::Float, 2)
        .weight("w", DataType::Int8, &[2, 2], weights)
        .floats("ws", &[], &[0.01])
        .write(&folder.join("int8.onnx"), &nodes, &[("y", DataType::Float)])
}

#[test]
fn a_quantised_graph_runs() {
    let folder = tempfile::tempdir().unwrap();
    let request = LoadRequest { precision: Precision::Int8, ..request(&quantised(folder.path())) };
    let model = OpenVino.load(&request).unwrap();
    let out = outputs(&*model, &[tensor("x", &[1, 2], Elements::F32(vec![1.0, -0.5]))]);
    let Elements::F32(values) = &out[0].elements else { panic!("{out:?}") };
    // 1 × 0.5 - 0.5 × 1.27 and 1 × -1 - 0.5 × 0.25, as far as 8 bits go.
    let expected = [-0.135, -1.125];
    assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{values:?}");
}
