//! What a plan costs over the sum of its cells: leases, order, waiting for the device, the table's events.
//!
//! `cargo bench --workspace --bench suite`: the same cells as a plan and one after the other, by turns, each turn in a new
//! database. `ROUNDS=2` is a short look.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter::{
    CellMeasurer, CellStanding, Control, Folders, PlanRunner, PlanSpec, Profiler, Session,
};
use std::{path::Path, time::Instant};

/// Turns of either side, each a whole plan.
const ROUNDS: usize = 8;
const MODELS: [&str; 2] = ["feed-forward-baseline", "small-transformer"];
const BATCHES: [usize; 2] = [1, 4];
const PROCESSES: u32 = 2;
/// Samples in each process: as many on either side, so that both do the same work.
const SAMPLES: u64 = 60;

fn main() {
    modelmeter::serve_if_worker();
    let given = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds: usize = given.unwrap_or(ROUNDS);
    // Prepares the models and measures the machine's ceilings, which either side would do once.
    let kept = tempfile::tempdir().unwrap();
    cells(&folders(kept.path()));
    let turn = |round: usize| {
        let early = round.is_multiple_of(2).then(|| fresh(&kept, cells));
        let plan = fresh(&kept, plan);
        let cells = early.unwrap_or_else(|| fresh(&kept, cells));
        (plan, cells)
    };
    let turns: Vec<(f64, f64)> = (0..rounds).map(turn).collect();
    let logs: Vec<Vec<f64>> = turns.iter().map(|(plan, cells)| vec![(plan / cells).ln()]).collect();
    let ratio = stats::paired_ratio(&logs, 1).unwrap();
    let interval = ratio.interval.unwrap();
    let middle = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let count = MODELS.len() * BATCHES.len() * PROCESSES as usize;
    println!("| processes | plan | its cells | plan ÷ cells (95 %) |\n| --- | --- | --- | --- |");
    println!(
        "| {count} | {:.2} s | {:.2} s | {:.4} [{:.4}, {:.4}] |",
        middle(turns.iter().map(|turn| turn.0).collect()),
        middle(turns.iter().map(|turn| turn.1).collect()),
        ratio.ratio,
        interval.low,
        interval.high
    );
}

/// The seconds that the work takes with a database which knows the machine and no run.
fn fresh(kept: &tempfile::TempDir, work: fn(&Folders)) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let here = folders(folder.path());
    std::fs::copy(folders(kept.path()).database, &here.database).unwrap();
    let started = Instant::now();
    work(&here);
    started.elapsed().as_secs_f64()
}

fn folders(folder: &Path) -> Folders {
    Folders {
        cache: std::env::temp_dir().join("modelmeter-bench"),
        hub_cache: None,
        database: folder.join("suite.db"),
        engines: folder.join("engines"),
    }
}

fn profiler(model: &str, folders: &Folders) -> Profiler {
    Profiler::new(model)
        .engine("rten")
        .offline(true)
        .folders(folders.clone())
        .warmup(5)
        .runs(SAMPLES)
}

fn cells(folders: &Folders) {
    let mut session = Session::with_folders(folders).unwrap();
    for _ in 0..PROCESSES {
        for model in MODELS {
            for batch in BATCHES {
                let profiler = profiler(model, folders).batch_size(batch);
                profiler.profile_in(&mut session, &mut |_| {}).unwrap();
            }
        }
    }
}

fn plan(folders: &Folders) {
    let spec = PlanSpec {
        name: "suite".into(),
        models: MODELS.map(String::from).into(),
        engines: vec!["rten".into()],
        batch_sizes: BATCHES.into(),
        processes: PROCESSES,
        ..PlanSpec::default()
    };
    let runner = PlanRunner::new(spec, &folders.database);
    let mut session = Session::with_folders(folders).unwrap();
    let base = profiler("", folders);
    let mut measurer = CellMeasurer::new(&base, &mut session);
    let report = runner.run(&mut measurer, &Control::default(), &mut |_| {}).unwrap();
    assert_eq!(report.count(CellStanding::Measured), MODELS.len() * BATCHES.len());
}
