//! The inside of a model as people ask for it.

use crate::bench::{Home, python, quick, two_blocks};
use serde_json::Value;
use std::{fs, path::Path};

const ENGINES: [&str; 4] = ["rten", "onnxruntime", "openvino", "torch"];

/// What a run says of its layers.
fn layers(home: &Home, model: &str, engine: &str, more: &[&str]) -> Value {
    let python = python();
    let asked = ["--engine", engine, "--python", &python, "--layers", "--json", "-"];
    let told = home.fine(&quick(model, &[&asked, more].concat()));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert!(run["layers"].is_object(), "{engine}: {:#}", run["verdict"]);
    run["layers"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// The parts of inferences with instruments against the same inferences from outside: no other work on the machine
/// can disturb that, as it would a comparison with inferences at another time.
fn covered(layers: &Value) -> f64 {
    number(&layers["sum"]) / number(&layers["instrumented"])
}

fn layers_add_up(family: &str, shape: &[&str]) {
    let home = Home::calibrated();
    let model = two_blocks(family);
    for engine in ENGINES {
        // A thread that waits for a processor between two nodes belongs to neither, which can only lower the sum. One thread
        // waits for no other, and of five looks one must find the time, beside other programs too.
        let alone = [shape, &["--threads", "1"]].concat();
        let mut layers = layers(&home, &model, engine, &alone);
        for _ in 0..4 {
            if covered(&layers) < 0.95 {
                layers = self::layers(&home, &model, engine, &alone);
            }
        }
        let covered = covered(&layers);
        assert!((0.95..1.02).contains(&covered), "{engine} finds {covered} of its time");
        let own: f64 =
            layers["layers"].as_array().unwrap().iter().map(|layer| number(&layer["own"])).sum();
        let sum = number(&layers["sum"]);
        assert!((own - sum).abs() < 0.001 * sum, "{engine}: {own} of {sum}");
        let kinds: f64 =
            layers["kinds"].as_array().unwrap().iter().map(|kind| number(&kind["total"])).sum();
        assert!((kinds - sum).abs() < 0.001 * sum, "{engine}: {kinds} of {sum}");
    }
}

#[test]
fn the_layers_of_bert_add_up_on_every_engine() {
    layers_add_up("bert", &["--batch-size", "4", "--sequence-length", "128"]);
}

#[test]
fn the_layers_of_gpt2_add_up_on_every_engine() {
    layers_add_up("gpt2", &["--batch-size", "4", "--sequence-length", "128"]);
}

#[test]
fn the_layers_of_a_vision_transformer_add_up_on_every_engine() {
    layers_add_up("vit", &["--batch-size", "1"]);
}

#[test]
fn every_engine_finds_the_same_modules_and_their_work() {
    let home = Home::calibrated();
    for engine in ENGINES {
        let found = layers(&home, "small-transformer", engine, &[]);
        let all = found["layers"].as_array().unwrap();
        let layer = |path: &str| {
            all.iter()
                .find(|layer| layer["path"] == path)
                .unwrap_or_else(|| panic!("`{path}` is not among the layers of {engine}: {all:#?}"))
        };
        for path in ["embedding", "layers.0", "layers.1"] {
            assert!(number(&layer(path)["total"]) > 0.0, "{engine}: {path}");
        }
        // Two layers of the same shape do the same work, and the machine's ceilings place it.
        assert_eq!(layer("layers.0")["flops"], layer("layers.1")["flops"], "{engine}");
        assert!(layer("layers.0")["flops"].as_u64().unwrap() > 1_000_000, "{engine}");
        assert!(number(&layer("layers.0")["attained"]) > 0.0, "{engine}");
    }
}

#[test]
fn a_layer_that_matches_nothing_is_answered_with_near_names() {
    let home = Home::calibrated();
    let asked = quick("small-transformer", &["--layers=self_atn"]);
    home.refused(&asked, 2, &["`self_atn`", "`self_attn`"]);
    home.refused(&quick("small-transformer", &["--layers=zzzz"]), 2, &["`attention`", "`mlp`"]);
    assert_eq!(home.stored(), 0, "nothing was measured");
}

#[test]
fn only_the_layers_asked_for_are_shown_and_all_are_stored() {
    let home = Home::calibrated();
    let told = home.fine(&quick("small-transformer", &["--engine", "rten", "--layers=mlp"]));
    assert!(told.out.contains("linear1"), "{}", told.out);
    assert!(!told.out.contains("self_attn"), "{}", told.out);
    let shown = home.fine(&["runs", "show", "latest"]);
    assert!(shown.out.contains("self_attn"), "{}", shown.out);
}

#[test]
fn traces_and_pictures_are_written_and_nothing_half() {
    let home = Home::calibrated();
    let file = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let (trace, torch) = (file("t.json"), file("t.pt.trace.json"));
    let (flame, scope) = (file("f.svg"), file("s.json"));
    let told = home.fine(&quick(
        "small-transformer",
        &[
            "--engine",
            "rten",
            "--trace",
            &trace,
            "--trace",
            &torch,
            "--flamegraph",
            &flame,
            "--speedscope",
            &scope,
        ],
    ));
    for path in [&trace, &torch, &flame, &scope] {
        assert!(told.err.contains(&format!("wrote {path}\n")), "{}", told.err);
    }
    let read =
        |path: &str| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let events = |trace: &Value| trace["traceEvents"].as_array().unwrap().clone();
    let written = events(&read(&trace));
    let has = |phase: &str| written.iter().any(|event| event["ph"] == phase);
    assert!(has("X") && has("C") && has("M"), "spans, counters and names");
    let memory = written.iter().find(|event| event["ph"] == "C").unwrap();
    assert!(memory["name"].as_str().unwrap().contains("memory"), "{memory}");
    let steps = events(&read(&torch));
    assert!(steps.iter().any(|event| event["name"] == "ProfilerStep#0"), "TensorBoard wants steps");
    assert!(fs::read_to_string(&flame).unwrap().contains("small-transformer"));
    assert!(!read(&scope)["profiles"].as_array().unwrap().is_empty());
}

#[test]
fn a_trace_on_a_full_disk_is_an_error_and_the_run_is_kept() {
    let home = Home::calibrated();
    if !Path::new("/dev/full").exists() {
        panic!("this system has no /dev/full to be full");
    }
    let asked = quick("small-transformer", &["--engine", "rten", "--trace", "/dev/full"]);
    let told = home.run(&asked);
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("error: could not write `/dev/full`"), "{}", told.err);
    assert!(told.err.contains("free some space"), "{}", told.err);
    assert!(told.out.contains("inference"), "what was measured is shown: {}", told.out);
    assert_eq!(home.stored(), 1, "what was measured is not lost");
}

#[test]
fn an_engine_that_cannot_look_inside_says_so_and_the_run_stands() {
    let home = Home::calibrated();
    let python = python();
    // One product is compiled without a C++ compiler, which would take half a minute.
    let model = home.path("linear.toml");
    fs::write(&model, "input_size = 8\nhidden_layers = []\noutput_size = 8\n").unwrap();
    let asked = ["--engine", "torch", "--python", &python, "--compile", "--layers"];
    let told = home.fine(&quick(model.to_str().unwrap(), &asked));
    assert!(told.out.contains("cannot measure the layers"), "{}", told.out);
}
