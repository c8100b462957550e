//! A comparison, seen whole and read by programs.

use crate::shown::comparison;
use crate::{
    bout::{answered, layers, stored, three_engines, troubles},
    sample::summary,
};
use jsonschema::Validator;
use modelmeter_report::{
    Style, comparison_csv_columns, comparison_document, comparison_json, text_width,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use types::{ComparisonReport, Device, Precision, Remark, RemarkCode};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.comparison-1.schema.json");

fn plain(report: &ComparisonReport, width: usize) -> String {
    comparison(report, &Style::plain(width))
}

#[test]
fn three_engines_at_80() {
    insta::assert_snapshot!(plain(&three_engines(), 80));
}

#[test]
fn three_engines_at_140() {
    insta::assert_snapshot!(plain(&three_engines(), 140));
}

#[test]
fn three_engines_at_60() {
    insta::assert_snapshot!(plain(&three_engines(), 60));
}

#[test]
fn refusals_and_remarks_at_80() {
    insta::assert_snapshot!(plain(&troubles(), 80));
}

#[test]
fn stored_runs_at_80() {
    insta::assert_snapshot!(plain(&stored(), 80));
}

#[test]
fn a_comparison_that_ended_early_says_after_how_many_processes_and_why() {
    let text = plain(&answered(), 120);
    assert!(text.contains("2 to 5 of at most 8 processes per side, limit reached"), "{text}");
    let found = comparison_json(&answered());
    let looks = json!({
        "after": [2, 3, 5, 8], "used": 5, "at_most": 8, "ended": "limit-reached", "chance": 0.01
    });
    assert_eq!(found["design"]["looks"], looks);
    assert_eq!(comparison_json(&three_engines())["design"]["looks"], Value::Null);
}

#[test]
fn layers_at_80() {
    let report = ComparisonReport { layers: Some(layers()), ..three_engines() };
    insta::assert_snapshot!(plain(&report, 80));
}

#[test]
fn a_side_that_is_much_faster_keeps_its_digits() {
    let mut report = three_engines();
    report.sides[0].latency = Some(summary(0.0118, 270));
    report.sides[1].latency = Some(summary(0.72, 270));
    report.sides[2].latency = Some(summary(1.01, 270));
    let text = plain(&report, 80);
    assert!(text.contains("0.012 ± 0.000 s"), "{text}");
    assert!(text.contains("0.952 … 1.193 s"), "{text}");
}

#[test]
fn outputs_without_any_difference_are_called_identical() {
    let mut report = three_engines();
    report.parity[0].outputs[0].max_abs = Some(0.0);
    let text = plain(&report, 80);
    assert!(text.contains("torch = onnxruntime (identical)"), "{text}");
    assert!(text.contains("torch = rten (max 3.1e-6)") && !text.contains("0.0e0"), "{text}");
}

#[test]
fn a_refused_speed_up_shows_no_number() {
    let mut report = troubles();
    report.comparisons.remove(1);
    let text = plain(&report, 80);
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
    let document = comparison_json(&report);
    assert_eq!(document["comparisons"][0]["verdict"], "refused");
    assert_eq!(document["comparisons"][0]["speed_up"], Value::Null);
    assert!(document["comparisons"][0]["why"].is_string());
    assert_eq!(document["comparisons"][0]["code"], "outputs-differ");
}

#[test]
fn colour_changes_no_word() {
    for report in [three_engines(), answered(), troubles(), stored()] {
        let coloured = comparison(&report, &Style { colour: true, width: 80 });
        let lines: Vec<String> = coloured.lines().map(without_colour).collect();
        assert_eq!(lines, plain(&report, 80).lines().collect::<Vec<_>>());
        assert!(coloured.contains('\u{1b}'));
    }
}

fn without_colour(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn labels_that_differ_in_format_or_device_stay_apart() {
    let mut report = three_engines();
    report.sides[1].info.precision = Precision::Bf16;
    report.sides[1].info.label = "onnxruntime bf16".into();
    report.comparisons[0].side = "onnxruntime bf16".into();
    report.sides[2].info.device = Device::Cuda(0);
    let text = plain(&report, 80);
    assert!(text.contains("onnxruntime 1.31 bf16"), "{text}");
    let facts = text.lines().nth(1).expect("a second line");
    assert_eq!(facts, "batch 4 × 128 tokens");
}

#[test]
fn no_line_passes_the_width_whatever_the_names() {
    let mut hostile = troubles();
    hostile.model.name = "模型/".repeat(60);
    hostile.sides[1].info.label = "\u{1b}[31m".to_owned() + &"x".repeat(200);
    hostile.sides[0].info.remarks =
        vec![Remark::new(RemarkCode::OtherPrecision, "word ".repeat(80))];
    hostile.parity[1].side = "y".repeat(150);
    hostile.layers = Some(layers());
    for report in [three_engines(), troubles(), stored(), hostile] {
        for width in 60..180 {
            for line in plain(&report, width).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "the schema is no schema");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

#[test]
fn documents_of_every_kind_of_comparison_are_valid() {
    let with_layers = ComparisonReport { layers: Some(layers()), ..three_engines() };
    let mut endless = three_engines();
    let speed_up = endless.comparisons[0].speed_up.as_mut().expect("it has one");
    (speed_up.best, speed_up.interval) = (f64::INFINITY, None);
    for report in [three_engines(), troubles(), stored(), with_layers, endless] {
        let document = comparison_json(&report);
        let complaints: Vec<String> = validator()
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(complaints, Vec::<String>::new());
    }
}

#[test]
fn wrong_documents_are_refused() {
    type Spoil = fn(&mut Value);
    let spoils: [(&str, Spoil); 12] = [
        ("another version", |doc| doc["schema"] = json!("modelmeter.comparison/2")),
        ("an unknown key", |doc| doc["winner"] = json!("rten")),
        ("an unknown verdict", |doc| doc["comparisons"][0]["verdict"] = json!("faster")),
        ("a claim without a number", |doc| doc["comparisons"][0]["speed_up"] = Value::Null),
        ("a refusal with a number", |doc| {
            doc["comparisons"][0]["verdict"] = json!("refused");
            doc["comparisons"][0]["why"] = json!("no");
        }),
        ("a refusal without a reason", |doc| {
            doc["comparisons"][0]["verdict"] = json!("refused");
            doc["comparisons"][0]["speed_up"] = Value::Null;
        }),
        ("latency in seconds", |doc| doc["sides"][0]["latency"]["unit"] = json!("s")),
        ("one side alone", |doc| {
            doc["sides"].as_array_mut().expect("a list").truncate(1);
        }),
        ("an impossible chance", |doc| doc["comparisons"][0]["speed_up"]["p_value"] = json!(1.5)),
        ("a negative ratio", |doc| doc["comparisons"][0]["speed_up"]["ratio"] = json!(-1)),
        ("a design nobody knows", |doc| doc["design"]["kind"] = json!("guessed")),
        ("parity without an answer", |doc| {
            doc["parity"][0].as_object_mut().expect("an object").remove("holds");
        }),
    ];
    let validator = validator();
    for (what, spoil) in spoils {
        let mut document = comparison_json(&three_engines());
        assert!(validator.is_valid(&document));
        spoil(&mut document);
        assert!(!validator.is_valid(&document), "{what} was let through");
    }
}

#[test]
fn the_document_holds_what_was_found() {
    let document = comparison_json(&three_engines());
    let keys: Vec<&str> =
        document.as_object().expect("an object").keys().map(String::as_str).collect();
    insta::assert_snapshot!(keys.join(" "));
    assert_eq!(document["weights"], "random");
    assert_eq!(document["design"]["detectable"], 0.031);
    assert_eq!(document["sides"][1]["latency"]["median"], 202.1);
    assert_eq!(document["sides"][1]["load"], json!({ "value": 510.0, "unit": "ms" }));
    assert_eq!(
        document["comparisons"][0]["speed_up"]["ci95"],
        json!({ "low": 1.14, "high": 1.24 })
    );
    assert_eq!(document["comparisons"][1]["verdict"], "cannot-tell");
    assert_eq!(document["parity"][0]["outputs"][0]["max_abs"], 2.7e-6);
}

#[test]
fn a_spreadsheet_gets_one_row_a_side() {
    let report = troubles();
    let text = comparison_document(&report).csv();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("every row has every column")).collect();
    assert_eq!(rows.len(), 4);
    let sides: Vec<&str> = rows.iter().map(|row| row["side"].as_str()).collect();
    assert_eq!(sides, ["torch", "onnxruntime", "rten", "openvino"]);
    assert_eq!((rows[0]["verdict"].as_str(), rows[0]["speed_up"].as_str()), ("", ""));
    assert_eq!((rows[1]["verdict"].as_str(), rows[1]["speed_up"].as_str()), ("refused", ""));
    assert!(rows[1]["refused"].contains("differ"));
    assert_eq!((rows[2]["verdict"].as_str(), rows[2]["speed_up"].as_str()), ("worse", "0.8"));
    assert_eq!(rows[2]["latency_median_ms"], "245.1");
    assert_eq!(rows[3]["latency_median_ms"], "");
    let mut names = comparison_csv_columns();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
