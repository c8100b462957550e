//! The keys people script against, and their values.

use crate::sample::{text_run, tokenised_run};
use modelmeter_report::{JsonOptions, run_json};

#[test]
fn the_document_begins_with_the_keys_people_look_for() {
    let document = run_json(&text_run(), JsonOptions::default());
    let keys: Vec<&str> =
        document.as_object().expect("an object").keys().map(String::as_str).collect();
    insta::assert_snapshot!(keys.join(" "));
}

#[test]
fn latency_is_in_milliseconds_and_p50_is_the_median() {
    let document = run_json(&text_run(), JsonOptions::default());
    let latency = &document["latency"];
    assert_eq!(latency["unit"], "ms");
    assert_eq!(latency["median"], 245.1);
    assert_eq!(latency["p50"], latency["median"]);
    assert_eq!(latency["samples"], 212);
    assert_eq!(latency["unsupported"][0]["percentile"], "p99");
    assert_eq!(latency["unsupported"][0]["needs"], 662);
    assert_eq!(document["load"]["value"], 173.0);
    assert_eq!(document["load"]["unit"], "ms");
    assert_eq!(document["started_at"], "2026-11-16T06:12:34.123456Z");
    assert_eq!(document["weights"], "random");
}

#[test]
fn latency_is_the_total_where_text_was_given_and_inference_otherwise() {
    let without = run_json(&text_run(), JsonOptions::default());
    assert_eq!(without["latency_phase"], "inference");
    assert_eq!(without["latency"], without["phases"]["inference"]);
    let with = run_json(&tokenised_run(), JsonOptions::default());
    assert_eq!(with["latency_phase"], "total");
    assert_eq!(with["latency"], with["phases"]["total"]);
    assert_eq!(with["text_lines"], 2);
}

#[test]
fn raw_samples_come_only_when_asked_for() {
    let run = text_run();
    let without = run_json(&run, JsonOptions::default());
    assert!(without.get("samples_ns").is_none());
    let with = run_json(&run, JsonOptions { samples: true });
    assert_eq!(with["samples_ns"]["inference"][0], 245_100_000);
    assert_eq!(with["samples_ns"]["warmup"][0], 412_300_000);
}
