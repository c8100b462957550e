//! A whole measurement with a worker that lies: it answers what it is asked for, but with damaged numbers and texts.
//!
//! A case begins with the kind of job. Every other line is the name of a request and an answer to it; the n-th time that it is
//! asked, the worker gives the n-th of them, and the last one ever after.

#[path = "../../../meter/testing/plain_job.rs"]
mod plain_job;

use crate::{
    Outcome, Random, Target, mutate,
    target::{ROOM, Reader},
};
use engine::{
    FirstReport, Greeting, LoadReport, PROTOCOL, ProgramCount, ProgramWork, Reply, Request,
    Signature, TrainingJob, Window, read_message, write_message,
};
use meter::{Bench, Counting, Job, Launch, measure};
use modelmeter::report::{JsonOptions, run_json};
use std::{
    collections::{BTreeMap, HashMap},
    io::{BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::Arc,
    time::Duration,
};
use store::Store;
use types::{
    Bytes, ElementType, Fill, InputRole, InputSpec, Interval, Loss, Mode, Optimizer, Phase, Rate,
    Remark, RemarkCode, Run, RunId, Samples, StoppingRule, Summary, Text, Training, TrainingReport,
    TrainingWorld, Warmup, Work,
};

/// Jobs that a case may begin with.
const KINDS: [&str; 4] = ["plain", "text", "training", "program"];

/// A measurement.
pub(crate) const MEASUREMENT: Target = Target {
    name: "measurement",
    what: "a whole measurement with a worker that lies",
    one_of: 20,
    room: ROOM,
    seeds,
    mutate: damage,
    open: || -> Reader {
        let folder = super::folder();
        let store = Store::open(folder.path().join("runs.db")).expect("a new store");
        let bench = plain_job::bench();
        let mut count = 0;
        Box::new(move |bytes| {
            // The folder lasts as long as the store.
            let _folder = &folder;
            let (kind, answers) = read(bytes);
            count += 1;
            let mut job = job(&kind);
            job.id = RunId(format!("{count:016x}"));
            let run = measure(&job, &bench, &lying(answers), &rule(), &mut |_| {});
            let Ok(run) = run else { return Outcome::Refused };
            assert_sound(&run);
            assert_kept(&run, &store);
            Outcome::Accepted
        })
    },
    expected: &[],
};

/// Enough runs to see every step, and no waiting.
fn rule() -> StoppingRule {
    StoppingRule {
        warmup: Warmup::Runs { count: 2 },
        min_runs: 12,
        max_runs: 24,
        min_duration: Duration::ZERO,
        max_duration: Duration::from_millis(50),
        timeout: Duration::from_secs(20),
        ..StoppingRule::default()
    }
}

/// Nothing in a run may be no number, and everything lies where its meaning puts it.
fn assert_sound(run: &Run) {
    for (phase, summary) in &run.summaries {
        let Summary { mean, std, min, max, median, mad, p90, p95, p99, p999, .. } = *summary;
        let Interval { low, high } = summary.ci95_median;
        let numbers = [mean, std, min, max, median, mad, p90, p95, p99, p999, low, high];
        assert!(numbers.iter().all(|n| n.is_finite() && *n >= 0.0), "{phase:?}: {summary:?}");
        assert!(min <= median && median <= max, "{phase:?}: {summary:?}");
        assert!(summary.count > 0 && summary.outliers <= summary.count, "{phase:?}: {summary:?}");
    }
    assert!(run.headline().is_some(), "a run has the phase that people wait for");
    let coverage = run.work.coverage.0;
    assert!((0.0..=1.0).contains(&coverage), "a coverage of {coverage}");
    for metric in run.metrics.iter().chain(run.probes.iter().flat_map(|probe| &probe.metrics)) {
        assert!(metric.value.is_none_or(f64::is_finite), "{}: {:?}", metric.key, metric.value);
    }
    if let Some(world) = run.training.as_ref().and_then(|training| training.world.as_ref()) {
        assert!((0.0..=1.0).contains(&world.overlap.0), "an overlap of {:?}", world.overlap);
        let rate = world.efficiency().map_or(0.0, |rate| rate.0);
        assert!(rate.is_finite(), "an efficiency of {rate}");
    }
}

/// A run is written as JSON and stored, and comes back as it was.
fn assert_kept(run: &Run, store: &Store) {
    let text = run_json(run, JsonOptions { samples: true }).to_string();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    store.insert_run(run).expect("a measured run can be stored");
    let stored = store.run(&run.id.0).expect("what was stored can be read");
    assert_eq!(&stored, run, "what was stored is what was measured");
    store.delete(std::slice::from_ref(&run.id)).expect("a stored run can be deleted");
}

/// A worker that answers each request with the next line for it.
fn lying(answers: HashMap<String, Vec<Vec<u8>>>) -> Launch {
    let answers = Arc::new(answers);
    Launch::Thread(Arc::new(move |mut stream: UnixStream| {
        let Ok(reader) = stream.try_clone() else { return };
        let mut reader = BufReader::new(reader);
        let mut given: HashMap<&str, usize> = HashMap::new();
        let mut name = "hello";
        loop {
            let lines = answers.get(name).map_or(&[][..], Vec::as_slice);
            let count = given.entry(name).or_default();
            let Some(line) = lines.get(*count).or(lines.last()) else { return };
            *count += 1;
            if stream.write_all(line).and_then(|()| stream.write_all(b"\n")).is_err() {
                return;
            }
            let Ok(Some(request)) = read_message::<Request>(&mut reader) else { return };
            name = name_of(&request);
        }
    }))
}

/// What a request is called in a case; all that a measurement does not ask for are one.
fn name_of(request: &Request) -> &'static str {
    match request {
        Request::Load(_) => "load",
        Request::First => "first",
        Request::Run { .. } => "run",
        Request::Count => "count",
        Request::Trained => "trained",
        _ => "other",
    }
}

/// The kind of job and the answers, by request.
fn read(bytes: &[u8]) -> (String, HashMap<String, Vec<Vec<u8>>>) {
    let mut answers: HashMap<String, Vec<Vec<u8>>> = HashMap::new();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let kind = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    for line in lines {
        let Some(at) = line.iter().position(|byte| *byte == b' ') else { continue };
        let name = String::from_utf8_lossy(&line[..at]).into_owned();
        answers.entry(name).or_default().push(line[at + 1..].to_vec());
    }
    (kind, answers)
}

/// Answers with other numbers and texts; some are lost, repeated or given to another request.
fn damage(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = random.pick(seeds).cloned().unwrap_or_default();
    let mut lines: Vec<Vec<u8>> = seed.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..random.changes() {
        // The first line is the kind of job.
        let at = 1 + random.below(lines.len().saturating_sub(1));
        let Some(line) = lines.get(at).cloned() else { break };
        let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
        let (name, answer) = (&line[..=space], &line[space + 1..]);
        match random.below(20) {
            0 => {
                lines.remove(at);
            }
            1 => lines.insert(at, line),
            2 => {
                let other = 1 + random.below(lines.len() - 1);
                let stranger = lines[other].clone();
                let from = stranger.iter().position(|byte| *byte == b' ').map_or(0, |at| at + 1);
                lines[at] = [name, &stranger[from..]].concat();
            }
            _ => {
                let mut changed = mutate::json_leaves(random, answer);
                changed.retain(|byte| *byte != b'\n');
                lines[at] = [name, &changed].concat();
            }
        }
    }
    lines.join(&b'\n')
}

fn seeds() -> Vec<Vec<u8>> {
    KINDS.map(conversation).into()
}

/// What an honest worker says in such a job.
fn conversation(kind: &str) -> Vec<u8> {
    let loaded = LoadReport {
        load: Duration::from_millis(5),
        version: "1.2.3".into(),
        placement: "cpu, 1 thread".into(),
        signature: Signature { inputs: Vec::new(), outputs: Vec::new() },
        real_tokens: (kind == "text").then_some(7),
        remarks: vec![Remark::new(RemarkCode::Tf32, "a remark")],
        versions: BTreeMap::from([("library".to_owned(), "4".to_owned())]),
        steps: Vec::new(),
        machine: None,
    };
    let first = FirstReport {
        inference: Duration::from_millis(2),
        outputs: vec![("y".into(), vec![1, 3])],
        non_finite: if kind == "program" { vec!["y".into()] } else { Vec::new() },
    };
    let phases: &[Phase] = match kind {
        "text" => &[Phase::Tokenise, Phase::Inference, Phase::Postprocess, Phase::Total],
        "training" => {
            &[Phase::Forward, Phase::Loss, Phase::Backward, Phase::Optimizer, Phase::Total]
        }
        _ => &[Phase::Inference],
    };
    let of = |phase: &Phase| Samples {
        phase: *phase,
        nanos: vec![1_000_000, 1_100_000, 1_050_000, 1_020_000],
    };
    let window = || Reply::Window(Window { samples: phases.iter().map(of).collect() });
    let work = ProgramWork {
        flops: 1_000_000,
        coverage: Some(0.9),
        bytes_read: 4_000,
        bytes_written: 2_000,
        activation_peak: 3_000,
        uncounted: vec!["aten::odd".into()],
    };
    let count = ProgramCount { parameters: 11, weight_bytes: 44, work: Some(work), why: None };
    let trained = TrainingReport {
        losses: vec![1.5, 1.25, 1.0],
        output: "y".into(),
        untrained: vec!["w".into()],
        world: Some(TrainingWorld { backend: "gloo".into(), ..TrainingWorld::default() }),
        ..TrainingReport::default()
    };
    let hello = Reply::Hello(Greeting { protocol: PROTOCOL, pid: std::process::id() });
    let mut said = vec![("hello", hello), ("load", Reply::Loaded(Box::new(loaded)))];
    said.push(("first", Reply::First(Box::new(first))));
    said.extend((0..4).map(|_| ("run", window())));
    said.push(("count", Reply::Counted { count: Box::new(count) }));
    said.push(("trained", Reply::Trained { report: Box::new(trained) }));
    let mut case = kind.as_bytes().to_vec();
    case.push(b'\n');
    for (name, reply) in said {
        case.extend(name.as_bytes());
        case.push(b' ');
        write_message(&mut case, &reply).expect("memory can be written");
    }
    case.pop();
    case
}

fn job(kind: &str) -> Job<'static> {
    let input = InputSpec {
        name: "x".into(),
        dtype: ElementType::I64,
        dims: vec![1, 3],
        role: InputRole::TokenIds,
        fill: Fill::Integers { low: 0, high: 9 },
    };
    let training = (kind == "training").then_some(Training {
        optimizer: Optimizer::AdamW,
        loss: Loss::CrossEntropy,
        learning_rate: Rate(1e-3),
        accumulation: 1,
        checkpointing: false,
        world_size: 1,
    });
    let mut job = plain_job::job("lying", Path::new("model.onnx"));
    let work = Work { bytes_read: Bytes(10), bytes_written: Bytes(10), ..job.work };
    job.cell.mode = if training.is_some() { Mode::Training } else { Mode::Inference };
    job.cell.training = training;
    job.cell.text = (kind == "text").then(|| Text { lines: vec!["a".into()] });
    Job {
        training: training.map(|training| {
            let (labels, output) = (input.clone(), "y".into());
            Box::new(TrainingJob { training, labels, output, graphs: None })
        }),
        inputs: vec![input],
        work,
        counting: if kind == "program" { Counting::Program } else { Counting::Graph },
        refine: &|_| unreachable!("every shape is known"),
        ..job
    }
}
