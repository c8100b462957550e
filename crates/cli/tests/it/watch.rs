//! `watch`: turns on a schedule, and alerts that arrive once.

use crate::{
    bench::{Home, Told, told},
    survey::json,
};
use modelmeter::{Phase, Run, RunId, Store};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};
use types::Verdict;

const PLAN: &str = "name = \"hourly\"\nmodels = [\"feed-forward-baseline\"]\nengines = [\"rten\"]\n\
                    batch-sizes = [1]\nprocesses = 1\nruns = 11\nwarmup = 1\nrepeats = 0\n";

fn home() -> Home {
    let home = Home::calibrated();
    fs::write(home.path("hourly.toml"), PLAN).unwrap();
    home
}

/// A server that answers each request with the next of these statuses and hands over what it got.
fn server(statuses: &'static [u16]) -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for status in statuses {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                let lower = line.to_lowercase();
                if let Some(count) = lower.strip_prefix("content-length:") {
                    length = count.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer =
                format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            let _ = sender.send(serde_json::from_slice(&body).unwrap());
        }
    });
    (address, receiver)
}

/// Puts an hourly past before the runs there are: so many that are a hundred times faster, then so many like them.
fn with_a_past(home: &Home) {
    let store = Store::open(home.database()).unwrap();
    let list = json(&home.fine(&["runs", "list", "--json", "--limit", "0"]).out);
    let real = store.run(list["runs"][0]["id"].as_str().unwrap()).unwrap();
    let past = |number: i64| {
        let mut run: Run = real.clone();
        run.id = RunId(format!("{:016x}", 0x11 + number));
        run.started_at -= (40 - number) * 3_600_000_000;
        run.verdict = Verdict::from_reasons(Vec::new());
        let level = if number < 25 { 0.01 } else { 1.0 };
        let factor = level * (0.01 * (((number * 7919) % 13) as f64 / 6.0 - 1.0)).exp();
        let summary = run.summaries.get_mut(&Phase::Inference).unwrap();
        summary.median *= factor;
        summary.ci95_median.low *= factor;
        summary.ci95_median.high *= factor;
        run
    };
    let past: Vec<Run> = (0..39).map(past).collect();
    store.insert_runs(&past).unwrap();
}

/// Runs a watch that ends well: 0, or 4 where this machine was too busy for a valid run.
fn watched(home: &Home, arguments: &[&str]) -> Told {
    let told = home.run(arguments);
    assert!(matches!(told.status, Some(0 | 4)), "{:?} {}", told.status, told.err);
    // Which of the two it is must be what it says.
    let is_blind = told.err.contains("nothing could be judged");
    assert_eq!(told.status == Some(4), is_blind, "{:?} {}", told.status, told.err);
    told
}

#[test]
fn a_history_that_is_too_short_is_not_called_unchanged() {
    let home = home();
    let told = home.run(&["watch", "hourly.toml", "--once"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert!(told.err.contains("cycle 1: 1 cell measured; nothing could be judged"), "{}", told.err);
    assert!(!told.err.contains("nothing new is worse"), "{}", told.err);
}

#[test]
fn a_turn_without_a_valid_run_is_an_alert_of_its_own() {
    let home = Home::calibrated();
    // Ten samples are fewer than a median needs, so no run is valid on any machine.
    fs::write(home.path("hourly.toml"), PLAN.replace("runs = 11", "runs = 10")).unwrap();
    let (listening, heard) = server(&[200]);
    let watch =
        ["watch", "hourly.toml", "--once", "--webhook", &listening, "--prometheus", "n.prom"];
    let told = home.run(&watch);
    assert_eq!(told.status, Some(4), "{}", told.err);
    let why = "nothing could be judged: 1 not valid: 1 × too few samples";
    let busy = "nothing could be judged: 1 not valid: 1 × other work";
    assert!(told.err.contains(why) || told.err.contains(busy), "{}", told.err);
    assert!(told.err.contains("alert: plan hourly: nothing could be judged"), "{}", told.err);
    let alerts: Vec<Value> = heard.iter().collect();
    assert_eq!((alerts.len(), &alerts[0]["kind"]), (1, &"cannot-tell".into()), "{alerts:?}");
    let numbers = fs::read_to_string(home.path("n.prom")).unwrap();
    assert!(numbers.contains("modelmeter_valid{"), "{numbers}");
    assert!(numbers.contains("reason=\""), "{numbers}");
    assert!(!numbers.contains("modelmeter_latency_median_seconds{"), "{numbers}");
}

#[test]
fn every_turn_measures_anew_and_the_numbers_are_there_for_prometheus() {
    let home = home();
    let told = watched(&home, &["watch", "hourly.toml", "--every", "1s", "--times", "2"]);
    assert_eq!(home.stored(), 2, "{}", told.err);
    assert!(told.err.contains("cycle 2: 1 cell measured; nothing could be judged"), "{}", told.err);
    // Of a busy machine no run may be valid; a past is.
    with_a_past(&home);
    watched(&home, &["watch", "hourly.toml", "--once", "--prometheus", "numbers.prom"]);
    let numbers = fs::read_to_string(home.path("numbers.prom")).unwrap();
    assert!(numbers.contains("modelmeter_latency_median_seconds{"), "{numbers}");
    assert!(numbers.contains("modelmeter_trend_worse{"), "{numbers}");
    assert!(numbers.contains("modelmeter_newest_run_valid{"), "{numbers}");
}

#[test]
fn a_change_is_told_once_to_whoever_listens() {
    let home = home();
    watched(&home, &["watch", "hourly.toml", "--once"]);
    with_a_past(&home);
    // Nobody takes it: it is reported, and the watch goes on.
    let (refusing, heard) = server(&[404]);
    let told = watched(&home, &["watch", "hourly.toml", "--once", "--webhook", &refusing]);
    assert!(told.err.contains("alert: "), "{}", told.err);
    assert!(told.err.contains("it answered 404"), "{}", told.err);
    assert!(!told.err.contains("secret-path"), "{}", told.err);
    assert_eq!(heard.iter().count(), 1);
    // A server that is busy is asked once more.
    let (busy, heard) = server(&[503, 200]);
    // A busy machine adds an alert of its own, which is another test's.
    let exec = "[ $MODELMETER_KIND = worse ] || exit 0; cat > alert.json; echo \"$MODELMETER_METRIC $MODELMETER_MODEL\" > variables";
    let watch = ["watch", "hourly.toml", "--once", "--webhook", &busy, "--exec", exec];
    watched(&home, &watch);
    let alerts: Vec<Value> = heard.iter().collect();
    assert_eq!(alerts.len(), 2);
    let text = alerts[1]["text"].as_str().unwrap();
    assert!(text.contains("feed-forward-baseline") && text.contains("slower"), "{text}");
    assert_eq!(alerts[1]["schema"], "modelmeter.alert/1");
    assert_eq!(alerts[1]["plan"], "hourly");
    assert!(alerts[1]["change"]["ratio"].as_f64().unwrap() > 10.0, "{}", alerts[1]);
    assert_eq!(json(&fs::read_to_string(home.path("alert.json")).unwrap()), alerts[1]);
    let variables = fs::read_to_string(home.path("variables")).unwrap();
    assert_eq!(variables.trim(), "latency.p50 feed-forward-baseline");
    // It was told; it is not told again, and there is nothing to exit for.
    let told = watched(&home, &["watch", "hourly.toml", "--once", "--exit-on-alert"]);
    assert!(!told.err.contains("alert: feed-forward"), "{}", told.err);
    let list = home.fine(&["runs", "list", "--tag", "alerted:latency.p50", "--json"]).out;
    let tagged = json(&list)["runs"].as_array().unwrap().clone();
    assert_eq!(tagged.len(), 1);
    // Somebody who takes the label away is told again.
    let id = tagged[0]["id"].as_str().unwrap();
    home.fine(&["runs", "tag", id, "alerted:latency.p50", "--remove"]);
    assert_eq!(home.run(&["watch", "hourly.toml", "--once", "--exit-on-alert"]).status, Some(1));
}

#[test]
fn a_watch_that_waits_ends_when_it_is_told_to() {
    for signal in ["-INT", "-TERM"] {
        let home = home();
        let mut command = home.command(&["watch", "hourly.toml", "--every", "1h"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let waits = lines.by_ref().any(|line| line.unwrap().contains("the next cycle starts at"));
        assert!(waits, "it ended by itself");
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        lines.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(home.stored(), 1);
    }
}

#[test]
fn what_is_asked_wrongly_is_said_before_anything_is_measured() {
    let home = home();
    home.refused(&["watch", "none.toml"], 2, &["none.toml"]);
    for wrong in [["--every", "0s"], ["--webhook", "ftp://x"], ["--times", "0"]] {
        let arguments = [["watch", "hourly.toml"].as_slice(), &wrong].concat();
        let output = told(home.command(&arguments).output().unwrap());
        assert_eq!(output.status, Some(2), "{wrong:?}");
    }
    home.refused(&["watch", "hourly.toml", "--prometheus", "no/folder.prom"], 2, &["no folder"]);
    assert_eq!(home.stored(), 0);
}
