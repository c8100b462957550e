//! The suite every engine must pass, on each of the three devices, and what is said of where a model ran.

use crate::{OUTPUT, alone, dense, input, load, partly_elsewhere, places, write};
use engine::conformance;
use modelmeter_engine_browser::Browser;
use types::{Device, RemarkCode};

fn keeps_every_rule(device: Device) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let onnx = write(folder.path(), &dense());
    let corrupt = folder.path().join("corrupt.onnx");
    std::fs::write(&corrupt, &std::fs::read(&onnx).unwrap()[..60]).unwrap();
    let broken = conformance::check(&conformance::Subject {
        engine: &Browser,
        places: places(),
        device,
        onnx: &onnx,
        inputs: input(),
        expected: OUTPUT.to_vec(),
        tolerance: 1e-5,
        corrupt: Some(&corrupt),
    });
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn web_assembly_keeps_every_rule() {
    keeps_every_rule(Device::Wasm);
}

#[test]
fn webgpu_keeps_every_rule() {
    keeps_every_rule(Device::Webgpu);
}

#[test]
fn webnn_keeps_every_rule() {
    keeps_every_rule(Device::Webnn);
}

#[test]
fn what_ran_is_said() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let onnx = write(folder.path(), &partly_elsewhere());
    let model = load(&onnx, Device::Webgpu).unwrap();
    let placement = model.placement();
    for word in ["swiftshader", "(software)", "2 of 3 nodes", "headless"] {
        assert!(placement.contains(word), "{word}: {placement}");
    }
    let remarks = model.remarks();
    let said = |code| remarks.iter().find(|remark| remark.code == code).map(|r| r.text.as_str());
    assert!(said(RemarkCode::SoftwareAdapter).is_some());
    let elsewhere = "1 of 3 nodes of the optimised graph run in WebAssembly";
    assert_eq!(said(RemarkCode::OtherDevice), Some(elsewhere));
    let versions = model.versions();
    assert!(versions["browser"].contains("Chrome"), "{versions:?}");
    assert_eq!(versions["browser clock step"], "5 µs", "the page is isolated");
    let steps: Vec<String> = model.steps().into_iter().map(|step| step.name).collect();
    let expected = [
        "browser start",
        "page",
        "runtime download",
        "runtime compile",
        "model download",
        "session",
    ];
    assert_eq!(steps, expected);
}
