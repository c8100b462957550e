//! Histories of stored runs: `trend`, and `analyze --compare-to`.

use crate::{
    bench::{Home, python},
    survey::{home_with, json, run},
};
use modelmeter::{Device, Run};
use std::{fs, process::Command};
use types::Revision;

/// One run an hour: so many around 40 ms, so many slower by this factor, at a commit each.
fn hourly(before: u64, after: u64, factor: f64) -> Vec<Run> {
    let one = |number: u64| {
        let noise = (0.01 * (((number * 7919) % 13) as f64 / 6.0 - 1.0)).exp();
        let level = if number < before { 40.0 } else { 40.0 * factor };
        let mut run = run(number, Device::Cpu, 1, level * noise, 300.0);
        run.started_at += number as i64 * 3_540_000_000;
        let commit = format!("{:x}{:028x}", 0xabcd_ef12_3456_u64 + (number << 20), number);
        run.environment.revision = Some(Revision { commit, branch: Some("main".into()) });
        run
    };
    (0..before + after).map(one).collect()
}

#[test]
fn a_slower_commit_is_found_drawn_and_gated() {
    let home = home_with(&hourly(20, 12, 1.2));
    let told = home.fine(&["trend", "bert"]);
    assert!(told.out.contains("% slower ["), "{}", told.out);
    assert!(told.out.contains("abcdf0523"), "the commit is named\n{}", told.out);
    for line in told.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let found = json(&home.fine(&["trend", "--by", "commit", "--json", "-"]).out);
    let change = &found["series"][0]["changes"][0];
    assert_eq!(change["at"], 20, "{change}");
    assert_eq!(change["direction"], "slower");

    assert_eq!(home.run(&["trend", "--alert", "10%"]).status, Some(1));
    assert_eq!(home.run(&["trend", "--alert", "30%"]).status, Some(0));
    // What it uses of memory did not change.
    assert_eq!(home.run(&["trend", "--metric", "memory.peak", "--alert", "10%"]).status, Some(0));

    let told = home.fine(&["trend", "--html", "t.html", "--svg", "t.svg", "--csv", "t.csv"]);
    assert_eq!(told.err, "wrote t.svg\nwrote t.csv\nwrote t.html\n");
    let page = fs::read_to_string(home.path("t.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("% slower"), "no page");
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no `{what}` in the page"));
    assert!(at("1 change in 1 history; newest: ") < at("<svg"), "the conclusion is on top");
    assert_eq!(page.matches("<svg").count(), 2, "for screens and for phones");
    assert!(fs::read_to_string(home.path("t.svg")).unwrap().starts_with("<svg"));
    assert_eq!(fs::read_to_string(home.path("t.csv")).unwrap().lines().count(), 33);
}

#[test]
fn what_cannot_be_told_is_said() {
    let home = home_with(&hourly(5, 0, 1.0));
    let told = home.run(&["trend", "--alert", "10%"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert!(told.out.contains("needs 5 more points"), "{}", told.out);
    home.refused(&["trend", "gpt2"], 2, &["no stored run has the model"]);
    assert_eq!(home.run(&["trend", "--metric", "beauty"]).status, Some(2));
    assert_eq!(home.run(&["trend", "--since", "2026-02-30"]).status, Some(2));
    assert_eq!(home.run(&["trend", "--html", "no/such/folder.html"]).status, Some(2));
    let told = home.run(&["trend", "--metric", "energy", "--alert", "10%"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
}

/// Reads a file as Prometheus' own reader for Python does.
const READER: &str = "import sys
from prometheus_client.parser import text_string_to_metric_families as parse
found = {m.name: len(m.samples) for m in parse(open(sys.argv[1]).read())}
assert all(count == 1 for count in found.values()), found
print(' '.join(sorted(found)))";

#[test]
fn prometheus_reads_what_is_written_for_it() {
    let home = home_with(&hourly(20, 12, 1.2));
    let told = home.fine(&["trend", "--prometheus", "numbers.prom"]);
    assert_eq!(told.err, "wrote numbers.prom\n");
    let text = fs::read_to_string(home.path("numbers.prom")).unwrap();
    for name in ["modelmeter_latency_median_seconds", "modelmeter_trend_last_change_ratio"] {
        assert!(text.contains(&format!("# TYPE {name} gauge\n{name}{{model=\"bert\"")), "{text}");
    }
    let output = Command::new(python())
        .args(["-c", READER])
        .arg(home.path("numbers.prom"))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    assert!(output.status.success(), "{}", err.unwrap());
    assert!(out.unwrap().contains("modelmeter_memory_peak_bytes"));
}

/// A home with eight runs of today and a file of another day's analysis.
fn against(today: f64) -> Home {
    let home = home_with(&hourly(8, 0, 1.0));
    home.fine(&["analyze", "--output", "baseline.csv"]);
    let later = hourly(16, 0, today).split_off(8);
    let later: Vec<Run> = later
        .into_iter()
        .map(|mut run| {
            let summary = run.summaries.values_mut().next().unwrap();
            summary.median *= today;
            summary.ci95_median.low *= today;
            summary.ci95_median.high *= today;
            run
        })
        .collect();
    modelmeter::Store::open(home.database()).unwrap().insert_runs(&later).unwrap();
    home
}

#[test]
fn a_file_is_a_baseline_that_says_what_it_cannot_tell() {
    let gate = ["analyze", "--compare-to", "baseline.csv", "--regression-alert", "0.1"];
    let with = |more: &[&'static str]| [&gate, more].concat();
    // Twice as slow is more than any machine drifts.
    let home = against(2.0);
    let told = home.run(&gate);
    assert_eq!(told.status, Some(1), "{}\n{}", told.out, told.err);
    assert!(told.out.contains("slower"), "{}", told.out);
    // 5 % is within what a machine may drift, unless the caller knows it better.
    let home = against(1.05);
    let told = home.run(&with(&["--allowance", "30%"]));
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert_eq!(home.run(&with(&["--allowance", "1%"])).status, Some(0));
    // Sixteen sessions tell how far it does.
    let found = json(&home.run(&with(&["--json"])).out);
    let cell = &found["compared_to"]["cells"][0];
    assert_eq!(cell["allowance_from_history"], true, "{cell}");
    assert!(cell["allowance"].as_f64().unwrap() < 0.15, "{cell}");
}

/// Runs of one session, a minute apart, with the scatter of processes on an ordinary machine: 2 % to either side.
fn batch(first: u64, count: u64, milliseconds: f64) -> Vec<Run> {
    let one = |number: u64| {
        let noise = (0.02 * (((number * 7919) % 13) as f64 / 6.0 - 1.0)).exp();
        let mut run = run(number, Device::Cpu, 1, milliseconds * noise, 300.0);
        let summary = run.summaries.values_mut().next().unwrap();
        summary.ci95_median.low = summary.median / 1.01;
        summary.ci95_median.high = summary.median * 1.01;
        run
    };
    (first..first + count).map(one).collect()
}

#[test]
fn the_runs_of_the_file_are_no_part_of_today() {
    let home = home_with(&batch(0, 5, 40.0));
    home.fine(&["analyze", "--output", "before.csv"]);
    modelmeter::Store::open(home.database()).unwrap().insert_runs(&batch(20, 5, 64.0)).unwrap();
    let words = ["analyze", "--compare-to", "before.csv", "--regression-alert", "0.1"];
    let told = home.run(&words);
    assert_eq!(told.status, Some(1), "60 % slower\n{}", told.out);
    let found = json(&home.run(&[&words[..], &["--json"]].concat()).out);
    let cell = &found["compared_to"]["cells"][0];
    assert_eq!((&cell["file"]["runs"], &cell["now"]["runs"]), (&5.into(), &5.into()), "{cell}");
    let ratio = cell["ratio"].as_f64().unwrap();
    assert!((ratio - 1.6).abs() < 0.05, "{cell}");
}

#[test]
fn fifteen_percent_with_ten_runs_a_side_are_called() {
    for (ratio, status) in [(1.15, 1), (1.0, 0), (1.02, 0)] {
        let home = home_with(&batch(0, 10, 40.0));
        home.fine(&["analyze", "--output", "before.csv"]);
        home.fine(&["db", "export", "runs.csv"]);
        let later = batch(40, 10, 40.0 * ratio);
        modelmeter::Store::open(home.database()).unwrap().insert_runs(&later).unwrap();
        for file in ["before.csv", "runs.csv"] {
            let words = ["analyze", "--compare-to", file, "--regression-alert", "0.1"];
            let told = home.run(&words);
            assert_eq!(told.status, Some(status), "{file}, {ratio} ×\n{}", told.out);
            let found = json(&home.run(&[&words[..], &["--json"]].concat()).out);
            let cell = &found["compared_to"]["cells"][0];
            assert_eq!(cell["allowance_from"], "runs", "{cell}");
        }
    }
    // Two runs per side show no scatter to speak of: drift may be all there is.
    let home = home_with(&batch(0, 2, 40.0));
    home.fine(&["analyze", "--output", "before.csv"]);
    modelmeter::Store::open(home.database()).unwrap().insert_runs(&batch(40, 2, 46.0)).unwrap();
    let told = home.run(&["analyze", "--compare-to", "before.csv", "--regression-alert", "0.1"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
}

#[test]
fn rows_without_a_partner_and_other_files_are_said() {
    let home = home_with(&hourly(8, 0, 1.0));
    home.fine(&["analyze", "--output", "same.csv"]);
    let told = home.fine(&["analyze", "--compare-to", "same.csv", "--regression-alert", "10%"]);
    assert!(told.out.contains("the same runs"), "{}", told.out);

    let text = fs::read_to_string(home.path("same.csv")).unwrap();
    fs::write(home.path("other.csv"), text.replace("m-5ca1ab1e", "m-elsewhere")).unwrap();
    let told = home.run(&["analyze", "--compare-to", "other.csv", "--regression-alert", "10%"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert!(told.out.contains("another machine"), "{}", told.out);

    home.fine(&["db", "export", "runs.csv"]);
    let told = home.run(&["analyze", "--compare-to", "runs.csv", "--regression-alert", "10%"]);
    assert!(told.out.contains("now ÷ file"), "{}\n{}", told.out, told.err);

    fs::write(home.path("wrong.csv"), "a,b\n1,2\n").unwrap();
    home.refused(&["analyze", "--compare-to", "wrong.csv"], 2, &["neither the columns"]);
    home.refused(&["analyze", "--compare-to", "none.csv"], 2, &["none.csv"]);
    assert_eq!(home.run(&["analyze", "--regression-alert", "10%"]).status, Some(2));
}
