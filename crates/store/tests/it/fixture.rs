//! Files of old schema versions, readable for ever.
//!
//! `v1.db` was written by [`write`] when version 1 was the newest, and so on. They are never written again: a new schema
//! adds the next one. To make that, run this test with `MODELMETER_WRITE_FIXTURE` set. How a server's database of each
//! version is brought up is tested beside the steps.
//!
//! `profiled-v1.db` holds what the command itself stored at version 1: three runs of `modelmeter profile` and the ceilings it
//! measured for them, before ceilings knew of devices.
//!
//! `variants-v8.db` was written by the last commit of version 8 (21f0e81), when a cell's identity was still words: seven runs
//! of `sample::run`, without the shapes, of which 2 has the compile mode `max-autotune`, 3 text, 4 and 5 text with basic graph
//! optimisation and two threads between operators, 6 text with the setting `arena=off`, and 7 the setting `arena=off, text`.

use crate::{measured::compared, sample};
use modelmeter_store::{CellState, Filter, Outcome, PlanCell, SCHEMA_VERSION, Scope, Store};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};
use types::{Ceilings, Device, Measured, Phase, Precision, Run};

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
    let cell =
        |position| PlanCell { key: format!("cell {position}"), position, document: "{}".into() };
    store.plan_put("night", &[0, 1].map(cell)).unwrap();
    let lease = store.lease("night", "ann", Duration::from_secs(60)).unwrap().unwrap();
    store.finish(&lease, &Outcome::Done(runs()[0].id.clone())).unwrap();
}

fn reads_whole(path: &Path, version: i64) {
    let store = Store::open(path).unwrap();
    assert!(!store.is_created());
    store.check().unwrap();
    for run in runs() {
        assert_eq!(store.run(&run.id.0).unwrap(), run);
    }
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 3);
    assert_eq!(compared(&store, &Scope::default()), [1, 2, 3].map(sample::light));
    let kept = store.ceilings(&sample::machine().key, Device::Cpu, 2).unwrap();
    assert_eq!(kept, Some(ceilings()));
    assert_eq!(store.status().unwrap().schema, SCHEMA_VERSION);
    // Plans came with version 4; before, there is none, but one can be made.
    let states: Vec<_> =
        store.plan_cells("night").unwrap().into_iter().map(|cell| (cell.state, cell.run)).collect();
    if version >= 4 {
        let done = (CellState::Done, Some(runs()[0].id.clone()));
        assert_eq!(states, [done, (CellState::Waiting, None)]);
    } else {
        assert_eq!(states, []);
        let cell = PlanCell { key: "cell".into(), position: 0, document: "{}".into() };
        assert_eq!(store.plan_put("night", &[cell]).unwrap(), 1);
    }
}

#[test]
fn a_database_of_every_version_reads_for_ever() {
    for version in 1..=SCHEMA_VERSION {
        let fixture = fixture(&format!("v{version}.db"));
        let is_newest = version == SCHEMA_VERSION;
        if env::var_os("MODELMETER_WRITE_FIXTURE").is_some() && is_newest && !fixture.exists() {
            write(&fixture);
        }
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("old.db");
        fs::copy(&fixture, &copy).unwrap();
        reads_whole(&copy, version);
    }
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
    let light = compared(&store, &Scope::default());
    assert_eq!(light.len(), 3);
    for run in light {
        let whole = Measured::from(&store.run(&run.id.0).unwrap());
        assert_eq!(run, Measured { tags: Vec::new(), ..whole });
    }
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

/// The key and the variant of the question that each run answers, in the order of the runs.
fn identities(path: &Path) -> Vec<(i64, String)> {
    let database = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT question.key, question.variant FROM question
               JOIN measured ON measured.question = question.key
               JOIN run ON run.id = measured.run ORDER BY run.started_at";
    let mut rows = database.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn identities_that_were_words_become_settings_and_histories_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("variants.db");
    fs::copy(fixture("variants-v8.db"), &copy).unwrap();
    let before = identities(&copy);
    let words: Vec<&str> = before.iter().map(|(_, variant)| variant.as_str()).collect();
    let basic = "graph basic, 2 between operators, text";
    let expected = ["", "compiled max-autotune", "text", basic, basic];
    assert_eq!(words, [&expected[..], &["arena=off, text"; 2]].concat());
    assert_eq!(before[5].0, before[6].0, "two settings with the same words were one cell");

    let store = Store::open(&copy).unwrap();
    store.check().unwrap();
    let mut rows = store.runs(&Filter::default()).unwrap();
    rows.sort_by_key(|row| row.started_at);
    let runs: Vec<Run> = rows.iter().map(|row| store.run(&row.id.0).unwrap()).collect();
    let light: Vec<Measured> = runs.iter().map(Measured::from).collect();
    assert_eq!(
        compared(&store, &Scope::default()),
        light.into_iter().map(|run| Measured { tags: Vec::new(), ..run }).collect::<Vec<_>>()
    );
    let after = identities(&copy);
    let settings: Vec<&str> = after.iter().map(|(_, variant)| variant.as_str()).collect();
    let basic = r#"{"options":{"graph_optimisation":"basic","inter_threads":2},"text":true}"#;
    let expected = [
        "",
        r#"{"options":{"compile":"max-autotune"}}"#,
        r#"{"text":true}"#,
        basic,
        basic,
        r#"{"options":{"settings":{"arena":"off"}},"text":true}"#,
        r#"{"options":{"settings":{"arena":"off, text"}}}"#,
    ];
    assert_eq!(settings, expected);
    assert_eq!(after[0], before[0], "a cell without a variant keeps its key");
    assert_eq!(after[3].0, after[4].0);
    assert_ne!(after[5].0, after[6].0, "other settings are another cell");

    // A run of today with the same settings goes on with the history.
    let mut newer = runs[4].clone();
    newer.id = sample::run(8).id;
    newer.started_at += 60_000_000;
    store.insert_run(&newer).unwrap();
    let mut lengths = Vec::new();
    store.newest(&Scope::default(), 9, |newest| lengths.push(newest.runs.len())).unwrap();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 1, 1, 1, 1, 3]);
}

#[test]
fn a_database_of_today_reads_like_the_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.db");
    write(&path);
    reads_whole(&path, SCHEMA_VERSION);
}
