use crate::scene::{run, throttled};
use modelmeter_analysis::{Baseline, CompareError, StoredSide, compare_runs, labels};
use types::{ComparisonReport, Design, Outcome, Phase, Run, Samples, Text};

fn compare(base: &[Run], side: &[Run]) -> ComparisonReport {
    let sides =
        [StoredSide { label: "base", runs: base }, StoredSide { label: "side", runs: side }];
    compare_runs(&sides, Baseline::First).unwrap()
}

fn remarks(report: &ComparisonReport) -> String {
    let own = report.comparisons.iter().flat_map(|comparison| &comparison.remarks);
    own.chain(&report.remarks).map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_small_difference_between_two_runs_is_not_called() {
    let report = compare(&[run("rten", 1150, 0)], &[run("ort", 1000, 5)]);
    let comparison = &report.comparisons[0];
    let speed_up = comparison.speed_up.as_ref().unwrap();
    assert!((speed_up.ratio - 1.15).abs() < 0.01);
    assert!(speed_up.interval.unwrap().low > 1.1, "{speed_up:?}");
    assert_eq!(comparison.outcome, Outcome::CannotTell);
    assert_eq!((report.design, report.detectable), (Design::Stored, None));
    let said = remarks(&report);
    for words in ["not interleaved", "have no outputs", "variance between processes", "below 30 %"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_difference_beyond_any_drift_is_called() {
    let report = compare(&[run("rten", 3000, 0)], &[run("ort", 1000, 5)]);
    assert_eq!(report.comparisons[0].outcome, Outcome::Better);
    let report = compare(&[run("rten", 1000, 0)], &[run("ort", 3000, 5)]);
    assert_eq!(report.comparisons[0].outcome, Outcome::Worse);
}

#[test]
fn runs_that_alternate_in_time_show_drift_as_noise() {
    let at = |micros: [u64; 3], minutes: [i64; 3]| -> Vec<Run> {
        micros.iter().zip(minutes).map(|(micros, minute)| run("x", *micros, minute)).collect()
    };
    let base = at([1150, 1155, 1160], [0, 10, 20]);
    let side = at([1000, 1004, 1008], [5, 15, 25]);
    let report = compare(&base, &side);
    assert_eq!(report.comparisons[0].outcome, Outcome::Better);
    assert!(report.detectable.is_some());
    assert!(!remarks(&report).contains("below 30 %"));
    // The same times, but all of one side before the other.
    let side = at([1000, 1004, 1008], [25, 35, 45]);
    let report = compare(&base, &side);
    assert_eq!(report.comparisons[0].outcome, Outcome::CannotTell);
    assert!(remarks(&report).contains("below 30 %"));
}

#[test]
fn other_machines_and_settings_are_said() {
    let base = [run("rten", 1000, 0)];
    let check = |change: fn(&mut Run), words: &str| {
        let mut other = run("rten", 1000, 5);
        change(&mut other);
        let said = remarks(&compare(&base, &[other]));
        assert!(said.contains(words), "{words}: {said}");
    };
    check(
        |run| run.environment.machine.key = "badcafe".into(),
        "differ in machine bench c0ffee12 and bench badcafe: this compares machines, not engines",
    );
    check(|run| run.engine.version = "2.0".into(), "engine version 1.0 and 2.0");
    check(|run| run.cell.threads = 4, "threads 2 and 4");
    check(|run| run.cell.precision = types::Precision::Bf16, "precision fp32 and bf16");
    check(|run| run.cell.seed = 7, "seed 42 and 7");
    check(|run| run.model.fingerprint = "0".into(), "weights fingerprint b1946ac9 and 0");
    check(|run| run.environment.governor = Some("powersave".into()), "governor none and powersave");
    check(|run| run.environment.kernel = "6.9".into(), "kernel 6.1.0 and 6.9");
    check(|run| run.environment.os = "Ubuntu".into(), "operating system");
    let equal = remarks(&compare(&base, &[run("rten", 1000, 5)]));
    assert!(!equal.contains("` differ in"), "{equal}");
}

#[test]
fn versions_of_different_engines_are_no_difference() {
    let mut other = run("ort", 1000, 5);
    other.engine.version = "9.9".into();
    let said = remarks(&compare(&[run("rten", 1000, 0)], &[other]));
    assert!(!said.contains("engine version"), "{said}");
}

#[test]
fn other_work_is_not_compared_at_all() {
    let check = |change: fn(&mut Run), words: &str| {
        let mut other = run("rten", 1000, 5);
        change(&mut other);
        let report = compare(&[run("rten", 1000, 0)], &[other]);
        let comparison = &report.comparisons[0];
        assert_eq!(comparison.speed_up, None);
        match &comparison.outcome {
            Outcome::Refused { why, .. } => assert!(why.contains(words), "{why}"),
            outcome => panic!("{outcome:?}"),
        }
    };
    check(|run| run.cell.batch_size = 8, "not the same work: batch size 4 and 8");
    check(|run| run.cell.sequence_length = Some(64), "sequence length 128 and 64");
    check(|run| run.cell.mode = types::Mode::Training, "mode inference and training");
    check(|run| run.cell.text = Some(Text { lines: vec!["a".into()] }), "text none and 1 line (");
}

#[test]
fn runs_that_are_not_valid_decide_nothing() {
    let mut slow = run("rten", 9000, 0);
    slow.verdict = throttled();
    let report = compare(&[slow], &[run("ort", 1000, 5)]);
    assert_eq!(report.comparisons[0].outcome, Outcome::CannotTell);
    assert!(remarks(&report).contains("`base` is not valid: the clock was throttled"));
}

#[test]
fn runs_of_one_side_that_differ_are_said() {
    let mut other = run("rten", 1000, 7);
    other.cell.threads = 1;
    let report = compare(&[run("rten", 1000, 0), other], &[run("ort", 1000, 5)]);
    assert!(remarks(&report).contains("runs of `base` differ in threads 2 and 1"));
}

#[test]
fn with_text_everything_is_compared_and_not_the_model_alone() {
    let with_text = |micros: u64, minute: i64| {
        let mut run = run("rten", 500, minute);
        run.cell.text = Some(Text { lines: vec!["a".into()] });
        run.samples.push(Samples { phase: Phase::Total, nanos: vec![micros * 1000; 30] });
        run
    };
    let report = compare(&[with_text(3000, 0)], &[with_text(1000, 5)]);
    assert!((report.comparisons[0].speed_up.as_ref().unwrap().ratio - 3.0).abs() < 1e-9);
    assert_eq!(report.side("base").unwrap().latency.as_ref().unwrap().median, 3e-3);
}

#[test]
fn a_side_needs_runs_and_runs_need_samples() {
    let runs = [run("rten", 1000, 0)];
    let sides = [StoredSide { label: "a", runs: &runs }, StoredSide { label: "b", runs: &[] }];
    assert_eq!(compare_runs(&sides, Baseline::First), Err(CompareError::NoRuns("b".into())));
    let mut empty = run("ort", 1000, 5);
    empty.samples.clear();
    let report = compare(&runs, &[empty]);
    assert!(
        matches!(&report.comparisons[0].outcome, Outcome::Refused { why, .. } if why.contains("no samples"))
    );
}

#[test]
fn labels_say_as_much_as_tells_sides_apart() {
    let (rten, ort) = (run("rten", 1, 0), run("ort", 1, 1));
    let of = |runs: &[&Run]| -> Vec<String> {
        let groups: Vec<Vec<Run>> = runs.iter().map(|run| vec![(*run).clone()]).collect();
        labels(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    assert_eq!(of(&[&rten, &ort]), ["rten", "ort"]);
    let mut newer = run("rten", 1, 2);
    newer.engine.version = "2.0".into();
    assert_eq!(of(&[&rten, &newer]), ["rten 1.0", "rten 2.0"]);
    let again = run("rten", 1, 3);
    assert_eq!(of(&[&rten, &again]), ["rten rten-0", "rten rten-3"]);
    assert_eq!(of(&[&rten, &rten]), ["rten rten-0", "rten rten-0 (2)"]);
}
