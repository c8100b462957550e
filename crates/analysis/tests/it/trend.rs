//! Histories whose truth is known.

use modelmeter_analysis::{HistoryRun, TrendQuestion, standing, trend};
use std::time::Duration;
use types::{
    CellKey, Device, Mode, Precision, RunId, TrendBy, TrendMetric, TrendSeries, TrendStanding,
};

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

fn key(machine: &str) -> CellKey {
    CellKey {
        model: "bert".into(),
        random_weights: false,
        mode: Mode::Inference,
        sequence_length: Some(128),
        imported: false,
        machine: machine.into(),
        device: Device::Cpu,
        engine: "rten".into(),
        precision: Precision::Fp32,
        threads: 2,
        variant: String::new(),
        batch_size: 4,
    }
}

/// A run so many minutes after the epoch, its value a level with a little noise that depends on the number alone.
fn run(number: i64, minute: i64, level: f64) -> HistoryRun {
    let noise = ((number * 7919) % 13 - 6) as f64 / 6.0;
    HistoryRun {
        key: key("m1"),
        id: RunId(format!("{number:016x}")),
        started_at: minute * MINUTE,
        value: level * (0.01 * noise).exp(),
        interval: None,
        valid: true,
        commit: None,
        branch: None,
        facts: [("rten".to_owned(), if level > 1.1 { "0.28" } else { "0.27" }.to_owned())].into(),
    }
}

/// One run an hour: so many at 1, so many at another level.
fn hourly(before: i64, after: i64, level: f64) -> Vec<HistoryRun> {
    let level = |at: i64| if at < before { 1.0 } else { level };
    (0..before + after).map(|at| run(at, at * 60, level(at))).collect()
}

fn only(runs: Vec<HistoryRun>, question: &TrendQuestion) -> TrendSeries {
    let mut found = trend(runs, question);
    assert_eq!(found.series.len(), 1);
    found.series.remove(0)
}

fn stands(series: &TrendSeries) -> TrendStanding {
    standing(series, TrendMetric::Median, 0.1)
}

#[test]
fn a_step_is_told_with_its_place_its_size_and_what_came_with_it() {
    let series = only(hourly(20, 10, 1.25), &TrendQuestion::default());
    let [change] = series.changes.as_slice() else { panic!("{:?}", series.changes) };
    assert_eq!(change.at, 20);
    let interval = change.ratio.interval.unwrap();
    assert!(interval.low > 1.2 && interval.high < 1.3, "{change:?}");
    assert!(interval.low <= 1.25 && 1.25 <= interval.high, "{change:?}");
    assert_eq!(change.coincides, ["rten 0.27 → 0.28"]);
    assert!(series.noise.unwrap() < 0.02, "{:?}", series.noise);
    assert_eq!(stands(&series), TrendStanding::Worse);
    // For samples per second the same numbers are good news.
    assert_eq!(standing(&series, TrendMetric::Throughput, 0.1), TrendStanding::Held);
}

#[test]
fn nothing_is_called_where_nothing_changed() {
    let series = only(hourly(30, 0, 1.0), &TrendQuestion::default());
    assert!(series.changes.is_empty() && series.suspicion.is_none() && series.drift.is_none());
    assert_eq!(stands(&series), TrendStanding::Held);
}

#[test]
fn a_change_below_what_is_asked_is_not_called() {
    let question = TrendQuestion { smallest: 0.3, ..TrendQuestion::default() };
    assert!(only(hourly(20, 10, 1.25), &question).changes.is_empty());
}

#[test]
fn runs_of_one_session_are_one_point() {
    // Ten runs in ten minutes know one state of the machine.
    let runs = |from: i64| (0..10).map(move |at| run(from + at, from * 60 + at, 1.0));
    let all: Vec<_> = runs(0).chain(runs(100)).collect();
    let series = only(all.clone(), &TrendQuestion::default());
    assert_eq!(series.points.len(), 2);
    assert_eq!(series.points[0].runs.len(), 10);
    assert_eq!(series.needs, 8);
    assert!(matches!(stands(&series), TrendStanding::CannotTell { .. }));
    let question = TrendQuestion { session: Duration::ZERO, ..TrendQuestion::default() };
    assert_eq!(only(all, &question).points.len(), 20);
}

#[test]
fn commits_are_pooled_and_ordered_by_their_first_runs() {
    let mut runs: Vec<_> = (0..8).map(|at| run(at, at * 100, 1.0)).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        run.commit = Some(["c2", "c1", "c2", "c3"][at % 4].to_owned());
    }
    runs.reverse();
    let question = TrendQuestion { by: TrendBy::Commit, ..TrendQuestion::default() };
    let series = only(runs.clone(), &question);
    let commits: Vec<&str> =
        series.points.iter().map(|point| point.commit.as_deref().unwrap()).collect();
    assert_eq!(commits, ["c2", "c1", "c3"]);
    assert_eq!(series.points[0].runs.len(), 4);
    assert!(series.points[0].value.interval.is_some());
    // A run without a commit goes by its date, and a change of commit ends a session.
    runs[0].commit = None;
    assert_eq!(only(runs.clone(), &question).points.len(), 4);
    let together: Vec<_> =
        runs.into_iter().map(|run| HistoryRun { started_at: 0, ..run }).collect();
    assert!(only(together, &TrendQuestion::default()).points.len() > 1);
}

#[test]
fn machines_are_never_mixed() {
    let mut runs = hourly(15, 15, 1.5);
    for run in &mut runs[15..] {
        run.key = key("m2");
    }
    let found = trend(runs, &TrendQuestion::default());
    assert_eq!(found.series.len(), 2);
    assert!(found.series.iter().all(|series| series.changes.is_empty()));
    assert!(found.remarks[0].text.contains("2 machines"), "{:?}", found.remarks);
}

#[test]
fn the_newest_two_that_are_off_wait_for_more() {
    let series = only(hourly(20, 2, 1.3), &TrendQuestion::default());
    assert!(series.changes.is_empty());
    let suspicion = series.suspicion.unwrap();
    assert_eq!((suspicion.points, suspicion.needs), (2, 1));
    assert!((suspicion.ratio - 1.3).abs() < 0.05, "{suspicion:?}");
    assert!(matches!(stands(&series), TrendStanding::CannotTell { .. }));
}

#[test]
fn a_slide_is_told_as_one() {
    let runs = (0..40).map(|at| run(at, at * 60, 1.0)).enumerate();
    let runs =
        runs.map(|(at, run)| HistoryRun { value: run.value * (0.01 * at as f64).exp(), ..run });
    let series = only(runs.collect(), &TrendQuestion::default());
    assert!(series.changes.is_empty(), "{:?}", series.changes);
    let drift = series.drift.unwrap();
    assert!((1.3..1.6).contains(&drift), "{drift}");
    let TrendStanding::CannotTell { why } = stands(&series) else { panic!("it slides") };
    assert!(why.contains("drifted"), "{why}");
}

#[test]
fn noise_that_could_hide_a_change_is_no_all_clear() {
    let loud = |at: i64| HistoryRun {
        value: (0.4 * (((at * 7919) % 13 - 6) as f64 / 6.0)).exp(),
        ..run(at, at * 60, 1.0)
    };
    let series = only((0..30).map(loud).collect(), &TrendQuestion::default());
    assert!(series.changes.is_empty(), "{:?}", series.changes);
    assert!(matches!(stands(&series), TrendStanding::CannotTell { .. }), "{:?}", stands(&series));
}

#[test]
fn numbers_that_are_none_are_passed_over() {
    let mut runs = hourly(12, 0, 1.0);
    (runs[3].value, runs[4].value, runs[5].value) = (0.0, f64::NAN, -1.0);
    assert_eq!(only(runs, &TrendQuestion::default()).points.len(), 9);
    assert!(trend(Vec::new(), &TrendQuestion::default()).series.is_empty());
}
