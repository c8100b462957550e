//! Files of old schema versions, readable for ever.
//!
//! `v1.db` was written by [`write`] when version 1 was the newest. It is never written again: a new schema adds `v2.db`.
//! To make a missing one, run this test with `MODELMETER_WRITE_FIXTURE` set.
//!
//! `profiled-v1.db` holds what the command itself stored at version 1: three runs of `modelmeter profile` and the ceilings it
//! measured for them, before ceilings knew of devices.

use crate::sample;
use modelmeter_store::{Filter, SCHEMA_VERSION, Store};
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use types::{Ceilings, Device, Phase, Precision, Run};

/// The runs of the fixture; the values of [`sample::run`] are part of it and must not change.
fn runs() -> [Run; 3] {
    [1, 2, 3].map(sample::run)
}

fn ceilings() -> Ceilings {
    Ceilings { measured_at: 7, ..Ceilings::of(Device::Cpu, 2) }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn write(path: &Path) {
    let store = Store::open(path).unwrap();
    for run in runs() {
        store.insert_run(&run).unwrap();
    }
    store.save_ceilings(&sample::machine(), &ceilings()).unwrap();
}

fn reads_whole(path: &Path) {
    let store = Store::open(path).unwrap();
    assert!(!store.is_created());
    store.check().unwrap();
    for run in runs() {
        assert_eq!(store.run(&run.id.0).unwrap(), run);
    }
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 3);
    let kept = store.ceilings(&sample::machine().key, Device::Cpu, 2).unwrap();
    assert_eq!(kept, Some(ceilings()));
    assert_eq!(store.status().unwrap().schema, SCHEMA_VERSION);
}

#[test]
fn a_database_of_version_1_reads_for_ever() {
    let fixture = fixture("v1.db");
    if env::var_os("MODELMETER_WRITE_FIXTURE").is_some() && !fixture.exists() {
        write(&fixture);
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("v1.db");
    fs::copy(&fixture, &copy).unwrap();
    reads_whole(&copy);
}

#[test]
fn what_the_command_stored_at_version_1_is_brought_up_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("profiled.db");
    fs::copy(fixture("profiled-v1.db"), &copy).unwrap();
    let store = Store::open(&copy).unwrap();
    store.check().unwrap();
    let rows = store.runs(&Filter::default()).unwrap();
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let run = store.run(&row.id.0).unwrap();
        let inference = run.samples.iter().find(|samples| samples.phase == Phase::Inference);
        assert_eq!(inference.unwrap().nanos.len(), 11);
        assert_eq!(run.engine.id, "rten");
        assert_eq!(run.summaries[&Phase::Inference].count, 11);
    }
    assert!(rows.iter().any(|row| row.tags == ["kept"]));
    let machine = store.run(&rows[0].id.0).unwrap().environment.machine;
    let known = store.all_ceilings(&machine.key).unwrap();
    assert_eq!(
        known.iter().map(|c| (c.device, c.threads)).collect::<Vec<_>>(),
        [(Device::Cpu, 1), (Device::Cpu, 2)]
    );
    for ceilings in known {
        assert!(ceilings.flops_at(Precision::Fp32).unwrap().value > 1e11);
        assert!(ceilings.caches.is_empty() && ceilings.bandwidth.is_some());
        // What is measured now joins what was there.
        let newer = Ceilings { measured_at: 9, ..Ceilings::of(Device::Cpu, ceilings.threads) };
        let standing = store.raise_ceilings(&machine, &newer).unwrap();
        assert_eq!(standing, Ceilings { measured_at: 9, ..ceilings });
    }
}

#[test]
fn a_database_of_today_reads_like_the_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.db");
    write(&path);
    reads_whole(&path);
}
