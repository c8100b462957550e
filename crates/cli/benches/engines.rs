//! What Modelmeter reports against the engine's own Python interface, interleaved in one run; and what starting a
//! worker costs.
//!
//! `cargo bench -p modelmeter-cli --bench engines [-- MODEL]`, with `.venv` made by `make venv` or `MODELMETER_PYTHON`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{Engine, Host, LoadJob, LoadRequest, Places, Reply, Request};
use meter::{Launch, Link};
use modelmeter::{Device, ENGINES, Precision, WORKER_ARGUMENT};
use models::Resolved;
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};
use types::{InputSpec, Module, Phase};

/// Fresh processes on each side: two processes of one program differ by percents, and one pair would show only that.
const ROUNDS: usize = 12;
/// Windows on each side in a round, in the order A B B A.
const PAIRS: usize = 20;
/// Short, so that the machine is the same on both sides of a pair, and what an inference costs beside the model shows.
const WINDOW: Duration = Duration::from_millis(100);
const BATCH: usize = 1;
const LENGTH: usize = 32;
/// Workers started to see what that costs.
const STARTS: usize = 30;

/// ONNX Runtime as its own documentation shows it.
const ONNXRUNTIME: &str = r#"
import sys, time, onnxruntime, json
from safetensors.numpy import load_file
onnx, inputs, threads, window = sys.argv[1:5]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
feeds = load_file(inputs)
def infer():
    session.run(None, feeds)
"#;

/// PyTorch as its own documentation shows it.
const TORCH: &str = r#"
import sys, time, torch, transformers, json
from safetensors.torch import load_file
model_class, inputs, threads, window, config = sys.argv[1:6]
torch.set_num_threads(int(threads))
config = json.loads(config)
config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
model = getattr(transformers, model_class)(config).eval()
feeds = load_file(inputs)
def infer():
    with torch.inference_mode():
        model(**feeds)
"#;

/// Answers every line with the samples of one window.
const LOOP: &str = r#"
for _ in range(3):
    infer()
for _ask in sys.stdin:
    begin, nanos = time.perf_counter_ns(), []
    while time.perf_counter_ns() - begin < int(window):
        started = time.perf_counter_ns()
        infer()
        nanos.append(time.perf_counter_ns() - started)
    print(json.dumps(nanos), flush=True)
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let model = arguments.first().map_or("distilbert-base-uncased", String::as_str);
    let places = Places { python: Some(python()), ..Places::default() };
    println!(
        "| engine | its Python interface | modelmeter | ratio (95 %) | fastest tenth |\n| --- | --- | --- | --- | --- |"
    );
    for engine in ["onnxruntime", "torch"] {
        compare(engine, model, &places);
    }
    println!("\n| worker | from start to greeting, median | p95 |\n| --- | --- | --- |");
    for engine in ["rten", "onnxruntime", "openvino", "torch"] {
        start(engine, &places);
    }
}

fn python() -> PathBuf {
    let given = std::env::var_os("MODELMETER_PYTHON").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"))
}

fn engine_of(id: &str) -> &'static dyn Engine {
    *ENGINES.iter().find(|engine| engine.id() == id).unwrap()
}

fn launch(engine: &dyn Engine, places: &Places) -> Launch {
    match engine.host() {
        Host::Worker(_) => Launch::Process {
            program: env!("CARGO_BIN_EXE_modelmeter").into(),
            arguments: vec![WORKER_ARGUMENT.into()],
            environment: Vec::new(),
        },
        Host::Program(starter) => {
            let command = starter.command(places).unwrap();
            let engine::WorkerCommand { program, arguments, environment } = command;
            Launch::Process { program, arguments, environment }
        }
    }
}

fn start(id: &str, places: &Places) {
    let launch = launch(engine_of(id), places);
    let nanos: Vec<u64> = (0..STARTS)
        .map(|_| {
            let link = Link::open(&launch, Duration::from_secs(60)).unwrap();
            let time = link.started_in().as_nanos() as u64;
            link.close();
            time
        })
        .collect();
    let summary = stats::summarise(&nanos, 1).unwrap();
    println!("| {id} | {:.1} ms | {:.1} ms |", summary.median * 1e3, summary.p95 * 1e3);
}

fn compare(id: &str, model: &str, places: &Places) {
    let cache = std::env::temp_dir().join("modelmeter-bench");
    let request = models::Request { offline: true, ..models::Request::new(model, cache.clone()) };
    let resolved = models::resolve(&request, &mut |_| {}).unwrap();
    let inputs = resolved.inputs(BATCH, Some(LENGTH), &[]).unwrap();
    let drawn = cache.join(format!("inputs-{}.safetensors", std::process::id()));
    let tensors: Vec<_> = inputs.iter().map(|spec| engine::draw(spec, 0)).collect();
    let views: Vec<_> = tensors.iter().map(engine::view_of).collect();
    engine::write_tensors(&drawn, &views).unwrap();

    let (mut theirs, mut ours, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut all_theirs, mut all_ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut plain = Plain::start(id, &resolved, &drawn);
        let mut link = open_worker(id, &resolved, inputs.clone(), &drawn, places);
        plain.window();
        let mut pairs = Vec::new();
        for pair in 0..PAIRS {
            let (mut their, mut our) = (Vec::new(), Vec::new());
            for is_theirs in if pair % 2 == 0 { [true, false] } else { [false, true] } {
                if is_theirs {
                    their = plain.window();
                } else {
                    our = worker_window(&mut link);
                }
            }
            theirs.push(median(&their));
            ours.push(median(&our));
            all_theirs.extend(&their);
            all_ours.extend(&our);
            // Ours over theirs, so that above 1 is slower.
            pairs.push(stats::log_ratio(&our, &their).unwrap());
        }
        rounds.push(pairs);
        link.close();
        plain.child.kill().unwrap();
        plain.child.wait().unwrap();
    }
    let estimate = stats::paired_ratio(&rounds, 1).unwrap();
    let interval = estimate.interval.unwrap();
    println!(
        "| {id} | {:.2} ms | {:.2} ms | {:.3} [{:.3}, {:.3}] | {:.3} |",
        middle(&theirs) * 1e3,
        middle(&ours) * 1e3,
        estimate.ratio,
        interval.low,
        interval.high,
        fastest(&all_ours) / fastest(&all_theirs)
    );
    std::fs::remove_file(drawn).unwrap();
}

fn open_worker(
    id: &str,
    resolved: &Resolved,
    inputs: Vec<InputSpec>,
    drawn: &Path,
    places: &Places,
) -> Link {
    let engine = engine_of(id);
    let threads = hardware::default_threads();
    let mut request = LoadRequest::of_onnx(&resolved.onnx, Device::Cpu, Precision::Fp32, threads);
    request.module.clone_from(&resolved.module);
    request.places.clone_from(places);
    let job = LoadJob {
        engine: id.into(),
        request,
        inputs,
        inputs_file: matches!(engine.host(), Host::Program(_)).then(|| drawn.to_owned()),
        seed: 0,
        text: None,
        media: None,
        postprocess: types::Postprocess::None,
        training: None,
        generation: None,
    };
    let mut link = Link::open(&launch(engine, places), Duration::from_secs(600)).unwrap();
    link.ask(&Request::Load(Box::new(job)), "load").unwrap();
    link.ask(&Request::First, "run").unwrap();
    link
}

/// The engine's own interface in a plain loop.
struct Plain {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Plain {
    fn start(id: &str, resolved: &Resolved, drawn: &Path) -> Plain {
        let mut command = Command::new(python());
        let threads = hardware::default_threads().to_string();
        let window = WINDOW.as_nanos().to_string();
        command.arg("-c");
        match (id, &resolved.module) {
            ("torch", Some(Module::Transformers { class, config, .. })) => {
                command.arg(format!("{TORCH}{LOOP}")).arg(class).arg(drawn);
                command.args([&threads, &window, config]);
            }
            _ => {
                command.arg(format!("{ONNXRUNTIME}{LOOP}")).arg(&resolved.onnx).arg(drawn);
                command.args([&threads, &window]);
            }
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Plain { child, asks, answers }
    }

    fn window(&mut self) -> Vec<u64> {
        writeln!(self.asks, "go").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn worker_window(link: &mut Link) -> Vec<u64> {
    let begin = Instant::now();
    let request = Request::Run { count: u64::MAX, budget: WINDOW };
    let Reply::Window(window) = link.ask(&request, "run").unwrap() else { panic!("no window") };
    assert!(begin.elapsed() >= WINDOW);
    let inference = window.samples.into_iter().find(|samples| samples.phase == Phase::Inference);
    inference.unwrap().nanos
}

fn median(nanos: &[u64]) -> f64 {
    stats::median(nanos).unwrap()
}

/// The tenth percentile: what the machine takes away from us does not reach it.
fn fastest(nanos: &[u64]) -> f64 {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 10] as f64
}

fn middle(values: &[f64]) -> f64 {
    let nanos: Vec<u64> = values.iter().map(|value| (value * 1e9) as u64).collect();
    median(&nanos)
}
