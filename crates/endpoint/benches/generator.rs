//! The generator against servers of known times, in real time: one line a check. Needs a quiet machine with two processors.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints what it found")]

#[path = "../testing/scripted_server.rs"]
mod scripted_server;

use load::{
    Accounting, Batching, Pattern, Record, Routing, Schedule, ServiceTimes, Source, account,
    simulate,
};
use modelmeter_endpoint::{Content, Job, Message, Target, serve};
use scripted_server::{STREAM_HEAD, ScriptedServer, chat_events, chunk, write_pieces, write_whole};
use std::{
    io::{BufRead, BufReader, Write, stdin, stdout},
    net::TcpStream,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use types::{Arrivals, GeneratorReport, LoadMetric, LoadWindow, Protocol, Seconds, Summary};

/// The argument that makes this program a generator, as the command does it.
const GENERATOR: &str = "__generator";
const SECOND: u64 = 1_000_000_000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(GENERATOR) {
        std::process::exit(i32::from(serve(BufReader::new(stdin()), stdout()).is_err()));
    }
    tokens();
    frozen();
    queue();
    gaps();
    fast();
    streams();
    simulation();
}

fn check(name: &str, found: f64, unit: &str, low: f64, high: f64) {
    let word = if (low..=high).contains(&found) { "ok  " } else { "MISS" };
    println!("{word} {name}: {found:.4} {unit} (from {low} to {high})");
}

fn job(server: &ScriptedServer, protocol: Protocol, moments: Vec<u64>, connections: usize) -> Job {
    Job {
        target: Target {
            address: server.url("/").parse().unwrap(),
            protocol,
            streaming: protocol.generates(),
            headers: Vec::new(),
        },
        contents: vec![Content { body: b"{}".to_vec(), ..Content::default() }],
        order: vec![0],
        max_requests: moments.len(),
        source: Source::Open(moments),
        until: 600 * SECOND,
        drain: 60 * SECOND,
        timeout: 60 * SECOND,
        max_in_flight: None,
        backlog: None,
        connections,
        together: false,
        max_answer: 1 << 20,
    }
}

/// Runs a job in a process of its own.
fn run(job: &Job) -> (Vec<Record>, GeneratorReport) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(GENERATOR)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    job.write(&mut input).unwrap();
    let mut records = Vec::new();
    let mut report = GeneratorReport::default();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        match serde_json::from_str(&line.unwrap()).unwrap() {
            Message::Request(record) => records.push(record),
            Message::Done { generator, .. } => report = generator,
            Message::Failed { why } => panic!("{why}"),
            Message::Started | Message::Progress(_) => {}
        }
    }
    child.wait().unwrap();
    (records, report)
}

fn summary(records: &[Record], metric: LoadMetric) -> Summary {
    let last = records.iter().map(|one| one.scheduled).max().unwrap_or(0);
    let found = account(&Accounting {
        records,
        window: LoadWindow { from: Seconds(0.0), to: Seconds(last as f64 / 1e9) },
        limits: &[],
        is_open: true,
        generates: true,
        streaming: true,
    });
    let row = found.latencies.into_iter().find(|row| row.metric == metric).unwrap();
    row.summary.value.unwrap()
}

fn every(gap: u64, count: u64) -> Vec<u64> {
    (1..=count).map(|at| at * gap).collect()
}

/// The first token after 120 ms, then one every 10 ms.
fn tokens() {
    let server = ScriptedServer::start(|_, stream| {
        let start = Instant::now();
        let texts = ["a"; 20];
        let events = chat_events(&texts, 20);
        write_pieces(
            stream,
            &[(0, STREAM_HEAD.as_bytes().to_vec()), (0, chunk(events[0].as_bytes()))],
        );
        for (at, event) in events[1..].iter().enumerate() {
            let due = start + Duration::from_millis(120 + 10 * at.min(19) as u64);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            write_pieces(stream, &[(0, chunk(event.as_bytes()))]);
        }
        write_pieces(stream, &[(0, b"0\r\n\r\n")]);
        true
    });
    let (records, _) = run(&job(&server, Protocol::OpenaiChat, every(SECOND / 5, 50), 4));
    check("ttft of 120 ms", summary(&records, LoadMetric::Ttft).median * 1e3, "ms", 119.0, 121.0);
    check("itl of 10 ms", summary(&records, LoadMetric::Itl).median * 1e3, "ms", 9.8, 10.2);
    let gaps: usize = records.iter().map(|one| one.events.len() - 1).sum();
    check("gaps of 50 answers of 20 tokens", gaps as f64, "", 950.0, 950.0);
}

/// Frozen for 2 s of 20 s.
fn frozen() {
    let begun = Instant::now();
    let server = ScriptedServer::start(move |_, stream| {
        let at = begun.elapsed();
        let (from, to) = (Duration::from_secs(10), Duration::from_secs(12));
        if (from..to).contains(&at) {
            thread::sleep(to - at);
        }
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let (records, _) = run(&job(&server, Protocol::Http, every(SECOND / 100, 2000), 4));
    let e2e = summary(&records, LoadMetric::E2e);
    check("p95 of a server frozen 2 s of 20 s", e2e.p95, "s", 0.95, 1.05);
    check("p99 of the same", e2e.p99, "s", 1.75, 1.85);
}

/// One request at a time with known times, against the recursion of Lindley.
fn queue() {
    let turn = Mutex::new(());
    let service = |request: usize| Duration::from_micros(3000 + 1000 * (request as u64 % 7));
    let server = ScriptedServer::start(move |request, stream| {
        let _guard = turn.lock().unwrap();
        thread::sleep(service(request.number));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let pattern = Pattern { rate: 100.0, ramp_to: None, arrivals: Arrivals::Poisson };
    let moments = Schedule::draw(&pattern, 10.0, 10_000, 3).moments;
    let (records, _) = run(&job(&server, Protocol::Http, moments, 32));
    let mut free = 0;
    let mut off: Vec<f64> = records
        .iter()
        .enumerate()
        .map(|(at, record)| {
            free = record.scheduled.max(free) + service(at).as_nanos() as u64;
            (record.last().unwrap() as f64 - free as f64).abs() / 1e6
        })
        .collect();
    off.sort_by(f64::total_cmp);
    check("median difference from Lindley", off[off.len() / 2], "ms", 0.0, 0.3);
    check("p99 of it", off[off.len() * 99 / 100], "ms", 0.0, 2.0);
}

/// Gaps between requests as they were sent, tested against the exponential distribution.
fn gaps() {
    let server =
        ScriptedServer::start(|_, stream| write_whole(stream, "200 OK", "text/plain", b"ok"));
    let passed = (0..20)
        .filter(|seed| {
            let pattern = Pattern { rate: 200.0, ramp_to: None, arrivals: Arrivals::Poisson };
            let moments = Schedule::draw(&pattern, 1.5, 10_000, *seed).moments;
            let (records, _) = run(&job(&server, Protocol::Http, moments, 4));
            let sent: Vec<u64> = records.iter().filter_map(|one| one.sent).collect();
            let mut gaps: Vec<f64> =
                sent.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e9).collect();
            gaps.sort_by(f64::total_cmp);
            let n = gaps.len() as f64;
            let far = gaps.iter().enumerate().map(|(at, gap)| {
                let below = 1.0 - (-gap * 200.0).exp();
                (below - at as f64 / n).abs().max(((at + 1) as f64 / n - below).abs())
            });
            far.fold(0.0, f64::max) * n.sqrt() < 1.628
        })
        .count();
    check("seeds of 20 whose sent gaps pass the test of Poisson", passed as f64, "", 19.0, 20.0);
}

/// 5,000 requests a second for 30 s from one thread.
fn fast() {
    let server =
        ScriptedServer::start(|_, stream| write_whole(stream, "200 OK", "text/plain", b"ok"));
    let (records, report) = run(&job(&server, Protocol::Http, every(SECOND / 5000, 150_000), 16));
    let sent: Vec<u64> = records.iter().filter_map(|one| one.sent).collect();
    let span = (sent[sent.len() - 1] - sent[0]) as f64 / 1e9;
    check("sent rate of 5000/s", (sent.len() - 1) as f64 / span, "/s", 4995.0, 5005.0);
    check("lag p99 at 5000/s", summary(&records, LoadMetric::Lag).p99 * 1e3, "ms", 0.0, 0.5);
    let each = report.processor.0 / records.len() as f64 * 1e6;
    check("processor time a request", each, "µs", 0.0, 100.0);
}

/// 1,000 answers at once, each with 50 tokens a second.
fn streams() {
    const STREAMS: u64 = 1000;
    const TOKENS: u64 = 500;
    const GAP: Duration = Duration::from_millis(20);
    let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let waiting = Arc::clone(&open);
    let server = ScriptedServer::start(move |_, stream| {
        write_pieces(stream, &[(0, STREAM_HEAD.as_bytes().to_vec())]);
        waiting.lock().unwrap().push(stream.try_clone().unwrap());
        // The writer below has it from here on, and the generator closes it.
        thread::sleep(Duration::from_secs(60));
        false
    });
    // One thread writes a token into every stream in turn: a thousand that wake would be what is measured.
    thread::spawn(move || {
        while (open.lock().unwrap().len() as u64) < STREAMS {
            thread::sleep(Duration::from_millis(10));
        }
        let mut streams = std::mem::take(&mut *open.lock().unwrap());
        let texts = vec!["a"; TOKENS as usize];
        let events = chat_events(&texts, TOKENS);
        let start = Instant::now();
        for (at, event) in events.iter().enumerate() {
            let due = start + GAP * at as u32;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let piece = chunk(event.as_bytes());
            streams.iter_mut().for_each(|stream| drop(stream.write_all(&piece)));
        }
        streams.iter_mut().for_each(|stream| drop(stream.write_all(b"0\r\n\r\n")));
    });
    let asked = job(&server, Protocol::OpenaiChat, every(SECOND / 1000, STREAMS), 1000);
    let (records, report) = run(&asked);
    let whole = records.iter().filter(|one| one.is_completed()).count();
    check("streams of 1000 that were read to their end", whole as f64, "", 1000.0, 1000.0);
    check(
        "itl of 20 ms in each",
        summary(&records, LoadMetric::Itl).median * 1e3,
        "ms",
        19.6,
        20.4,
    );
    check("processor for 50,000 tokens a second", report.share(), "", 0.0, 1.0);
}

/// A hundred thousand requests on eight replicas.
fn simulation() {
    let pattern = Pattern { rate: 640.0, ramp_to: None, arrivals: Arrivals::Poisson };
    let moments = Schedule::draw(&pattern, f64::INFINITY, 100_000, 1).moments;
    let times = ServiceTimes::constant(10_000_000);
    let start = Instant::now();
    let batching = Batching { most: 4, wait: 1_000_000 };
    std::hint::black_box(simulate(&moments, &times, 8, Routing::LeastLoaded, batching, 1));
    check("simulation of 100,000 requests", start.elapsed().as_secs_f64(), "s", 0.0, 1.0);
}
