//! `kill -9` of the worker and of the parent, in the middle.

use crate::bench::{Home, python, quick, told};
use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The worker of a running command: its child whose command line carries the worker's argument.
fn worker_of(parent: &Child) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id())).ok()?;
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains(modelmeter::WORKER_ARGUMENT))
    })
}

fn wait_for_worker(parent: &Child) -> i32 {
    let begin = Instant::now();
    loop {
        if let Some(pid) = worker_of(parent) {
            return pid;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no worker appeared");
        thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: i32) {
    // SAFETY: kill takes two numbers and touches no memory of ours.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn is_gone(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.is_empty() || status.contains("State:\tZ")
}

#[test]
fn a_killed_worker_is_an_error_of_that_run_only() {
    let home = Home::new();
    home.fine(&quick("small-transformer", &[]));
    let mut command = home.command(&["profile", "small-transformer", "--duration", "60s"]);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let worker = wait_for_worker(&parent);
    thread::sleep(Duration::from_millis(700));
    kill(worker);
    let told = told(parent.wait_with_output().unwrap());
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("SIGKILL"), "{}", told.err);
    assert_eq!(home.stored(), 1);
}

#[test]
fn a_killed_parent_takes_its_worker_along_and_loses_no_stored_run() {
    let home = Home::new();
    home.fine(&quick("small-transformer", &[]));
    for delay in [50, 300, 900] {
        let mut command = home.command(&["profile", "small-transformer", "--duration", "60s"]);
        let mut parent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let worker = wait_for_worker(&parent);
        thread::sleep(Duration::from_millis(delay));
        kill(i32::try_from(parent.id()).unwrap());
        parent.wait().unwrap();
        let begin = Instant::now();
        while !is_gone(worker) {
            assert!(begin.elapsed() < Duration::from_secs(20), "the worker outlived its parent");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(home.stored(), 1);
    }
    home.fine(&quick("small-transformer", &[]));
    assert_eq!(home.stored(), 2);
}

#[test]
fn several_commands_may_store_at_once() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    let parents: Vec<Child> = (0..4)
        .map(|_| {
            let mut command = home.command(&quick("feed-forward-baseline", &[]));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for parent in parents {
        let told = told(parent.wait_with_output().unwrap());
        assert_eq!(told.status, Some(0), "{}", told.err);
    }
    assert_eq!(home.stored(), 5);
}

/// Ctrl-C.
fn interrupt(child: &Child) {
    // SAFETY: kill takes two numbers and touches no memory of ours.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) };
}

#[test]
fn ctrl_c_says_that_nothing_was_kept() {
    let home = Home::new();
    // The model is prepared and the machine known, so that a worker starts at once.
    home.fine(&quick("small-transformer", &[]));
    let mut command = home.command(&["profile", "small-transformer", "--duration", "100s"]);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_worker(&parent);
    interrupt(&parent);
    let told = told(parent.wait_with_output().unwrap());
    assert_eq!(told.status, Some(130), "{}", told.err);
    let said = "stopped: nothing was stored; the measurement in progress is lost";
    assert!(told.err.contains(said), "{}", told.err);
    assert!(told.err.contains("hint: run the same command"), "{}", told.err);
    assert_eq!(home.stored(), 1, "the run before is still there");
}

#[test]
fn ctrl_c_counts_the_runs_that_were_kept() {
    let home = Home::new();
    let words = ["check", "small-transformer", "--threshold", "latency:10min", "--sampling", "1s"];
    let mut command = home.command(&words);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while home.stored() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(120), "no run came");
        thread::sleep(Duration::from_millis(20));
    }
    interrupt(&parent);
    let told = told(parent.wait_with_output().unwrap());
    assert_eq!(told.status, Some(130), "{}", told.err);
    let stored = home.stored();
    let said = if stored == 1 { "1 run was stored".into() } else { format!("{stored} runs were") };
    assert!(told.err.contains(&said), "{stored} are there\n{}", told.err);
    assert!(told.err.contains("the check in progress is lost"), "{}", told.err);
}

/// Reading a pickle that never ends: a pipe that nobody writes to.
#[test]
fn a_killed_parent_takes_the_reader_of_pickles_along_and_the_next_one_clears_its_folder() {
    let home = Home::calibrated();
    let folder = home.path("pickled");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), r#"{"model_type": "bert"}"#).unwrap();
    let pipe = folder.join("pytorch_model.bin");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let (python, cache) = (python(), home.path("cache"));
    let path = folder.to_str().unwrap();
    let more = ["--allow-pickle", "--python", &python, "--cache", cache.to_str().unwrap()];
    let words = quick(path, &[&["--engine", "rten"][..], &more].concat());
    let mut parent =
        home.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let reader = loop {
        let children = format!("/proc/{0}/task/{0}/children", parent.id());
        let children = fs::read_to_string(children).unwrap_or_default();
        if let Some(reader) = children.split_whitespace().find_map(|pid| pid.parse().ok()) {
            break reader;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no reader appeared");
        thread::sleep(Duration::from_millis(5));
    };
    // It has said that it dies with its parent before it reads anything.
    while fs::read_dir(cache.join("unpickled")).map_or(0, Iterator::count) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no folder was begun");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
    kill(i32::try_from(parent.id()).unwrap());
    parent.wait().unwrap();
    while !is_gone(reader) {
        assert!(begin.elapsed() < Duration::from_secs(80), "the reader outlived its parent");
        thread::sleep(Duration::from_millis(10));
    }
    let left = || fs::read_dir(cache.join("unpickled")).unwrap().count();
    assert_eq!(left(), 1, "what was begun is still there");
    fs::remove_file(&pipe).unwrap();
    fs::write(&pipe, "no pickle").unwrap();
    home.refused(&words, 2, &["could not read the pickled weights"]);
    assert_eq!(left(), 0);
}
