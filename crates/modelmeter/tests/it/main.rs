//! The library as its users call it. Process isolation is shown by the documentation's examples, which are programs of
//! their own; a test harness cannot be its own worker, so these run in a thread.

mod advise;

use modelmeter::{
    Error, Event, Folders, Isolation, Profiler, Session, Stage, Store, hardware,
    types::{Ceiling, Ceilings, Interval, Precision, ReasonCode},
};
use tempfile::TempDir;

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
            if let Event::StageStarted { stage } = event {
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
    let wrong = Ceilings { threads: 1, flops, bandwidth: None, measured_at: 0 };
    Store::open(&database).unwrap().save_ceilings(&machine, &wrong).unwrap();

    let mut session = Session::with_store(&database).unwrap();
    let run = quick(&home).threads(1).profile_in(&mut session, &mut |_| {}).unwrap().run;
    let above = run.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::AboveCeiling);
    assert!(!above, "{:?}", run.verdict);
    assert!(run.metric("compute.ceiling_share").unwrap().value.unwrap() < 1.05);
    let stored = session.store().unwrap().ceilings(&machine.key, 1).unwrap().unwrap();
    assert!(stored.flops_at(Precision::Fp32).unwrap().value > 1e9);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_prepared() {
    let home = TempDir::new().unwrap();
    let error = quick(&home).device(modelmeter::Device::Webgpu).profile().unwrap_err();
    assert!(matches!(error, Error::NoEngine { .. }));
    assert!(!home.path().join("cache").exists());
}
