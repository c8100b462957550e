//! Advice as the library's users ask for it.

use crate::{folders, quick, scene::Scene};
use modelmeter::{Advisor, Engines, Error, Proofs, Session};
use std::time::Duration;
use tempfile::TempDir;
use types::SweepPoint;

const SHORT: Duration = Duration::from_secs(1);

#[test]
fn a_run_of_another_machine_is_judged_by_what_it_holds() {
    let home = TempDir::new().unwrap();
    let mut session = Session::with_store(&folders(&home).database).unwrap();
    let mut run = quick(&home).profile_in(&mut session, &mut |_| {}).unwrap().run;
    run.environment.machine.key = "elsewhere".into();
    run.environment.machine.hostname = "far-away".into();
    let mut events = 0;
    let advisor = Advisor::of_run(run.clone(), quick(&home)).budget(SHORT).proofs(Proofs::All);
    let report = advisor.advise(&mut session, &mut |_| events += 1).unwrap();
    assert_eq!(events, 0, "nothing was measured");
    assert!(report.sweep.is_empty());
    assert!(report.remarks[0].text.contains("far-away"), "{:?}", report.remarks);
    // What this machine could do about it is not judged, what the run itself says is.
    let missing = |rule: &str| report.not_judged.iter().any(|one| one.rule == rule);
    assert!(missing("threads") && missing("quantisation"), "{:#?}", report.not_judged);
    assert!(report.fine.iter().any(|fine| fine.rule == "dynamic-batching"), "{:#?}", report.fine);
    assert_eq!(report.run, run.id);
}

#[test]
fn a_sweep_covers_the_runs_own_batch_and_is_stored() {
    let home = TempDir::new().unwrap();
    let mut session = Session::with_store(&folders(&home).database).unwrap();
    let advisor = Advisor::new(quick(&home).batch_size(6)).budget(SHORT);
    let report = advisor.advise(&mut session, &mut |_| {}).unwrap();
    assert!(report.sweep.iter().any(|point| point.batch_size == 6), "{:#?}", report.sweep);
    assert!(report.sweep.windows(2).all(|pair| pair[0].batch_size < pair[1].batch_size));
    assert!(report.says_something());
}

#[test]
fn an_unknown_rule_cannot_be_tried() {
    let home = TempDir::new().unwrap();
    let proofs = Proofs::Rules(vec!["magic".into()]);
    let advisor = Advisor::new(quick(&home)).proofs(proofs);
    let error = advisor.advise(&mut Session::without_store(), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Rule(text) if text.contains("`magic`")), "{error}");
}

#[test]
fn a_time_that_no_batch_changes_calls_for_larger_batches() {
    let scene = Scene::new();
    let model = scene.model("model", "4ms");
    let advisor = Advisor::new(scene.profiler(&model).batch_size(2)).budget(SHORT * 5);
    let report = advisor.advise(&mut scene.session(), &mut |_| {}).unwrap();
    let ends = (report.sweep.first().unwrap(), report.sweep.last().unwrap());
    let throughput = |point: &SweepPoint| point.samples_per_second;
    assert!(ends.1.batch_size >= 2 * ends.0.batch_size, "{:#?}", report.sweep);
    assert!(throughput(ends.1) > throughput(ends.0), "{:#?}", report.sweep);
    // A busy machine makes points that cannot be believed; then the rule says so.
    let advised = report.advice.iter().any(|advice| advice.rule == "batch-size");
    let unjudged = report.not_judged.iter().any(|missing| missing.rule == "batch-size");
    assert!(advised || unjudged, "{:#?}", report.fine);
}

#[test]
fn a_run_of_an_engine_that_nobody_has_is_judged_without_measuring() {
    let scene = Scene::new();
    let model = scene.model("model", "2ms");
    let run = scene.profiler(&model).profile().unwrap().run;
    let loads = scene.loads("model");
    let advisor = Advisor::of_run(run.clone(), scene.profiler(&model).engines(Engines::of(&[])));
    let report = advisor.budget(SHORT).advise(&mut scene.session(), &mut |_| {}).unwrap();
    assert_eq!((report.run, scene.loads("model")), (run.id, loads));
    assert!(report.remarks[0].text.contains("`steady`"), "{:?}", report.remarks);
    assert!(report.sweep.is_empty());
}
