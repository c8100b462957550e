//! The embedded engine as it comes, as we load it, and ONNX Runtime's own Python interface, by turns, in one table.
//!
//! `cargo bench -p modelmeter-cli --bench embedded [-- MODEL …]`, with `.venv` made by `make venv` or `MODELMETER_PYTHON`.
//! It ends within `MINUTES` (8), however long a round takes: more time makes narrower intervals.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a bench prints and may panic"
)]

use engine::{Host, LoadRequest, LoadedModel, Session};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};
use types::{Device, HostTensor, Precision};

const MODELS: [&str; 5] =
    ["distilbert-base-uncased", "bert-base-uncased", "vit-base", "gpt2", "resnet-50"];
/// Its convolutions stay as they are, so there is nothing to compare in int8.
const NOT_QUANTIZED: &str = "resnet-50";
const BATCHES: [usize; 2] = [1, 4];
const THREADS: [u32; 2] = [1, 2];
const LENGTH: usize = 128;
/// An interval over fewer rounds, each with a load of its own, says next to nothing.
const ROUNDS: usize = 3;
/// How long the turns of one cell take in a round, where one turn of all sides does not take longer.
const TURNS: Duration = Duration::from_secs(1);
const MOST_TURNS: usize = 6;

/// ONNX Runtime as its own documentation shows it: each line names the inputs of one inference.
const ONNXRUNTIME: &str = r#"
import sys, time, onnxruntime
from safetensors.numpy import load_file
onnx, threads, *inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
# Threads that wait busily would take the processors from the other sides.
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
feeds = [load_file(path) for path in inputs]
for line in sys.stdin:
    chosen = feeds[int(line)]
    begin = time.perf_counter_ns()
    session.run(None, chosen)
    print(time.perf_counter_ns() - begin, flush=True)
"#;

fn main() {
    let begin = Instant::now();
    let minutes = std::env::var("MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(8.0);
    let budget = types::Seconds(60.0 * minutes).duration();
    let mut named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if named.is_empty() {
        named = MODELS.map(str::to_owned).to_vec();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut groups: Vec<Group> = Vec::new();
    for name in &named {
        let precisions: &[&str] = if name == NOT_QUANTIZED { &["fp32"] } else { &["fp32", "int8"] };
        for precision in precisions {
            groups.extend(Group::prepared(name, precision, folder.path()));
        }
    }
    for round in 0.. {
        let started = Instant::now();
        for group in &mut groups {
            group.round(round % 2 == 1);
        }
        eprintln!("round {} took {:.0} s", round + 1, started.elapsed().as_secs_f64());
        // Another one, if it takes no longer than a tenth more than this one did.
        if round + 1 >= ROUNDS && begin.elapsed() + started.elapsed() * 11 / 10 > budget {
            break;
        }
    }
    println!(
        "| model | precision | batch | threads | rten as it comes | as we load it | onnxruntime | as we load it ÷ as it comes (95 %) | as we load it ÷ onnxruntime (95 %) |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |");
    for group in &groups {
        for cell in &group.cells {
            cell.tell(group);
        }
    }
    eprintln!("{:.0} s", begin.elapsed().as_secs_f64());
}

/// A model with a number of threads; both batches run on the same loads.
struct Group {
    name: String,
    precision: String,
    threads: u32,
    onnx: PathBuf,
    cells: Vec<Cell>,
}

struct Cell {
    batch: usize,
    inputs: Vec<HostTensor>,
    /// The same in a file.
    drawn: PathBuf,
    all: [Vec<u64>; 3],
    against_plain: Vec<Vec<f64>>,
    against_onnxruntime: Vec<Vec<f64>>,
}

impl Group {
    fn prepared(name: &str, precision: &str, folder: &Path) -> Vec<Group> {
        let model = match precision {
            "fp32" => name.to_owned(),
            _ => quantized(name, folder),
        };
        let cache = std::env::temp_dir().join("modelmeter-bench");
        let request = models::Request { offline: true, ..models::Request::new(&model, cache) };
        let resolved = models::resolve(&request, &mut |_| {}).unwrap();
        let cells = |threads: u32| {
            BATCHES.map(|batch| {
                let specs = resolved.inputs(batch, Some(LENGTH), &[]).unwrap();
                let inputs: Vec<HostTensor> =
                    specs.iter().map(|spec| engine::draw(spec, 0)).collect();
                let drawn =
                    folder.join(format!("{name}-{precision}-{threads}-{batch}.safetensors"));
                let views: Vec<_> = inputs.iter().map(engine::view_of).collect();
                engine::write_tensors(&drawn, &views).unwrap();
                let (against_plain, against_onnxruntime) = Default::default();
                Cell {
                    batch,
                    inputs,
                    drawn,
                    all: Default::default(),
                    against_plain,
                    against_onnxruntime,
                }
            })
        };
        let group = |threads| Group {
            name: name.to_owned(),
            precision: precision.to_owned(),
            threads,
            onnx: resolved.onnx.clone(),
            cells: cells(threads).into(),
        };
        THREADS.map(group).into()
    }

    fn round(&mut self, backward: bool) {
        let drawn: Vec<&Path> = self.cells.iter().map(|cell| cell.drawn.as_path()).collect();
        let mut onnxruntime = OnnxRuntime::start(&self.onnx, &drawn, self.threads);
        let models = ["off", "on"].map(|packing| load(&self.onnx, self.threads, packing));
        for (place, cell) in self.cells.iter_mut().enumerate() {
            let [mut plain, mut ours] =
                models.each_ref().map(|model| session(&**model, &cell.inputs));
            let mut turn = |side: usize| match side {
                0 => timed(&mut *plain),
                1 => timed(&mut *ours),
                _ => onnxruntime.infer(place),
            };
            let first: u64 = (0..3).map(&mut turn).sum();
            let turns = (TURNS.as_nanos() as u64 / first.max(1)).clamp(1, MOST_TURNS as u64);
            let mut pairs = (Vec::new(), Vec::new());
            for at in 0..turns {
                let mut nanos = [0; 3];
                for side in if (at % 2 == 0) != backward { [0, 1, 2] } else { [2, 1, 0] } {
                    nanos[side] = turn(side);
                    cell.all[side].push(nanos[side]);
                }
                // Ours over the other, so that below 1 is faster.
                pairs.0.push(stats::log_ratio(&nanos[1..2], &nanos[..1]).unwrap());
                pairs.1.push(stats::log_ratio(&nanos[1..2], &nanos[2..]).unwrap());
            }
            cell.against_plain.push(pairs.0);
            cell.against_onnxruntime.push(pairs.1);
        }
        onnxruntime.child.kill().unwrap();
        onnxruntime.child.wait().unwrap();
    }
}

impl Cell {
    fn tell(&self, group: &Group) {
        let median = |side: usize| stats::median(&self.all[side]).unwrap() * 1e3;
        println!(
            "| {} | {} | {} | {} | {:.1} ms | {:.1} ms | {:.1} ms | {} | {} |",
            group.name,
            group.precision,
            self.batch,
            group.threads,
            median(0),
            median(1),
            median(2),
            ratio(&self.against_plain),
            ratio(&self.against_onnxruntime)
        );
    }
}

fn ratio(rounds: &[Vec<f64>]) -> String {
    let estimate = stats::paired_ratio(rounds, 1).unwrap();
    let interval = estimate.interval.unwrap();
    format!("{:.2} [{:.2}, {:.2}]", estimate.ratio, interval.low, interval.high)
}

/// The model with its products in int8, as the command makes it.
fn quantized(name: &str, folder: &Path) -> String {
    let made = folder.join(format!("{name}-int8"));
    let done = Command::new(env!("CARGO_BIN_EXE_modelmeter"))
        .args(["quantize", name, "--to", "int8", "--no-proof", "--quiet", "--output"])
        .arg(&made)
        .stdout(Stdio::null())
        .status();
    assert!(done.unwrap().success(), "`{name}` could not be quantised");
    made.to_str().unwrap().to_owned()
}

fn load(onnx: &Path, threads: u32, packing: &str) -> Box<dyn LoadedModel> {
    let mut request = LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, threads);
    request.options.settings = [("packing".to_owned(), packing.to_owned())].into();
    let embedded = modelmeter::Engines::default().embedded().unwrap();
    let Host::Worker(loader) = embedded.host() else { panic!("it runs in a worker of ours") };
    loader.load(&request).unwrap()
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
    fn start(onnx: &Path, inputs: &[&Path], threads: u32) -> OnnxRuntime {
        let mut command = Command::new(python());
        command.arg("-c").arg(ONNXRUNTIME).arg(onnx).arg(threads.to_string()).args(inputs);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        OnnxRuntime { child, asks, answers }
    }

    fn infer(&mut self, inputs: usize) -> u64 {
        writeln!(self.asks, "{inputs}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

fn python() -> PathBuf {
    let given = std::env::var_os("MODELMETER_PYTHON").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"))
}
