//! `analyze` and `recommend` over a store of a million runs with a hundred samples each.
//!
//! `cargo bench --workspace --bench survey`; another number of runs behind `--`. The store takes about 4 GB for a while, under
//! `TMPDIR`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter::{Device, Folders, Phase, Precision, Profiler, Run, RunId, Session, Store};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};
use types::{Bytes, Metric};

const RUNS: u64 = 1_000_000;
const SAMPLES: usize = 100;
/// Stored at once: a transaction a run would measure the disk.
const BLOCK: u64 = 10_000;
const REPETITIONS: usize = 5;

const MODELS: u64 = 50;
const MACHINES: u64 = 4;
const DEVICES: [Device; 2] = [Device::Cpu, Device::Cuda(0)];
const ENGINES: [&str; 3] = ["rten", "onnxruntime", "torch"];
const PRECISIONS: [Precision; 2] = [Precision::Fp32, Precision::Fp16];
const BATCHES: [usize; 4] = [1, 4, 16, 64];

fn main() {
    modelmeter::serve_if_worker();
    let asked = std::env::args().skip(1).find_map(|argument| argument.parse::<u64>().ok());
    let runs = asked.unwrap_or(RUNS);
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("bench.db");
    let pattern = pattern(folder.path());

    println!(
        "| runs | cells | database | store them | `analyze MODEL` | `recommend --all` | `recommend MODEL` | memory |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut stored = 0;
    for goal in [runs / 10, runs] {
        let started = Instant::now();
        fill(&database, &pattern, stored..goal);
        let took = started.elapsed().as_secs_f64();
        stored = goal;
        let analyze = command(&database, &["analyze", "model-07"]);
        let all = command(&database, &["recommend", "--all"]);
        let one = command(&database, &["recommend", "model-07"]);
        let status = Store::open(&database).unwrap().status().unwrap();
        println!(
            "| {} | {} | {:.1} GB | {took:.0} s | {analyze:.0} ms | {all:.0} ms | {one:.0} ms | {} MB |",
            status.runs,
            cells(),
            status.size.0 as f64 / 1e9,
            largest_child().0 / 1_000_000
        );
        assert_eq!(status.samples, goal * SAMPLES as u64);
    }
}

fn cells() -> u64 {
    MODELS * MACHINES * (DEVICES.len() * ENGINES.len() * PRECISIONS.len() * BATCHES.len()) as u64
}

/// One real run; of its metrics those that comparing needs, so that the store is no larger than it must be.
fn pattern(folder: &Path) -> Run {
    let folders = Folders {
        cache: std::env::temp_dir().join("modelmeter-bench"),
        hub_cache: None,
        database: folder.join("none.db"),
        engines: folder.join("engines"),
    };
    let profiler = Profiler::new("feed-forward-baseline").offline(true).folders(folders);
    let profile =
        profiler.runs(SAMPLES as u64).profile_in(&mut Session::without_store(), &mut |_| {});
    let mut run = profile.unwrap().run;
    run.warmup.nanos.clear();
    let is_kept = |metric: &Metric| {
        ["throughput.samples", "memory.peak", "compute.ceiling_share"]
            .contains(&metric.key.as_str())
    };
    run.metrics.retain(is_kept);
    for probe in &mut run.probes {
        probe.metrics.retain(is_kept);
    }
    run.probes.retain(|probe| !probe.metrics.is_empty());
    run.samples.retain(|samples| samples.phase == Phase::Inference);
    run
}

/// Stores runs that go round all cells, each a little faster or slower than the last.
fn fill(database: &Path, pattern: &Run, numbers: std::ops::Range<u64>) {
    let store = Store::open(database).unwrap();
    let first: Vec<u64> = numbers.clone().step_by(BLOCK as usize).collect();
    for from in first {
        let block: Vec<Run> =
            (from..(from + BLOCK).min(numbers.end)).map(|number| nth(pattern, number)).collect();
        store.insert_runs(&block).unwrap();
    }
}

fn nth(pattern: &Run, number: u64) -> Run {
    let mut run = pattern.clone();
    let mut rest = number;
    let mut digit = |of: u64| {
        let digit = rest % of;
        rest /= of;
        digit as usize
    };
    run.model.name = format!("model-{:02}", digit(MODELS));
    run.cell.model.clone_from(&run.model.name);
    let machine = digit(MACHINES);
    run.environment.machine.key = format!("m-{machine:016x}");
    run.environment.machine.hostname = format!("host-{machine}");
    run.cell.device = DEVICES[digit(DEVICES.len() as u64)];
    run.engine.id = ENGINES[digit(ENGINES.len() as u64)].into();
    run.cell.engine.clone_from(&run.engine.id);
    run.cell.precision = PRECISIONS[digit(PRECISIONS.len() as u64)];
    run.cell.batch_size = BATCHES[digit(BATCHES.len() as u64)];
    // In the order of their numbers, so that filling does not measure the disk either.
    run.id = RunId(format!("{number:016x}"));
    run.started_at += number as i64 * 1_000_000;
    let scale = 1.0 + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 1e8;
    for summary in run.summaries.values_mut() {
        summary.median *= scale * run.cell.batch_size as f64;
        summary.ci95_median.low *= scale * run.cell.batch_size as f64;
        summary.ci95_median.high *= scale * run.cell.batch_size as f64;
    }
    run
}

/// The median time of a whole command, in milliseconds.
fn command(database: &Path, arguments: &[&str]) -> f64 {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let started = Instant::now();
            let status = Command::new(env!("CARGO_BIN_EXE_modelmeter"))
                .args(arguments)
                .arg("--db")
                .arg(database)
                .stdout(Stdio::null())
                .status();
            assert!(status.unwrap().success());
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
}

/// The largest memory that any command had.
fn largest_child() -> Bytes {
    // SAFETY: getrusage writes one rusage through the pointer, and all zeroes are a valid one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    Bytes(usage.ru_maxrss as u64 * 1024)
}
