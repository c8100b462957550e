//! The command with a real PostgreSQL server as its database, and without one when it should be there.

use crate::{
    bench::{Home, Told, quick, told},
    postgresql::{Disk, PostgreSql, SHARED},
};
use serde_json::Value;
use std::{fs, net::TcpListener, process::Stdio, thread, time::Duration};

/// Runs a command on this server; the password is never in what it says.
fn on(home: &Home, server: &str, arguments: &[&str]) -> Told {
    let output = home.command(arguments).env("MODELMETER_DB", server).output().unwrap();
    let told = told(output);
    assert!(!told.out.contains("s3cret") && !told.err.contains("s3cret"), "{}", told.err);
    told
}

fn fine(home: &Home, server: &str, arguments: &[&str]) -> Told {
    let told = on(home, server, arguments);
    assert_eq!(told.status, Some(0), "{arguments:?}\n{}\n{}", told.out, told.err);
    told
}

fn stored(home: &Home, server: &str) -> usize {
    let list = fine(home, server, &["runs", "list", "--json", "--limit", "0"]);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    list["runs"].as_array().unwrap().len()
}

/// Runs that wait for a server, in this home.
fn waiting(home: &Home) -> usize {
    let root = home.path(".local/share/modelmeter/waiting");
    let Ok(folders) = fs::read_dir(root) else { return 0 };
    folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_server_is_a_database_like_any_other() {
    let home = Home::new();
    let server = SHARED.database();
    let told = fine(&home, &server, &quick("feed-forward-baseline", &["--tag", "team"]));
    assert!(told.out.contains("stored as run"), "{}", told.out);
    assert!(told.err.contains("postgres://tester@127.0.0.1"), "{}", told.err);
    assert!(!home.database().exists() && fs::read_dir(home.path(".")).unwrap().count() == 0);
    assert_eq!(stored(&home, &server), 1);
    let path = fine(&home, &server, &["db", "path"]).out;
    assert!(path.starts_with("postgres://tester@127.0.0.1:"), "{path}");
    let status = fine(&home, &server, &["db", "status"]).out;
    assert!(status.contains("rten on ") && status.contains("postgres://tester@"), "{status}");
    let answer =
        fine(&home, &server, &["db", "query", "SELECT COUNT(*) AS runs FROM run", "--csv"]);
    assert_eq!(answer.out, "runs\r\n1\r\n");
    let told = on(&home, &server, &["db", "query", "DELETE FROM run"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert_eq!(stored(&home, &server), 1);

    // From the server to a file and on to another server: the same runs.
    fine(&home, &server, &["db", "export", "team.jsonl"]);
    home.fine(&["db", "import", "team.jsonl"]);
    let other = SHARED.database();
    home.fine(&["db", "export", "back.jsonl"]);
    fine(&home, &other, &["db", "import", "back.jsonl"]);
    let out = |server: &str| fine(&home, server, &["db", "export", "-"]).out;
    assert_eq!(out(&server), out(&other));
    assert_eq!(out(&server), fs::read_to_string(home.path("team.jsonl")).unwrap());
    fine(&home, &server, &["db", "vacuum"]);
}

#[test]
fn an_address_that_is_none_or_not_let_in_is_refused_before_measuring() {
    let home = Home::new();
    let refused = |server: &str, status: i32, says: &str| {
        let told = on(&home, server, &quick("feed-forward-baseline", &[]));
        assert_eq!(told.status, Some(status), "{}", told.err);
        assert!(told.err.contains(says) && told.err.contains("hint:"), "{}", told.err);
    };
    refused("mysql://ann:s3cret@db/runs", 2, "`mysql://`");
    refused("postgres://ann:s3cret@db:port/runs", 2, "address");
    let good = SHARED.database();
    let (_, end) = good.split_once('@').unwrap();
    refused(&format!("postgres://tester:s3cretbutwrong@{end}"), 2, "refused the login");
    refused(&SHARED.address("not_made_yet"), 2, "not_made_yet");
    assert_eq!(waiting(&home), 0);
    assert_eq!(fs::read_dir(home.path(".")).unwrap().count(), 0, "no folder of that name is made");
}

#[test]
fn a_server_that_is_away_costs_no_measurement() {
    let home = Home::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("postgres://tester:s3cret@127.0.0.1:{port}/runs");
    let told = fine(&home, &server, &quick("feed-forward-baseline", &[]));
    assert!(told.err.contains("warning: could not reach"), "{}", told.err);
    assert!(told.err.contains("it is kept in"), "{}", told.err);
    assert!(told.out.contains("throughput") && !told.out.contains("stored as"), "{}", told.out);
    assert_eq!(waiting(&home), 1);
    // What only looks into the database cannot do without it.
    let told = on(&home, &server, &["runs", "list"]);
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("could not reach") && told.err.contains("hint:"), "{}", told.err);
}

#[test]
fn a_server_that_is_frozen_costs_no_measurement() {
    let home = Home::new();
    let server = PostgreSql::start(Disk::Hasty);
    let address = format!("{}?connect_timeout=3", server.database());
    fine(&home, &address, &["db", "init"]);
    let frozen = server.freeze();
    let told = fine(&home, &address, &quick("feed-forward-baseline", &[]));
    assert!(told.err.contains("no answer for 3 s"), "{}", told.err);
    assert!(told.err.contains("it is kept in") && told.out.contains("throughput"), "{}", told.err);
    assert_eq!(waiting(&home), 1);
    let told = on(&home, &address, &["runs", "list"]);
    assert_eq!(told.status, Some(3), "{}", told.err);
    assert!(told.err.contains("no answer") && told.err.contains("hint:"), "{}", told.err);
    drop(frozen);
    let told = fine(&home, &address, &["runs", "list"]);
    assert!(told.err.contains("stored a waiting run"), "{}", told.err);
}

#[test]
fn a_server_that_goes_away_in_the_middle_gets_its_runs_when_it_is_back() {
    let home = Home::new();
    let server = PostgreSql::start(Disk::Hasty);
    let address = server.database();
    fine(&home, &address, &quick("feed-forward-baseline", &[]));
    let measure = ["profile", "feed-forward-baseline", "--duration", "3s"];
    let mut command = home.command(&measure);
    command.env("MODELMETER_DB", &address).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(1500));
    server.stop();
    let told = told(child.wait_with_output().unwrap());
    assert_eq!(told.status, Some(0), "{}", told.err);
    assert!(told.err.contains("it is kept in"), "{}", told.err);
    assert_eq!(waiting(&home), 1);
    // Still away at the beginning of the next.
    fine(&home, &address, &quick("feed-forward-baseline", &[]));
    assert_eq!(waiting(&home), 2);

    server.restart();
    let told = fine(&home, &address, &["runs", "list"]);
    assert!(told.err.contains("stored 2 waiting runs"), "{}", told.err);
    assert_eq!(waiting(&home), 0);
    assert_eq!(stored(&home, &address), 3);
}
