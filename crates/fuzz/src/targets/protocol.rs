//! What parent and worker say to each other, from both sides.

use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use engine::{
    FakeEngine, LoadJob, LoadRequest, Reply, Request, TextJob, read_message, serve, write_message,
};
use meter::{Launch, Link};
use std::{
    io::{self, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    sync::Arc,
    time::Duration,
};
use types::{Device, ElementType, Fill, InputRole, InputSpec, Postprocess, Precision};

/// What a worker is asked.
pub(crate) const REQUESTS: Target = Target {
    name: "requests",
    what: "what a worker is asked",
    one_of: 1,
    room: ROOM,
    seeds: || vec![requests(None), requests(Some("x"))],
    mutate: mutate::json_lines,
    open: || -> Reader {
        let folder = super::folder();
        let model = super::put(&folder, "model.onnx", b"x");
        let safe = folder.path().join("written");
        Box::new(move |bytes| {
            let asked: Vec<u8> = bytes
                .split_inclusive(|byte| *byte == b'\n')
                .flat_map(|l| tame(l, &model, &safe))
                .collect();
            let mut answered = Vec::new();
            let served = serve(&[&fake()], &no_text, asked.as_slice(), &mut answered);
            let mut answers = answered.as_slice();
            let first = read_message::<Reply>(&mut answers).expect("a worker's answer can be read");
            assert!(matches!(first, Some(Reply::Hello(_))), "a worker greets first");
            while read_message::<Reply>(&mut answers)
                .expect("a worker's answer can be read")
                .is_some()
            {}
            Outcome::from(&served)
        })
    },
    expected: &[],
};

/// What a worker answers, as the parent reads it.
pub(crate) const REPLIES: Target = Target {
    name: "replies",
    what: "what a worker answers, as the parent reads it",
    one_of: 1,
    room: ROOM,
    seeds: replies,
    mutate: mutate::json_lines,
    open: || -> Reader {
        Box::new(|bytes| {
            let Ok(mut link) = Link::open(&saying(bytes), Duration::from_secs(20)) else {
                return Outcome::Refused;
            };
            let mut outcome = Outcome::Accepted;
            for (request, doing) in [
                (Request::First, "run the first inference"),
                (Request::Run { count: 2, budget: Duration::ZERO }, "run"),
                (Request::Count, "count"),
            ] {
                if link.ask(&request, doing).is_err() {
                    outcome = Outcome::Refused;
                }
            }
            outcome
        })
    },
    expected: &[],
};

fn fake() -> FakeEngine {
    "work 1, work 2, fail no reason".parse().expect("a whole script")
}

fn no_text(_path: &Path) -> Result<Box<dyn engine::Tokeniser>, String> {
    Err("no tokenizer here".to_owned())
}

/// A worker that says this, whatever it is asked.
fn saying(bytes: &[u8]) -> Launch {
    let bytes = bytes.to_vec();
    Launch::Thread(Arc::new(move |mut stream: UnixStream| {
        // A parent that has heard enough closes its end; until then it may ask.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = io::copy(&mut stream, &mut io::sink());
    }))
}

/// The same request, if it is one, without work that takes for ever, inputs beyond memory or files of others: a parent may
/// ask for those, and the worker does as it is told.
fn tame(line: &[u8], model: &Path, safe: &Path) -> Vec<u8> {
    const MOST: u64 = 50;
    let Ok(mut request) = serde_json::from_slice::<Request>(line) else { return line.to_vec() };
    match &mut request {
        Request::Run { count, .. } => *count = (*count).min(MOST),
        Request::Profile { count, .. } => *count = (*count).min(MOST),
        Request::Memory { count, events } => {
            *count = (*count).min(MOST);
            events.clone_from(&safe.to_owned());
        }
        Request::Outputs { path, .. } | Request::Gradients { path } => {
            path.clone_from(&safe.to_owned())
        }
        Request::Load(job) => {
            job.request.onnx = model.to_owned();
            for input in &mut job.inputs {
                let product =
                    input.dims.iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
                if product.is_some_and(|count| (1 << 20..1 << 60).contains(&count)) {
                    input.dims.truncate(0);
                }
            }
        }
        _ => {}
    }
    let mut line = Vec::new();
    write_message(&mut line, &request).expect("memory can be written");
    line
}

fn input() -> InputSpec {
    InputSpec {
        name: "x".into(),
        dtype: ElementType::F32,
        dims: vec![3],
        role: InputRole::Other,
        fill: Fill::Uniform { low: 0.0, high: 1.0 },
    }
}

/// A whole conversation, as a worker hears it.
fn requests(text: Option<&str>) -> Vec<u8> {
    let ids = InputSpec {
        name: "ids".into(),
        dtype: ElementType::I64,
        dims: vec![1, 4],
        role: InputRole::TokenIds,
        fill: Fill::Integers { low: 0, high: 9 },
    };
    let load = LoadJob {
        engine: "fake".into(),
        request: LoadRequest::of_onnx("model.onnx", Device::Cpu, Precision::Fp32, 1),
        inputs: vec![input(), ids],
        inputs_file: None,
        seed: 1,
        text: text.map(|text| TextJob {
            lines: vec![text.into()],
            tokenizer: "tokenizer.json".into(),
            max_length: Some(8),
        }),
        media: None,
        postprocess: Postprocess::MeanPool,
        training: None,
        generation: None,
    };
    let all = [
        Request::Load(Box::new(load)),
        Request::First,
        Request::Run { count: 3, budget: Duration::from_millis(5) },
        Request::Observe { values: vec!["y".into()] },
        Request::Outputs { path: "out".into(), inside: false },
        Request::Profile { count: 2, detail: Default::default() },
        Request::Memory { count: 1, events: "events".into() },
        Request::Count,
        Request::Trained,
        Request::Calibrate { device: Device::Cpu, threads: 1 },
        Request::Bye,
    ];
    let mut wire = Vec::new();
    for request in &all {
        write_message(&mut wire, request).expect("memory can be written");
    }
    wire
}

/// Whole conversations, as a parent hears them: what the fake really answers, and a longer one by hand.
fn replies() -> Vec<Vec<u8>> {
    let folder = super::folder();
    let model = super::put(&folder, "model.onnx", b"x");
    let safe = folder.path().join("written");
    let asked: Vec<u8> = requests(None)
        .split_inclusive(|byte| *byte == b'\n')
        .flat_map(|l| tame(l, &model, &safe))
        .collect();
    let mut heard = Vec::new();
    serve(&[&fake()], &no_text, asked.as_slice(), &mut heard).expect("memory can be written");
    let lines: Vec<&[u8]> = heard.split_inclusive(|byte| *byte == b'\n').collect();
    let window =
        br#"{"answer":"window","samples":[{"phase":"inference","nanos":[1000,1100,1050,1020]}]}"#;
    let mut measured: Vec<u8> = lines.iter().take(3).flat_map(|line| line.to_vec()).collect();
    for _ in 0..6 {
        measured.extend(window);
        measured.push(b'\n');
    }
    vec![heard, measured]
}
