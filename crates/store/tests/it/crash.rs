//! Real processes that write at once, and that are killed in the middle.

use crate::{
    place::{Place, on_both},
    postgresql::{Disk, PostgreSql},
    sample,
};
use modelmeter_store::{Filter, Store};
use std::{
    env,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use types::{Phase, Run};

const DATABASE: &str = "STORE_TEST_DATABASE";
const FIRST: &str = "STORE_TEST_FIRST";
const COUNT: &str = "STORE_TEST_COUNT";

const KILLS: &str = "STORE_TEST_KILLS";

/// Kills in the tests below: 60, or what the environment says.
fn kills() -> u64 {
    env::var(KILLS).map_or(60, |text| text.parse().expect("STORE_TEST_KILLS is a number"))
}

on_both!(eight_processes_write_at_once_and_nothing_is_lost);

fn run(n: u64) -> Run {
    let mut run = sample::run(n);
    // From a page to a few hundred, so that a kill meets every size of transaction.
    run.samples = vec![sample::samples(Phase::Inference, n, 100 + n % 7 * 20_000)];
    run
}

/// Stores runs one after another and says each one's number after it was stored.
///
/// The tests below start this very test in processes of its own, with the place and the numbers in the environment.
#[test]
fn runs_stored_one_after_another_are_all_there() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let folder = tempfile::tempdir().unwrap();
    let path = env::var_os(DATABASE).map_or(folder.path().join("store.db"), Into::into);
    let (first, count) = (number(FIRST).unwrap_or(0), number(COUNT).unwrap_or(5));
    let store = Store::open(&path).unwrap();
    for n in first..first + count {
        store.insert_run(&run(n)).unwrap();
        println!("\nstored {n}");
    }
    for n in first..first + count {
        assert_eq!(store.run(&run(n).id.0).unwrap(), run(n));
    }
}

fn spawn(path: &Path, first: u64, count: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::runs_stored_one_after_another_are_all_there", "--nocapture"])
        .env(DATABASE, path)
        .env(FIRST, first.to_string())
        .env(COUNT, count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn eight_processes_write_at_once_and_nothing_is_lost(place: &Place) {
    let children: Vec<Child> = (0..8).map(|n| spawn(place.location(), n * 1000, 15)).collect();
    for mut child in children {
        let mut talk = String::new();
        child.stdout.take().unwrap().read_to_string(&mut talk).unwrap();
        assert!(child.wait().unwrap().success(), "{talk}");
    }
    let store = place.open();
    store.check().unwrap();
    assert_eq!(store.runs(&Filter::default()).unwrap().len(), 8 * 15);
    for process in 0..8 {
        for n in process * 1000..process * 1000 + 15 {
            assert_eq!(store.run(&run(n).id.0).unwrap(), run(n));
        }
    }
}

#[test]
fn a_kill_at_any_moment_loses_no_stored_run_and_leaves_no_half_one() {
    kill_again_and_again(&Place::file());
}

#[test]
fn a_kill_at_any_moment_loses_nothing_on_a_server_either() {
    let server = PostgreSql::start(Disk::Safe);
    kill_again_and_again(&Place::at(server.database()));
}

fn kill_again_and_again(place: &Place) {
    let mut reported = Vec::new();
    for kill in 0..kills() {
        let mut child = spawn(place.location(), kill * 1000, 1000);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        // Some die before the first run or while the file is made, most in the middle of one of the next few.
        let wait_for = kill % 4;
        let mut line = String::new();
        let mut seen = 0;
        while seen < wait_for {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the child ended by itself");
            if let Some(n) = line.trim().strip_prefix("stored ") {
                reported.push(n.parse::<u64>().unwrap());
                seen += 1;
            }
        }
        thread::sleep(Duration::from_micros(kill * 7919 % 23_000));
        child.kill().unwrap();
        let mut rest = Vec::new();
        lines.read_to_end(&mut rest).unwrap();
        child.wait().unwrap();
        // A line without its end may have lost digits.
        let rest = String::from_utf8(rest).unwrap();
        let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
        reported.extend(whole.lines().filter_map(|line| {
            line.trim().strip_prefix("stored ").map(|n| n.parse::<u64>().unwrap())
        }));
        let store = place.open();
        store.check().unwrap();
        assert!(store.status().unwrap().runs >= reported.len() as u64);
    }
    let store = place.open();
    for &n in &reported {
        assert_eq!(store.run(&run(n).id.0).unwrap(), run(n), "run {n} was reported as stored");
    }
    for row in store.runs(&Filter::default()).unwrap() {
        let n = (row.started_at - run(0).started_at) as u64 / 1_000_000;
        assert_eq!(store.run(&row.id.0).unwrap(), run(n), "run {n} must be whole");
    }
    assert!(reported.len() as u64 > kills() / 2, "{} runs were reported", reported.len());
}
