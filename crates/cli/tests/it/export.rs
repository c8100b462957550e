//! Models written as ONNX files, loaded again and compared.

use crate::bench::{Home, python};
use serde_json::Value;

#[test]
fn a_file_gives_pytorchs_answers_on_every_engine() {
    let home = Home::calibrated();
    let (file, python) = (home.path("small.onnx").display().to_string(), python());
    let arguments = ["export", "encoder-small", "-o", &file, "--opset", "13", "--json", "-"];
    let told = home.fine(&[&arguments[..], &["--python", &python]].concat());
    let report: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(report["schema"], "modelmeter.export/1");
    assert_eq!((&report["opset"], &report["native_opset"]), (&13.into(), &17.into()));
    assert_eq!((&report["reference"], &report["holds"]), (&"torch".into(), &true.into()));
    let checks = report["checks"].as_array().unwrap();
    let engines: Vec<&str> = checks.iter().map(|c| c["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["onnxruntime", "openvino", "rten"]);
    assert!(checks.iter().all(|check| check["parity"]["holds"] == true), "{checks:#?}");
    // What was written is a model like any other.
    let shown = home.fine(&["profile", &file, "--runs", "11", "--warmup", "1", "--json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&shown.out).unwrap()["weights"], "real");
}

#[test]
fn weights_go_beside_the_file_and_nothing_is_replaced_unasked() {
    let home = Home::calibrated();
    let file = home.path("net.onnx").display().to_string();
    let arguments = ["export", "feed-forward-baseline", "-o", &file, "--external-data"];
    let told = home.fine(&arguments);
    assert!(told.out.contains("net.onnx.data") && told.out.contains("rten"), "{}", told.out);
    let size = |name: &str| std::fs::metadata(home.path(name)).unwrap().len();
    assert!(size("net.onnx") < 10_000 && size("net.onnx.data") > 9_000_000);
    home.refused(&arguments, 2, &["net.onnx", "exists", "--force"]);
    home.fine(&[&arguments[..], &["--force"]].concat());
    // Nothing that we did not write is replaced: neither a text, nor somebody's model, nor data that no export reads.
    std::fs::write(home.path("letter.onnx"), "dear reader").unwrap();
    std::fs::write(home.path("other.onnx.data"), "dear reader").unwrap();
    let [text, model] =
        ["letter.onnx", "other.onnx"].map(|name| home.path(name).display().to_string());
    let export = ["export", "feed-forward-baseline", "--external-data", "--force", "-o"];
    let letter = [&export[..], &[text.as_str()]].concat();
    home.refused(&letter, 2, &["is not replaced, even with `--force`", "not an ONNX file", "mv "]);
    let data = [&export[..], &[model.as_str()]].concat();
    home.refused(&data, 2, &["other.onnx.data` is not replaced", "of an existing export"]);
    for name in ["letter.onnx", "other.onnx.data"] {
        assert_eq!(std::fs::read_to_string(home.path(name)).unwrap(), "dear reader");
    }
    assert!(!home.path("other.onnx").exists());
    let old = home.path("old.onnx").display().to_string();
    let refused = ["export", "feed-forward-baseline", "-o", &old, "--opset", "11"];
    home.refused(&refused, 2, &["opset 13 to 23", "--opset 17"]);
    assert!(!home.path("old.onnx").exists());
    let refused = ["export", "feed-forward-baseline", "-o", &old, "--engines", "torch"];
    home.refused(&refused, 2, &["loads modules"]);
}
