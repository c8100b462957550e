//! A million samples stored and read back, and a list over a hundred thousand runs.
//!
//! `cargo bench -p modelmeter-cli --bench store`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter::{
    Folders, Phase, Profiler, RunId, Session, Store,
    store::{Filter, new_run_id},
};
use std::{
    process::{Command, Stdio},
    time::Instant,
};

fn main() {
    modelmeter::serve_if_worker();
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders {
        cache: std::env::temp_dir().join("modelmeter-bench"),
        hub_cache: None,
        database: folder.path().join("bench.db"),
        engines: folder.path().join("engines"),
    };
    // One real run is the pattern; only its id, time and samples change.
    let profiler = Profiler::new("small-transformer").offline(true).folders(folders.clone());
    let mut run =
        profiler.runs(200).profile_in(&mut Session::without_store(), &mut |_| {}).unwrap().run;
    let real = run.samples_of(Phase::Inference).unwrap().to_vec();

    println!("| what | time |\n| --- | --- |");
    let store = Store::open(&folders.database).unwrap();
    run.samples[0].nanos = real.iter().copied().cycle().take(1_000_000).collect();
    let id = run.id.clone();
    timed("store a run with 1,000,000 samples", || store.insert_run(&run).unwrap());
    let back = timed("read it back", || store.run(&id.0).unwrap());
    assert_eq!(back.samples, run.samples);

    run.samples[0].nanos = real;
    let started = run.started_at;
    timed("store 100,000 runs one by one", || {
        for index in 0..100_000u64 {
            let at = started + index as i64 * 1_000_000;
            run.id = new_run_id(at, index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            run.started_at = at;
            store.insert_run(&run).unwrap();
        }
    });
    let page = Filter { limit: Some(50), ..Filter::default() };
    timed("list the newest 50 of 100,000", || store.runs(&page).unwrap());
    timed("list all 100,000", || store.runs(&Filter::default()).unwrap());
    let some: Vec<RunId> = store.runs(&page).unwrap().into_iter().map(|row| row.id).collect();
    timed("read one by the beginning of its id", || store.run(&some[7].0[..10]).unwrap());
    drop(store);
    timed("`modelmeter runs list`, whole command", || {
        let command = Command::new(env!("CARGO_BIN_EXE_modelmeter"))
            .args(["runs", "list", "--db"])
            .arg(&folders.database)
            .stdout(Stdio::null())
            .status();
        assert!(command.unwrap().success());
    });
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let value = work();
    println!("| {what} | {:.1} ms |", started.elapsed().as_secs_f64() * 1e3);
    value
}
