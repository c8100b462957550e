//! Advice, seen whole and read by programs.

use crate::sample::text_run;
use crate::shown::advice;
use jsonschema::Validator;
use modelmeter_report::{Style, advice_json, text_width};
use serde_json::{Value, json};
use std::time::Duration;
use types::*;
use types::{Remark, RemarkCode};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.advice-1.schema.json");

fn evidence(text: &str, key: &str, value: f64, unit: Unit) -> Evidence {
    Evidence { text: text.into(), key: key.into(), value, unit }
}

fn trial(verdict: TrialVerdict, found: f64, low: f64, high: f64) -> Option<Trial> {
    Some(Trial {
        verdict,
        found: Some(found),
        interval: Some(Interval { low, high }),
        processes: 3,
        remarks: Vec::new(),
    })
}

fn gain(what: Goal, low: f64, high: f64, basis: &str) -> ExpectedGain {
    ExpectedGain { what, factor: Interval { low, high }, saved: None, basis: basis.into() }
}

/// Three pieces of advice of every kind of proof, and something in every list.
pub(crate) fn report() -> AdviceReport {
    let run = text_run();
    let batch = Advice {
        rule: "batch-size".into(),
        title: "use batch 16 instead of 4".into(),
        evidence: vec![
            evidence("samples per second at batch 4", "sweep.4.throughput", 16.3, Unit::PerSecond),
            evidence("samples per second at batch 16", "sweep.16.throughput", 24.1, Unit::PerSecond),
            evidence("time of an inference at batch 4", "sweep.4.latency", 0.2451, Unit::Seconds),
        ],
        gain: gain(Goal::Throughput, 1.43, 1.53, "time of one sample at both batch sizes"),
        proof: Proof::Change { change: Change { batch_size: Some(16), ..Change::default() } },
        command: Some(
            "modelmeter compare distilbert-base-uncased --engines rten --precisions fp32 --batch-sizes 4,16 \
             --threads 2 --sequence-length 128"
                .into(),
        ),
        caveat: Some("every sample waits for its whole batch, and for the batch to fill".into()),
        trial: trial(TrialVerdict::CameTrue, 1.47, 1.41, 1.52),
    };
    let memory = Advice {
        rule: "quantisation".into(),
        title: "compute in int8 instead of fp32".into(),
        evidence: vec![evidence("bytes of the weights", "model.size", 265e6, Unit::Bytes)],
        gain: ExpectedGain {
            saved: Some(Bytes(199_000_000)),
            ..gain(Goal::Memory, 1.0, 3.3, "weights in fewer bits")
        },
        proof: Proof::Change {
            change: Change { precision: Some(Precision::Int8), ..Change::default() },
        },
        command: Some("modelmeter advise 7f3a --try=quantisation".into()),
        caveat: None,
        trial: Some(Trial {
            verdict: TrialVerdict::Refused,
            found: None,
            interval: None,
            processes: 0,
            remarks: vec![Remark::new(
                RemarkCode::OutputsDiffer,
                "outputs differ: `last_hidden_state`, cosine 0.8100",
            )],
        }),
    };
    let long = Advice {
        rule: "attention".into(),
        title: "keep attention's scores out of memory (fused attention): try onnxruntime, which fuses in its own way"
            .into(),
        evidence: vec![evidence("share of the time in attention", "layers.attention", 0.41, Unit::Ratio)],
        gain: gain(Goal::Latency, 1.0, 1.62, "at most all the time that arithmetic does not need"),
        proof: Proof::Elsewhere { why: "no other engine here runs this model".into() },
        command: None,
        caveat: None,
        trial: None,
    };
    let point = |batch_size: usize, latency: f64, valid: bool| SweepPoint {
        batch_size,
        latency: Seconds(latency),
        interval: Interval { low: 0.99 * latency, high: 1.01 * latency },
        samples_per_second: batch_size as f64 / latency,
        peak_memory: Some(Bytes(285_000_000)),
        valid,
        passes: 2,
    };
    let unjudged = |rule: &str, why: &str, hint: Option<&str>| Unjudged {
        rule: rule.into(),
        why: why.into(),
        hint: hint.map(str::to_owned),
    };
    let layers = ("the run has no layer times", Some("run `modelmeter profile … --layers`"));
    AdviceReport {
        started_at: run.started_at,
        elapsed: Duration::from_secs(95),
        run: run.id,
        cell: run.cell,
        model: run.model,
        engine: run.engine,
        environment: run.environment,
        verdict: run.verdict,
        latency: Some(Seconds(0.2451)),
        samples_per_second: Some(16.3),
        peak_memory: Some(Bytes(285_000_000)),
        goal: None,
        sweep: vec![point(1, 0.081, true), point(4, 0.2451, true), point(16, 0.664, false)],
        advice: vec![batch, memory, long],
        fine: vec![
            Fine {
                rule: "threads".into(),
                evidence: evidence("threads for 2 cores", "threads", 2.0, Unit::Count),
            },
            Fine {
                rule: "gradient-checkpointing".into(),
                evidence: evidence(
                    "share of the memory that training at batch 4 would need",
                    "memory.training.share",
                    0.21,
                    Unit::Ratio,
                ),
            },
        ],
        not_judged: vec![
            unjudged("fusion", layers.0, layers.1),
            unjudged("embedding", layers.0, layers.1),
            unjudged("padding", "token ids were generated, so no row has padding", None),
        ],
        beside: vec![unjudged("precision", "no engine here computes in bf16", None)],
        remarks: vec![Remark::new(
            RemarkCode::SweepCutShort,
            "the sweep ended before batch 32: its time was used",
        )],
    }
}

pub(crate) fn nothing() -> AdviceReport {
    AdviceReport { advice: Vec::new(), fine: Vec::new(), sweep: Vec::new(), ..report() }
}

#[test]
fn advice_at_80() {
    insta::assert_snapshot!(advice(&report(), &Style::plain(80)));
}

#[test]
fn advice_at_160() {
    insta::assert_snapshot!(advice(&report(), &Style::plain(160)));
}

#[test]
fn no_line_passes_the_width() {
    for width in [60, 72, 80, 110, 160] {
        for line in advice(&report(), &Style::plain(width)).lines() {
            assert!(text_width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn nothing_told_is_said() {
    assert!(advice(&nothing(), &Style::default()).contains("nothing could be told"));
    let fine = AdviceReport { advice: Vec::new(), ..report() };
    assert!(advice(&fine, &Style::default()).contains("no advice"));
    let reason = |code, text: &str| Reason {
        code,
        invalidates: true,
        text: text.into(),
        hint: None,
        about: None,
    };
    let wide = reason(ReasonCode::WideInterval, "the median has an error of ± 23 %");
    let busy = reason(ReasonCode::BusyMachine, "other work used 87 % of the machine");
    let invalid = AdviceReport { verdict: Verdict::from_reasons(vec![wide, busy]), ..fine };
    let text = advice(&invalid, &Style::default());
    assert!(text.contains("cannot be judged") && !text.contains("no advice"), "{text}");
    // The cause, not what came of it.
    assert!(text.contains("not valid: other work used 87 %"), "{text}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = advice(&report(), &Style { colour: true, width: 80 });
    let lines: Vec<String> = coloured.lines().map(modelmeter_report::clean).collect();
    let plain = advice(&report(), &Style::plain(80));
    let plain: Vec<String> = plain.lines().map(modelmeter_report::clean).collect();
    assert_eq!(lines, plain);
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "the schema is no schema");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn complaints(document: &Value) -> Vec<String> {
    validator().iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn documents_are_valid_and_wrong_ones_are_not() {
    let mut odd = report();
    odd.advice[0].evidence[0].value = f64::NAN;
    odd.advice[0].gain.factor.high = f64::INFINITY;
    odd.latency = None;
    for report in [report(), nothing(), odd] {
        assert_eq!(complaints(&advice_json(&report)), Vec::<String>::new());
    }
    let good = advice_json(&report());
    for (pointer, wrong) in [
        ("/advice/0/evidence", json!([])),
        ("/advice/0/trial/verdict", json!("perhaps")),
        ("/goal", json!("speed")),
        ("/sweep/0/batch_size", json!(0)),
    ] {
        let mut document = good.clone();
        *document.pointer_mut(pointer).expect("the key is there") = wrong;
        assert!(!complaints(&document).is_empty(), "{pointer}");
    }
    assert_eq!(good["advice"][0]["expected"]["factor"]["low"], 1.43);
    assert_eq!(good["sweep"][0]["latency"]["value"], 81.0);
}
