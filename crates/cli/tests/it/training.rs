//! Training as people ask for it, on every engine that can.

use crate::bench::{Home, python, quick};
use serde_json::Value;
use std::sync::OnceLock;

const ENGINES: [&str; 3] = ["rten", "onnxruntime", "torch"];

fn train(home: &Home, model: &str, engine: &str, more: &[&str]) -> Value {
    let python = python();
    let begin = ["profile", model, "--train", "--runs", "20", "--warmup", "1"];
    let asked = ["--engine", engine, "--python", &python, "--json", "-"];
    let told = home.fine(&[&begin[..], &asked, more].concat());
    serde_json::from_str(&told.out).unwrap()
}

fn losses(run: &Value) -> Vec<f64> {
    let losses = run["training"]["losses"].as_array().unwrap();
    losses.iter().map(|loss| loss.as_f64().unwrap()).collect()
}

/// What every engine says of twenty steps and more with AdamW; measured once for all tests.
fn with_adamw() -> &'static [Value] {
    static RUNS: OnceLock<Vec<Value>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let home = Home::calibrated();
        let more = ["--batch-size", "2", "--sequence-length", "16", "--learning-rate", "0.001"];
        ENGINES.iter().map(|engine| train(&home, "small-transformer", engine, &more)).collect()
    })
}

/// From the same weights on the same batch every engine sees the same losses.
fn learn_alike(runs: &[Value]) {
    let curves: Vec<Vec<f64>> = runs.iter().map(losses).collect();
    for (engine, curve) in ENGINES.iter().zip(&curves) {
        assert!(curve.len() >= 20, "{engine}: {}", curve.len());
        assert!(curve[19] < 0.9 * curve[0], "{engine} learns nothing: {curve:?}");
        for (step, (own, torch)) in curve.iter().zip(&curves[2]).enumerate() {
            let apart = (own - torch).abs() / torch.abs();
            assert!(apart < 1e-3, "{engine} in step {step}: {own}, torch {torch}");
        }
    }
}

#[test]
fn every_engine_learns_the_same_curve_with_adamw() {
    learn_alike(with_adamw());
}

#[test]
fn every_engine_learns_the_same_curve_with_sgd() {
    let home = Home::calibrated();
    let more = ["--optimizer", "sgd", "--learning-rate", "0.5"];
    let runs = ENGINES.map(|engine| train(&home, "feed-forward-baseline", engine, &more));
    learn_alike(&runs);
}

#[test]
fn phases_are_timed_apart_and_add_up() {
    for (engine, run) in ENGINES.iter().zip(with_adamw()) {
        let mean = |phase: &str| run["phases"][phase]["mean"].as_f64().unwrap();
        let parts: f64 = ["forward", "loss", "backward", "optimizer"].into_iter().map(mean).sum();
        assert!(parts <= mean("total"), "{engine}: {parts} of {}", mean("total"));
        assert_eq!(run["mode"], "training");
        assert_eq!(run["latency_phase"], "total");
        let memory = &run["training"]["memory_bytes"];
        let of = |part: &str| memory[part].as_u64().unwrap();
        assert!(of("weights") > 0 && of("activations") > 0, "{engine}: {memory}");
        // PyTorch also counts its steps.
        let states = of("optimizer").abs_diff(2 * of("weights"));
        assert!(states < 10_000, "{engine}: {memory}");
        let flops = &run["training"]["flops"];
        let (forward, backward) = (&flops["forward"], &flops["backward"]);
        assert!(backward.as_u64().unwrap() > forward.as_u64().unwrap(), "{engine}: {flops}");
    }
}

#[test]
fn throughput_counts_every_batch_of_a_step_once() {
    let home = Home::calibrated();
    let run = train(&home, "feed-forward-baseline", "rten", &["--gradient-accumulation", "3"]);
    let rate = run["throughput"]["samples_per_second"].as_f64().unwrap();
    let batch = run["batch_size"].as_f64().unwrap();
    let expected = 3.0 * batch / (run["phases"]["total"]["mean"].as_f64().unwrap() / 1e3);
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} {expected}");
}

#[test]
fn a_loss_that_is_no_number_is_invalid_and_says_where() {
    let home = Home::calibrated();
    let wild = ["--optimizer", "sgd", "--learning-rate", "1e30"];
    let run = train(&home, "feed-forward-baseline", "rten", &wild);
    assert_eq!(run["verdict"]["valid"], false);
    let reasons = run["verdict"]["reasons"].to_string();
    assert!(reasons.contains("the loss is NaN from step"), "{reasons}");
}

#[test]
fn what_cannot_be_trained_is_said_before_anything_runs() {
    let home = Home::calibrated();
    let python = python();
    let infers = ["--train", "--engine", "openvino", "--python", &python];
    home.refused(&quick("small-transformer", &infers), 2, &["cannot train", "rten"]);
    home.refused(&quick("small-transformer", &["--optimizer", "sgd"]), 2, &["--train"]);
    home.refused(
        &quick("small-transformer", &["--train", "--learning-rate", "0"]),
        2,
        &["above 0"],
    );
}

#[test]
fn training_is_held_against_inference_with_an_interval() {
    let home = Home::calibrated();
    let python = python();
    let begin = ["compare", "feed-forward-baseline", "--modes", "inference,training"];
    let sides = ["--engines", "rten,torch", "--batch-sizes", "1,4", "--python", &python];
    let short = ["--processes", "2", "--turns", "2", "--runs", "12", "--warmup", "1"];
    let told = home.fine(&[&begin[..], &sides, &short, &["--json", "-"]].concat());
    let all: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(all["schema"], "modelmeter.comparisons/1");
    let pairs = all["comparisons"].as_array().unwrap();
    assert_eq!(pairs.len(), 4);
    for pair in pairs {
        let labels: Vec<&str> = pair["sides"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["label"].as_str().unwrap())
            .collect();
        assert_eq!(labels, ["inference", "training"]);
        assert_eq!(pair["sides"][1]["mode"], "training");
        assert_eq!(pair["sides"][1]["phases"].as_array().unwrap().len(), 4);
        // Before its first step a training computes what an inference does.
        assert_eq!(pair["parity"][0]["holds"], true, "{pair}");
        assert!(pair["comparisons"][0]["speed_up"]["ratio"].as_f64().unwrap() > 0.0, "{pair}");
    }
    let alone = ["--engines", "rten", "--batch-size", "1"];
    let page = home.fine(&[&begin[..], &alone, &short].concat());
    for word in ["inference", "a step", "costs", "backward", "trained/s", "in training"] {
        assert!(page.out.contains(word), "`{word}` is not in\n{}", page.out);
    }
}

#[test]
fn engines_train_side_by_side_once_their_gradients_agree() {
    let home = Home::calibrated();
    let python = python();
    let begin = ["compare", "small-transformer", "--modes", "training", "--engines"];
    let sides = ["rten,onnxruntime,torch", "--python", &python, "--batch-size", "2"];
    let short = ["--sequence-length", "16", "--processes", "1", "--turns", "1", "--runs", "3"];
    let told = home.fine(&[&begin[..], &sides, &short, &["--json", "-"]].concat());
    let report: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(report["mode"], "training");
    for entry in report["parity"].as_array().unwrap() {
        assert_eq!(entry["holds"], true, "{entry}");
        let names: Vec<&str> = entry["outputs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|output| output["output"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["loss", "gradients"]);
    }
}

#[test]
fn what_does_not_go_with_training_is_refused() {
    let home = Home::calibrated();
    let compare = |more: &[&str]| -> Vec<String> {
        let begin = ["compare", "feed-forward-baseline", "--engines", "rten"];
        begin.iter().chain(more).map(|word| (*word).to_owned()).collect()
    };
    for (more, said) in [
        (&["--modes", "training,inference", "--by", "layer"][..], "--by layer"),
        (&["--modes", "training,inference", "--text", "a"], "no labels"),
        (&["--modes", "training,inference", "--baseline", "rten"], "--baseline"),
        (&["--optimizer", "sgd"], "--modes training"),
    ] {
        let arguments = compare(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        home.refused(&arguments, 2, &[said]);
    }
    let text = ["--train", "--text", "a"];
    home.refused(&quick("feed-forward-baseline", &text), 2, &["--text"]);
}

/// The inside of a step of a small transformer, and its trace.
fn look_inside(home: &Home, engine: &str, more: &[&str]) -> (Value, Value) {
    let trace = home.path(&format!("{engine}.json"));
    let trace = trace.to_str().unwrap();
    let shape = ["--batch-size", "2", "--sequence-length", "8"];
    let asked = ["--layers", "--memory", "--trace", trace];
    let run = train(home, "small-transformer", engine, &[&shape[..], &asked, more].concat());
    let text = std::fs::read_to_string(trace).unwrap();
    (run, serde_json::from_str(&text).unwrap())
}

fn layers_below<'a>(run: &'a Value, part: &str) -> Vec<&'a Value> {
    let is_below = |layer: &&Value| layer["path"].as_str().unwrap().starts_with(part);
    run["layers"]["layers"].as_array().unwrap().iter().filter(is_below).collect()
}

#[test]
fn a_step_shows_its_layers_its_trace_and_its_memory_on_every_engine() {
    let home = Home::calibrated();
    for engine in ENGINES {
        let (run, trace) = look_inside(&home, engine, &[]);
        let find = |path: &str| {
            let layers = run["layers"]["layers"].as_array().unwrap();
            layers.iter().find(|layer| layer["path"] == path).cloned()
        };
        // Every FLOP of the graphs stands in the rows of its part.
        for part in ["forward", "loss", "backward", "optimizer"] {
            let row = find(part).unwrap_or_else(|| panic!("{engine} has no {part}"));
            assert_eq!(row["flops"], run["training"]["flops"][part], "{engine} {part}");
            assert!(row["total"].as_f64().unwrap() > 0.0, "{engine} {part}: {row}");
        }
        let share: f64 = ["forward", "loss", "backward", "optimizer"]
            .into_iter()
            .map(|part| find(part).unwrap()["share"].as_f64().unwrap())
            .sum();
        assert!((share - 1.0).abs() < 1e-6, "{engine}: {share}");
        // A module that has weights and time in the forward pass has time in the backward pass.
        let held = run["memory_profile"]["step"]["modules"].as_array().unwrap();
        let mut compared = 0;
        for layer in layers_below(&run, "forward.") {
            let path = layer["path"].as_str().unwrap().strip_prefix("forward.").unwrap();
            let has_weights = held
                .iter()
                .any(|module| module["path"] == path && module["gradients"].as_u64() > Some(0));
            if has_weights && layer["own"].as_f64().unwrap() > 0.0 {
                let behind = find(&format!("backward.{path}"));
                let own = behind.map_or(0.0, |layer| layer["total"].as_f64().unwrap());
                assert!(own > 0.0, "{engine}: `{path}` has no backward time");
                compared += 1;
            }
        }
        assert!(compared >= 6, "{engine}: {compared}");
        // What is held by module adds up to what the training says of itself.
        for kind in ["weights", "gradients", "optimizer", "activations"] {
            let sum: u64 = held.iter().map(|module| module[kind].as_u64().unwrap()).sum();
            assert_eq!(
                sum,
                run["training"]["memory_bytes"][kind].as_u64().unwrap(),
                "{engine} {kind}"
            );
        }
        let peak = run["memory_profile"]["allocator"]["peak"]["value"].as_u64().unwrap();
        assert!(peak > 0, "{engine}");
        let node = run["memory_profile"]["allocator"]["node"].as_str().unwrap();
        assert!(node.starts_with("backward"), "{engine}: the peak is in `{node}`");
        let names = trace.to_string();
        for part in ["forward", "loss", "backward", "optimizer", "step"] {
            assert!(
                names.contains(&format!("\"name\":\"{part}\"")),
                "{engine}: no {part} in the trace"
            );
        }
    }
}

#[test]
fn what_cannot_be_shown_of_a_step_is_refused_before_anything_runs() {
    let home = Home::calibrated();
    let python = python();
    let torch = ["--train", "--engine", "torch", "--python", &python];
    let several = [&torch[..], &["--layers", "--world-size", "2"]].concat();
    let says = ["cannot show layers of a training step", "omit `--world-size`"];
    home.refused(&quick("small-transformer", &several), 2, &says);
    let compiled = [&torch[..], &["--memory", "--compile"]].concat();
    let says = ["cannot show the memory of a training step", "omit `--compile`"];
    home.refused(&quick("small-transformer", &compiled), 2, &says);
}

#[test]
fn steps_of_two_engines_are_joined_on_their_modules() {
    let home = Home::calibrated();
    let begin = ["compare", "small-transformer", "--modes", "training", "--by", "layer"];
    let sides = ["--engines", "rten,onnxruntime", "--python", &python()];
    let shape = ["--batch-size", "2", "--sequence-length", "8"];
    let short = ["--processes", "2", "--turns", "2", "--runs", "6", "--warmup", "1"];
    let told = home.fine(&[&begin[..], &sides, &shape, &short, &["--json", "-"]].concat());
    for path in ["forward.layers.0.linear1", "backward.layers.0.linear1", "loss", "optimizer"] {
        assert!(told.out.contains(&format!("\"{path}\"")), "no `{path}` in\n{}", told.out);
    }
}
