//! A gate, seen whole and read by programs.

use crate::sample;
use modelmeter_report::{
    Style, gate_annotations, gate_document, gate_junit, noise_document, text_width,
};
use serde_json::Value;
use std::time::Duration;
use types::{
    Check, Drifted, GateCell, GateDesign, GateEvidence, GatePlan, GateReport, Gauge, Interval,
    Itself, Jitter, Missing, Noise, Question, Revision, Ruling, RunId, Seconds, Statistic,
};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.check-1.schema.json");
const LATENCY: Gauge = Gauge::Latency(Statistic::P50);

fn cell(model: &str) -> GateCell {
    GateCell { model: model.into(), ..GateCell::of(&sample::text_run()) }
}

fn evidence(estimate: f64, low: f64, high: f64) -> Option<GateEvidence> {
    let interval = Interval { low, high };
    Some(GateEvidence { estimate, interval, p_value: 1e-4, adjusted_p: 2e-4, detectable: 0.012 })
}

fn changed(model: &str, gauge: Gauge, ruling: Ruling, found: Option<GateEvidence>) -> Check {
    let ratio = found.map_or(1.0, |found| found.estimate);
    Check {
        cell: cell(model),
        gauge,
        question: Question::Change {
            alert: 0.03,
            effective: 0.03,
            design: GateDesign::Interleaved,
            drift: 0.0,
        },
        value: Some(if gauge == Gauge::MemoryPeak { 285e6 } else { 0.0124 * ratio }),
        baseline: Some(if gauge == Gauge::MemoryPeak { 285e6 } else { 0.0124 }),
        evidence: found,
        processes: 10,
        rounds: vec![ratio; 3],
        ruling,
        why: None,
        settle: None,
        reasons: Vec::new(),
        runs: vec![RunId("7f3a5b2c00000000".into())],
    }
}

fn limited(gauge: Gauge, limit: f64, ruling: Ruling, found: Option<GateEvidence>) -> Check {
    Check {
        question: Question::Limit { limit },
        value: found.map(|found| found.estimate),
        baseline: None,
        ..changed("distilbert-base-uncased", gauge, ruling, found)
    }
}

fn report(checks: Vec<Check>, baseline: Option<&str>) -> GateReport {
    GateReport {
        started_at: 1_789_000_000_000_000,
        elapsed: Duration::from_secs(21),
        environment: sample::text_run().environment,
        plan: GatePlan {
            looks: vec![5, 10, 20],
            looked: 2,
            turns: if baseline.is_some() { 10 } else { 0 },
            turn: Seconds(0.05),
            chance: 0.01,
        },
        baseline: baseline.map(str::to_owned),
        baseline_revision: None,
        checks,
        missing: Vec::new(),
        remarks: Vec::new(),
    }
}

pub(crate) fn slower() -> GateReport {
    let model = "distilbert-base-uncased";
    let checks = vec![
        changed(model, LATENCY, Ruling::Failed, evidence(1.052, 1.041, 1.063)),
        changed(model, Gauge::MemoryPeak, Ruling::Held, evidence(1.0, 0.999, 1.001)),
    ];
    report(checks, Some("base/model.onnx"))
}

pub(crate) fn mixed() -> GateReport {
    let wide = Check {
        settle: Some("about 34 processes would decide it: `--processes 34`".into()),
        ..changed("gpt2", LATENCY, Ruling::CannotTell, evidence(1.02, 0.97, 1.072))
    };
    let elsewhere = Check {
        why: Some("the baseline was measured on another machine".into()),
        settle: Some("measure the baseline here, or give `--against`".into()),
        ..changed("vit-base", LATENCY, Ruling::CannotTell, None)
    };
    let faster = changed("bert-base-uncased", LATENCY, Ruling::Held, evidence(0.8, 0.79, 0.81));
    let mut mixed = report(vec![faster, wide, elsewhere], Some("main"));
    mixed.baseline_revision =
        Some(Revision { commit: "0123456789abcdef".into(), branch: Some("main".into()) });
    mixed.missing.push(Missing {
        what: "t5-small rten cpu fp32 batch=4".into(),
        code: types::RemarkCode::NotMeasured,
        why: "out of memory: the worker was killed".into(),
        fails: true,
    });
    mixed
}

pub(crate) fn limits() -> GateReport {
    let short = Check {
        why: Some("p99 needs 662 samples per process, and one has 80".into()),
        settle: Some("a longer `--sampling` takes more samples in each process".into()),
        ..limited(Gauge::Latency(Statistic::P99), 0.2, Ruling::CannotTell, None)
    };
    report(
        vec![
            limited(
                Gauge::Latency(Statistic::P95),
                0.1,
                Ruling::Held,
                evidence(0.0541, 0.0502, 0.0583),
            ),
            limited(Gauge::Throughput, 1000.0, Ruling::Failed, evidence(812.0, 790.0, 835.0)),
            limited(Gauge::MemoryPeak, 2e9, Ruling::Held, evidence(285e6, 284e6, 286e6)),
            short,
        ],
        None,
    )
}

fn gate(report: &GateReport, style: &Style) -> String {
    gate_document(report).terminal(style, Some(style.width))
}

#[test]
fn what_holds_beside_other_work_says_so() {
    let busy = types::Reason {
        code: types::ReasonCode::BusyMachine,
        invalidates: true,
        text: "other work used 88 % of the machine".into(),
        hint: None,
        about: None,
    };
    let with = |reason: types::Reason| {
        let mut report = limits();
        report.checks.iter_mut().for_each(|check| check.reasons = vec![reason.clone()]);
        gate(&report, &Style::plain(160))
    };
    let told = with(busy.clone());
    let says = "other work used 88 % of the machine; this made times longer, and they hold";
    assert_eq!(told.matches(says).count(), 1, "{told}");
    let remark = with(types::Reason { invalidates: false, ..busy });
    assert!(!remark.contains("88 %"), "{remark}");
}

#[test]
fn a_regression_is_seen_at_a_glance() {
    insta::assert_snapshot!("gate_slower", gate(&slower(), &Style::plain(80)));
}

#[test]
fn many_cells_and_what_would_settle_them() {
    insta::assert_snapshot!("gate_mixed", gate(&mixed(), &Style::plain(80)));
}

#[test]
fn limits_stand_beside_their_values() {
    insta::assert_snapshot!("gate_limits", gate(&limits(), &Style::plain(80)));
}

#[test]
fn a_pull_request_gets_a_table() {
    insta::assert_snapshot!("gate_markdown", gate_document(&mixed()).markdown());
    insta::assert_snapshot!("gate_markdown_limits", gate_document(&limits()).markdown());
}

#[test]
fn no_line_passes_the_width() {
    for width in [60, 80, 160] {
        for report in [slower(), mixed(), limits()] {
            for line in gate(&report, &Style::plain(width)).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn the_document_keeps_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [slower(), mixed(), limits()] {
        let document = gate_document(&report).json;
        let wrong: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
    assert_eq!(gate_document(&mixed()).json["ruling"], "failed");
}

#[test]
fn annotations_cannot_be_forged_by_a_name() {
    let mut report = slower();
    report.checks[0].cell.model = "a\n::error title=x::forged % done".into();
    let text = gate_annotations(&report);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("::error title=Modelmeter::") && text.contains("%25"), "{text}");
    assert_eq!(gate_annotations(&limits()).lines().count(), 2);
}

#[test]
fn build_servers_see_a_case_a_question() {
    let text = gate_junit(&mixed());
    let count = |what: &str| text.matches(what).count();
    assert_eq!((count("<testcase "), count("<skipped "), count("<error ")), (4, 2, 1), "{text}");
    assert_eq!(gate_junit(&limits()).matches("<failure ").count(), 1);
}

#[test]
fn nothing_asked_is_nothing_answered() {
    let empty = report(Vec::new(), None);
    assert_eq!(empty.ruling(), Ruling::CannotTell);
    assert!(gate(&empty, &Style::plain(80)).contains("nothing was checked"));
}

pub(crate) fn noise() -> Noise {
    Noise {
        measured_at: 1_789_000_000_000_000,
        elapsed: Duration::from_secs(34),
        cell: cell("small-transformer"),
        jitter: Jitter {
            watched: Seconds(3.0),
            lost: 0.021,
            longest: Seconds(0.0043),
            pauses: 12.3,
        },
        itself: Itself {
            rounds: 12,
            ratio: 1.002,
            interval: Interval { low: 0.991, high: 1.013 },
            scatter: 0.014,
            floor: 0.013,
        },
        medians: vec![0.0012, 0.0013, 0.0011],
        drift: vec![Drifted { apart: Seconds(10.0), share: 0.11 }],
    }
}

#[test]
fn a_machine_says_what_it_does_to_measurements() {
    let test = noise();
    let earlier = Noise { measured_at: 1_788_000_000_000_000, ..test.clone() };
    insta::assert_snapshot!(
        "noise",
        noise_document(&test, &[earlier]).terminal(&Style::plain(80), Some(80))
    );
}
