//! How long it takes to say the version, and to come as far as the first load.
//!
//! `cargo bench -p modelmeter-cli --bench startup`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter::{Event, Folders, Profiler, Session, Stage};
use std::{
    process::{Command, Stdio},
    time::Instant,
};

const REPETITIONS: usize = 50;

fn main() {
    // As the command does: the worker is this program again.
    modelmeter::serve_if_worker();
    println!("| what | median | p95 |\n| --- | --- | --- |");
    show("modelmeter --version", &repeat(version));

    let folder = std::env::temp_dir().join("modelmeter-bench");
    let folders = Folders {
        cache: folder.clone(),
        hub_cache: None,
        database: folder.join("startup.db"),
        engines: folder.join("engines"),
    };
    let profiler = Profiler::new("distilbert-base-uncased").offline(true).folders(folders.clone());
    // Once, so that weights and ceilings are there, as on every day but the first.
    until_load(&profiler, &folders);
    show("profile, up to the first load", &repeat(|| until_load(&profiler, &folders)));
}

fn repeat(mut measure: impl FnMut() -> u64) -> Vec<u64> {
    (0..REPETITIONS).map(|_| measure()).collect()
}

fn version() -> u64 {
    let started = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_modelmeter"))
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    started.elapsed().as_nanos() as u64
}

/// From opening the database to asking the worker for the model; the run itself is cut to one sample.
fn until_load(profiler: &Profiler, folders: &Folders) -> u64 {
    let started = Instant::now();
    let mut reached = None;
    let mut session = Session::with_store(&folders.database).unwrap();
    let profiler = profiler.clone().warmup(0).runs(1);
    let run = profiler.profile_in(&mut session, &mut |event| {
        if matches!(event, Event::StageStarted { stage: Stage::Load, .. }) {
            reached = Some(started.elapsed());
        }
    });
    run.unwrap();
    reached.unwrap().as_nanos() as u64
}

fn show(what: &str, nanos: &[u64]) {
    let summary = stats::summarise(nanos, 1).unwrap();
    println!("| {what} | {:.1} ms | {:.1} ms |", summary.median * 1e3, summary.p95 * 1e3);
}
