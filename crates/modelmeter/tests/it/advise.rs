//! Advice as the library's users ask for it.

use crate::{folders, quick, scene::Scene};
use engine::{Engine, FakeEngine};
use modelmeter::{Advisor, Device, Engines, Error, Proofs, QuantizationConfig, Quantizer, Session};
use std::{fs, time::Duration};
use tempfile::TempDir;
use types::{
    AdviceReport, Ceiling, Ceilings, Interval, Precision, Run, RunId, SweepPoint, Verdict,
};

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

/// The first scripted engine, as one that computes in int8 too.
fn with_int8() -> Engines {
    let fake: FakeEngine = "10ms".parse().unwrap();
    let fake = fake.with_id("steady").with_precisions(&[Precision::Fp32, Precision::Int8]);
    let engine: &'static dyn Engine = Box::leak(Box::new(fake));
    Engines::of(vec![engine].leak())
}

/// The run as a quiet machine would have made it, with this median.
fn as_if(mut run: Run, id: &str, milliseconds: f64) -> Run {
    let median = milliseconds / 1e3;
    run.id = RunId(id.into());
    run.verdict = Verdict::from_reasons(Vec::new());
    for summary in run.summaries.values_mut() {
        summary.median = median;
        summary.ci95_median = Interval { low: 0.99 * median, high: 1.01 * median };
    }
    run
}

#[test]
fn a_written_folder_that_was_measured_as_slower_speaks_against_its_format() {
    let scene = Scene::new();
    let ceiling = |value| Ceiling { value, interval: Interval { low: value, high: value } };
    let flops = |precision| match precision {
        Precision::Int8 => ceiling(4e18),
        _ => ceiling(1e18),
    };
    let flops = Precision::ALL.into_iter().map(|precision| (precision, flops(precision)));
    let bandwidth = Some(ceiling(1e18));
    scene.know(&Ceilings { flops: flops.collect(), bandwidth, ..Ceilings::of(Device::Cpu, 1) });
    let model = scene.product("model", 64, "10ms");
    let profiler = |model: &str| scene.profiler(model).engines(with_int8());
    let measured = |model: &str| profiler(model).profile().unwrap().run;
    let own = as_if(measured(&model), "aaaaaaaa-own", 10.0);
    let mut session = scene.session();
    let keep = |session: &Session, run: &Run| session.store().unwrap().insert_run(run).unwrap();
    keep(&session, &own);
    let advise = |session: &mut Session| -> AdviceReport {
        let advisor = Advisor::of_run(own.clone(), profiler(&model)).budget(SHORT);
        advisor.advise(session, &mut |_| {}).unwrap()
    };
    let rule = "quantisation";
    let before = advise(&mut session);
    assert!(before.advice.iter().any(|advice| advice.rule == rule), "{:#?}", before.not_judged);

    // Another computation than that of `--precision int8`: it says nothing of that.
    let config = QuantizationConfig::new(Precision::Int8);
    let write = |config: &QuantizationConfig, name: &str| {
        let folder = scene.path(name, "folder");
        let quantizer = Quantizer::new(config.clone());
        quantizer.quantize(&profiler(&model), &folder, false, &mut |_| {}).unwrap();
        fs::write(folder.join("onnx/model.script"), "40ms").unwrap();
        measured(&folder.to_string_lossy())
    };
    let other = as_if(write(&config.clone().weights_only(true), "other"), "bbbbbbbb-other", 40.0);
    let made_from = other.model.made_from.as_ref().unwrap();
    assert_eq!(made_from.fingerprint, own.model.fingerprint);
    assert_eq!((made_from.converted_to, other.cell.precision), (None, Precision::Int8));
    keep(&session, &other);
    assert!(advise(&mut session).advice.iter().any(|advice| advice.rule == rule));

    let int8 = as_if(write(&config, "int8"), "cccccccc-int8", 40.0);
    let made_from = int8.model.made_from.as_ref().unwrap();
    assert_eq!(made_from.fingerprint, own.model.fingerprint);
    assert_eq!(made_from.converted_to, Some(Precision::Int8));
    keep(&session, &int8);
    let stored = session.store().unwrap().run("cccccccc").unwrap();
    assert_eq!(stored.model, int8.model);
    let after = advise(&mut session);
    assert!(after.advice.iter().all(|advice| advice.rule != rule), "{:#?}", after.advice);
    let fine = after.fine.iter().find(|fine| fine.rule == rule).unwrap();
    assert!(fine.evidence.text.contains("run cccccccc"), "{fine:?}");
    assert!(fine.evidence.value < 1.0, "{fine:?}");
}
