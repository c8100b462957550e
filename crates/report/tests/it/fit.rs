//! What fits, seen whole and read by programs.

use crate::sample;
use modelmeter_report::{FIT_SCHEMA, Style, fit_document, text_width};
use serde_json::Value;
use std::time::Duration;
use types::{
    Bytes, CacheCost, Confirmation, ContextTry, Estimate, FitCell, FitContext, FitLeftOut,
    FitOutcome, FitReport, FitTry, FitWay, Generation, GenerationTest, Interval, LimitedBy, Pooled,
    Precision, Reading, Reason, ReasonCode, Refusal, RefusalKind, Remark, RemarkCode, RunId,
    Sampling, SmallestNeed, Verdict,
};

const SCHEMA: &str = include_str!("../../../../docs/schema/modelmeter.fit-1.schema.json");
const MIB: u64 = 1 << 20;

fn fit(report: &FitReport, style: &Style) -> String {
    fit_document(report).terminal(style, Some(style.width))
}

fn rate(value: f64) -> Option<Pooled> {
    Some(Pooled { value, interval: Some(Interval { low: value * 0.98, high: value * 1.02 }) })
}

fn cell(batch: usize, estimate: u64, peak: u64, per_second: f64) -> FitCell {
    FitCell {
        batch,
        estimate: Some(Bytes(estimate * MIB)),
        peak: Some(Bytes(peak * MIB)),
        throughput: rate(per_second),
        latency: rate(batch as f64 / per_second),
        samples: 12,
        valid: Some(true),
        outcome: FitOutcome::Fits,
    }
}

fn refusal(kind: RefusalKind) -> Refusal {
    let why = "the worker failed to run: it ran out of memory (an allocation was refused); its memory was limited to \
               600 MiB by a control group";
    Refusal { kind, why: why.into() }
}

fn refused(batch: usize, estimate: u64, kind: RefusalKind) -> FitCell {
    FitCell {
        peak: None,
        throughput: None,
        latency: None,
        samples: 0,
        valid: None,
        outcome: FitOutcome::Refused(refusal(kind)),
        ..cell(batch, estimate, 0, 1.0)
    }
}

fn tried(batch: usize, peak: Option<u64>) -> FitTry {
    let refused = peak.is_none().then(|| refusal(RefusalKind::OutOfMemory));
    FitTry { batch, peak: peak.map(|peak| Bytes(peak * MIB)), refused }
}

fn way(engine: &str, precision: Precision, cells: Vec<FitCell>) -> FitWay {
    FitWay {
        engine: engine.into(),
        engine_version: Some("0.27.0".into()),
        precision,
        start: 32,
        tries: vec![tried(32, None), tried(1, Some(298)), tried(22, Some(571))],
        largest: Some(22),
        refused: Some(23),
        cells,
        stopped: None,
    }
}

fn confirmation(precision: Precision, batch: usize, per_second: f64) -> Confirmation {
    let mut cell = sample::text_run().cell;
    (cell.precision, cell.batch_size) = (precision, batch);
    Confirmation {
        command: format!(
            "modelmeter profile distilbert-base-uncased --engine rten --precision {precision} \
             --batch-size {batch} --threads 2 --sequence-length 128 --memory-limit 600"
        ),
        cell,
        run: Some(RunId("7f3a".into())),
        throughput: rate(per_second),
        latency: rate(batch as f64 / per_second),
        peak: Some(Bytes(311 * MIB)),
        verdict: Some(Verdict::from_reasons(Vec::new())),
        refused: None,
    }
}

/// A search that found something.
pub(crate) fn found() -> FitReport {
    let run = sample::text_run();
    let mut int8 = way(
        "rten",
        Precision::Int8,
        vec![
            cell(1, 160, 171, 21.3),
            cell(2, 168, 180, 24.9),
            cell(4, 184, 201, 26.2),
            cell(8, 216, 240, 25.8),
            cell(16, 280, 311, 26.1),
            cell(32, 408, 447, 26.0),
            FitCell {
                outcome: FitOutcome::NotTimed { why: "not faster since batch 4".into() },
                throughput: None,
                latency: None,
                valid: None,
                samples: 0,
                ..cell(46, 520, 588, 1.0)
            },
        ],
    );
    (int8.largest, int8.refused) = (Some(46), Some(48));
    int8.stopped = Some("not faster since batch 4".into());
    int8.cells.push(refused(48, 528, RefusalKind::OverLimit));
    let fp32 = way(
        "rten",
        Precision::Fp32,
        vec![
            cell(1, 290, 298, 15.2),
            cell(2, 298, 311, 16.3),
            cell(4, 314, 330, 16.1),
            FitCell { valid: Some(false), ..cell(8, 346, 372, 14.0) },
            cell(16, 410, 466, 16.2),
            cell(22, 458, 571, 15.9),
            refused(23, 466, RefusalKind::OutOfMemory),
        ],
    );
    FitReport {
        started_at: run.started_at,
        elapsed: Duration::from_secs(93),
        model: run.model,
        sequence_length: Some(128),
        device: run.cell.device,
        threads: 2,
        machine: run.environment.machine,
        limit: Bytes(600 * MIB),
        limited_by: Some(LimitedBy::Cgroup),
        most: 256,
        generation: None,
        contexts: Vec::new(),
        ways: vec![fp32, int8],
        left_out: vec![FitLeftOut {
            engine: "rten".into(),
            precision: Precision::Bf16,
            why: "runs fp32, int8 on cpu, not bf16".into(),
        }],
        confirmations: vec![
            confirmation(Precision::Int8, 4, 26.3),
            confirmation(Precision::Int8, 16, 26.0),
        ],
        winner: Some(0),
        smallest_need: None,
        remarks: vec![Remark::new(
            RemarkCode::PrecisionChangesOutputs,
            "int8 changes the outputs: `modelmeter compare distilbert-base-uncased --engines rten --precisions \
             fp32,int8` shows by how much",
        )],
    }
}

/// A language model that writes: what fits, and how long texts may become.
pub(crate) fn writing() -> FitReport {
    let mut report = found();
    report.ways.truncate(1);
    report.sequence_length = None;
    report.generation = Some(Generation {
        test: GenerationTest::Decode,
        tokens: 128,
        depth: 1024,
        sampling: Sampling::Greedy,
    });
    let tried = |tokens: usize, peak: u64, refused: Option<RefusalKind>| ContextTry {
        tokens,
        peak: refused.is_none().then_some(Bytes(peak * MIB)),
        resident: refused.is_none().then_some(Bytes(peak * MIB)),
        reported: refused.is_none().then_some(Bytes(46_080 * tokens as u64)),
        held: tokens,
        per_token: refused.is_none().then_some(Bytes(46_080)),
        refused: refused.map(refusal),
    };
    let exactly = |value: f64, half: f64| {
        let interval = Interval { low: value - half, high: value + half };
        Reading::of(Estimate { value, interval })
    };
    report.contexts = vec![FitContext {
        engine: "rten".into(),
        precision: Precision::Fp32,
        longest: Some(2048),
        refused: Some(2304),
        model_limit: Some(8192),
        tries: vec![
            tried(8192, 0, Some(RefusalKind::OutOfMemory)),
            tried(2048, 590, None),
            tried(2304, 0, Some(RefusalKind::OverLimit)),
            tried(1024, 545, None),
        ],
        cache: CacheCost {
            formula: Reading::of(Bytes(46_080)),
            reported: exactly(46_080.0, 0.0),
            measured: exactly(46_150.0, 300.0),
            contexts: 4,
        },
    }];
    report
}

#[test]
fn a_language_model_is_told_how_long_texts_may_become_and_what_a_token_takes() {
    let document = fit_document(&writing());
    let text = document.terminal(&Style::plain(120), None);
    for part in [
        "tg128 @ d1024",
        "tokens/s",
        "2,048 tokens fit, 2,304 do not (4 tries, one text)",
        "46,080 B a token by formula",
        "46,080 B as the engine reports it",
        "46,150 B [45,850, 46,450] measured over 4 contexts",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert_eq!(document.json["contexts"][0]["longest"], 2048);
    assert_eq!(document.json["contexts"][0]["cache"]["measured"]["value"]["value"], 46_150.0);
}

/// A search under a limit that nothing keeps.
pub(crate) fn nothing() -> FitReport {
    let mut report = found();
    report.limit = Bytes(20 * MIB);
    for way in &mut report.ways {
        (way.start, way.largest, way.refused, way.stopped) = (1, None, Some(1), None);
        way.tries = vec![tried(1, None)];
        way.cells = vec![refused(1, 160, RefusalKind::OutOfMemory)];
        way.engine_version = None;
    }
    report.confirmations.clear();
    report.winner = None;
    report.smallest_need = Some(SmallestNeed {
        engine: "rten".into(),
        precision: Precision::Int8,
        batch: 1,
        peak: Bytes(171 * MIB),
        enough: Some(Bytes(172 * MIB)),
    });
    report.remarks.clear();
    report
}

/// Two engines, a winner that is not believed, and one that broke the limit when it was measured whole.
pub(crate) fn doubtful() -> FitReport {
    let mut report = found();
    report.ways[0].engine = "onnxruntime".into();
    report.ways[0].engine_version = Some("1.31.0".into());
    let text = "other work took 52 % of the machine";
    report.confirmations[1].verdict = Some(Verdict::from_reasons(vec![Reason {
        code: ReasonCode::BusyMachine,
        invalidates: true,
        text: text.into(),
        hint: None,
        about: None,
    }]));
    report.confirmations[0].refused = Some(refusal(RefusalKind::OutOfMemory));
    report.winner = Some(1);
    report
}

#[test]
fn a_search_at_80() {
    insta::assert_snapshot!(fit(&found(), &Style::plain(80)));
}

#[test]
fn a_search_at_160() {
    insta::assert_snapshot!(fit(&found(), &Style::plain(160)));
}

#[test]
fn a_doubtful_search_with_two_engines_at_80() {
    insta::assert_snapshot!(fit(&doubtful(), &Style::plain(80)));
}

#[test]
fn a_doubtful_search_with_two_engines_at_160() {
    insta::assert_snapshot!(fit(&doubtful(), &Style::plain(160)));
}

#[test]
fn nothing_fits_at_80() {
    insta::assert_snapshot!(fit(&nothing(), &Style::plain(80)));
}

#[test]
fn a_search_as_markdown() {
    let pages = [found(), nothing()].map(|report| fit_document(&report).markdown());
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn a_search_as_json() {
    insta::assert_snapshot!(format!("{:#}", fit_document(&doubtful()).json));
}

#[test]
fn every_document_keeps_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for report in [found(), nothing(), doubtful()] {
        let document = fit_document(&report).json;
        assert_eq!(document["schema"], FIT_SCHEMA);
        let wrong: Vec<String> = schema
            .iter_errors(&document)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
        assert!(!schema.is_valid(&serde_json::json!({ "schema": FIT_SCHEMA })));
    }
}

#[test]
fn csv_has_a_row_for_every_cell_and_marks_one_as_best() {
    let text = fit_document(&found()).csv();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[0].split(',').count(), 21);
    assert_eq!(rows.len(), 1 + 7 + 8);
    assert_eq!(rows.iter().filter(|row| row.contains(",true,")).count(), 1, "{text}");
    assert!(rows.iter().any(|row| row.contains("not-timed")), "{text}");
}

#[test]
fn no_line_passes_the_width_whatever_the_names() {
    let mut hostile = doubtful();
    hostile.model.name = "模型/".repeat(60);
    hostile.ways[0].engine = "\u{1b}[31m".to_owned() + &"x".repeat(200);
    hostile.left_out[0].why = "word ".repeat(100);
    hostile.remarks = vec![
        Remark::new(RemarkCode::LessMemory, "r".repeat(400)),
        Remark::new(RemarkCode::LargestBatch, "\u{1b}[0m"),
    ];
    hostile.confirmations[1].command = format!("modelmeter profile {}", "y".repeat(500));
    for report in [found(), nothing(), doubtful(), hostile] {
        for width in 60..180 {
            for line in fit(&report, &Style::plain(width)).lines() {
                assert!(text_width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}
