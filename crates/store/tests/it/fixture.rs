//! Files of old schema versions, readable for ever.
//!
//! `v1.db` was written by [`write`] when version 1 was the newest. It is never written again: a new schema adds `v2.db`.
//! To make a missing one, run this test with `MODELMETER_WRITE_FIXTURE` set.

use crate::sample;
use modelmeter_store::{Filter, SCHEMA_VERSION, Store};
use std::{env, fs, path::Path};
use types::{Ceilings, Run};

/// The runs of the fixture; the values of [`sample::run`] are part of it and must not change.
fn runs() -> [Run; 3] {
    [1, 2, 3].map(sample::run)
}

fn ceilings() -> Ceilings {
    Ceilings { threads: 2, flops: vec![], bandwidth: None, measured_at: 7 }
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
    assert_eq!(store.ceilings(&sample::machine().key, 2).unwrap(), Some(ceilings()));
    assert_eq!(store.status().unwrap().schema, SCHEMA_VERSION);
}

#[test]
fn a_database_of_version_1_reads_for_ever() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1.db");
    if env::var_os("MODELMETER_WRITE_FIXTURE").is_some() && !fixture.exists() {
        write(&fixture);
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("v1.db");
    fs::copy(&fixture, &copy).unwrap();
    reads_whole(&copy);
}

#[test]
fn a_database_of_today_reads_like_the_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.db");
    write(&path);
    reads_whole(&path);
}
