//! The engine as it comes, the engine as we load it, and ONNX Runtime's own Python interface, interleaved in one run.
//!
//! `cargo bench -p modelmeter-engine-rten --bench embedded [-- MODEL|FILE.onnx …]`, with `.venv` made by `make venv` or
//! `MODELMETER_PYTHON`. A quantised graph is a file: `modelmeter quantize MODEL --to int8 --no-proof --output FOLDER`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{LoadRequest, LoadedModel, Loader, Session};
use modelmeter_engine_rten::Rten;
use models::Resolved;
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};
use types::{Device, HostTensor, Precision};

/// Loads of each side: two loads of one model differ, and one would show only that.
const ROUNDS: usize = 5;
/// Turns of each side in a round, forward and backward.
const TURNS: usize = 8;
const LENGTH: usize = 128;
const MODELS: [&str; 5] =
    ["distilbert-base-uncased", "bert-base-uncased", "vit-base", "gpt2", "resnet-50"];

/// ONNX Runtime as its own documentation shows it: one inference for every line.
const ONNXRUNTIME: &str = r#"
import sys, time, onnxruntime
from safetensors.numpy import load_file
onnx, inputs, threads = sys.argv[1:4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
# Threads that wait busily would take the processors from the other sides.
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
feeds = load_file(inputs)
for _ in sys.stdin:
    begin = time.perf_counter_ns()
    session.run(None, feeds)
    print(time.perf_counter_ns() - begin, flush=True)
"#;

fn main() {
    let mut named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if named.is_empty() {
        named = MODELS.map(str::to_owned).to_vec();
    }
    println!(
        "| model | batch | threads | rten as it comes | packed | onnxruntime | packed ÷ as it comes (95 %) | packed ÷ onnxruntime (95 %) |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |");
    for name in &named {
        let cache = std::env::temp_dir().join("modelmeter-bench");
        let request = models::Request { offline: true, ..models::Request::new(name, cache) };
        let resolved = models::resolve(&request, &mut |_| {}).unwrap();
        for batch in [1, 4] {
            for threads in [1, 2] {
                compare(name, &resolved, batch, threads);
            }
        }
    }
}

fn compare(name: &str, resolved: &Resolved, batch: usize, threads: u32) {
    let inputs: Vec<HostTensor> = resolved
        .inputs(batch, Some(LENGTH), &[])
        .unwrap()
        .iter()
        .map(|spec| engine::draw(spec, 0))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join("inputs.safetensors");
    let views: Vec<_> = inputs.iter().map(engine::view_of).collect();
    engine::write_tensors(&drawn, &views).unwrap();
    let mut all: [Vec<u64>; 3] = Default::default();
    let (mut against_plain, mut against_onnxruntime) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let models = ["off", "on"].map(|packing| load(&resolved.onnx, threads, packing));
        let [mut plain, mut packed] = models.each_ref().map(|model| session(&**model, &inputs));
        let mut onnxruntime = OnnxRuntime::start(&resolved.onnx, &drawn, threads);
        let mut turn = |side: usize| match side {
            0 => timed(&mut *plain),
            1 => timed(&mut *packed),
            _ => onnxruntime.infer(),
        };
        for side in 0..3 {
            turn(side);
        }
        let mut pairs = (Vec::new(), Vec::new());
        for at in 0..TURNS {
            let mut nanos = [0; 3];
            for side in if at % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] } {
                nanos[side] = turn(side);
                all[side].push(nanos[side]);
            }
            // Packed over the other, so that below 1 is faster.
            pairs.0.push(stats::log_ratio(&nanos[1..2], &nanos[..1]).unwrap());
            pairs.1.push(stats::log_ratio(&nanos[1..2], &nanos[2..]).unwrap());
        }
        against_plain.push(pairs.0);
        against_onnxruntime.push(pairs.1);
        onnxruntime.child.kill().unwrap();
        onnxruntime.child.wait().unwrap();
    }
    let [plain, packed, onnxruntime] = all.map(|nanos| stats::median(&nanos).unwrap() * 1e3);
    println!(
        "| {name} | {batch} | {threads} | {plain:.1} ms | {packed:.1} ms | {onnxruntime:.1} ms | {} | {} |",
        ratio(&against_plain),
        ratio(&against_onnxruntime)
    );
}

fn ratio(rounds: &[Vec<f64>]) -> String {
    let estimate = stats::paired_ratio(rounds, 1).unwrap();
    let interval = estimate.interval.unwrap();
    format!("{:.2} [{:.2}, {:.2}]", estimate.ratio, interval.low, interval.high)
}

fn load(onnx: &Path, threads: u32, packing: &str) -> Box<dyn LoadedModel> {
    let mut request = LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, threads);
    request.options.settings = [("packing".to_owned(), packing.to_owned())].into();
    Rten.load(&request).unwrap()
}

fn session<'a>(model: &'a dyn LoadedModel, inputs: &[HostTensor]) -> Box<dyn Session + 'a> {
    let mut session = model.session().unwrap();
    session.bind(inputs).unwrap();
    session
}

fn timed(session: &mut dyn Session) -> u64 {
    let begin = Instant::now();
    session.infer().unwrap();
    begin.elapsed().as_nanos() as u64
}

/// ONNX Runtime in a process of its own.
struct OnnxRuntime {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OnnxRuntime {
    fn start(onnx: &Path, inputs: &Path, threads: u32) -> OnnxRuntime {
        let mut command = Command::new(python());
        command.arg("-c").arg(ONNXRUNTIME).arg(onnx).arg(inputs).arg(threads.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        OnnxRuntime { child, asks, answers }
    }

    fn infer(&mut self) -> u64 {
        writeln!(self.asks, "go").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

fn python() -> PathBuf {
    let given = std::env::var_os("MODELMETER_PYTHON").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python"))
}
