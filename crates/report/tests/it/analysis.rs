//! An analysis, seen whole and read by programs.

use crate::fleet::{fleet, troubles};
use crate::shown::analysis;
use modelmeter_report::{
    Style, analysis_csv_columns, analysis_document, analysis_json, text_width,
};
use serde_json::Value;
use std::collections::BTreeMap;
use types::Analysis;

#[test]
fn a_fleet_at_80() {
    insta::assert_snapshot!(analysis(&fleet(), &Style::plain(80)));
}

#[test]
fn a_fleet_at_160() {
    insta::assert_snapshot!(analysis(&fleet(), &Style::plain(160)));
}

#[test]
fn a_fleet_as_markdown() {
    insta::assert_snapshot!(analysis_document(&fleet(), None).markdown());
}

#[test]
fn no_line_passes_the_width_whatever_the_names() {
    for found in [fleet(), troubles(), Analysis::default()] {
        for width in 60..200 {
            for line in analysis(&found, &Style::plain(width)).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}

#[test]
fn what_differs_has_a_column_and_what_is_missing_a_reason() {
    let text = analysis(&troubles(), &Style::plain(200));
    for words in [
        "machine",
        "bench badcafe0",
        "rten 0.27, graph none, 1 thread",
        "imported",
        "no memory for 1 of 4: the memory of its runs was not measured",
        "no speed-up: the cpu of this machine has no valid run",
        "no energy: the energy",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!analysis(&fleet(), &Style::plain(200)).contains("machine  "));
}

#[test]
fn nothing_to_analyse_is_said() {
    let text = analysis(&Analysis::default(), &Style::default());
    assert!(text.contains("no valid run") && text.contains("0 runs in 0 cells"), "{text}");
    assert!(analysis_document(&Analysis::default(), None).markdown().contains("no valid run"));
}

#[test]
fn the_document_holds_numbers_with_units_and_reasons() {
    let document = analysis_json(&fleet(), None);
    assert_eq!(document["schema"], "modelmeter.analysis/1");
    let gpu = &document["cells"][3];
    assert_eq!(gpu["device"], "cuda:0");
    assert_eq!(gpu["latency"]["median"], 4.1);
    assert_eq!(gpu["latency"]["unit"], "ms");
    assert_eq!(gpu["latency"]["p99.9"], Value::Null);
    assert_eq!(gpu["speed_up_over_cpu"]["ratio"], 14.88);
    assert_eq!(gpu["energy"]["joules_per_sample"], Value::Null);
    assert_eq!(gpu["energy"]["why"], "the energy of its runs was not measured");
    assert_eq!(gpu["pareto"], true);
    assert_eq!(gpu["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(document["best_batches"][1]["scaling"], Value::Null);
    assert_eq!(document["lengths"][0]["scaling"]["exponent"]["ci95"]["high"], 1.24);
    assert_eq!(document["runs"]["invalid"], 2);
}

#[test]
fn every_key_of_the_document_is_documented() {
    const DOCUMENTED: &str = include_str!("../../../../docs/schema/README.md");
    let document = analysis_json(&fleet(), None);
    let objects = [&document, &document["cells"][0], &document["best_batches"][0]];
    for object in objects.map(|value| value.as_object().expect("an object")) {
        for key in object.keys().filter(|key| *key != "schema") {
            assert!(DOCUMENTED.contains(&format!("`{key}")), "{key}");
        }
    }
}

#[test]
fn a_spreadsheet_gets_one_row_a_cell() {
    let text = analysis_document(&fleet(), None).csv();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("every row has every column")).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[4]["speed_up_over_cpu"], "50.9");
    assert_eq!((rows[5]["speed_up_over_cpu"].as_str(), rows[5]["pareto"].as_str()), ("", "true"));
    assert!(rows[5]["speed_up_missing"].starts_with("the cpu of this machine"));
    let best: Vec<&str> = rows.iter().map(|row| row["best_batch"].as_str()).collect();
    assert_eq!(best, ["8", "8", "1", "8", "8", ""], "the last one has no series");
    let lengths: Vec<&str> = rows.iter().map(|row| row["length_exponent"].as_str()).collect();
    assert_eq!(lengths, ["", "", "1.13", "", "", ""]);
    assert_eq!(rows[0]["memory_peak_bytes"], "372000000");
    let mut names = analysis_csv_columns();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
