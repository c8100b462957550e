//! Exports that scripted engines load again: the same answers, others, and none.

use crate::scene::Scene;
use modelmeter::{Error, Exporter, ModelError, types::ExportReport};
use std::fs;

/// Writes a model, which engines run by this script once it is a file; without one by their own.
fn exported(scene: &Scene, script: Option<&str>) -> ExportReport {
    let model = scene.model("model", "1ms");
    let path = scene.path("out", "onnx");
    if let Some(script) = script {
        scene.rewrite("out", script);
    }
    Exporter::new(scene.profiler(&model)).write(&path, &mut |_| {}).unwrap()
}

#[test]
fn a_file_with_the_same_answers_holds_on_every_engine() {
    let scene = Scene::new();
    let report = exported(&scene, None);
    assert_eq!(report.reference, "the original model on steady");
    let engines: Vec<&str> = report.checks.iter().map(|check| check.engine.as_str()).collect();
    assert_eq!(engines, ["steady", "slower"]);
    assert!(report.holds() && !report.differs(), "{:#?}", report.checks);
    let written = graph::Model::read(&report.path).unwrap();
    assert_eq!((report.nodes, written.graph.nodes.len()), (1, 1));
    assert_eq!(report.size.0, fs::metadata(&report.path).unwrap().len());
    assert!(report.data.is_none() && report.remarks.is_empty(), "{report:#?}");
}

#[test]
fn a_file_with_other_answers_differs_and_one_that_crashes_says_so() {
    let scene = Scene::new();
    // Each engine loads the file once, in the order of the list.
    let report = exported(&scene, Some("nan\ncrash"));
    assert!(report.differs() && !report.holds(), "{:#?}", report.checks);
    let [steady, slower] = report.checks.as_slice() else { panic!("{:#?}", report.checks) };
    assert!(steady.parity.as_ref().is_some_and(|parity| !parity.holds), "{steady:#?}");
    assert!(slower.parity.is_none() && slower.failed.is_some(), "{slower:#?}");
}

#[test]
fn a_model_that_no_engine_runs_is_written_and_compared_with_nothing() {
    let scene = Scene::new();
    let model = scene.model("model", "fail no luck");
    let path = scene.path("out", "onnx");
    let report = Exporter::new(scene.profiler(&model)).write(&path, &mut |_| {}).unwrap();
    assert!(report.reference.is_empty() && path.is_file());
    assert!(!report.holds() && !report.differs());
    let why = "no engine here runs the original model";
    assert!(report.checks.iter().all(|check| check.failed.as_deref() == Some(why)));
}

#[test]
fn only_a_file_of_ours_is_replaced_and_only_if_asked() {
    let scene = Scene::new();
    let report = exported(&scene, None);
    let exporter = Exporter::new(scene.profiler(&scene.model("model", "1ms")));
    let error = exporter.write(&report.path, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::FileExists { .. })), "{error}");
    let exporter = exporter.replace(true);
    exporter.write(&report.path, &mut |_| {}).unwrap();
    fs::write(&report.path, "mine").unwrap();
    let error = exporter.write(&report.path, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::NotOurs { .. })), "{error}");
    assert_eq!(fs::read(&report.path).unwrap(), b"mine");
}
