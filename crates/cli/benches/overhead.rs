//! What Modelmeter reports against a bare loop around the same engine, interleaved in one run.
//!
//! `cargo bench -p modelmeter-cli --bench overhead [-- MODEL]`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{Engine, Host, LoadJob, LoadRequest, Reply, Request, Session};
use meter::{Launch, Link};
use modelmeter::{Device, Precision};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};
use types::{HostTensor, InputSpec, Phase};

/// The argument that makes this program the bare loop.
const BARE: &str = "bare";

/// Windows on each side, in the order A B B A.
const PAIRS: usize = 80;
const WINDOW: Duration = Duration::from_millis(400);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if let [role, onnx, inputs] = arguments.as_slice()
        && role == BARE
    {
        return bare_loop(onnx, inputs);
    }
    let names = if arguments.is_empty() {
        vec!["small-transformer".into(), "distilbert-base-uncased".into()]
    } else {
        arguments
    };
    println!("| model | bare loop | worker | ratio (95 %) |\n| --- | --- | --- | --- |");
    for name in names {
        compare(&name);
    }
}

fn compare(name: &str) {
    let cache = std::env::temp_dir().join("modelmeter-bench");
    let request = models::Request { offline: true, ..models::Request::new(name, cache) };
    let resolved = models::resolve(&request, &mut |_| {}).unwrap();
    let inputs = resolved.inputs(4, None, &[]).unwrap();
    let mut bare_process = Bare::start(&resolved.onnx, &inputs);
    let mut link = open_worker(load_request(&resolved.onnx), inputs);

    let (mut bare, mut worker) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let order = if pair % 2 == 0 { [true, false] } else { [false, true] };
        for is_bare in order {
            if is_bare {
                bare.push(median(&bare_process.window()));
            } else {
                worker.push(median(&worker_window(&mut link)));
            }
        }
    }
    let ratios: Vec<f64> = bare.iter().zip(&worker).map(|(bare, worker)| worker / bare).collect();
    let nanos: Vec<u64> = ratios.iter().map(|ratio| (ratio * 1e9) as u64).collect();
    let summary = stats::summarise(&nanos, 1).unwrap();
    println!(
        "| {name} | {:.3} ms | {:.3} ms | {:.4} [{:.4}, {:.4}] |",
        middle(&bare) * 1e3,
        middle(&worker) * 1e3,
        summary.median,
        summary.ci95_median.low,
        summary.ci95_median.high
    );
    link.close();
    bare_process.child.kill().unwrap();
}

fn rten() -> &'static dyn Engine {
    *modelmeter::ENGINES.iter().find(|engine| engine.id() == "rten").unwrap()
}

fn load_request(onnx: &Path) -> LoadRequest {
    LoadRequest::of_onnx(onnx, Device::Cpu, Precision::Fp32, hardware::default_threads())
}

fn open_worker(request: LoadRequest, inputs: Vec<InputSpec>) -> Link {
    let launch = Launch::Process {
        program: env!("CARGO_BIN_EXE_modelmeter").into(),
        arguments: vec![modelmeter::WORKER_ARGUMENT.into()],
        environment: Vec::new(),
    };
    let mut link = Link::open(&launch, Duration::from_secs(600)).unwrap();
    let job = LoadJob {
        engine: rten().id().into(),
        request,
        inputs,
        inputs_file: None,
        seed: 0,
        text: None,
        media: None,
        postprocess: types::Postprocess::None,
        training: None,
        generation: None,
    };
    link.ask(&Request::Load(Box::new(job)), "load").unwrap();
    link.ask(&Request::First, "run").unwrap();
    link
}

/// The bare loop in a process of its own, so that both sides are alike but for the protocol.
struct Bare {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Bare {
    fn start(onnx: &Path, inputs: &[InputSpec]) -> Bare {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(BARE)
            .arg(onnx)
            .arg(serde_json::to_string(inputs).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let asks = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Bare { child, asks, answers }
    }

    fn window(&mut self) -> Vec<u64> {
        writeln!(self.asks, "go").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn bare_loop(onnx: &str, inputs: &str) {
    let inputs: Vec<InputSpec> = serde_json::from_str(inputs).unwrap();
    let tensors: Vec<HostTensor> = inputs.iter().map(|spec| engine::draw(spec, 0)).collect();
    let Host::Worker(loader) = rten().host() else { panic!("rten runs in our worker") };
    let model = loader.load(&load_request(Path::new(onnx))).unwrap();
    let mut session = model.session().unwrap();
    session.bind(&tensors).unwrap();
    session.infer().unwrap();
    for _ask in std::io::stdin().lines() {
        println!("{:?}", bare_window(session.as_mut()));
    }
}

fn bare_window(session: &mut dyn Session) -> Vec<u64> {
    let begin = Instant::now();
    let mut nanos = Vec::new();
    while begin.elapsed() < WINDOW {
        let started = Instant::now();
        session.infer().unwrap();
        nanos.push(started.elapsed().as_nanos() as u64);
    }
    nanos
}

fn worker_window(link: &mut Link) -> Vec<u64> {
    let request = Request::Run { count: u64::MAX, budget: WINDOW };
    let Reply::Window(window) = link.ask(&request, "run").unwrap() else { panic!("no window") };
    let inference = window.samples.into_iter().find(|samples| samples.phase == Phase::Inference);
    inference.unwrap().nanos
}

fn median(nanos: &[u64]) -> f64 {
    stats::median(nanos).unwrap()
}

fn middle(values: &[f64]) -> f64 {
    let nanos: Vec<u64> = values.iter().map(|value| (value * 1e9) as u64).collect();
    median(&nanos)
}
