//! Models in a real browser, as people measure them there.

use crate::bench::{Home, python, told};
use serde_json::Value;
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// Two browsers at once want more memory than tests should take.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A home whose engines are those that the tests of the engine fetch too; a second fetching finds them.
fn home_with_a_browser() -> Home {
    let home = Home::calibrated();
    let own = home.path(".local/share/modelmeter");
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
    fs::create_dir_all(&shared).unwrap();
    fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink(shared, own.join("engines")).unwrap();
    home.fine(&["engines", "install", "browser"]);
    home
}

/// The command with its temporary files in a folder of the home, by which its processes are known.
fn command(home: &Home, arguments: &[&str]) -> (Command, PathBuf) {
    let folder = home.path("temporary");
    fs::create_dir_all(&folder).unwrap();
    let mut command = home.command(arguments);
    command.env("TMPDIR", &folder);
    (command, folder)
}

/// A process of this machine.
struct Process {
    pid: i32,
    parent: i32,
    line: String,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let process = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(Process { pid, parent, line: String::from_utf8_lossy(&line).into_owned() })
    };
    ids.filter_map(process).collect()
}

/// The processes with this folder in their command line: the worker's browser, whose helpers end with it.
fn browsers_of(folder: &Path) -> Vec<i32> {
    let folder = folder.to_str().unwrap();
    let named = processes().into_iter().filter(|process| process.line.contains(folder));
    named.map(|process| process.pid).collect()
}

/// The processes that run pages of these browsers: descendants whose command line does not name the folder.
fn renderers_of(browsers: &[i32]) -> Vec<i32> {
    let all = processes();
    let parent = |pid: i32| all.iter().find(|process| process.pid == pid).map(|p| p.parent);
    let is_below = |pid: i32| {
        let above = std::iter::successors(parent(pid), |&pid| parent(pid));
        above.take(8).any(|pid| browsers.contains(&pid))
    };
    let renderers = all.iter().filter(|process| process.line.contains("--type=renderer"));
    renderers.map(|process| process.pid).filter(|&pid| is_below(pid)).collect()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("waited in vain: {what}");
}

fn metric(run: &Value, key: &str) -> f64 {
    let all = run["metrics"].as_array().unwrap();
    let found = all.iter().find(|metric| metric["key"] == key);
    found.and_then(|metric| metric["value"].as_f64()).unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn a_model_runs_in_a_page_and_the_run_says_all_that_is_known_of_it() {
    let _alone = alone();
    let home = home_with_a_browser();
    let python = python();
    let arguments = [
        "profile",
        "small-transformer",
        "--engine",
        "browser",
        "--python",
        &python,
        "-n",
        "12",
        "-w",
        "3",
        "--layers",
        "--json",
        "-",
    ];
    let (mut command, folder) = command(&home, &arguments);
    let told = told(command.output().unwrap());
    assert_eq!(told.status, Some(0), "{}", told.err);
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&run["engine"], &run["device"]), (&"browser".into(), &"wasm".into()));
    let placement = run["placement"].as_str().unwrap();
    assert!(placement.starts_with("wasm, ") && placement.contains("headless"), "{placement}");
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    let about = |code: &str| reasons.iter().find(|reason| reason["about"] == code);
    let compared = about("outputs-compared").unwrap()["text"].as_str().unwrap();
    assert!(compared.contains("`onnxruntime`"), "{compared}");
    for step in ["browser-start", "runtime-compile", "model-download", "session"] {
        assert!(metric(&run, &format!("cold.load.{step}")) > 0.0, "{step}");
    }
    // The worker, the browser, and at least a renderer.
    assert!(metric(&run, "memory.processes") >= 3.0);
    assert!(metric(&run, "memory.peak") > 50e6);
    assert!(run["layers"].is_object(), "{:#}", run["layers"]);
    assert_eq!(browsers_of(&folder), [0i32; 0], "nothing stays");
}

#[test]
fn a_model_trains_in_a_page_as_it_trains_natively() {
    let _alone = alone();
    let home = home_with_a_browser();
    let python = python();
    let losses = |engine: &[&str]| {
        let plan = ["profile", "small-transformer", "--train", "-b", "2", "-l", "16", "-n", "3"];
        let more = ["-w", "1", "--gradient-accumulation", "2", "--python", &python, "--json", "-"];
        let (mut command, folder) = command(&home, &[&plan[..], engine, &more].concat());
        let told = told(command.output().unwrap());
        assert_eq!(told.status, Some(0), "{}", told.err);
        assert_eq!(browsers_of(&folder), [0i32; 0], "nothing stays");
        let run: Value = serde_json::from_str(&told.out).unwrap();
        let losses: Vec<f64> = serde_json::from_value(run["training"]["losses"].clone()).unwrap();
        (losses, run)
    };
    let (native, _) = losses(&["--engine", "rten"]);
    let (page, run) = losses(&["--engine", "browser", "--device", "wasm"]);
    assert_eq!(native.len(), page.len());
    // Every step starts from what the optimiser made of the one before.
    for (native, page) in native.iter().zip(&page) {
        assert!((native - page).abs() < 1e-4 * native.abs(), "{native} {page}");
    }
    assert!(native.windows(2).all(|two| two[0] != two[1]), "the weights move: {native:?}");
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    let compared = reasons.iter().find(|reason| reason["about"] == "outputs-compared").unwrap();
    let text = compared["text"].as_str().unwrap();
    assert!(text.contains("loss and gradients equal those of `onnxruntime`"), "{text}");
    let mean = |phase: &str| run["phases"][phase]["mean"].as_f64().unwrap();
    let phases = ["forward", "loss", "backward", "optimizer"].map(mean);
    assert!(phases.iter().all(|time| *time > 0.0), "{phases:?}");
    assert!(phases.iter().sum::<f64>() <= mean("total"), "{phases:?}");
}

#[test]
fn a_command_that_is_killed_leaves_no_browser() {
    let _alone = alone();
    let home = home_with_a_browser();
    let arguments =
        ["profile", "small-transformer", "--device", "wasm", "--duration", "60s", "--no-store"];
    let (mut command, folder) = command(&home, &arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a browser", || !browsers_of(&folder).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("no browser", || browsers_of(&folder).is_empty());
}

#[test]
fn a_page_that_hangs_costs_its_cell_and_leaves_no_browser() {
    let _alone = alone();
    let home = home_with_a_browser();
    let measure = ["profile", "small-transformer", "--device", "wasm", "--duration", "60s"];
    let arguments = [&measure[..], &["--timeout", "5s", "--no-store"]].concat();
    let (mut command, folder) = command(&home, &arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let child = std::cell::RefCell::new(child);
    let renderers = || renderers_of(&browsers_of(&folder));
    // The browser keeps one ready for later beside that of the page: all of them are stopped, whenever they begin.
    let is_over = || {
        for pid in renderers() {
            Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
        }
        child.borrow_mut().try_wait().unwrap().is_some()
    };
    wait_until("an end", is_over);
    let told = told(child.into_inner().wait_with_output().unwrap());
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("within 5s and was stopped"), "{}", told.err);
    wait_until("no browser", || browsers_of(&folder).is_empty());
}

/// The link that `serve-bench` prints.
fn link(child: &mut Child) -> String {
    let mut said = String::new();
    let stream = child.stderr.as_mut().unwrap();
    let mut byte = [0];
    while !said.ends_with('\n') || !said.contains("http://") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "it ended: {said}");
        said.push(char::from(byte[0]));
    }
    let begin = said.find("http://").unwrap();
    said[begin..].trim_end().to_owned()
}

#[test]
fn another_browser_measures_by_a_link_and_sends_the_runs_home() {
    let _alone = alone();
    let home = home_with_a_browser();
    let arguments = [
        "serve-bench",
        "small-transformer",
        "--listen",
        "127.0.0.1:18790",
        "--token",
        "a-test-of-links",
        "-n",
        "8",
        "-w",
        "2",
        "--json",
        "-",
    ];
    let (mut command, folder) = command(&home, &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let link = link(&mut child);
    assert_eq!(link, "http://127.0.0.1:18790/a-test-of-links/");
    let mut other = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", folder.join("other").display()))
        .args(["--remote-debugging-port=0", &link])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    let told = told(output);
    assert_eq!(told.status, Some(0), "{}", told.err);
    let list: Value = serde_json::from_str(&told.out).unwrap();
    let id = list["runs"][0]["id"].as_str().unwrap();
    let run: Value = serde_json::from_str(&home.fine(&["report", id, "--json", "-"]).out).unwrap();
    let machine = &run["environment"]["machine"];
    assert!(machine["key"].as_str().unwrap().starts_with("browser-"), "{machine:#}");
    assert_eq!(run["latency"]["samples"], 8);
    let has_memory = run["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .any(|metric| metric["key"] == "memory.peak" && !metric["value"].is_null());
    assert!(!has_memory, "the memory of this machine is not that of the other");
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let home = Home::calibrated();
    // Before a link is shown that leads to somebody else.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let next = format!("serve-bench small-transformer --listen 127.0.0.1:{}", taken.port() + 1);
    let own = std::process::id().to_string();
    let wants = ["serve-bench", "small-transformer", "--listen", &taken.to_string()];
    let told = home.refused(&wants, 3, &["is taken by another program", &own, &next]);
    assert!(!told.err.contains("open this"), "{}", told.err);
    let says = ["ONNX Runtime Web is not installed", "engines install browser"];
    home.refused(&["profile", "small-transformer", "-e", "browser", "-d", "webgpu"], 3, &says);
    let says = ["`x` cannot be a token", "8 or more"];
    home.refused(&["serve-bench", "small-transformer", "--token", "x"], 2, &says);
}
