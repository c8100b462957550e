//! When outputs are equal, when they differ, and when nobody can tell, on graphs made for the purpose.

use crate::bench::{Home, Told};
use graph::{DataType, Dim, GraphBuilder, Tensor};
use serde_json::Value;

const ROWS: [Dim; 2] = [Dim::Fixed(4), Dim::Fixed(8)];

/// Writes a graph that makes one output of an input of 4 × 8 numbers.
fn write(home: &Home, file: &str, build: impl FnOnce(&mut GraphBuilder, &str) -> String) {
    let mut builder = GraphBuilder::new("test");
    let x = builder.input("x", DataType::Float, &ROWS);
    let y = builder.scope("head", |builder| build(builder, &x));
    builder.output("y", &y, DataType::Float, &ROWS);
    builder.finish_model().write(home.path(file)).unwrap();
}

fn scalar(builder: &mut GraphBuilder, name: &str, value: f32) -> String {
    builder.initializer(Tensor::from_f32s(name, &[], &[value]))
}

/// Compares two files on the embedded engine, as briefly as can be.
fn compare(home: &Home, files: [&str; 2]) -> (Told, Value) {
    let rest = ["--engines", "rten", "--processes", "2", "--turns", "2", "--runs", "12"];
    let more = ["--warmup", "1", "--json", "report.json"];
    let told = home.run(&[&["compare"], &files[..], &rest, &more].concat());
    let report = std::fs::read_to_string(home.path("report.json")).unwrap_or_default();
    let report: Value = serde_json::from_str(&report)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", told.out, told.err));
    let schema = include_str!("../../../../docs/schema/modelmeter.comparison-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&report), "{report:#}");
    (told, report["parity"][0].clone())
}

#[test]
fn a_small_output_that_moves_by_a_quarter_is_refused() {
    let home = Home::calibrated();
    for (file, factor) in [("before.onnx", 0.002), ("after.onnx", 0.002_48)] {
        write(&home, file, |builder, x| {
            let factor = scalar(builder, "factor", factor);
            builder.node("Mul", &[x, &factor], &[])
        });
    }
    let (told, parity) = compare(&home, ["before.onnx", "after.onnx"]);
    assert_eq!(told.status, Some(1), "{}", told.out);
    assert_eq!(parity["verdict"], "different", "{parity:#}");
    assert_eq!(parity["first_difference"], "head");
    let output = &parity["outputs"][0];
    assert!(output["cosine"].as_f64().unwrap() > 0.999_99, "{output:#}");
    assert!((output["error"].as_f64().unwrap() - 0.24).abs() < 1e-3, "{output:#}");
    let [rounding, found] = ["rounding", "max_abs"].map(|key| output[key].as_f64().unwrap());
    assert!(rounding < found / 100.0, "{output:#}");
    assert!(told.out.contains("rounding explains"), "{}", told.out);
}

/// A sigmoid of numbers near this one, by the operator or by the hyperbolic tangent.
fn sigmoid(home: &Home, file: &str, middle: f32, by_tanh: bool) {
    write(home, file, |builder, x| {
        let middle = scalar(builder, "middle", middle);
        let x = builder.node("Add", &[x, &middle], &[]);
        if !by_tanh {
            return builder.node("Sigmoid", &[&x], &[]);
        }
        let [half, one] = [("half", 0.5), ("one", 1.0)].map(|(n, v)| scalar(builder, n, v));
        let x = builder.node("Mul", &[&x, &half], &[]);
        let x = builder.node("Tanh", &[&x], &[]);
        let x = builder.node("Add", &[&x, &one], &[]);
        builder.node("Mul", &[&x, &half], &[])
    });
}

#[test]
fn what_rounding_explains_is_equal_and_the_reader_is_told() {
    let home = Home::calibrated();
    sigmoid(&home, "plain.onnx", -17.0, false);
    sigmoid(&home, "by-tanh.onnx", -17.0, true);
    sigmoid(&home, "other.onnx", -9.0, true);
    for files in [["plain.onnx", "by-tanh.onnx"], ["by-tanh.onnx", "plain.onnx"]] {
        let (told, parity) = compare(&home, files);
        assert_eq!(told.status, Some(0), "{}", told.out);
        assert_eq!(parity["verdict"], "equal", "{parity:#}");
        let output = &parity["outputs"][0];
        let number = |key: &str| output[key].as_f64().unwrap();
        assert!(number("max_abs") > number("tolerance"), "{output:#}");
        assert!(number("max_abs") <= number("rounding"), "{output:#}");
        assert!(number("rounding") < 1e-5, "{output:#}");
        assert!(output["note"].as_str().unwrap().contains("rounding explains up to"), "{output:#}");
        assert!(told.out.contains("rounding explains"), "{}", told.out);
    }
    let (told, parity) = compare(&home, ["plain.onnx", "other.onnx"]);
    assert_eq!(told.status, Some(1), "{}", told.out);
    assert_eq!(parity["verdict"], "different", "{parity:#}");
}

#[test]
fn numbers_that_are_finite_nowhere_are_neither_equal_nor_different() {
    let home = Home::calibrated();
    for file in ["one.onnx", "two.onnx"] {
        write(&home, file, |builder, x| {
            let size = builder.node("Abs", &[x], &[]);
            let below = builder.node("Neg", &[&size], &[]);
            builder.node("Log", &[&below], &[])
        });
    }
    let (told, parity) = compare(&home, ["one.onnx", "two.onnx"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert_eq!(parity["verdict"], "cannot-tell", "{parity:#}");
    assert_eq!(parity["first_difference"], Value::Null);
    assert!(told.out.contains("no number is finite on either side"), "{}", told.out);
    assert!(told.out.contains(" ? "), "{}", told.out);
}

#[test]
fn random_operators_are_named_and_compared_in_distribution() {
    let home = Home::calibrated();
    for (file, middle) in [("one.onnx", 0.0), ("copy.onnx", 0.0), ("moved.onnx", 3.0)] {
        write(&home, file, |builder, x| {
            let mean = [("mean", middle.into())];
            let noise = builder.node("RandomNormalLike", &[x], &mean);
            builder.node("Add", &[x, &noise], &[])
        });
    }
    let (told, parity) = compare(&home, ["one.onnx", "copy.onnx"]);
    assert_eq!(told.status, Some(0), "{}", told.out);
    assert_eq!(parity["verdict"], "equal", "{parity:#}");
    let note = parity["outputs"][0]["note"].as_str().unwrap();
    for text in ["RandomNormalLike", "compared as distributions over 8 runs"] {
        assert!(note.contains(text), "{note}");
    }
    let (told, parity) = compare(&home, ["one.onnx", "moved.onnx"]);
    assert_eq!(told.status, Some(1), "{}", told.out);
    assert_eq!(parity["verdict"], "different", "{parity:#}");
    assert!(told.out.contains("different distributions"), "{}", told.out);
}
