//! `bench`: plans that are measured, stopped, killed, shared and resumed.

use crate::{
    bench::{Home, Told, told},
    postgresql::SHARED,
};
use serde_json::Value;
use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const PLAN: &str = "models = [\"feed-forward-baseline\", \"small-transformer\"]\nengines = [\"rten\"]\n\
                    batch-sizes = [1, 2]\nprocesses = 2\nruns = 11\nwarmup = 1\nrepeats = 0\n";

/// A plan of two models and two batch sizes, each measured by two processes.
fn with_plan(text: &str) -> Home {
    let home = Home::calibrated();
    fs::write(home.path("nightly.toml"), text).unwrap();
    home
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The words, whatever lines they stand in.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the cells of the plan stand, without measuring anything new.
fn standing(told: &Told) -> Vec<(String, usize)> {
    let report = json(&told.out);
    let cell = |cell: &Value| {
        let runs = cell["runs"].as_array().unwrap().len();
        (cell["standing"].as_str().unwrap().to_owned(), runs)
    };
    report["report"]["cells"].as_array().unwrap().iter().map(cell).collect()
}

#[test]
fn a_plan_is_measured_once_and_a_model_that_is_added_alone() {
    let home = with_plan(PLAN);
    let told = home.fine(&["bench", "nightly.toml"]);
    assert!(told.err.contains("plan `nightly`: 4 cells, 8 processes"), "{}", told.err);
    assert!(told.out.contains("4 cells measured"), "{}", told.out);
    assert_eq!(home.stored(), 8);
    let list = home.fine(&["runs", "list", "--tag", "nightly", "--json", "--limit", "0"]).out;
    assert_eq!(json(&list)["runs"].as_array().unwrap().len(), 8);

    let told = home.fine(&["bench", "nightly.toml", "--prometheus", "n.prom"]);
    assert!(told.err.contains("wrote n.prom\n"), "{}", told.err);
    let told = home.fine(&["bench", "nightly.toml", "--json", "-"]);
    assert!(told.err.contains("8 finished before"), "{}", told.err);
    assert_eq!(standing(&told), vec![("measured".to_owned(), 2); 4]);
    assert_eq!(home.stored(), 8);

    fs::write(home.path("nightly.toml"), PLAN.replace("[1, 2]", "[1, 2, 3]")).unwrap();
    home.fine(&["bench", "nightly.toml"]);
    assert_eq!(home.stored(), 12, "only what is new");
    home.fine(&["bench", "nightly.toml", "--again", "--processes", "1", "--limit", "1"]);
    assert_eq!(home.stored(), 13);
}

#[test]
fn a_plan_that_compares_puts_its_cells_side_by_side() {
    let home = with_plan(&PLAN.replace("runs = 11", "runs = 40"));
    home.fine(&["profile", "encoder-small", "-n", "11"]);
    let told = home.fine(&["bench", "nightly.toml", "--compare"]);
    let (beside, _) = told.out.split_once("4 cells measured").unwrap();
    // A machine that is busy may have left no valid run; then that is what is said.
    assert!(beside.contains("feed-forward-baseline") || beside.contains("valid"), "{beside}");
    assert!(!beside.contains("encoder-small"), "another run's: {beside}");
}

#[test]
fn an_unknown_model_is_told_and_the_rest_runs() {
    let home = with_plan(PLAN);
    let told = home.run(&[
        "bench",
        "--model",
        "no-such-model,feed-forward-baseline",
        "--engines",
        "rten",
        "--processes",
        "1",
        "-n",
        "11",
        "--repeats",
        "0",
    ]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(words(&told.out).contains("no model is called `no-such-model`"), "{}", told.out);
    assert!(told.out.contains("1 cell measured, 1 failed"), "{}", told.out);
    assert_eq!(home.stored(), 1);
}

#[test]
fn a_hang_is_a_result_and_stays_one_until_it_is_tried_again() {
    let home = with_plan(PLAN);
    let told = home.run(&["bench", "nightly.toml", "--timeout", "1ms"]);
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(words(&told.out).contains("hang: the worker did not"), "{}", told.out);
    assert!(told.out.contains("4 failed"), "{}", told.out);
    let told = home.run(&["bench", "nightly.toml"]);
    assert_eq!((told.status, home.stored()), (Some(3), 0), "{}", told.out);
    home.fine(&["bench", "nightly.toml", "--retry-failed"]);
    assert_eq!(home.stored(), 8);
}

#[test]
fn out_of_memory_finds_the_largest_batch_that_fits() {
    let home = Home::calibrated();
    let arguments = [
        "bench",
        "--model",
        "feed-forward-baseline",
        "--engines",
        "rten",
        "--batch-sizes",
        "1,65536",
        "--processes",
        "2",
        "-n",
        "11",
        "--repeats",
        "0",
        "--memory-limit",
        "128",
    ];
    let told = home.run(&arguments);
    assert_eq!(told.status, Some(3), "{}\n{}", told.out, told.err);
    // Its two columns are wrapped beside each other; the document has the sentence.
    assert!(words(&told.out).contains("1 cell measured, 1 failed"), "{}", told.out);
    let why = json(&home.run(&[&arguments[..], &["--json", "-"]].concat()).out);
    let why = why["report"]["cells"][1]["why"].as_str().unwrap().to_owned();
    assert!(why.starts_with("out of memory: "), "{why}");
    assert!(why.contains("; the largest batch that fits") && why.contains("(run "), "{why}");
    // Two of batch 1, and one of the largest: the second process does not try again what failed.
    assert_eq!(home.stored(), 3, "{}", told.err);
}

#[test]
fn what_is_wrong_with_a_plan_is_told_before_anything_is_measured() {
    let home = with_plan("models = [\"gpt2\"]\nbatchsizes = [1]\n");
    let told = home.refused(&["bench", "nightly.toml"], 2, &["line 2", "`batchsizes`"]);
    assert!(told.err.contains("did you mean `batch-sizes`?"), "{}", told.err);
    home.refused(&["bench", "missing.toml"], 2, &["missing.toml"]);
    home.refused(&["bench"], 2, &["names no model", "--model"]);
    home.refused(&["bench", "--category", "sculpture"], 2, &["sculpture", "vision"]);
    home.refused(&["bench", "--model", "gpt2", "--engines", "abacus"], 2, &["abacus"]);
    let told = home.run(&["bench", "--model", "gpt2", "--shard", "3/2"]);
    assert_eq!(told.status, Some(2));
    let told = home.run(&["bench", "--model", "gpt2", "--engines", "rten", "--device", "cuda"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(told.err.contains("runs on cpu only"), "{}", told.err);
    assert!(told.err.contains("nothing of this plan"), "{}", told.err);
    let told = home.fine(&["bench", "--category", "vision", "--engines", "rten", "--dry-run"]);
    assert!(told.out.contains("would be measured"), "{}", told.out);
    assert_eq!(home.stored(), 0);
}

#[test]
fn shards_of_an_array_measure_every_cell_once() {
    let home = with_plan(PLAN);
    for index in ["0", "1", "2"] {
        let output = home
            .command(&["bench", "nightly.toml", "--processes", "1"])
            .env("JOB_COMPLETION_INDEX", index)
            .env("JOB_COMPLETIONS", "3")
            .output()
            .unwrap();
        let told = told(output);
        assert_eq!(told.status, Some(0), "{}", told.err);
    }
    assert_eq!(home.stored(), 4);
    let output =
        home.command(&["bench", "nightly.toml"]).env("JOB_COMPLETION_INDEX", "0").output().unwrap();
    assert_eq!(told(output).status, Some(2), "the number of shards is unknown");
}

/// A plan that takes long enough to be disturbed.
fn slow(home: &Home) -> Command {
    home.command(&["bench", "nightly.toml", "--duration", "1s"])
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two numbers and touches no memory of ours.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), signal) };
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what} did not come");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn ctrl_c_ends_after_the_running_cell_and_the_same_command_goes_on() {
    let home = with_plan(PLAN);
    let child = spawn(&mut slow(&home));
    wait_until("the first run", || home.stored() >= 1);
    signal(&child, libc::SIGINT);
    let told = told(child.wait_with_output().unwrap());
    assert_eq!(told.status, Some(130), "{}", told.err);
    assert!(told.err.contains("stopping after the running cell"), "{}", told.err);
    assert!(told.out.contains("left"), "{}", told.out);
    let stored = home.stored();
    assert!((1..8).contains(&stored), "{stored}");
    let told = home.fine(&["bench", "nightly.toml"]);
    assert!(told.err.contains(&format!("{stored} finished before")), "{}", told.err);
    assert_eq!(home.stored(), 8);
}

#[test]
fn a_second_ctrl_c_stops_at_once_and_gives_the_cell_back() {
    let home = with_plan(PLAN);
    let child = spawn(&mut home.command(&["bench", "nightly.toml", "--duration", "100s"]));
    wait_until("a worker", || {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        !fs::read_to_string(children).unwrap_or_default().trim().is_empty()
    });
    signal(&child, libc::SIGINT);
    thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    signal(&child, libc::SIGINT);
    let told = told(child.wait_with_output().unwrap());
    assert_eq!(told.status, Some(130), "{}", told.err);
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert_eq!(home.stored(), 0);
    let query = "SELECT state, COUNT(*) AS cells FROM plan_cell GROUP BY state";
    let answer = home.fine(&["db", "query", query, "--csv"]).out;
    assert_eq!(answer, "state,cells\r\nwaiting,8\r\n");
}

#[test]
fn a_killed_suite_goes_on_at_once_where_it_was() {
    let home = with_plan(PLAN);
    for expected in 1..=2 {
        let mut child = spawn(&mut slow(&home));
        wait_until("another run", || home.stored() >= expected);
        signal(&child, libc::SIGKILL);
        child.wait().unwrap();
    }
    let begin = Instant::now();
    let told = home.fine(&["bench", "nightly.toml", "--json", "-"]);
    assert!(begin.elapsed() < Duration::from_secs(50), "it waited for the lease of the dead");
    assert_eq!(standing(&told), vec![("measured".to_owned(), 2); 4]);
    // A run that was stored just before the kill may have been measured once more.
    assert!((8..=10).contains(&home.stored()), "{}", home.stored());
}

#[test]
fn two_processes_share_a_plan_on_a_server_and_one_that_dies_loses_nothing() {
    let server = SHARED.database();
    let homes = [with_plan(PLAN), with_plan(PLAN)];
    let start = |home: &Home| {
        let arguments = ["bench", "nightly.toml", "--duration", "1s", "--lease", "5s"];
        spawn(home.command(&arguments).env("MODELMETER_DB", &server))
    };
    let stored = || {
        let output = homes[0]
            .command(&["db", "query", "SELECT COUNT(*) AS runs FROM run", "--csv"])
            .env("MODELMETER_DB", &server)
            .output()
            .unwrap();
        let text = told(output).out;
        text.lines().nth(1).and_then(|line| line.trim().parse().ok()).unwrap_or(0)
    };
    let (mut first, second) = (start(&homes[0]), start(&homes[1]));
    wait_until("a run", || stored() >= 2);
    signal(&first, libc::SIGKILL);
    first.wait().unwrap();
    let told = told(second.wait_with_output().unwrap());
    assert_eq!(told.status, Some(0), "{}", told.err);
    assert!(told.out.contains("4 cells measured"), "{}\n{}", told.out, told.err);
    assert!((8..=9).contains(&stored()), "{}", stored());
}
