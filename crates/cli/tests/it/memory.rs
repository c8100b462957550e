//! Where the memory of a model goes, as people ask for it.

use crate::bench::{Home, python, quick, two_blocks};
use serde_json::Value;

fn profile(home: &Home, model: &str, engine: &str, more: &[&str]) -> Value {
    let python = python();
    let asked = ["--engine", engine, "--python", &python, "--memory", "--json", "-"];
    let told = home.fine(&quick(model, &[&asked, more].concat()));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert!(run["memory_profile"].is_object(), "{engine}: {:#}", run["verdict"]);
    run["memory_profile"].clone()
}

fn number(reading: &Value) -> f64 {
    reading["value"].as_f64().unwrap_or_else(|| panic!("{reading:#}"))
}

/// The graph's word against the allocator's, within 5 %.
fn static_peak_holds(family: &str, shape: &[&str]) {
    let memory = profile(&Home::calibrated(), &two_blocks(family), "rten", shape);
    let (foretold, seen) =
        (number(&memory["static"]["pooled"]), number(&memory["allocator"]["peak"]));
    let share = foretold / seen;
    assert!((0.95..1.05).contains(&share), "{family} {shape:?}: {foretold} of {seen}");
    assert!(number(&memory["system"]["peak"]) > seen);
    assert_eq!(memory["leak"]["verdict"], "none", "{:#}", memory["leak"]);
}

#[test]
fn what_the_graph_foretells_of_bert_is_what_is_allocated() {
    static_peak_holds("bert", &["--batch-size", "1", "--sequence-length", "128"]);
}

#[test]
fn what_the_graph_foretells_of_gpt2_is_what_is_allocated() {
    static_peak_holds("gpt2", &["--batch-size", "1", "--sequence-length", "128"]);
}

#[test]
fn every_engine_tells_what_it_can_and_why_not_the_rest() {
    let home = Home::calibrated();
    for engine in ["rten", "onnxruntime", "openvino", "torch"] {
        let memory = profile(&home, "small-transformer", engine, &[]);
        assert!(number(&memory["static"]["in_place"]) > 0.0, "{engine}");
        assert!(number(&memory["system"]["peak"]) > 0.0, "{engine}");
        for part in ["base", "peak", "in_use", "reserved", "layers"] {
            let reading = &memory["allocator"][part];
            let told = !reading["value"].is_null() || reading["why"].is_string();
            assert!(told, "{engine} says nothing of `{part}`: {reading}");
        }
        if engine != "openvino" {
            assert!(number(&memory["per_sample"]) > 0.0, "{engine}");
        }
    }
}

#[test]
fn allocations_are_kept_with_the_run_and_given_back() {
    let home = Home::calibrated();
    profile(&home, "small-transformer", "rten", &[]);
    let told = home.fine(&["runs", "show", "latest", "--allocations"]);
    let mut lines = told.out.lines();
    assert_eq!(lines.next(), Some("time_ns,inference,block,bytes,layer,operator,thread"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 100, "{}", rows.len());
    assert!(rows.iter().any(|row| row[4].starts_with("layers.1.") && row[5].contains("MatMul")));
    let sum: i64 = rows.iter().map(|row| row[3].parse::<i64>().unwrap()).sum();
    assert!(sum.abs() < 100_000, "{sum} bytes stay behind");
    let shown = home.fine(&["runs", "show", "latest"]);
    assert!(shown.out.contains("one inference, "), "{}", shown.out);

    home.fine(&quick("small-transformer", &[]));
    let says = ["has no allocations", "--memory"];
    home.refused(&["runs", "show", "latest", "--allocations"], 2, &says);
}

#[test]
fn only_the_parts_asked_for_are_shown() {
    let home = Home::calibrated();
    let told = home.fine(&quick("small-transformer", &["--memory=snapshots"]));
    assert!(told.out.contains("\nlargest  "), "{}", told.out);
    assert!(!told.out.contains("at the peak  share"), "{}", told.out);
    home.refused(&quick("small-transformer", &["--memory=everything"]), 2, &["everything"]);
}
