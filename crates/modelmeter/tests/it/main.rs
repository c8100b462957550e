//! The library as its users call it. Process isolation is shown by the documentation's examples, which are programs of
//! their own; a test harness cannot be its own worker, so these run in a thread. What is about many measurements (gates,
//! fits, duels, advice, plans) runs on scripted engines in processes of `scripted-worker`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod advise;
mod calibrate;
mod engines;
mod events;
mod export;
mod fits;
mod gates;
mod noise;
mod plans;
mod prover;
mod scene;
mod survey;

use modelmeter::{
    Calibrator, Device, Error, Event, Folders, Isolation, Keep, Profiler, Session, Stage, Store,
};
use tempfile::TempDir;
use types::{Ceiling, Ceilings, Interval, Precision, ReasonCode};

fn folders(home: &TempDir) -> Folders {
    Folders {
        cache: home.path().join("cache"),
        hub_cache: None,
        database: home.path().join("runs.db"),
        engines: home.path().join("engines"),
    }
}

fn quick(home: &TempDir) -> Profiler {
    Profiler::new("feed-forward-baseline")
        .isolation(Isolation::None)
        .offline(true)
        .folders(folders(home))
        .warmup(1)
        .runs(11)
}

#[test]
fn a_profile_is_typed_remembered_and_told() {
    let home = TempDir::new().unwrap();
    let mut session = Session::with_store(&folders(&home).database).unwrap();
    let mut stages = Vec::new();
    let profile = quick(&home)
        .batch_size(2)
        .tag("nightly")
        .profile_in(&mut session, &mut |event| {
            if let Event::StageStarted { stage, .. } = event {
                stages.push(stage);
            }
        })
        .unwrap();
    assert_eq!(profile.latency().count, 11);
    assert!(profile.throughput().unwrap() > 0.0);
    assert!(profile.peak_memory().unwrap() > 0.0);
    assert!(profile.to_csv().lines().count() == 2);
    assert_eq!(stages.first(), Some(&Stage::Prepare));
    let stored = session.store().unwrap().run(&profile.run.id.0).unwrap();
    assert_eq!(stored.samples, profile.run.samples);
    assert_eq!(stored.tags, ["nightly"]);
}

#[test]
fn a_ceiling_that_was_measured_too_low_is_measured_again() {
    let home = TempDir::new().unwrap();
    let database = folders(&home).database;
    let machine = hardware::machine();
    let tiny = Ceiling { value: 1.0, interval: Interval { low: 1.0, high: 1.0 } };
    let flops = vec![(Precision::Fp32, tiny)];
    let wrong = Ceilings { flops, ..Ceilings::of(Device::Cpu, 1) };
    Store::open(&database).unwrap().save_ceilings(&machine, &wrong).unwrap();

    let mut session = Session::with_store(&database).unwrap();
    let run = quick(&home).threads(1).profile_in(&mut session, &mut |_| {}).unwrap().run;
    let above = run.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::AboveCeiling);
    assert!(!above, "{:?}", run.verdict);
    assert!(run.metric("compute.ceiling_share").unwrap().value.unwrap() < 1.05);
    let stored = session.store().unwrap().ceilings(&machine.key, Device::Cpu, 1);
    let stored = stored.unwrap().unwrap();
    assert!(stored.flops_at(Precision::Fp32).unwrap().value > 1e9);
}

#[test]
fn an_int8_run_gets_its_own_ceiling_and_what_was_measured_before_stays() {
    let home = TempDir::new().unwrap();
    let database = folders(&home).database;
    let machine = hardware::machine();
    // More than any processor can do: what is measured now stays below it.
    let high = Ceiling { value: 1e18, interval: Interval { low: 1e18, high: 1e18 } };
    let before = Ceilings { flops: vec![(Precision::Fp32, high)], ..Ceilings::of(Device::Cpu, 1) };
    Store::open(&database).unwrap().save_ceilings(&machine, &before).unwrap();

    let mut session = Session::with_store(&database).unwrap();
    let run = quick(&home).threads(1).precision(Precision::Int8);
    let run = run.profile_in(&mut session, &mut |_| {}).unwrap().run;
    let stored = session.store().unwrap().ceilings(&machine.key, Device::Cpu, 1);
    let stored = stored.unwrap().unwrap();
    assert_eq!(stored.flops_at(Precision::Fp32), Some(high));
    assert!(stored.has_tried(Precision::Int8) && !stored.has_tried(Precision::Bf16));
    let share = run.metric("compute.ceiling_share").unwrap().value;
    assert_eq!(share.is_some(), stored.flops_at(Precision::Int8).is_some());
}

#[test]
fn a_calibration_measures_all_keeps_the_higher_and_forgets_when_told() {
    let home = TempDir::new().unwrap();
    let database = folders(&home).database;
    let mut session = Session::with_store(&database).unwrap();
    let machine = session.machine().clone();
    let high = Ceiling { value: 1e18, interval: Interval { low: 1e18, high: 1e18 } };
    let before = Ceilings { flops: vec![(Precision::Fp32, high)], ..Ceilings::of(Device::Cpu, 1) };
    session.store().unwrap().save_ceilings(&machine, &before).unwrap();

    let calibrator = Calibrator::new().threads(1);
    assert_eq!(calibrator.known_in(&mut session).unwrap(), Some(before));
    let mut stages = Vec::new();
    let found = calibrator.calibrate_in(&mut session, &mut |event| {
        if let Event::StageStarted { stage, .. } = event {
            stages.push(stage);
        }
    });
    let found = found.unwrap();
    assert_eq!(stages, [Stage::Calibrate]);
    assert_eq!(found.standing.flops_at(Precision::Fp32), Some(high));
    assert_ne!(found.measured.flops_at(Precision::Fp32), Some(high));
    assert!(Precision::ALL.into_iter().all(|precision| found.standing.has_tried(precision)));
    let fresh = calibrator.keep(Keep::Newer).calibrate_in(&mut session, &mut |_| {}).unwrap();
    assert_eq!(fresh.measured, fresh.standing);
    let stored = session.store().unwrap().all_ceilings(&machine.key).unwrap();
    assert_eq!(stored, [fresh.standing]);
}

#[test]
fn a_device_that_nothing_here_reaches_has_no_ceilings_and_says_why() {
    let mut session = Session::without_store();
    for device in [Device::Cuda(7), Device::Npu] {
        let asked = Calibrator::new().device(device);
        let error = asked.calibrate_in(&mut session, &mut |_| {}).unwrap_err();
        let Error::NoCalibration { why, .. } = &error else { panic!("{error:?}") };
        assert!(!why.is_empty() && error.to_string().contains(&format!("`{device}`")));
    }
    let error = Calibrator::new().threads(0).calibrate_in(&mut session, &mut |_| {});
    assert!(matches!(error.unwrap_err(), Error::Rule(_)));
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_prepared() {
    let home = TempDir::new().unwrap();
    let error = quick(&home).device(modelmeter::Device::Webgpu).profile().unwrap_err();
    assert!(matches!(error, Error::NoEngine { .. }));
    assert!(!home.path().join("cache").exists());
}
