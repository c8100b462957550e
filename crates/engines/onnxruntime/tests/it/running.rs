//! What goes in and what comes out.

use crate::{cause, load, models, request, tensor};
use engine::{EngineErrorKind, Loader};
use graph::{DataType, Model, TensorData};
use modelmeter_engine_onnxruntime::OnnxRuntime;
use types::{Device, Elements, GraphOptimisation, HostTensor, Precision};

/// The first output of one inference.
fn infer(model: &Model, precision: Precision, inputs: &[HostTensor]) -> HostTensor {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request(models::write(folder.path(), model));
    request.precision = precision;
    let loaded = OnnxRuntime.load(&request).unwrap();
    let mut session = loaded.session().unwrap();
    session.bind(inputs).unwrap();
    session.infer().unwrap();
    session.outputs().unwrap()[0].to_host()
}

#[test]
fn an_int8_model_runs() {
    let output = infer(&models::quantised(), Precision::Int8, &models::dense_input());
    let Elements::F32(values) = output.elements else { panic!("{output:?}") };
    // As `dense` without its `Relu`, but for what eight bits lose.
    for (value, expected) in values.iter().zip([4.0, -2.0, 3.0, -4.0]) {
        assert!((value - expected).abs() < 0.05, "{values:?}");
    }
}

#[test]
fn an_fp16_model_runs() {
    // 1, 2, 3, 4 as 16-bit floats.
    let bits = [0x3c00u16, 0x4000, 0x4200, 0x4400];
    let weight = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let input = tensor("x", &[1, 2], Elements::F16(vec![0x3c00, 0x3c00]));
    let output = infer(&models::product(DataType::Float16, weight), Precision::Fp16, &[input]);
    assert_eq!(output.elements, Elements::F16(vec![0x4400, 0x4600]));
}

#[test]
fn bf16_is_refused_because_the_cpu_has_no_kernels_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::product(DataType::Bfloat16, vec![0; 8]));
    let mut asked = request(onnx);
    let error = OnnxRuntime.load(&asked).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(cause(&error).contains("MatMul"), "{}", cause(&error));
    // And so it is not offered.
    asked.precision = Precision::Bf16;
    assert_eq!(OnnxRuntime.load(&asked).err().unwrap().kind, EngineErrorKind::Unsupported);
}

#[test]
fn every_element_type_goes_in_and_comes_out_unchanged() {
    let all = [
        (DataType::Float, Elements::F32(vec![1.5, -2.0])),
        (DataType::Double, Elements::F64(vec![0.1, 3.0])),
        (DataType::Float16, Elements::F16(vec![0x3c00, 1])),
        (DataType::Bfloat16, Elements::Bf16(vec![0x3f80, 2])),
        (DataType::Int64, Elements::I64(vec![i64::MIN, 5])),
        (DataType::Int32, Elements::I32(vec![-7, 5])),
        (DataType::Int16, Elements::I16(vec![-3, 5])),
        (DataType::Int8, Elements::I8(vec![-1, 5])),
        (DataType::Uint8, Elements::U8(vec![200, 5])),
        (DataType::Bool, Elements::Bool(vec![1, 0])),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (dtype, elements) in all {
        let model = load(models::write(folder.path(), &models::echo(dtype)));
        assert_eq!(model.signature().inputs[0].dtype, Some(elements.element_type()));
        let mut session = model.session().unwrap();
        session.bind(&[tensor("x", &[1, 2], elements.clone())]).unwrap();
        // Twice, because the second run finds the outputs of the first, and one of them is the input itself.
        for _ in 0..2 {
            session.infer().unwrap();
            let outputs = session.outputs().unwrap();
            let names: Vec<&str> = outputs.iter().map(|output| output.name).collect();
            assert_eq!(names, ["x", "y"]);
            for output in outputs {
                assert_eq!(
                    (output.to_host().elements, output.dims),
                    (elements.clone(), vec![1, 2])
                );
            }
        }
    }
}

#[test]
fn new_inputs_of_another_shape_can_be_bound() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Identity")));
    let mut session = model.session().unwrap();
    for rows in [2, 0, 3] {
        session.bind(&[tensor("x", &[rows, 2], Elements::F32(vec![1.0; rows * 2]))]).unwrap();
        assert!(session.outputs().is_err(), "outputs of other inputs are none of these");
        session.infer().unwrap();
        let output = session.outputs().unwrap()[0].to_host();
        assert_eq!((output.dims, output.elements.len()), (vec![rows, 2], rows * 2));
    }
}

#[test]
fn outputs_may_change_their_shape_from_run_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::changing()));
    let mut session = model.session().unwrap();
    session.bind(&[]).unwrap();
    let mut lengths = Vec::new();
    for _ in 0..4 {
        session.infer().unwrap();
        lengths.push(session.outputs().unwrap()[0].dims[1]);
    }
    assert!(lengths.iter().any(|length| *length != lengths[0]), "{lengths:?}");
}

#[test]
fn weights_beside_the_file_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = models::dense("Identity");
    let weight = &mut model.graph.initializers[0];
    let TensorData::Inline(bytes) = &weight.data else { panic!("{weight:?}") };
    let data = folder.path().join("model.safetensors.data");
    std::fs::write(&data, bytes).unwrap();
    let path = "model.safetensors.data".into();
    weight.data = TensorData::External { path, offset: 0, length: 16 };
    model.folder = Some(folder.path().to_owned());
    let onnx = models::write(folder.path(), &model);
    let loaded = load(&onnx);
    let mut session = loaded.session().unwrap();
    session.bind(&models::dense_input()).unwrap();
    session.infer().unwrap();
    let elements = session.outputs().unwrap()[0].to_host().elements;
    assert_eq!(elements, Elements::F32(models::DENSE_OUTPUT.to_vec()));

    std::fs::remove_file(&data).unwrap();
    let error = OnnxRuntime.load(&request(onnx)).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::BadModel);
    assert!(cause(&error).contains("model.safetensors.data"), "{}", cause(&error));
}

#[test]
fn inputs_that_do_not_fit_are_refused_by_name_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Identity")));
    let mut session = model.session().unwrap();
    let floats = |count: usize| Elements::F32(vec![1.0; count]);
    let mut refusal = |inputs: &[HostTensor]| {
        let error = session.bind(inputs).unwrap_err();
        assert_eq!(error.kind, EngineErrorKind::BadInput);
        error.to_string()
    };
    assert_eq!(refusal(&[]), "the model's input `x` is missing");
    let integers = tensor("x", &[1, 2], Elements::I64(vec![1, 2]));
    assert_eq!(refusal(&[integers]), "input `x` takes f32, not i64");
    let wide = tensor("x", &[1, 3], floats(3));
    assert_eq!(refusal(&[wide]), "input `x` has shape [?, 2], not [1, 3]");
    assert_eq!(refusal(&[tensor("x", &[2], floats(2))]), "input `x` has shape [?, 2], not [2]");
    let short = tensor("x", &[2, 2], floats(3));
    assert_eq!(refusal(&[short]), "input `x` has 3 elements, which do not fill [2, 2]");
    assert!(session.infer().is_err(), "nothing is bound");
}

#[test]
fn a_node_that_fails_is_named_and_carries_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Transpose")));
    let mut session = model.session().unwrap();
    // Three rows turned have three columns, one more than the weight has rows.
    session.bind(&[tensor("x", &[3, 2], Elements::F32(vec![1.0; 6]))]).unwrap();
    let error = session.infer().unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::Failed);
    assert!(cause(&error).contains("encoder.dense"), "{}", cause(&error));
    assert!(error.hint.unwrap().contains("--input NAME="));
    assert!(session.outputs().is_err(), "a run that failed leaves nothing behind");
}

#[test]
fn what_the_user_may_set_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = request(models::write(folder.path(), &models::dense("Identity")));
    asked.threads = 1;
    asked.options.inter_threads = Some(2);
    asked.options.graph_optimisation = Some(GraphOptimisation::None);
    let entry = ("session.intra_op.allow_spinning".to_owned(), "0".to_owned());
    asked.options.settings.extend([entry]);
    let model = OnnxRuntime.load(&asked).unwrap();
    assert_eq!(model.placement(), "cpu, 1 thread");
    assert!(model.remarks().is_empty(), "{:?}", model.remarks());
    let mut session = model.session().unwrap();
    session.bind(&models::dense_input()).unwrap();
    session.infer().unwrap();
    // Unoptimised, the graph keeps every node.
    let profile = session.node_profiler().unwrap().profile(1, engine::Detail::Times).unwrap();
    let kinds: Vec<&str> = profile.nodes.iter().map(|node| node.kind.as_str()).collect();
    assert_eq!(kinds, ["Identity", "MatMul", "Relu"]);
    asked.device = Device::Openvino;
    assert_eq!(OnnxRuntime.load(&asked).err().unwrap().kind, EngineErrorKind::Unsupported);
}
