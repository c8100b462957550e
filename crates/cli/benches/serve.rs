//! The live page over a hundred thousand runs: start, pages, filters, the first paint in a real browser, listeners.
//!
//! `cargo bench -p modelmeter-cli --bench serve`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

#[path = "../tests/it/browser.rs"]
#[expect(dead_code, reason = "the tests ask more of a browser")]
mod browser;

use browser::Browser;
use modelmeter::{Folders, Profiler, Run, Session, Store};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use store::new_run_id;

const RUNS: u64 = 100_000;
const BLOCK: u64 = 1000;
const REPETITIONS: usize = 21;
const LISTENERS: usize = 50;

fn main() {
    modelmeter::serve_if_worker();
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("bench.db");
    fill(&database, folder.path());
    println!("| what | median | worst |\n| --- | ---: | ---: |");
    told("start to first answer (at most 200 ms)", || {
        let begin = Instant::now();
        let served = Served::start(folder.path(), &database);
        served.get("/api");
        begin.elapsed()
    });
    let served = Served::start(folder.path(), &database);
    for (what, path) in [
        ("list (at most 100 ms)", "/runs"),
        ("list, the last page", "/runs?offset=99900"),
        ("filter by a part of the model", "/runs?model=model-7"),
        ("filter by a part of the model that none has", "/runs?model=none"),
        ("filter by engine and validity", "/runs?engine=rten&valid=1"),
        ("filter by label", "/runs?tag=seventh"),
        ("filter by precision", "/runs?precision=fp32"),
        ("one run as JSON", "/api/runs?limit=1"),
    ] {
        told(what, || served.timed(path));
    }
    let page = served.packed("/runs");
    let (style, script) = (served.packed(&page.1), served.packed(&page.2));
    println!(
        "| page, style and script, gzipped (at most 150 kB) | {:.1} kB | |",
        (page.0 + style.0 + script.0) as f64 / 1e3
    );
    let mut browser = Browser::start();
    browser.visit(&served.page, (1280, 900), "light");
    told("first contentful paint of the list (at most 1 s)", || {
        let address = format!("http://{}/runs", served.host);
        browser.visit(&address, (1280, 900), "light");
        let paint = "new Promise((done) => new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint')\
                     .forEach((entry) => done(entry.startTime))).observe({ type: 'paint', buffered: true }))";
        types::Seconds(browser.ask(paint).as_f64().unwrap() / 1e3).duration()
    });
    let listeners: Vec<TcpStream> = (0..LISTENERS).map(|_| served.listen()).collect();
    told("list, with 50 listeners of whom none reads", || served.timed("/runs"));
    println!("| memory of the server then | {:.0} MB | |", served.memory() as f64 / 1e6);
    let mut served = served;
    told_once("SIGTERM with 50 streams open (at most 1 s)", || {
        Command::new("kill").args(["-TERM", &served.child.id().to_string()]).status().unwrap();
        served.child.wait().unwrap();
    });
    drop(listeners);
}

/// One real run is the pattern; ids, times, names and labels change.
fn fill(database: &Path, folder: &Path) {
    let folders = Folders {
        cache: std::env::temp_dir().join("modelmeter-bench"),
        hub_cache: None,
        database: database.to_owned(),
        engines: folder.join("engines"),
    };
    let profiler = Profiler::new("feed-forward-baseline").offline(true).folders(folders);
    let run = profiler.runs(20).profile_in(&mut Session::without_store(), &mut |_| {}).unwrap().run;
    let store = Store::open(database).unwrap();
    for block in 0..RUNS / BLOCK {
        let runs: Vec<Run> = (block * BLOCK..(block + 1) * BLOCK)
            .map(|number| {
                let mut copy = run.clone();
                copy.started_at += number as i64 * 1_000_000;
                copy.id = new_run_id(copy.started_at, number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                copy.model.name = format!("model-{}", number % 40);
                copy.cell.model.clone_from(&copy.model.name);
                copy.cell.batch_size = 1 << (number % 6);
                if number % 7 == 0 {
                    copy.tags = vec!["seventh".into()];
                }
                copy
            })
            .collect();
        store.insert_runs(&runs).unwrap();
    }
}

struct Served {
    child: Child,
    page: String,
    host: String,
    token: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(home: &Path, database: &Path) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_modelmeter"))
            .args(["serve", "--quiet", "--listen", "127.0.0.1:0", "--db"])
            .arg(database)
            .env("HOME", home)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut page = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut page).unwrap();
        let page = page.trim().to_owned();
        let host = page.split('/').nth(2).unwrap().to_owned();
        let token = page.split("token=").nth(1).unwrap().to_owned();
        Served { child, page, host, token }
    }

    fn ask(&self, path: &str, more: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let Served { host, token, .. } = self;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let mut answer = Vec::new();
        self.ask(path, "connection: close\r\n").read_to_end(&mut answer).unwrap();
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{path}: {}",
            String::from_utf8_lossy(&answer)
        );
        answer
    }

    fn timed(&self, path: &str) -> Duration {
        let begin = Instant::now();
        self.get(path);
        begin.elapsed()
    }

    /// Bytes that went over the wire, and the addresses of style and script in the page.
    fn packed(&self, path: &str) -> (usize, String, String) {
        let mut answer = Vec::new();
        self.ask(path, "connection: close\r\naccept-encoding: gzip\r\n")
            .read_to_end(&mut answer)
            .unwrap();
        let page = String::from_utf8_lossy(&self.get(path)).into_owned();
        let asset = |ending: &str| {
            let end = page.find(ending).map_or(0, |at| at + ending.len());
            let begin = page[..end].rfind("/assets/").unwrap_or(end);
            page[begin..end].to_owned()
        };
        (answer.len(), asset(".css"), asset(".js"))
    }

    /// A stream that nobody reads from.
    fn listen(&self) -> TcpStream {
        let mut stream = self.ask("/events", "");
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    }

    fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    }
}

fn told(what: &str, mut measure: impl FnMut() -> Duration) {
    let mut times: Vec<Duration> = (0..REPETITIONS).map(|_| measure()).collect();
    times.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (middle, worst) = (times[REPETITIONS / 2], times[REPETITIONS - 1]);
    println!("| {what} | {:.1} ms | {:.1} ms |", milliseconds(middle), milliseconds(worst));
}

fn told_once(what: &str, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    println!("| {what} | {:.1} ms | |", begin.elapsed().as_secs_f64() * 1e3);
}
