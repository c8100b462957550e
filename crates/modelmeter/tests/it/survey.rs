//! Stored runs of scripted engines looked at together: cells, recommendations, histories.

use crate::scene::Scene;
use modelmeter::{Error, Run, RunId, Store, Survey, TrendQuestion, Verdict};
use types::{Interval, ReasonCode, RemarkCode, TrendBy, TrendMetric, Wish};

const HOUR: i64 = 3_600_000_000;

/// Two processes of a model on each engine, which take 2 ms and 6 ms.
fn measured(scene: &Scene) -> Store {
    let model = scene.unscripted("model");
    let mut session = scene.session();
    for engine in ["steady", "slower", "slower", "steady"] {
        scene.profiler(&model).engine(engine).profile_in(&mut session, &mut |_| {}).unwrap();
    }
    Store::open(&scene.folders().database).unwrap()
}

/// What a busy machine spoils is looked at too: only sleeps were measured.
fn everything() -> Survey {
    Survey { include_invalid: true, ..Survey::default() }
}

#[test]
fn runs_are_pooled_by_cell_and_told_apart_by_engine() {
    let scene = Scene::new();
    let store = measured(&scene);
    let found = everything().analyse(&store).unwrap();
    let cells: Vec<(&str, usize)> = (found.cells.iter())
        .map(|one| (one.cell.key.engine.as_str(), one.cell.runs.len()))
        .collect();
    assert_eq!(found.tally.seen, 4);
    assert!(cells.contains(&("steady", 2)) && cells.contains(&("slower", 2)), "{cells:?}");
    for one in &found.cells {
        let least = if one.cell.key.engine == "steady" { 0.002 } else { 0.006 };
        assert!(one.cell.latency.value >= least, "{:?}", one.cell.latency);
    }
    assert!(found.remarks.iter().any(|remark| remark.code == RemarkCode::NotInterleaved));
    assert!(!found.remarks.iter().any(|remark| remark.code == RemarkCode::SingleRun));
    let one = Survey { engines: vec!["STEADY".into()], ..everything() };
    assert_eq!(one.analyse(&store).unwrap().cells.len(), 1);
    let error = Survey { models: vec!["modle".into()], ..everything() }.analyse(&store);
    let Error::NotStored { near, known, .. } = error.unwrap_err() else { panic!("another error") };
    assert!(near.iter().chain(&known).any(|name| name == "model"), "{near:?} {known:?}");
}

#[test]
fn the_engine_with_the_shorter_script_is_recommended() {
    let scene = Scene::new();
    let store = measured(&scene);
    let found = everything().recommend(&store, &Wish::default()).unwrap();
    let [found] = found.as_slice() else { panic!("{found:#?}") };
    let order: Vec<&str> =
        found.candidates.iter().map(|one| one.cell.key.engine.as_str()).collect();
    assert_eq!(order, ["steady", "slower"]);
    let behind = found.candidates[1].behind.as_ref().unwrap();
    // The runs of one lie between those of the other.
    assert!(behind.factor.value > 1.0 && behind.allowance == 0.0, "{behind:?}");
    assert!(!found.remarks.iter().any(|remark| remark.code == RemarkCode::NotInterleaved));
}

#[test]
fn the_newest_run_of_every_cell_is_found() {
    let scene = Scene::new();
    let store = measured(&scene);
    let all = store.runs(&store::Filter::default()).unwrap();
    let newest = everything().newest_runs(&store).unwrap();
    let newest_of = |engine: &str| {
        let runs = all.iter().filter(|run| run.engine == engine);
        runs.max_by_key(|run| run.started_at).unwrap().id.clone()
    };
    assert_eq!(newest.len(), 2);
    assert!(newest.contains(&newest_of("steady")) && newest.contains(&newest_of("slower")));
}

/// A run that began `hours` after the first, with this median in seconds.
fn at(first: &Run, hours: i64, median: f64) -> Run {
    let mut run = first.clone();
    run.id = RunId(format!("{hours:016x}"));
    run.started_at += hours * HOUR;
    run.verdict = Verdict::from_reasons(Vec::new());
    let phase = run.main_phase();
    let summary = run.summaries.get_mut(&phase).unwrap();
    summary.median = median;
    summary.ci95_median = Interval { low: 0.999 * median, high: 1.001 * median };
    run
}

/// Twelve hours at 10 ms and twelve at 13 ms with a newer version of the engine, an hour apart.
fn history(scene: &Scene) -> (Store, Run) {
    let model = scene.model("model", "1ms");
    let first = scene.profiler(&model).profile().unwrap().run;
    let store = Store::open(&scene.folders().database).unwrap();
    for hour in 0..24 {
        let level = if hour < 12 { 0.010 } else { 0.013 };
        // Small differences from hour to hour, as every machine has them.
        let mut run = at(&first, hour, level * (1.0 + 0.001 * (hour * 7 % 5) as f64));
        if hour >= 12 {
            run.engine.version = "1".into();
        }
        store.insert_run(&run).unwrap();
    }
    (store, first)
}

#[test]
fn a_level_that_rose_is_found_where_it_rose_with_what_changed_beside_it() {
    let scene = Scene::new();
    let (store, _) = history(&scene);
    let found = Survey::default().trend(&store, &TrendQuestion::default()).unwrap();
    let [series] = found.series.as_slice() else { panic!("{:#?}", found.series) };
    assert_eq!(series.points.len(), 24);
    let [change] = series.changes.as_slice() else { panic!("{:#?}", series.changes) };
    assert_eq!(change.at, 12);
    assert!((change.ratio.value - 1.3).abs() < 0.01, "{:?}", change.ratio);
    assert_eq!(change.coincides, ["steady 0 → 1"]);
    assert_eq!((found.left_out, found.without_valid), (0, 0));
    let memory = TrendQuestion { metric: TrendMetric::Memory, ..TrendQuestion::default() };
    let memory = Survey::default().trend(&store, &memory).unwrap();
    assert!(memory.series.iter().all(|one| one.changes.is_empty()), "{:#?}", memory.series);
}

#[test]
fn runs_that_are_not_valid_are_left_out_counted_and_shown_if_asked() {
    let scene = Scene::new();
    let (store, first) = history(&scene);
    let mut busy = at(&first, 30, 1.0);
    busy.verdict = Verdict {
        valid: false,
        reasons: vec![types::Reason {
            code: ReasonCode::BusyMachine,
            invalidates: true,
            text: "other work".into(),
            hint: None,
            about: None,
        }],
    };
    store.insert_run(&busy).unwrap();
    let question = TrendQuestion { by: TrendBy::Commit, ..TrendQuestion::default() };
    let found = Survey::default().trend(&store, &question).unwrap();
    assert_eq!(found.invalid_reasons.by_count(), [(ReasonCode::BusyMachine, 1)]);
    assert_eq!((found.left_out, found.series[0].points.len()), (1, 24));
    assert!(found.remarks.iter().any(|remark| remark.code == RemarkCode::NoCommit));
    let shown = everything().trend(&store, &question).unwrap();
    let invalid = shown.series[0].points.iter().filter(|point| !point.valid).count();
    assert_eq!((shown.left_out, shown.series[0].points.len(), invalid), (0, 25, 1));
    assert!(shown.remarks.iter().any(|remark| remark.code == RemarkCode::NoValidRun));
}
