//! Models and settings it cannot take.

use crate::{cause, models, request};
use engine::{EngineErrorKind, Loader};
use graph::{DataType, GraphBuilder};
use modelmeter_engine_onnxruntime::OnnxRuntime;

#[test]
fn an_operator_it_does_not_have_is_named_and_is_no_fault_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = models::write(folder.path(), &models::dense("NoSuchOperator"));
    let error = OnnxRuntime.load(&request(onnx)).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(cause(&error).contains("NoSuchOperator"), "{}", cause(&error));
    assert!(error.hint.is_some());
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.source().is_none(), "{source} is said twice");
}

#[test]
fn an_operator_of_a_domain_it_does_not_have_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = GraphBuilder::new("custom");
    let x = builder.input("x", DataType::Float, &[2.into()]);
    let y = builder.add("my.own", "Wonder", &[&x], &[], 1).swap_remove(0);
    builder.output("y", &y, DataType::Float, &[2.into()]);
    let onnx = models::write(folder.path(), &builder.finish_model());
    let error = OnnxRuntime.load(&request(onnx)).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported, "{}", cause(&error));
    assert!(cause(&error).contains("Wonder"), "{}", cause(&error));
}

#[test]
fn a_setting_that_the_cpu_does_not_have_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = request(models::write(folder.path(), &models::dense("Identity")));
    asked.options.settings.insert("cudnn_conv_algo_search".into(), "HEURISTIC".into());
    let error = OnnxRuntime.load(&asked).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert!(error.to_string().contains("`cudnn_conv_algo_search`"), "{error}");
}

#[test]
fn a_folder_and_an_empty_file_are_no_models() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.onnx");
    std::fs::write(&empty, "").unwrap();
    for path in [folder.path(), &empty] {
        let error = OnnxRuntime.load(&request(path)).err().unwrap();
        assert_eq!(error.kind, EngineErrorKind::BadModel, "{error}");
    }
}
