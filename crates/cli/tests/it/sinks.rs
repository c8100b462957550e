//! What was measured is never lost: all outputs are tried, and each that fails is told.

use crate::bench::{Home, Told, quick, told};
use serde_json::Value;
use std::{fs, process::Command};

/// Changes the database as nobody should.
fn sqlite(home: &Home, statement: &str) {
    let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()";
    let mut python = Command::new("python3");
    let status = python.args(["-c", script]).arg(home.database()).arg(statement).status();
    assert!(status.unwrap().success());
}

/// From now on the database takes no run, as one on a full disk.
const REFUSE_RUNS: &str = "CREATE TRIGGER refused BEFORE INSERT ON run
    BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";

fn refusing() -> Home {
    let home = Home::new();
    // The machine's ceilings are known, and the model is prepared.
    home.fine(&quick("feed-forward-baseline", &[]));
    sqlite(&home, REFUSE_RUNS);
    home
}

fn waiting(home: &Home) -> usize {
    fs::read_dir(home.path("runs.db.waiting")).map_or(0, |files| files.count())
}

/// Lets the database take runs again; the next command brings those that wait.
fn deliver(home: &Home, runs: &str, stored: usize) {
    sqlite(home, "DROP TRIGGER refused");
    let told = home.fine(&["runs", "list"]);
    assert!(told.err.contains(&format!("stored {runs}")), "{}", told.err);
    assert_eq!((home.stored(), waiting(home)), (stored, 0));
    assert!(!home.path("runs.db.waiting").exists());
}

fn says_refused(told: &Told) {
    assert_eq!(told.status, Some(3), "{}\n{}", told.out, told.err);
    for text in ["error: ", "disk is full", "runs.db.waiting"] {
        assert!(told.err.contains(text), "`{text}` is not in\n{}", told.err);
    }
    assert!(!told.out.contains("stored as run"), "{}", told.out);
}

#[test]
fn a_run_that_the_database_refuses_is_shown_written_and_put_aside() {
    let home = refusing();
    let told = home.run(&quick("feed-forward-baseline", &["--json", "a.json", "--csv", "a.csv"]));
    says_refused(&told);
    assert!(told.out.contains("throughput"), "{}", told.out);
    let run: Value = serde_json::from_slice(&fs::read(home.path("a.json")).unwrap()).unwrap();
    assert_eq!(run["schema"], "modelmeter.run/1");
    assert!(home.path("a.csv").exists());
    assert_eq!(waiting(&home), 1);
    // Also to those who asked for quiet, and beside another output that fails.
    let quiet = ["-q", "--json", "/dev/full", "--csv", "b.csv"];
    let told = home.run(&quick("feed-forward-baseline", &quiet));
    says_refused(&told);
    assert!(told.err.contains("/dev/full") && told.out.is_empty(), "{}", told.err);
    assert!(home.path("b.csv").exists());
    deliver(&home, "2 waiting runs", 3);
}

#[test]
fn a_comparison_outlives_its_database() {
    let home = refusing();
    let short = ["--processes", "2", "--turns", "1", "--runs", "6", "--warmup", "1"];
    let subject =
        ["compare", "feed-forward-baseline", "--engines", "rten,rten", "--json", "c.json"];
    let told = home.run(&[&subject[..], &short[..]].concat());
    says_refused(&told);
    assert!(told.out.contains("rten #2"), "{}", told.out);
    assert!(told.err.contains("4 runs are not in the database"), "{}", told.err);
    let report: Value = serde_json::from_slice(&fs::read(home.path("c.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], "modelmeter.comparison/1");
    deliver(&home, "4 waiting runs", 5);
}

#[test]
fn a_plan_outlives_its_database_with_a_report_of_what_was_finished() {
    let home = refusing();
    sqlite(
        &home,
        "CREATE TRIGGER stuck BEFORE UPDATE ON plan_cell WHEN NEW.state = 'done'
         BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END",
    );
    let plan = ["bench", "--model", "feed-forward-baseline", "--engines", "rten", "--runs", "11"];
    let once = ["--warmup", "1", "--processes", "1", "--repeats", "0", "--json", "plan.json"];
    let told = home.run(&[&plan[..], &once].concat());
    says_refused(&told);
    assert!(told.err.contains("the plan was interrupted"), "{}", told.err);
    assert!(told.out.contains("1 cell measured"), "{}", told.out);
    let report: Value = serde_json::from_slice(&fs::read(home.path("plan.json")).unwrap()).unwrap();
    assert_eq!(report["report"]["cells"][0]["standing"], "measured", "{report:#}");
    assert!(report["report"]["interrupted"]["why"].as_str().unwrap().contains("full"));
    deliver(&home, "a waiting run", 2);
}

#[test]
fn quiet_hides_no_failure() {
    let home = Home::new();
    let told = home.run(&["bench", "--model", "no-such-model", "--engines", "rten", "-q"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(told.err.contains("no-such-model"), "{}", told.err);
    assert!(told.out.is_empty(), "{}", told.out);
    let limit = ["--threshold", "memory.peak:1MB", "--engine", "rten", "--processes", "6"];
    let short = ["--sampling", "20ms", "-q"];
    let told = home.run(&[&["check", "feed-forward-baseline"], &limit[..], &short[..]].concat());
    assert_eq!(told.status, Some(1), "{}", told.err);
    assert!(told.err.contains("FAILED") && told.out.is_empty(), "{}", told.err);
}

#[test]
fn a_comparison_in_which_every_side_dies_names_each_and_why() {
    let home = Home::new();
    let sides = ["--engines", "rten", "--thread-counts", "1,2", "--timeout", "1ms", "-q"];
    let arguments = [&["compare", "small-transformer"], &sides[..]].concat();
    let says = ["could not be measured", "1 thread", "2 threads", "did not"];
    home.refused(&arguments, 3, &says);
}

#[test]
fn without_a_store_nothing_is_made_for_one() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &["--no-store"]));
    assert_eq!(fs::read_dir(home.path(".")).unwrap().count(), 0);
}

#[test]
fn secrets_in_near_misses_are_neither_repeated_nor_made_folders() {
    let home = Home::new();
    for near in [
        "postgresql+psycopg2://ann:s3cret@db/runs",
        "jdbc:postgresql://db/runs?user=ann&password=s3cret",
        "host=db user=ann password=s3cret",
        " postgres://ann:s3cret@db/runs",
        "ann:s3cret@db/runs",
    ] {
        for arguments in [["db", "init"], ["db", "path"]] {
            let told = told(home.command(&arguments).env("MODELMETER_DB", near).output().unwrap());
            assert_eq!(told.status, Some(2), "{near}: {}", told.err);
            let said = format!("{}{}", told.out, told.err);
            assert!(said.contains("hint:") && !said.contains("s3cret"), "{near}: {said}");
        }
    }
    let hook = ["watch", "plan.toml", "--once", "--webhook", "hooks.example/services/s3cret"];
    let told = home.refused(&hook, 2, &["--webhook", "hint:"]);
    assert!(!told.err.contains("s3cret"), "{}", told.err);
    assert_eq!(fs::read_dir(home.path(".")).unwrap().count(), 0);
}
