//! What the pass that times layers costs against the pass that only times, for each engine, beside PyTorch's own
//! profiler on the same model; all interleaved in one run. Also how much of the plain time the layers add up to.
//!
//! `cargo bench -p modelmeter-cli --bench layers [-- MODEL [BATCH [DEVICE]]]`, with `.venv` made by `make venv` or
//! `MODELMETER_PYTHON`. `ROUNDS=1` is a short look.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use engine::{Detail, Engine, Host, LoadJob, LoadRequest, NodeProfile, Places, Reply, Request};
use meter::{Launch, Link};
use modelmeter::{Device, ENGINES, Precision, WORKER_ARGUMENT};
use models::Resolved;
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};
use types::{InputSpec, Module, Phase};

/// Fresh processes for each engine: two processes of one program differ by percents.
const ROUNDS: usize = 4;
/// Turns on each side in a round, in the order A B B A.
const PAIRS: usize = 6;
/// How long a turn takes, about.
const TURN: Duration = Duration::from_millis(1000);
/// No turn is shorter than this many inferences.
const LEAST: u64 = 3;

/// PyTorch and its profiler as their own documentation shows them. Answers a line with the samples of one turn: how
/// often, and whether under the profiler.
const TORCH: &str = r#"
import sys, time, json, torch, transformers
from torch.profiler import profile, ProfilerActivity
from safetensors.torch import load_file
model_class, inputs, threads, config, device = sys.argv[1:6]
torch.set_num_threads(int(threads))
config = json.loads(config)
config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
model = getattr(transformers, model_class)(config).eval().to(device)
feeds = {name: value.to(device) for name, value in load_file(inputs).items()}
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device != "cpu" else [])
def infer():
    with torch.inference_mode():
        model(**feeds)
    if device != "cpu":
        torch.cuda.synchronize()
def turn(count):
    nanos = []
    for _ in range(count):
        started = time.perf_counter_ns()
        infer()
        nanos.append(time.perf_counter_ns() - started)
    return nanos
for _ in range(3):
    infer()
for ask in sys.stdin:
    count, how = ask.split()
    if how == "profiled":
        with profile(activities=activities):
            nanos = turn(int(count))
    else:
        nanos = turn(int(count))
    print(json.dumps(nanos), flush=True)
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let argument = |at: usize, default: &str| {
        arguments.get(at).map_or_else(|| default.to_owned(), Clone::clone)
    };
    let scene = Scene::new(
        &argument(0, "distilbert-base-uncased"),
        argument(1, "4").parse().unwrap(),
        argument(2, "cpu").parse().unwrap(),
    );
    println!("| instrument | plain | with it | it costs (95 %) | layers ÷ plain (95 %) |");
    println!("| --- | --- | --- | --- | --- |");
    for engine in ENGINES {
        if engine.devices(&scene.places).contains(&scene.device) {
            layers(engine.id(), &scene);
        }
    }
    theirs(&scene);
    std::fs::remove_file(&scene.drawn).unwrap();
}

/// What is run.
struct Scene {
    places: Places,
    device: Device,
    resolved: Resolved,
    inputs: Vec<InputSpec>,
    drawn: PathBuf,
}

impl Scene {
    fn new(model: &str, batch: usize, device: Device) -> Scene {
        let cache = std::env::temp_dir().join("modelmeter-bench");
        let request =
            models::Request { offline: true, ..models::Request::new(model, cache.clone()) };
        let resolved = models::resolve(&request, &mut |_| {}).unwrap();
        let inputs = resolved.inputs(batch, None, &[]).unwrap();
        let drawn = cache.join(format!("inputs-{}.safetensors", std::process::id()));
        let tensors: Vec<_> = inputs.iter().map(|spec| engine::draw(spec, 0)).collect();
        let views: Vec<_> = tensors.iter().map(engine::view_of).collect();
        engine::write_tensors(&drawn, &views).unwrap();
        let places = Places { python: Some(python()), ..Places::default() };
        Scene { places, device, resolved, inputs, drawn }
    }
}

fn python() -> PathBuf {
    let given = std::env::var_os("MODELMETER_PYTHON").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python"))
}

fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

/// The layer pass of one of our engines.
fn layers(id: &str, scene: &Scene) {
    let mut table = Table::default();
    for _ in 0..rounds() {
        let mut link = open_worker(id, scene);
        let count = count_of(&plain_turn(&mut link, LEAST));
        plain_turn(&mut link, count);
        let mut pairs = Pairs::default();
        for pair in 0..PAIRS {
            let (mut plain, mut profile) = (Vec::new(), None);
            for is_plain in if pair % 2 == 0 { [true, false] } else { [false, true] } {
                match is_plain {
                    true => plain = plain_turn(&mut link, count),
                    false => profile = profile_turn(&mut link, count),
                }
            }
            let Some(profile) = profile else {
                println!("| {id} | cannot tell | | | |");
                return;
            };
            pairs.add(&plain, &profile.run_nanos, Some(&profile));
        }
        table.rounds.push(pairs);
        link.close();
    }
    table.print(&format!("{id}, layers"));
}

/// PyTorch's own profiler.
fn theirs(scene: &Scene) {
    let Some(Module::Transformers { class, config, .. }) = &scene.resolved.module else { return };
    let mut table = Table::default();
    for _ in 0..rounds() {
        let mut plain = Plain::start(scene, class, config);
        let count = count_of(&plain.turn(LEAST, "plain"));
        plain.turn(LEAST, "profiled");
        let mut pairs = Pairs::default();
        for pair in 0..PAIRS {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for is_plain in if pair % 2 == 0 { [true, false] } else { [false, true] } {
                match is_plain {
                    true => without = plain.turn(count, "plain"),
                    false => with = plain.turn(count, "profiled"),
                }
            }
            pairs.add(&without, &with, None);
        }
        table.rounds.push(pairs);
        plain.child.kill().unwrap();
        plain.child.wait().unwrap();
    }
    table.print("torch.profiler");
}

fn count_of(nanos: &[u64]) -> u64 {
    ((TURN.as_secs_f64() / median(nanos)) as u64).clamp(LEAST, 2000)
}

/// The turns of one pair of processes.
#[derive(Default)]
struct Pairs {
    plain: Vec<f64>,
    with: Vec<f64>,
    cost: Vec<f64>,
    closure: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, plain: &[u64], with: &[u64], profile: Option<&NodeProfile>) {
        self.plain.push(median(plain));
        self.with.push(median(with));
        self.cost.push(stats::log_ratio(with, plain).unwrap());
        if let Some(profile) = profile {
            let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
            // The sum is over all runs; what the median run would have of it.
            let share = sum as f64 / profile.total_nanos as f64;
            self.closure.push((median(with) * share / median(plain)).ln());
        }
    }
}

#[derive(Default)]
struct Table {
    rounds: Vec<Pairs>,
}

impl Table {
    fn print(&self, what: &str) {
        let all = |field: fn(&Pairs) -> &Vec<f64>| -> Vec<Vec<f64>> {
            self.rounds.iter().map(|pairs| field(pairs).clone()).collect()
        };
        let ratio = |logs: Vec<Vec<f64>>| {
            let estimate = stats::paired_ratio(&logs, 1)?;
            let interval = estimate.interval?;
            Some((estimate.ratio, interval.low, interval.high))
        };
        let percent = |value: f64| (value - 1.0) * 100.0;
        let cost = match ratio(all(|pairs| &pairs.cost)) {
            Some((r, l, h)) => {
                format!("{:+.1} % [{:+.1}, {:+.1}]", percent(r), percent(l), percent(h))
            }
            None => "cannot tell".to_owned(),
        };
        let closure = match ratio(all(|pairs| &pairs.closure)) {
            Some((r, l, h)) => format!("{:.1} % [{:.1}, {:.1}]", r * 1e2, l * 1e2, h * 1e2),
            None => String::new(),
        };
        let [plain, with] = [all(|pairs| &pairs.plain), all(|pairs| &pairs.with)]
            .map(|times| middle(&times.concat()) * 1e3);
        println!("| {what} | {plain:.3} ms | {with:.3} ms | {cost} | {closure} |");
    }
}

fn open_worker(id: &str, scene: &Scene) -> Link {
    let engine: &dyn Engine = *ENGINES.iter().find(|engine| engine.id() == id).unwrap();
    let launch = match engine.host() {
        Host::Worker(_) => Launch::Process {
            program: env!("CARGO_BIN_EXE_modelmeter").into(),
            arguments: vec![WORKER_ARGUMENT.into()],
            environment: Vec::new(),
        },
        Host::Program(starter) => {
            let engine::WorkerCommand { program, arguments, environment } =
                starter.command(&scene.places).unwrap();
            Launch::Process { program, arguments, environment }
        }
    };
    let threads = hardware::default_threads();
    let onnx = &scene.resolved.onnx;
    let mut request = LoadRequest::of_onnx(onnx, scene.device, Precision::Fp32, threads);
    request.module.clone_from(&scene.resolved.module);
    request.places.clone_from(&scene.places);
    let job = LoadJob {
        engine: id.into(),
        request,
        inputs: scene.inputs.clone(),
        inputs_file: matches!(engine.host(), Host::Program(_)).then(|| scene.drawn.clone()),
        seed: 0,
        text: None,
        media: None,
        postprocess: types::Postprocess::None,
        training: None,
        generation: None,
    };
    let mut link = Link::open(&launch, Duration::from_secs(600)).unwrap();
    link.ask(&Request::Load(Box::new(job)), "load").unwrap();
    link.ask(&Request::First, "run").unwrap();
    link
}

fn plain_turn(link: &mut Link, count: u64) -> Vec<u64> {
    let request = Request::Run { count, budget: Duration::from_secs(600) };
    let Reply::Window(window) = link.ask(&request, "run").unwrap() else { panic!("no window") };
    let inference = window.samples.into_iter().find(|samples| samples.phase == Phase::Inference);
    inference.unwrap().nanos
}

fn profile_turn(link: &mut Link, count: u64) -> Option<NodeProfile> {
    let request = Request::Profile { count, detail: Detail::Times };
    match link.ask(&request, "profile").unwrap() {
        Reply::Profiled { profile } => profile,
        other => panic!("{other:?}"),
    }
}

/// PyTorch's own interface in a plain loop.
struct Plain {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Plain {
    fn start(scene: &Scene, class: &str, config: &str) -> Plain {
        let threads = hardware::default_threads().to_string();
        let mut child = Command::new(python())
            .args(["-c", TORCH, class])
            .arg(&scene.drawn)
            .args([&threads, config, &scene.device.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let asks = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Plain { child, asks, answers }
    }

    fn turn(&mut self, count: u64, how: &str) -> Vec<u64> {
        writeln!(self.asks, "{count} {how}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn median(nanos: &[u64]) -> f64 {
    stats::median(nanos).unwrap()
}

fn middle(values: &[f64]) -> f64 {
    let nanos: Vec<u64> = values.iter().map(|value| (value * 1e9) as u64).collect();
    median(&nanos)
}
