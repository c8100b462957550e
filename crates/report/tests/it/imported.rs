//! Runs of other tools: labelled, with what they state, and nothing where they say nothing.

use crate::sample::bare_run;
use crate::shown::summary;
use modelmeter_report::{Footer, JsonOptions, RunLine, Style, run_json, runs_csv, runs_document};
use std::collections::BTreeMap;
use types::{Direction, Import, Metric, Phase, Run, Stated, Unit};

/// Everything of a run that a file of another tool may leave out.
const UNTOLD: [&str; 18] = [
    "started_at",
    "elapsed",
    "cell.device",
    "cell.precision",
    "cell.batch_size",
    "cell.threads",
    "cell.seed",
    "model.category",
    "model.weights",
    "model.parameters",
    "model.size",
    "engine.version",
    "environment.machine.cpu",
    "work.flops",
    "work.coverage",
    "work.bytes",
    "cold.process_start",
    "cold.load",
];

/// A run of which only a mean, a first inference and a rate are known.
pub(crate) fn imported_run() -> Run {
    let mut run = bare_run("resnet50", 0.1, 11);
    run.samples.clear();
    run.summaries.clear();
    run.probes.clear();
    run.model.weights = types::Weights::Real;
    run.metrics = vec![
        Metric::imported("throughput.samples", Unit::PerSecond, Direction::Higher, 512.0),
        Metric::imported("gpu.memory.used", Unit::Bytes, Direction::Lower, 2e9),
    ];
    let stated = Stated { mean: Some(0.0125), ..Stated::default() };
    let untold = UNTOLD.into_iter().chain(["warmup"]).map(str::to_owned).collect();
    run.imported = Some(Box::new(Import {
        tool: "timm".into(),
        version: Some("1.0".into()),
        file: "benchmark.csv".into(),
        stated: BTreeMap::from([(Phase::Inference, stated)]),
        untold,
        ..Import::default()
    }));
    run
}

#[test]
fn a_page_shows_what_is_stated_and_no_placeholder() {
    for width in [60, 80, 160] {
        let page = summary(&imported_run(), &Style::plain(width), Footer::Shown("7f3a"));
        for word in ["measured by timm 1.0", "benchmark.csv", "stated", "12.5", "512", "2.00 GB"] {
            assert!(page.contains(word), "`{word}` is not in\n{page}");
        }
        for placeholder in
            ["0.27.0", "cpu", "fp32", "batch", "thread", "parameters", "173 ms", "2026-", "6 runs"]
        {
            assert!(!page.contains(placeholder), "`{placeholder}` is in\n{page}");
        }
        assert!(page.contains("first inference"), "what the file tells is shown:\n{page}");
    }
}

#[test]
fn a_document_has_null_where_nobody_told() {
    let document = run_json(&imported_run(), JsonOptions::default());
    let keys = [
        "started_at",
        "elapsed",
        "device",
        "precision",
        "batch_size",
        "threads",
        "seed",
        "weights",
        "engine_version",
        "process_start",
        "load",
        "warmup",
        "stop",
        "latency",
    ];
    for key in keys {
        assert!(document[key].is_null(), "{key}: {}", document[key]);
    }
    assert!(document["first_inference"]["value"].is_number());
    assert_eq!(document["imported"]["tool"], "timm");
    assert_eq!(document["imported"]["stated"]["inference"]["mean"], 12.5);
    assert!(document["compute"]["flops"].is_null() && document["compute"]["parameters"].is_null());
    let ours = run_json(&bare_run("bert", 0.1, 11), JsonOptions::default());
    assert!(ours.get("imported").is_none());
}

#[test]
fn a_list_labels_imports_at_any_width() {
    let lines = [RunLine::from(&bare_run("bert", 0.1, 11)), RunLine::from(&imported_run())];
    let whole = runs_document(&lines, None).terminal(&Style::default(), None);
    assert!(whole.contains("imported (timm)") && whole.contains("* a mean"), "{whole}");
    for width in [50, 80, 120, 200] {
        let text = runs_document(&lines, Some(width)).terminal(&Style::default(), Some(width));
        let labelled = text.contains("imported (timm)")
            || (text.contains("resnet50 ^") && text.contains("measured by timm"));
        assert!(labelled, "{text}");
        assert!(text.contains("12.5 ms*") || text.contains("12.50 ms*"), "{text}");
    }
    let json = runs_document(&lines, None).json;
    assert!(json["runs"][0]["imported"].is_null());
    let imported = &json["runs"][1];
    assert_eq!(imported["imported"], "timm");
    assert_eq!(imported["latency"]["mean"], 12.5);
    for key in ["started_at", "device", "precision", "batch_size"] {
        assert!(imported[key].is_null(), "{key}");
    }
}

#[test]
fn a_row_of_a_table_leaves_empty_what_nobody_told() {
    let text = runs_csv(&[imported_run()]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let row: BTreeMap<String, String> =
        reader.deserialize().next().expect("one row").expect("every column");
    for column in
        ["started_at", "device", "precision", "batch_size", "threads", "load_ms", "parameters"]
    {
        assert_eq!(row[column], "", "{column}");
    }
    assert_eq!(row["latency_mean_ms"], "12.5");
    assert_eq!((row["latency_median_ms"].as_str(), row["imported_from"].as_str()), ("", "timm"));
}
