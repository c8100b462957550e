//! A million samples stored and read back, and a list over a hundred thousand runs.
//!
//! `cargo bench -p modelmeter-cli --bench store`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use modelmeter::{Folders, Phase, Profiler, RunId, Session, Store};
use std::{
    process::{Command, Stdio},
    time::Instant,
};
use store::{Filter, new_run_id};
use types::{Allocations, LayerName};

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

    let all = allocations(1_000_000);
    let before = store.status().unwrap().size.0;
    timed("store 1,000,000 allocations and frees", || store.save_allocations(&id, &all).unwrap());
    let grown = store.status().unwrap().size.0 - before;
    println!("| on disk (at most 20 MB) | {:.1} MB |", grown as f64 / 1e6);
    let back = timed("read them back", || store.allocations(&id).unwrap());
    assert_eq!(back.as_ref(), Some(&all));
    timed("add them up: peak, live set, layers", || analysis::read_ledger(&all).unwrap());

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

/// Inferences of 250 layers on two threads; sizes, times and order are drawn, so that little can be squeezed.
fn allocations(events: usize) -> Allocations {
    let names = (0..250).map(|layer| LayerName {
        name: format!("encoder.layer.{}.output.dense/MatMul", layer / 20),
        kind: "MatMul".into(),
    });
    let mut all = Allocations { names: names.collect(), ..Allocations::default() };
    let (mut time, mut noise, mut next) = (0u64, 7u64, 0);
    let mut draw = |below: u64| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (noise >> 33) % below
    };
    let mut live: Vec<(u64, i64)> = Vec::new();
    while all.len() < events {
        time += 40 + draw(30_000);
        let is_free = live.len() > 40 || (!live.is_empty() && draw(2) == 0);
        let (block, size) = match is_free {
            true => {
                let (block, size) = live.swap_remove(draw(live.len() as u64) as usize);
                (block, -size)
            }
            false => {
                next = (next + 1) % 997;
                live.push((next, 64 << draw(17)));
                live[live.len() - 1]
            }
        };
        all.times.push(time);
        all.blocks.push(block);
        all.sizes.push(size);
        all.layers.push((all.len() as u64 / 17) % 250);
        all.threads.push(1 + draw(2));
        if all.len().is_multiple_of(4250) {
            all.ends.push(all.len() as u64);
        }
    }
    all
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let value = work();
    println!("| {what} | {:.1} ms |", started.elapsed().as_secs_f64() * 1e3);
    value
}
