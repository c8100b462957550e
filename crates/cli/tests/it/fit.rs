//! What fits under a limit, as people ask for it. How busy the machine is decides the verdict, so the exit code of a
//! search that found something is 0 or 4.

use crate::bench::{Home, Told, python, quick};
use serde_json::Value;
use std::fs;

fn document(told: &Told) -> Value {
    serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}\n{}", told.err))
}

fn list<'a>(document: &'a Value, key: &str) -> &'a Vec<Value> {
    document[key].as_array().unwrap()
}

fn keeps_the_schema(document: &Value) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schema = fs::read_to_string(folder.join("modelmeter.fit-1.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// A short search on the embedded engine.
fn search<'a>(model: &'a str, limit: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["fit", model, "--memory-constrained", limit, "--engines", "rten"];
    arguments.extend(["--runs", "11", "--warmup", "1"]);
    arguments.extend_from_slice(more);
    arguments
}

fn found(home: &Home, arguments: &[&str]) -> Told {
    let told = home.run(arguments);
    assert!(matches!(told.status, Some(0 | 4)), "{arguments:?}\n{}\n{}", told.out, told.err);
    told
}

#[test]
fn the_winner_is_confirmed_under_the_limit_and_stored() {
    let home = Home::calibrated();
    let told = found(&home, &search("small-transformer", "200", &["--max-batch", "4", "--json"]));
    let report = document(&told);
    keeps_the_schema(&report);
    assert_eq!(report["memory_limit"]["bytes"], 200 << 20);
    let best = &report["best"];
    assert!(best["memory"]["peak"].as_u64().unwrap() <= 200 << 20, "{best:#}");
    let valid = best["verdict"]["valid"].as_bool().unwrap();
    assert_eq!(told.status, Some(if valid { 0 } else { 4 }));
    let run = best["run"].as_str().unwrap();
    let run = document(&home.fine(&["runs", "show", run, "--json"]));
    assert_eq!(run["tags"], serde_json::json!(["fit"]));
    assert_eq!(run["precision"], best["precision"]);
    assert_eq!(run["batch_size"], best["batch_size"]);
    assert_eq!(run["environment"]["memory_limit"]["bytes"], 200 << 20);
    assert_eq!(home.stored(), list(&report, "confirmations").len(), "only whole runs are kept");
    let precisions: Vec<&str> =
        list(&report, "ways").iter().map(|way| way["precision"].as_str().unwrap()).collect();
    assert_eq!(precisions, ["fp32", "int8"]);
    let left_out: Vec<&str> =
        list(&report, "left_out").iter().map(|one| one["precision"].as_str().unwrap()).collect();
    assert_eq!(left_out, ["fp16", "bf16"]);
    for way in list(&report, "ways") {
        assert_eq!(way["largest_batch"], 4, "{way:#}");
        let cells = list(way, "cells");
        assert!(cells.iter().all(|cell| cell["memory"]["estimate"].is_u64()), "{way:#}");
        assert_eq!(cells[0]["batch_size"], 1);
        assert_eq!(cells[0]["outcome"], "fits");
    }
    let command: Vec<&str> = best["command"].as_str().unwrap().split(' ').skip(1).collect();
    home.fine(&[&command[..], &["--runs", "11", "--warmup", "1"]].concat());
}

#[test]
fn a_batch_over_the_limit_is_refused_and_a_smaller_one_wins() {
    let home = Home::calibrated();
    let more = ["--precision", "fp32", "--max-batch", "65536", "--limit-by", "rlimit", "--json"];
    let report = document(&found(&home, &search("feed-forward-baseline", "128", &more)));
    keeps_the_schema(&report);
    assert_eq!(report["memory_limit"]["by"], "rlimit");
    let way = &list(&report, "ways")[0];
    let (largest, refused) = (&way["largest_batch"], &way["refused_batch"]);
    assert!(largest.as_u64().unwrap() < refused.as_u64().unwrap(), "{way:#}");
    assert!(refused.as_u64().unwrap() <= 65536, "{way:#}");
    let last = list(way, "cells").last().unwrap();
    assert_eq!(last["outcome"], "refused");
    let why = last["refused"]["why"].as_str().unwrap();
    assert!(why.contains("128 MiB"), "{why}");
    for one in list(&report, "confirmations").iter().filter(|one| one["refused"].is_null()) {
        assert!(one["memory"]["peak"].as_u64().unwrap() <= 128 << 20, "{one:#}");
    }
}

#[test]
fn where_nothing_fits_what_is_enough_is_told_and_is_enough() {
    let home = Home::calibrated();
    let arguments = search("feed-forward-baseline", "8", &["--max-batch", "2"]);
    let told = home.refused(&arguments, 3, &["nothing fits under 8 MiB", "is enough for"]);
    assert!(told.out.contains("nothing fits under 8 MiB"), "{}", told.out);
    assert_eq!(home.stored(), 0);
    let hint = told.err.lines().find(|line| line.starts_with("hint:")).unwrap();
    let enough = hint.split(' ').find_map(|word| word.trim_matches('`').parse::<u64>().ok());
    let enough = enough.unwrap().to_string();
    found(&home, &search("feed-forward-baseline", &enough, &["--max-batch", "1"]));
}

#[test]
fn every_form_is_written() {
    let home = Home::calibrated();
    let once = ["--max-batch", "1", "--precision", "fp32", "--no-store"];
    for (file, begins) in [
        ("fit.csv", "model,"),
        ("fit.json", "{\n  \"schema\": \"modelmeter.fit/1\""),
        ("fit.md", "# feed-forward-baseline"),
    ] {
        let more = [&once[..], &["--output", file]].concat();
        let told = found(&home, &search("feed-forward-baseline", "256", &more));
        // A file beside it does not keep the result from the terminal.
        assert!(told.out.contains("under 256 MiB"), "{}", told.out);
        let text = fs::read_to_string(home.path(file)).unwrap();
        assert!(text.starts_with(begins), "{text}");
    }
    let page = found(&home, &search("feed-forward-baseline", "256", &once)).out;
    assert!(page.contains("under 256 MiB") && page.contains("run it"), "{page}");
    assert_eq!(home.stored(), 0);
}

#[test]
fn what_is_asked_wrongly_is_told_before_anything_runs() {
    let home = Home::calibrated();
    for (limit, says) in
        [("0", "more than 0 MiB"), ("lots", "2048"), ("2GB", "2GiB"), ("1.5", "2048")]
    {
        home.refused(&["fit", "gpt2", "--memory-constrained", limit], 2, &[says]);
    }
    home.refused(&["fit", "gpt2", "--memory-constrained=-5"], 2, &["2048"]);
    home.refused(&["fit", "gpt2"], 2, &["--memory-constrained"]);
    home.refused(&search("gtp2", "512", &[]), 2, &["gtp2", "gpt2"]);
    home.refused(&search("gpt2", "512", &["--precision", "fp7"]), 2, &["fp7", "int8"]);
    home.refused(&search("gpt2", "512", &["--max-batch", "0"]), 2, &["at least 1"]);
    home.refused(
        &["fit", "gpt2", "--memory-constrained", "9", "--engines", "abacus"],
        2,
        &["abacus"],
    );
    home.refused(&search("small-transformer", "512", &["--precision", "bf16"]), 3, &["bf16"]);
    home.refused(&search("gpt2", "512", &["--output", "no/such/fit.md"]), 2, &["no/such"]);
    home.refused(&search("gpt2", "512", &["--device", "cuda"]), 3, &["cuda"]);
    assert_eq!(home.stored(), 0);
}

#[test]
fn a_limit_above_the_machine_is_the_machines_and_says_so() {
    let home = Home::calibrated();
    let more = ["--max-batch", "1", "--precision", "fp32"];
    let page = found(&home, &search("feed-forward-baseline", "900000000", &more)).out;
    let words: String = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("this machine has only") && words.contains("used as the limit"),
        "{page}"
    );
}

#[test]
fn a_limit_too_small_for_threads_is_a_limit_too_small() {
    let home = Home::calibrated();
    let more = ["--limit-by", "rlimit", "--precision", "fp32", "--max-batch", "1", "--json"];
    let told = home.run(&search("feed-forward-baseline", "6", &more));
    assert_eq!(told.status, Some(3), "{}", told.err);
    let report = document(&told);
    let refused = &list(&list(&report, "ways")[0], "cells")[0]["refused"];
    assert_eq!(refused["kind"], "out-of-memory", "{refused:#}");
}

#[test]
fn every_engine_is_stopped_by_its_limit() {
    let home = Home::calibrated();
    let python = python();
    for engine in ["onnxruntime", "openvino", "rten", "torch"] {
        let more = ["--engine", engine, "--python", &python, "--batch-size", "2048"];
        let limit = ["--memory-limit", "768", "--limit-by", "rlimit"];
        let arguments = quick("small-transformer", &[&more[..], &limit[..]].concat());
        home.refused(&arguments, 3, &["limited to 768 MiB by RLIMIT_DATA", "--batch-size"]);
    }
    assert_eq!(home.stored(), 0);
}
