//! The duel as people run it.

use crate::{
    bench::{Home, Told, python, quick, shared_cache},
    schema::keeps_the_schema,
};
use serde_json::Value;
use std::fs;

/// A short duel: two processes per side, two turns of three runs.
fn short<'a>(subjects: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let rest = ["--processes", "2", "--turns", "2", "--runs", "12", "--warmup", "2"];
    [&["compare"], subjects, &rest, more].concat()
}

fn document(told: &Told) -> Value {
    serde_json::from_str(&told.out).unwrap()
}

#[test]
fn engines_agree_take_turns_and_are_stored() {
    let home = Home::calibrated();
    let python = python();
    let arguments = short(&["small-transformer"], &["--python", &python, "--json", "-"]);
    let report = document(&home.fine(&arguments));
    assert_eq!(report["schema"], "modelmeter.comparison/1");
    assert_eq!(report["baseline"], "torch");
    assert_eq!(report["sides"].as_array().unwrap().len(), 4, "every engine takes part");
    for parity in report["parity"].as_array().unwrap() {
        assert_eq!(parity["holds"], true, "{parity:#}");
    }
    for comparison in report["comparisons"].as_array().unwrap() {
        assert_ne!(comparison["verdict"], "refused", "{comparison:#}");
    }
    assert_eq!(home.stored(), 8, "one run a process");
}

#[test]
fn something_against_itself_is_a_fair_question() {
    let home = Home::calibrated();
    let told = home.fine(&short(&["feed-forward-baseline"], &["--engines", "rten,rten"]));
    assert!(told.out.contains("rten #2"), "{}", told.out);
    assert!(told.out.contains("2 processes per side"), "{}", told.out);
    // Where nothing can be drawn, a line for each side after each process; nothing where quiet was asked for.
    for text in ["1 of at most 2 processes per side, about", "  rten #2, "] {
        assert!(told.err.contains(text), "{}", told.err);
    }
    let quiet = home.fine(&short(&["feed-forward-baseline"], &["--engines", "rten,rten", "-q"]));
    assert_eq!(quiet.err, "");
}

/// Two copies of a prepared model, one with half a weight gone.
fn good_and_tampered(home: &Home) -> [String; 2] {
    home.fine(&quick("small-transformer", &[]));
    let models = shared_cache().join("models");
    let is_it = |folder: &std::path::Path| {
        let graph = fs::read(folder.join("model.onnx")).unwrap_or_default();
        let has = |text: &[u8]| graph.windows(text.len()).any(|window| window == text);
        has(b"layers.1.self_attn") && !has(b"layers.2.self_attn")
    };
    let mut folders = fs::read_dir(models).unwrap().map(|entry| entry.unwrap().path());
    let source = folders.find(|folder| is_it(folder)).expect("the prepared small transformer");
    ["good", "tampered"].map(|name| {
        let folder = home.path(name);
        fs::create_dir(&folder).unwrap();
        for file in ["model.onnx", "model.safetensors.data"] {
            fs::copy(source.join(file), folder.join(file)).unwrap();
        }
        if name == "tampered" {
            tamper(&folder.join("model.safetensors.data"));
        }
        folder.join("model.onnx").to_str().unwrap().to_owned()
    })
}

/// Zeroes half of the second layer's first feed-forward weight.
fn tamper(path: &std::path::Path) {
    let mut bytes = fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let place = &header["layers.1.linear1.weight"]["data_offsets"];
    let [begin, end] = [0, 1].map(|i| 8 + length + place[i].as_u64().unwrap() as usize);
    bytes[begin..begin + (end - begin) / 2].fill(0);
    fs::write(path, bytes).unwrap();
}

#[test]
fn tampered_weights_are_refused_and_the_layer_is_named() {
    let home = Home::calibrated();
    let [good, tampered] = good_and_tampered(&home);
    let stored = home.stored();
    let told = home.run(&short(&[&good, &tampered], &["--engines", "rten"]));
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    for text in ["no speed-up is claimed", "last_hidden_state", "layers.1.linear1"] {
        assert!(told.out.contains(text), "`{text}` is not in\n{}", told.out);
    }
    assert_eq!(home.stored(), stored, "what was refused was not timed");
    let left: Vec<_> = fs::read_dir(home.path("good")).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing is left beside the user's model");
    let twin = home.path("twin");
    fs::create_dir(&twin).unwrap();
    for file in ["model.onnx", "model.safetensors.data"] {
        fs::copy(home.path("good").join(file), twin.join(file)).unwrap();
    }
    let twin = twin.join("model.onnx").to_str().unwrap().to_owned();
    home.fine(&short(&[&good, &twin], &["--engines", "rten"]));
}

#[test]
fn different_models_are_timed_without_a_speed_up() {
    let home = Home::calibrated();
    let models = ["feed-forward-baseline", "small-transformer", "encoder-small"];
    let told = home.run(&short(&models, &["--engines", "rten", "--json", "-"]));
    assert_eq!(told.status, Some(1), "no speed-up could be claimed\n{}\n{}", told.out, told.err);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    let sides = found["sides"].as_array().unwrap();
    assert_eq!(sides.len(), 3, "{found:#}");
    for side in sides {
        assert!(side["latency"]["median"].as_f64().unwrap() > 0.0, "{side:#}");
    }
    for one in found["comparisons"].as_array().unwrap() {
        assert_eq!(one["verdict"], "refused", "{one:#}");
        assert!(one["speed_up"].is_null(), "{one:#}");
    }
}

#[test]
fn stored_runs_are_compared_and_unlike_ones_refused() {
    let home = Home::calibrated();
    for _ in 0..2 {
        home.fine(&quick("feed-forward-baseline", &[]));
    }
    home.fine(&quick("feed-forward-baseline", &["--batch-size", "16"]));
    let list = document(&home.fine(&["runs", "list", "--json"]));
    let id = |place: usize| list["runs"][place]["id"].as_str().unwrap().to_owned();
    let told = home.fine(&["compare", &id(1), &id(2)]);
    assert!(told.out.contains("against"), "{}", told.out);
    let told = home.run(&["compare", &id(0), &id(1)]);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("batch"), "{}", told.out);
    home.refused(&["compare", &id(0), "ffffffffffff"], 2, &["ffffffffffff"]);
}

#[test]
fn layers_of_two_engines_join() {
    let home = Home::calibrated();
    let python = python();
    // A second process of each would have the same layers.
    let begin =
        ["compare", "small-transformer", "--processes", "1", "--turns", "2", "--runs", "12"];
    let sides = ["--engines", "onnxruntime,torch", "--python", &python, "--by", "layer"];
    let report = document(&home.fine(&[&begin[..], &sides, &["--json", "-"]].concat()));
    let layers = &report["layers"];
    let rows = layers["rows"].as_array().unwrap();
    let paths: Vec<&str> = rows.iter().map(|row| row["path"].as_str().unwrap()).collect();
    // PyTorch fuses its own encoder layers, so they are what both sides know.
    for module in ["embedding", "layers.0", "layers.1"] {
        assert!(paths.contains(&module), "`{module}` is not in {paths:?}");
    }
    for side in layers["sides"].as_array().unwrap() {
        // How much joins is a matter of time, and a busy machine has its own; that most does is not.
        assert!(side["joined_share"].as_f64().unwrap() > 0.5, "{side:#}");
    }
}

#[test]
fn too_few_sides_and_wrong_numbers_are_refused() {
    let home = Home::calibrated();
    home.refused(&["compare", "small-transformer", "--engines", "rten"], 2, &["two sides"]);
    let both = ["--engines", "rten,rten"];
    home.refused(
        &[&["compare", "small-transformer", "--processes", "0"], &both[..]].concat(),
        2,
        &["at least 1"],
    );
    home.refused(
        &[&["compare", "small-transformer", "--baseline", "abacus"], &both[..]].concat(),
        2,
        &["abacus"],
    );
    home.refused(&[&["compare", "no-such-model"], &both[..]].concat(), 2, &["no-such-model"]);
    assert_eq!(home.stored(), 0);
}

#[test]
fn a_comparison_is_written_where_it_is_wanted() {
    let home = Home::calibrated();
    let sides = ["--engines", "rten,rten"];
    let auto = [&sides[..], &["-o", "auto"]].concat();
    let told = home.fine(&short(&["feed-forward-baseline"], &auto));
    let name = told.err.lines().find_map(|line| line.strip_prefix("wrote ")).unwrap();
    assert!(name.starts_with("comparison_feed-forward-baseline_"), "{name}");
    let text = fs::read_to_string(home.path(name)).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "modelmeter.comparison/1");
    keeps_the_schema(&text);
    let wrong = [&sides[..], &["-o", "table.xlsx"]].concat();
    home.refused(&short(&["feed-forward-baseline"], &wrong), 2, &["table.xlsx", ".json, .csv"]);
}
