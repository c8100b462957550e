//! A training step with our graphs on ONNX Runtime and rten against PyTorch's eager step, interleaved in one run; and
//! PyTorch's plain optimiser against its fused one.
//!
//! `cargo bench --workspace --bench training [-- MODEL BATCH LENGTH]`, with `.venv` made by `make venv` or
//! `MODELMETER_PYTHON`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::Places;
use modelmeter::{Duel, Folders, Profiler, Session, TrainingRequest};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Fresh processes on each side.
const PROCESSES: u32 = 5;
/// Turns of each side in a process, and how long one lasts.
const TURNS: u32 = 4;
const TURN: Duration = Duration::from_secs(3);

/// One module, one batch, and two optimisers that take turns: A B B A.
const OPTIMISERS: &str = r#"
import sys, time, json, statistics, torch, transformers
name, batch, length, threads = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(threads)
torch.manual_seed(0)
kinds = {"distilbert-base-uncased": transformers.DistilBertConfig, "bert-base-uncased": transformers.BertConfig}
config = kinds[name]()
module = transformers.AutoModel.from_config(config).train()
for part in module.modules():
    if isinstance(part, torch.nn.Dropout):
        part.p = 0.0
ids = torch.randint(0, config.vocab_size, (batch, length))
goal = torch.randn(batch, length, config.hidden_size)
sides = {
    "plain": torch.optim.AdamW(module.parameters(), 1e-4, foreach=False),
    "foreach": torch.optim.AdamW(module.parameters(), 1e-4, foreach=True),
    "fused": torch.optim.AdamW(module.parameters(), 1e-4, fused=True),
}
def step(optimiser):
    begin = time.perf_counter()
    out = module(ids).last_hidden_state
    loss = torch.nn.functional.mse_loss(out, goal)
    loss.backward()
    middle = time.perf_counter()
    optimiser.step()
    optimiser.zero_grad()
    end = time.perf_counter()
    return end - begin, end - middle
for optimiser in sides.values():
    step(optimiser)
order = list(sides) + list(sides)[::-1]
times = {name: [] for name in sides}
for _ in range(6):
    for name in order:
        times[name].append(step(sides[name]))
for name in sides:
    whole, own = (statistics.median(column) for column in zip(*times[name]))
    print(f"| {name} | {whole * 1e3:.1f} ms | {own * 1e3:.1f} ms |")
"#;

fn main() {
    modelmeter::serve_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let model = arguments.first().map_or("distilbert-base-uncased", String::as_str);
    let number = |at: usize, usual: usize| arguments.get(at).map_or(usual, |n| n.parse().unwrap());
    let (batch, length) = (number(1, 4), number(2, 128));
    let threads = hardware::default_threads();
    let places = Places { python: Some(python()), ..Places::default() };
    let folder = std::env::temp_dir().join("modelmeter-bench");
    let folders = Folders {
        cache: folder.clone(),
        hub_cache: None,
        database: folder.join("none.db"),
        engines: folder.join("engines"),
    };
    let sides = ["torch", "onnxruntime", "rten"].map(|engine| {
        Profiler::new(model)
            .engine(engine)
            .batch_size(batch)
            .sequence_length(length)
            .training(TrainingRequest::default())
            .places(places.clone())
            .folders(folders.clone())
            .offline(true)
    });
    let duel = Duel::new(sides).processes(PROCESSES).turns(TURNS).turn(TURN);
    let report = duel.measure(&mut Session::without_store(), &mut |_| {}).unwrap();
    println!("{model}, batch {batch} x {length}, {threads} threads");
    println!(
        "| engine | step | forward | loss | backward | optimiser | of PyTorch's fused step (95 %) |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for side in &report.sides {
        let phases: Vec<String> =
            side.info.phases.iter().map(|(_, time)| format!("{:.1} ms", time.0 * 1e3)).collect();
        let speed_up =
            report.comparison(&side.info.label).and_then(|found| found.speed_up.as_ref());
        let ratio = speed_up.map_or_else(String::new, |found| {
            let interval = found.interval.unwrap();
            let [low, high] = [1.0 / interval.high, 1.0 / interval.low];
            format!("{:.2} [{low:.2}, {high:.2}]", 1.0 / found.ratio)
        });
        let median = side.latency.as_ref().unwrap().median * 1e3;
        println!("| {} | {median:.1} ms | {} | {ratio} |", side.info.label, phases.join(" | "));
    }
    println!("\n| PyTorch's AdamW | step | of it the optimiser |\n| --- | --- | --- |");
    let told = Command::new(python())
        .args(["-c", OPTIMISERS, model])
        .args([batch, length, threads as usize].map(|number| number.to_string()))
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    print!("{}", String::from_utf8_lossy(&told.stdout));
}

fn python() -> PathBuf {
    let given = std::env::var_os("MODELMETER_PYTHON").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"))
}
