use crate::bench::{bench, job, measured, scripted, short_rule, work};
use modelmeter_meter::{Launch, measure};
use std::{os::unix::net::UnixStream, sync::Arc, time::Duration};
use types::{Event, Phase, ReasonCode, Stage, StopReason, StoppingRule, Warmup};

#[test]
fn a_run_holds_every_sample_and_no_warm_up() {
    let (run, events) = measured("2ms", &short_rule());
    let run = run.unwrap();
    assert_eq!(run.samples_of(Phase::Inference).unwrap().len(), 12);
    assert_eq!((run.warmup.runs, run.warmup.nanos.len()), (2, 2));
    assert_eq!(run.stop, StopReason::RunsDone);
    let summary = &run.summaries[&Phase::Inference];
    assert_eq!(summary.count, 12);
    assert!(summary.min >= 0.002, "the script sleeps 2 ms, seen {}", summary.min);
    let throughput = run.metric("throughput.samples").unwrap().value.unwrap();
    assert!((throughput - 3.0 / summary.mean).abs() < 1e-6 * throughput);
    let stages: Vec<Stage> = events
        .iter()
        .filter_map(|event| match event {
            Event::StageStarted { stage, .. } => Some(*stage),
            _ => None,
        })
        .collect();
    let expected = [Stage::Start, Stage::Load, Stage::First, Stage::Warmup, Stage::Sample];
    assert_eq!(stages, expected);
}

#[test]
fn warm_up_goes_on_until_three_windows_agree() {
    let rule =
        StoppingRule { warmup: Warmup::Settle { cap: Duration::from_secs(20) }, ..short_rule() };
    // The true first inference is not warm-up; then four slow ones before it is steady.
    let script = "90ms, 400ms, 250ms, 150ms, 100ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, \
                  70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms, 70ms";
    let (run, _) = measured(script, &rule);
    let run = run.unwrap();
    assert!(run.warmup.settled);
    assert!(run.warmup.runs >= 6, "{} runs", run.warmup.runs);
    assert!(run.cold.first_inference >= Duration::from_millis(90));
}

#[test]
fn a_warm_up_that_never_settles_is_said() {
    let rule =
        StoppingRule { warmup: Warmup::Settle { cap: Duration::from_millis(400) }, ..short_rule() };
    let (run, _) = measured("65ms, 130ms", &rule);
    let run = run.unwrap();
    assert!(!run.warmup.settled);
    assert!(!run.verdict.valid);
    let is_it = |reason: &&types::Reason| reason.code == ReasonCode::NotWarm;
    let reason = run.verdict.reasons.iter().find(is_it).unwrap();
    // Twice the runs that were not enough, and how long they take.
    let hint = reason.hint.as_ref().unwrap();
    let runs = (2 * run.warmup.runs).max(6);
    assert!(hint.contains(&format!("`--warmup {runs}` (about ")), "{hint}");
    assert!(runs < 100, "a run takes long, so few of them are asked for: {hint}");
}

#[test]
fn an_engine_that_prints_does_not_break_the_protocol() {
    let (run, _) = measured("print {\"answer\":\"window\"}, 1ms, print \u{1b}[2J", &short_rule());
    assert_eq!(run.unwrap().samples_of(Phase::Inference).unwrap().len(), 12);
}

#[test]
fn the_duration_cap_ends_a_measurement_and_is_named() {
    let rule = StoppingRule {
        min_runs: 11,
        max_runs: 1_000_000,
        max_duration: Duration::from_millis(600),
        target_error: 1e-9,
        ..short_rule()
    };
    let (run, _) = measured("1ms, 2ms", &rule);
    let run = run.unwrap();
    assert_eq!(run.stop, StopReason::DurationCap);
    let wide = run.verdict.reasons.iter().find(|reason| reason.code == ReasonCode::WideInterval);
    assert!(wide.unwrap().text.contains("maximum duration"));
}

#[test]
fn shapes_that_only_a_run_shows_are_counted_whoever_ran() {
    // The fake cannot show shapes; whoever prepared the job finds them elsewhere.
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut job = job(file.path());
    job.unknown_shapes = vec!["h".into()];
    let run = measure(&job, &bench(), &scripted("1ms"), &short_rule(), &mut |_| {}).unwrap();
    assert_eq!(run.work, work(2000));
}

#[test]
fn a_thread_can_be_the_worker_and_the_verdict_says_so() {
    let fake: engine::FakeEngine = "1ms".parse().unwrap();
    let serve = move |stream: UnixStream| {
        let reader = std::io::BufReader::new(stream.try_clone().unwrap());
        let no_text = |_: &std::path::Path| Err("no tokenizer".to_owned());
        engine::serve(&[&fake], &no_text, reader, stream).unwrap();
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let launch = Launch::Thread(Arc::new(serve));
    let run = measure(&job(file.path()), &bench(), &launch, &short_rule(), &mut |_| {}).unwrap();
    assert!(run.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::NotIsolated));
}
