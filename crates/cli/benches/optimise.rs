//! Pruning and quantising BERT-base: how long the change takes and how much memory, and whether the promised speed is there.
//!
//! `cargo bench -p modelmeter-cli --bench optimise [-- change | speed]`; both unless said. Engines are those that the
//! command finds (`MODELMETER_PYTHON` for ONNX Runtime's library).
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::Places;
use modelmeter::{
    Precision, Profiler, Prover, Pruner, PruningConfig, PruningMethod, QuantizationConfig,
    Quantizer, Session,
};
use std::{path::Path, time::Duration};
use types::ProofReport;

const MODELS: [&str; 2] = ["distilbert-base-uncased", "bert-base-uncased"];

fn main() {
    modelmeter::serve_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if let [_, model, method] = arguments.as_slice() {
        return one(model, method);
    }
    let wants = |what: &str| arguments.is_empty() || arguments.iter().any(|a| a == what);
    if wants("change") {
        change();
    }
    if wants("speed") {
        speed();
    }
}

fn profiler(model: &str) -> Profiler {
    let cache = std::env::temp_dir().join("modelmeter-bench");
    let folders = modelmeter::Folders {
        database: cache.join("runs.db"),
        engines: cache.join("engines"),
        hub_cache: None,
        cache,
    };
    let python = std::env::var_os("MODELMETER_PYTHON").map(Into::into);
    let places = Places { python, ..Places::default() };
    Profiler::new(model).offline(true).folders(folders).places(places).sequence_length(128)
}

/// Time and memory of a change, each in a process of its own, so that one's peak is not another's.
fn change() {
    println!("| model | method | weights | time | peak resident memory | ÷ weights |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for model in MODELS {
        for method in ["magnitude", "global-magnitude", "n-m", "structured"] {
            let program = std::env::current_exe().unwrap();
            let output = std::process::Command::new(program).args(["one", model, method]).output();
            print!("{}", String::from_utf8_lossy(&output.unwrap().stdout));
        }
    }
}

fn one(model: &str, method: &str) {
    let method_of = match method {
        "global-magnitude" => PruningMethod::GlobalMagnitude,
        "n-m" => PruningMethod::Groups { keep: 2, of: 4 },
        "structured" => PruningMethod::Structured,
        _ => PruningMethod::Magnitude,
    };
    let sparsity = if method == "structured" { 0.3 } else { 0.5 };
    let folder = tempfile::tempdir().unwrap();
    let pruner = Pruner::new(PruningConfig::new(method_of, sparsity));
    let changed =
        pruner.prune(&profiler(model), &folder.path().join("out"), false, &mut |_| {}).unwrap();
    let weights = 4 * changed.before[0];
    let peak = peak();
    println!(
        "| {model} | {method} | {} | {} | {} | {:.2} |",
        report::bytes(weights),
        report::duration(changed.took),
        report::bytes(peak),
        peak as f64 / weights as f64
    );
}

/// The largest resident memory of this process in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// What is promised of BERT-base: structured 30 % on both engines, int8 on ONNX Runtime.
fn speed() {
    println!("\n| change | engine | before | after | before ÷ after (95 %) | promised |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    let folder = tempfile::tempdir().unwrap();
    let model = profiler("bert-base-uncased");
    let cut = PruningConfig::new(PruningMethod::Structured, 0.3);
    let changed =
        Pruner::new(cut).prune(&model, &folder.path().join("cut"), false, &mut |_| {}).unwrap();
    let both = ["rten", "onnxruntime"];
    tell("structured 30 %", &prove(&model, &changed, &both), 1.25);
    let int8 = QuantizationConfig::new(Precision::Int8).per_channel(true);
    let place: &Path = &folder.path().join("int8");
    let changed = Quantizer::new(int8).quantize(&model, place, false, &mut |_| {}).unwrap();
    tell("int8, dynamic", &prove(&model, &changed, &["onnxruntime"]), 2.5);
}

fn prove(model: &Profiler, changed: &modelmeter::Changed, engines: &[&str]) -> ProofReport {
    Prover::new()
        .engines(engines.iter().map(|engine| (*engine).to_owned()))
        .turn(Duration::from_secs(1))
        .prove(model, changed, &mut Session::without_store(), &mut |_| {})
        .unwrap()
}

fn tell(change: &str, proof: &ProofReport, promised: f64) {
    for one in &proof.speed {
        let time = |summary: &Option<modelmeter::Summary>| {
            summary.as_ref().map(|s| report::seconds(s.median)).unwrap_or_default()
        };
        let ratio = one.speed_up.as_ref().map(|found| {
            let interval = found.interval.map(|i| format!(" [{:.2}, {:.2}]", i.low, i.high));
            format!("{:.2} ×{}", found.ratio, interval.unwrap_or_default())
        });
        let ratio = ratio.or_else(|| one.why.clone()).unwrap_or_default();
        let (before, after) = (time(&one.before), time(&one.after));
        println!("| {change} | {} | {before} | {after} | {ratio} | {promised} × |", one.engine);
    }
}
