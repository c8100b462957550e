//! What the tracking allocator costs: off, against a program without it; on, against the same worker without recording.
//!
//! `cargo bench -p modelmeter-cli --bench memory [-- MODEL]`. `ROUNDS=1` is a short look.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{LoadJob, LoadRequest, Reply, Request};
use meter::{Launch, Link};
use modelmeter::{Device, Precision, WORKER_ARGUMENT};
use models::Resolved;
use stats::RatioEstimate;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use types::{InputSpec, Phase, Postprocess};

/// Fresh processes on each side: two processes of one program differ by percents.
const ROUNDS: usize = 4;
/// Turns on each side in a round, in the order A B B A.
const PAIRS: usize = 12;
/// How long a turn takes, about.
const TURN: Duration = Duration::from_millis(400);

fn main() {
    // This program has the system's allocator and serves as the worker without ours.
    modelmeter::serve_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let names = match arguments.is_empty() {
        true => vec!["small-transformer".to_owned(), "distilbert-base-uncased".to_owned()],
        false => arguments,
    };
    println!("| model | tracker off ÷ none (95 %) | recording ÷ off (95 %) |\n| --- | --- | --- |");
    for name in names {
        let cache = std::env::temp_dir().join("modelmeter-bench");
        let request = models::Request { offline: true, ..models::Request::new(&name, cache) };
        let resolved = models::resolve(&request, &mut |_| {}).unwrap();
        let inputs = resolved.inputs(4, None, &[]).unwrap();
        println!("| {name} | {} | {} |", off(&resolved, &inputs), on(&resolved, &inputs));
    }
}

fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// A worker of a program, loaded and warm, and how many inferences fit into a turn.
struct Side {
    link: Link,
    count: u64,
}

impl Side {
    fn open(program: &Path, resolved: &Resolved, inputs: &[InputSpec]) -> Side {
        let launch = Launch::Process {
            program: program.into(),
            arguments: vec![WORKER_ARGUMENT.into()],
            environment: Vec::new(),
        };
        let link = Link::open(&launch, Duration::from_secs(600)).unwrap();
        let threads = hardware::default_threads();
        let job = LoadJob {
            engine: "rten".into(),
            request: LoadRequest::of_onnx(&resolved.onnx, Device::Cpu, Precision::Fp32, threads),
            inputs: inputs.to_vec(),
            inputs_file: None,
            seed: 0,
            text: None,
            media: None,
            postprocess: Postprocess::None,
            training: None,
            generation: None,
        };
        let mut side = Side { link, count: u64::MAX };
        side.link.ask(&Request::Load(Box::new(job)), "load").unwrap();
        side.link.ask(&Request::First, "run").unwrap();
        side.count = side.plain(TURN).len() as u64;
        side
    }

    fn plain(&mut self, budget: Duration) -> Vec<u64> {
        let request = Request::Run { count: self.count, budget };
        match self.link.ask(&request, "run").unwrap() {
            Reply::Window(window) => {
                let found = window.samples.into_iter().find(|s| s.phase == Phase::Inference);
                found.unwrap().nanos
            }
            other => panic!("{other:?}"),
        }
    }

    fn recorded(&mut self, events: PathBuf) -> Vec<u64> {
        let request = Request::Memory { count: self.count, events };
        match self.link.ask(&request, "record").unwrap() {
            Reply::Remembered { record: Some(record) } => {
                assert!(record.allocations.value.is_some(), "{:?}", record.allocations.why);
                record.run_nanos
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The same model in two workers by turns: one program has the tracking allocator, the other the system's.
fn off(resolved: &Resolved, inputs: &[InputSpec]) -> String {
    let round = |_| {
        let mut plain = Side::open(&std::env::current_exe().unwrap(), resolved, inputs);
        let program = Path::new(env!("CARGO_BIN_EXE_modelmeter"));
        let mut tracking = Side::open(program, resolved, inputs);
        let turn = |pair: usize| {
            let early = pair.is_multiple_of(2).then(|| plain.plain(Duration::MAX));
            let with = tracking.plain(Duration::MAX);
            let without = early.unwrap_or_else(|| plain.plain(Duration::MAX));
            stats::log_ratio(&with, &without).unwrap()
        };
        (0..PAIRS).map(turn).collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds()).map(round).collect();
    shown(&stats::paired_ratio(&rounds, 1).unwrap())
}

/// One worker by turns, recording and not.
fn on(resolved: &Resolved, inputs: &[InputSpec]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let round = |_| {
        let program = Path::new(env!("CARGO_BIN_EXE_modelmeter"));
        let mut side = Side::open(program, resolved, inputs);
        let turn = |pair: usize| {
            let early = pair.is_multiple_of(2).then(|| side.plain(Duration::MAX));
            let with = side.recorded(events.clone());
            let without = early.unwrap_or_else(|| side.plain(Duration::MAX));
            stats::log_ratio(&with, &without).unwrap()
        };
        (0..PAIRS).map(turn).collect()
    };
    let rounds: Vec<Vec<f64>> = (0..rounds()).map(round).collect();
    shown(&stats::paired_ratio(&rounds, 1).unwrap())
}

fn shown(ratio: &RatioEstimate) -> String {
    match ratio.interval {
        Some(interval) => format!("{:.4} [{:.4}, {:.4}]", ratio.ratio, interval.low, interval.high),
        None => format!("{:.4}", ratio.ratio),
    }
}
