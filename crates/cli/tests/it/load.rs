//! Load as people run it: a scripted server, a generator of its own process, a stored run. Nothing here rests on how fast this
//! machine is.

#[path = "../../../endpoint/testing/scripted_server.rs"]
mod scripted_server;

use crate::{
    bench::{Home, python},
    generate::smollm2,
    profile::minilm,
};
use scripted_server::{STREAM_HEAD, ScriptedServer, chat_events, chunk, write_pieces, write_whole};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

/// A chat server with one model; it answers eight tokens.
fn chat() -> ScriptedServer {
    ScriptedServer::start(|request, stream| match request.path.as_str() {
        "/v1/models" => {
            let body = br#"{"data":[{"id":"smol","owned_by":"scripted"}]}"#;
            write_whole(stream, "200 OK", "application/json", body)
        }
        "/v1/chat/completions" => {
            let texts = ["a", "b", "c", "d", "e", "f", "g", "h"];
            let mut pieces = vec![(0, STREAM_HEAD.as_bytes().to_vec())];
            pieces.extend(chat_events(&texts, 8).iter().map(|event| (0, chunk(event.as_bytes()))));
            pieces.push((0, b"0\r\n\r\n".to_vec()));
            write_pieces(stream, &pieces);
            true
        }
        "/metrics" => write_whole(stream, "200 OK", "text/plain", b"requests_total 1\n"),
        _ => write_whole(stream, "404 Not Found", "text/html", b"<html>nothing</html>"),
    })
}

/// A load that is over quickly.
fn quick<'a>(address: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["load", address, "--duration", "1s", "--warmup", "100ms", "--max-requests", "40"];
    words.iter().chain(more).copied().collect()
}

fn document(home: &Home, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.path(file)).unwrap()).unwrap()
}

#[test]
fn a_load_is_sent_shown_stored_and_written_in_every_format() {
    let (home, server) = (Home::new(), chat());
    let address = server.url("");
    let arguments =
        ["--rate", "30/s", "--json", "load.json", "--csv", "load.csv", "--html", "load.html"];
    let told = home.run(&quick(&address, &arguments));
    // Whether numbers are valid is the machine's affair.
    assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    for part in ["smol", "server 30/s poisson", "ttft", "e2e", "generator", "stored as run"] {
        assert!(told.out.contains(part), "`{part}` is not in\n{}", told.out);
    }
    let found = document(&home, "load.json");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema/modelmeter.load-1.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let broken: Vec<String> =
        validator.iter_errors(&found).map(|error| error.to_string()).collect();
    assert_eq!(broken, Vec::<String>::new());
    let load = &found["loads"][0];
    let outcomes = load["requests"]["outcome"].as_array().unwrap();
    assert!(
        !outcomes.is_empty() && outcomes.iter().all(|outcome| outcome == "completed"),
        "{load}"
    );
    assert!(load["requests"]["tokens"].as_array().unwrap().iter().all(|tokens| *tokens == 8));
    assert_eq!(load["load"]["server_metrics"][0]["name"], "requests_total");
    assert!(fs::read_to_string(home.path("load.csv")).unwrap().lines().count() > 5);
    assert!(fs::read_to_string(home.path("load.html")).unwrap().contains("smol"));
    let listed = home.fine(&["runs", "list"]).out;
    assert!(listed.contains("smol") && listed.contains("openai-chat"), "{listed}");
    let shown = home.fine(&["runs", "show", "latest", "--json"]).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["mode"], &shown["load_test"]["asked"]["protocol"]),
        (&"load".into(), &"openai-chat".into())
    );
    assert!(shown["device"].is_null(), "the server does not tell it");
    home.fine(&["runs", "show", "latest"]);
    home.fine(&["report", "latest", "--html", "run.html"]);
}

#[test]
fn the_same_seed_asks_the_same_and_the_server_counts_the_same() {
    let (home, server) = (Home::new(), chat());
    let address = server.url("");
    let moments = |file: &str| {
        let before = server.requests();
        home.run(&quick(
            &address,
            &["--rate", "30/s", "--seed", "5", "--no-store", "--json", file],
        ));
        let found = document(&home, file);
        let requests = found["loads"][0]["requests"]["scheduled"].clone();
        // Two questions for the models, and two for numbers of its own.
        let asked = server.requests() - before - 4;
        assert_eq!(asked, requests.as_array().unwrap().len());
        requests
    };
    assert_eq!(moments("one.json"), moments("two.json"));
}

#[test]
fn a_broken_limit_is_a_failed_gate_and_no_answer_keeps_it() {
    let home = Home::new();
    let server = ScriptedServer::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(5));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let address = server.url("/predict");
    let told = home.run(&[
        "load",
        &address,
        "--protocol",
        "http",
        "--duration",
        "2s",
        "--warmup",
        "0s",
        "--slo",
        "p50:1ms",
        "--no-store",
        "--json",
        "load.json",
    ]);
    assert!([Some(1), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let load = &document(&home, "load.json")["loads"][0]["load"];
    assert_eq!(load["limits"][0]["holds"], false);
    assert_eq!(load["counts"]["good"], 0);
    assert!(load["counts"]["completed"].as_u64().unwrap() > 0);
}

#[test]
fn a_search_needs_few_words_and_tells_what_it_found() {
    let (home, server) = (Home::new(), chat());
    let address = server.url("");
    let told = home.run(&[
        "load",
        &address,
        "--find-rate",
        "--slo",
        "p50:30s",
        "--start-rate",
        "20/s",
        "--highest-rate",
        "40/s",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--json",
        "search.json",
    ]);
    assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let found = document(&home, "search.json");
    let probes = found["search"]["probes"].as_array().unwrap();
    assert!(!probes.is_empty());
    assert!(probes.iter().all(|probe| probe["outcome"] != "broken"), "{probes:?}");
    assert_eq!(found["loads"].as_array().unwrap().len(), probes.len());
}

#[test]
fn bad_servers_and_bad_words_are_told_apart() {
    let home = Home::new();
    let page = ScriptedServer::start(|_, stream| {
        write_whole(stream, "200 OK", "text/html", b"<html>welcome</html>")
    });
    let address = page.url("");
    home.refused(&["load", &address], 2, &["neither as OpenAI nor as KServe", "--protocol http"]);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("http://{nobody}");
    home.refused(&["load", &nobody], 3, &["no connection", "hint:"]);
    home.refused(&["load", "http://192.0.2.1"], 2, &["is not this machine", "--yes"]);
    home.refused(&["load", &address, "--key-env", "NO_SUCH_KEY"], 2, &["`NO_SUCH_KEY` is not set"]);
    home.refused(&["load", &address, "--header", "authorization: x"], 2, &["--key-env"]);
    for (words, told) in [
        (vec!["load", "127.0.0.1:8080"], "http://"),
        (vec!["load", "feed-forward-baseline", "--prompts", "nowhere"], "`nowhere`"),
        (vec!["load", "feed-forward-baseline", "--extra", "{}"], "is for servers"),
        (vec!["load", "feed-forward-baseline", "--batch-max", "0"], "1 to 4096"),
        (vec!["load", &address, "--rate", "fast"], "is not a rate"),
        (vec!["load", &address, "--slo", "p98:1s"], "percentiles"),
        (vec!["load", &address, "--rate", "1/s", "--offline"], "cannot be used with"),
        (vec!["load", &address, "--find-rate"], "--slo"),
        (
            vec![
                "load",
                &address,
                "--protocol",
                "http",
                "--concurrency",
                "8",
                "--max-in-flight",
                "2",
            ],
            "`--max-in-flight` needs a schedule",
        ),
    ] {
        let refused = home.run(&words);
        assert_eq!(refused.status, Some(2), "{words:?}");
        assert!(refused.err.contains(told), "{words:?}: {}", refused.err);
    }
    let dead = home.run(&[
        "load",
        &address,
        "--protocol",
        "openai-chat",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--max-requests",
        "20",
    ]);
    assert_eq!(dead.status, Some(4), "errors are counted and the run is stored\n{}", dead.err);
    assert!(dead.out.contains("failed") && dead.out.contains("not valid"), "{}", dead.out);
    assert!(home.fine(&["runs", "list"]).out.contains("openai-chat"));
}

/// The four scenarios of MLPerf and two more on a model in the worker, with every embedded path from schedule to page.
#[test]
fn a_model_is_loaded_here_in_every_scenario() {
    let home = Home::calibrated();
    let model = "feed-forward-baseline";
    let scenarios: [(&[&str], &str); 5] = [
        (&["--single-stream"], "single-stream"),
        (&["--multi-stream", "4", "--batch-max", "4"], "multi-stream 4"),
        (&["--rate", "60/s", "--slo", "p50:30s"], "server 60/s poisson"),
        (&["--offline", "--batch-max", "8"], "offline"),
        (&["--concurrency", "3", "--batch-max", "2", "--batch-wait", "2ms"], "concurrency 3"),
    ];
    for (scenario, shown) in scenarios {
        let words = ["load", model, "--duration", "1s", "--warmup", "0s", "--max-requests", "40"];
        let words = [&words, scenario, &["--engine", "rten", "--json", "load.json"]].concat();
        let told = home.run(&words);
        assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
        for part in [shown, "rten", "e2e", "stored as run"] {
            assert!(told.out.contains(part), "`{part}` is not in\n{}", told.out);
        }
        let load = &document(&home, "load.json")["loads"][0];
        let requests = load["requests"]["outcome"].as_array().unwrap();
        assert_eq!(requests.len(), requests.iter().filter(|one| *one == "completed").count());
        let sizes = load["load"]["batches"]["sizes"].as_array().unwrap();
        let all: u64 =
            sizes.iter().map(|one| one[0].as_u64().unwrap() * one[1].as_u64().unwrap()).sum();
        assert_eq!(all, requests.len() as u64, "every request was in one batch: {sizes:?}");
    }
    let shown = home.fine(&["runs", "show", "latest", "--json"]).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["mode"], &shown["device"]), (&"load".into(), &"cpu".into()));
    assert_eq!(shown["load_test"]["asked"]["batching"]["most"], 2);
    assert!(shown["metrics"].as_array().is_none_or(|all| !all.is_empty()));
    home.fine(&["runs", "show", "latest"]);
    home.fine(&["report", "latest", "--html", "run.html"]);
    let page = fs::read_to_string(home.path("run.html")).unwrap();
    assert!(page.contains("modelmeter load feed-forward-baseline --concurrency 3 --engine rten"));
    let told = home.fine(&["runs", "list", "--mode", "load"]).out;
    for part in ["mode", "load concurrency 3", "load single-stream", "load server 60/s poisson"] {
        assert!(told.contains(part), "`{part}` is not in\n{told}");
    }
    for command in ["analyze", "trend", "recommend"] {
        let told = home.run(&[command, "--mode", "load"]);
        assert!([Some(0), Some(4)].contains(&told.status), "{command}: {}", told.err);
    }
    for command in ["compare", "check", "advise"] {
        home.refused(&[command, model, "--modes", "load"], 2, &["`modelmeter load MODEL`"]);
    }
    // What one request takes there is what capacity rests on.
    let asked = ["capacity", model, "--rate", "100/s", "--slo", "p99:30s"];
    assert!([Some(0), Some(4)].contains(&home.run(&asked).status));
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let (home, server) = (Home::new(), chat());
    let address = server.url("");
    let mut command = home.command(&[
        "load",
        &address,
        "--rate",
        "50/s",
        "--duration",
        "1h",
        "--warmup",
        "0s",
        "--progress",
        "json",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // As soon as some requests are answered.
    let answered = lines.by_ref().map_while(Result::ok).find(|line| {
        let live: Value = serde_json::from_str(line).unwrap_or_default();
        live["event"] == "load-progress"
            && live["label"] == "server 50/s poisson"
            && live["live"]["completed"].as_u64().is_some_and(|completed| completed > 15)
    });
    assert!(answered.is_some());
    // SAFETY: the child was started by this test and has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let shown = home.fine(&["runs", "show", "latest", "--json"]).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["load_test"]["counts"]["completed"].as_u64().unwrap() > 10, "{shown}");
}

/// The same texts in the same order on two workers: the one of this program and the one in Python.
#[test]
fn texts_of_a_file_are_answered_in_process_and_padding_is_counted() {
    let home = Home::calibrated();
    let (model, python) = (minilm(), python());
    let long = "a sentence that goes on for much longer than the other one does ".repeat(3);
    let texts = serde_json::json!([
        { "conversations": [{ "from": "human", "value": "Fast." }] },
        { "conversations": [{ "from": "human", "value": long }] },
        { "prompt": "How fast is this?" },
    ]);
    fs::write(home.path("texts.json"), texts.to_string()).unwrap();
    let mut counted = Vec::new();
    for engine in ["rten", "torch"] {
        let words = [
            "load",
            model.to_str().unwrap(),
            "--prompts",
            "texts.json",
            "--offline",
            "--max-requests",
            "12",
            "--batch-max",
            "4",
            "--engine",
            engine,
            "--python",
            &python,
            "--json",
            "load.json",
        ];
        let told = home.run(&words);
        assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
        // "Fast." and a full stop, between two special tokens.
        let out = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains("3 texts of 4 to "), "{}", told.out);
        assert!(out.contains("tokens that were computed are padding"), "{}", told.out);
        let load = &document(&home, "load.json")["loads"][0]["load"];
        let batches = &load["batches"];
        assert_eq!(batches["sizes"], serde_json::json!([[4, 3]]), "{batches}");
        let number = |name: &str| batches["padding"][name].as_u64().unwrap();
        let (tokens, padding) = (number("tokens"), number("padding"));
        // Every batch is as long as its longest text, and has four rows of that length.
        assert!(
            tokens >= 12 * 4 && padding > 0 && (tokens + padding).is_multiple_of(4),
            "{batches}"
        );
        counted.push((tokens, padding));
    }
    assert_eq!(counted[0], counted[1], "the same seed, the same texts, the same batches");
    // The command that measures it again has no file to name.
    home.fine(&["report", "latest", "--html", "run.html"]);
    assert!(fs::read_to_string(home.path("run.html")).unwrap().contains("--prompts FILE"));
}

#[test]
fn loads_at_several_numbers_of_users_are_a_picture() {
    let home = Home::calibrated();
    home.run(&["load", "feed-forward-baseline", "--engine", "rten", "--duration", "1s"]);
    let draw = ["visualize", "--only", "load", "--format", "svg", "--theme", "light"];
    let of = |users: &[u64]| {
        store_anew(&home, |run| {
            let of = |users: &u64| {
                let mut run = again(&valid(run.clone()), *users);
                let scenario = serde_json::json!({"kind": "concurrency", "users": users});
                run["cell"]["load"]["scenario"] = scenario;
                run
            };
            users.iter().map(of).collect()
        });
        home.run(&draw)
    };
    let several = of(&[1, 2, 4]);
    assert_eq!(several.status, Some(0), "{}\n{}", several.out, several.err);
    let svg = fs::read_to_string(home.path("modelmeter-pictures/load-light.svg")).unwrap();
    for part in ["users, each waiting for the answer", "whole answer", "median", "3 cells"] {
        assert!(svg.contains(part), "`{part}` is not in\n{svg}");
    }
    let one = of(&[4]);
    assert_eq!(one.status, Some(4), "{}\n{}", one.out, one.err);
    let out = one.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("no two valid loads differ"), "{}", one.out);
}

/// A run as if it had been valid.
fn valid(mut run: Value) -> Value {
    run["verdict"]["valid"] = true.into();
    run["verdict"]["reasons"] = Value::Array(Vec::new());
    run
}

/// The same run with another id and another time.
fn again(run: &Value, number: u64) -> Value {
    let mut run = run.clone();
    let id = run["id"].as_str().unwrap();
    run["id"] = format!("{}{number:06x}", &id[..id.len() - 6]).into();
    run["started_at"] = (run["started_at"].as_i64().unwrap() + number as i64).into();
    run
}

/// Replaces the database by one with the runs that come of its first run.
fn store_anew(home: &Home, change: impl Fn(&Value) -> Vec<Value>) {
    let lines = home.fine(&["db", "export", "-"]).out;
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let line = |run: Value| {
        let mut line = first.clone();
        line["run"] = run;
        line.to_string()
    };
    let lines: Vec<String> = change(&first["run"]).into_iter().map(line).collect();
    fs::write(home.path("anew.jsonl"), lines.join("\n")).unwrap();
    fs::remove_file(home.database()).unwrap();
    for rest in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{rest}", home.database().display()));
    }
    home.fine(&["db", "import", "anew.jsonl"]);
}

#[test]
fn other_loads_do_not_hide_those_that_tell_a_service() {
    let home = Home::calibrated();
    let model = "feed-forward-baseline";
    home.run(&["load", model, "--engine", "rten", "--duration", "1s", "--batch-max", "4"]);
    store_anew(&home, |run| {
        let run = valid(run.clone());
        let mut closed = run.clone();
        closed["cell"]["load"]["scenario"] = serde_json::json!({"kind": "concurrency", "users": 2});
        let later = (1..=66).map(|number| again(&closed, number));
        std::iter::once(run.clone()).chain(later).collect()
    });
    let asked = ["capacity", model, "--rate", "1/s", "--slo", "p99:30s", "--json", "capacity.json"];
    home.fine(&asked);
    let found = document(&home, "capacity.json");
    assert_eq!(found["options"][0]["runs"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["options"][0]["batches"], serde_json::json!([1]), "one request at a time");
}

#[test]
fn lengths_are_not_mixed() {
    let home = Home::calibrated();
    let model = "feed-forward-baseline";
    home.run(&["load", model, "--engine", "rten", "--duration", "1s"]);
    store_anew(&home, |run| {
        let of = |number: u64, length: u64| {
            let mut run = again(&valid(run.clone()), number);
            run["cell"]["sequence_length"] = length.into();
            run
        };
        vec![of(1, 8), of(2, 128)]
    });
    let asked = |more: &[&str]| {
        let words =
            ["capacity", model, "--rate", "1/s", "--slo", "p99:30s", "--json", "capacity.json"];
        let told = home.fine(&[&words[..], more].concat());
        let options = document(&home, "capacity.json")["options"].clone();
        (told.out, options)
    };
    let (told, options) = asked(&[]);
    assert_eq!(options.as_array().unwrap().len(), 1, "{options}");
    assert_eq!(options[0]["sequence_length"], 128, "that of the newest run");
    assert!(told.contains("length 128") && told.contains("--sequence-length 8"), "{told}");
    let (_, options) = asked(&["-l", "8"]);
    assert_eq!(options[0]["sequence_length"], 8);
    let none = ["capacity", model, "--rate", "1/s", "--slo", "p99:30s", "-l", "64"];
    home.refused(&none, 2, &["has the length 64; there are runs with 8, 128"]);
}

/// Two servers, and a check of one, through the commands of models.
#[test]
fn check_and_compare_speak_to_servers_with_the_options_of_load() {
    let home = Home::new();
    let server =
        ScriptedServer::start(|_, stream| write_whole(stream, "200 OK", "text/plain", b"ok"));
    let address = server.url("/predict");
    let told = home.run(&[
        "check",
        &address,
        "--protocol",
        "http",
        "--threshold",
        "p50:10s",
        "--load-duration",
        "1s",
        "--served-model",
        "svc",
        "--json",
        "check.json",
    ]);
    assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let load = &document(&home, "check.json")["loads"][0];
    assert_eq!(
        (&load["model"], &load["load"]["limits"][0]["holds"]),
        (&"svc".into(), &true.into())
    );

    let short = ["load", &address, "--against", &address, "--protocol", "http", "--rounds", "2"];
    let told = home.run(&[&short[..], &["--duration", "500ms", "--json", "load.json"]].concat());
    assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let found = document(&home, "load.json");
    assert_eq!(
        (&found["comparison"]["rounds"], found["loads"].as_array().unwrap().len()),
        (&2.into(), 4)
    );

    for (words, says) in [
        (vec!["compare", &address, &address, "--batch-size", "8"], "`--batch-size` has no meaning"),
        (vec!["compare", &address, &address, "--engines", "torch"], "`--engines` has no meaning"),
        (
            vec!["check", &address, "--threshold", "p99:1s", "--processes", "3"],
            "`--processes` has no",
        ),
        (vec!["check", "gpt2", "--threshold", "latency:1s", "--yes"], "`--yes` is for servers"),
        (vec!["compare", "gpt2", "--protocol", "http"], "`--protocol` is for servers"),
    ] {
        home.refused(&words, 2, &[says]);
    }
    let elsewhere = ["check", "http://192.0.2.1", "--threshold", "p99:1s"];
    home.refused(&elsewhere, 2, &["is not this machine", "--yes"]);
}

#[test]
fn capacity_follows_from_stored_runs() {
    let home = Home::calibrated();
    let asked = |target: &'static str| {
        ["capacity", target, "--rate", "100/s", "--slo", "p99:10s", "--json", "capacity.json"]
    };
    home.refused(
        &asked("feed-forward-baseline"),
        4,
        &["no valid stored run", "modelmeter profile"],
    );
    let server = ScriptedServer::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(5));
        write_whole(stream, "200 OK", "text/plain", b"ok")
    });
    let address = server.url("/predict");
    let load = [
        "load",
        &address,
        "--protocol",
        "http",
        "--served-model",
        "smol",
        "--duration",
        "2s",
        "--warmup",
        "0s",
    ];
    // Whether numbers are valid is the machine's affair: here they count.
    home.run(&load);
    store_anew(&home, |run| vec![valid(run.clone())]);
    let told = home.fine(&asked("smol"));
    assert!(told.out.contains("replica") && told.out.contains("simulated"), "{}", told.out);
    let found = document(&home, "capacity.json");
    assert_eq!(found["schema"], "modelmeter.capacity/1");
    assert!(found["options"][0]["replicas"].as_u64().unwrap() >= 1);
    let costs = [asked("smol").as_slice(), &["--replicas-cost", "0.5"]].concat();
    home.fine(&costs);
    let option = &document(&home, "capacity.json")["options"][0];
    let (replicas, cost) = (option["replicas"].as_f64().unwrap(), option["cost_per_hour"].as_f64());
    assert_eq!(cost, Some(0.5 * replicas), "{option}");
    let proof = ["--routing", "random", "--prove", "--duration", "2s"];
    let told = home.run(&[asked("smol").as_slice(), &proof].concat());
    // On a busy machine the proof need not succeed, but it is made.
    assert!([Some(0), Some(1), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let found = document(&home, "capacity.json");
    let proof = &found["proof"];
    assert_eq!(proof["replicas"], found["options"][0]["replicas"]);
    assert!(proof["requests"].as_u64().unwrap() > 100, "{proof}");
    assert!(proof["measured"].as_f64().unwrap() > 0.0);
    let listed = home.fine(&["runs", "list"]).out;
    assert!(!listed.contains("scripted"), "replicas are no result of a model\n{listed}");
    let narrow = ["capacity", "smol", "--rate", "1/s", "--slo", "ttft.p99:1s"];
    home.refused(&narrow, 2, &["a percentile of the whole answer"]);
}

/// llama.cpp's own server counts the tokens that it read and wrote: they are those of the answers.
#[test]
fn a_real_server_counts_what_we_count() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/llama_server.py");
    let mut server = Command::new(python())
        .args([script.to_str().unwrap(), &smollm2(), "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.map(|line| line.trim().to_owned()).find(|line| line.starts_with("http"));
    let address = address.expect("the server tells its address");
    let home = Home::new();
    let told = home.run(&[
        "load",
        &address,
        "--concurrency",
        "2",
        "--generators",
        "2",
        "--prompt",
        "6±2",
        "--new-tokens",
        "5",
        "--max-requests",
        "6",
        "--duration",
        "5m",
        "--warmup",
        "0s",
        "--json",
        "load.json",
    ]);
    assert!([Some(0), Some(4)].contains(&told.status), "{}\n{}", told.out, told.err);
    let found = document(&home, "load.json");
    let load = &found["loads"][0]["load"];
    assert_eq!(load["counts"]["completed"], 6, "{load}");
    assert_eq!(load["generator"]["generators"], 2);
    let numbers = load["server_metrics"].as_array().unwrap();
    let grown = |name: &str| {
        let one = numbers.iter().find(|one| one["name"] == name).unwrap();
        (one["after"].as_f64().unwrap() - one["before"].as_f64().unwrap()) as u64
    };
    assert_eq!(
        Value::from(grown("llamacpp:tokens_predicted_total")),
        load["tokens"]["completion"]["value"]
    );
    let read = grown("llamacpp:prompt_tokens_total") + grown("llamacpp:prompt_tokens_cached_total");
    assert_eq!(Value::from(read), load["tokens"]["prompt"]["value"]);
    let itl =
        load["latencies"].as_array().unwrap().iter().find(|row| row["metric"] == "itl").unwrap();
    assert!(!itl["summary"]["value"].is_null(), "{itl}");
    drop(server.stdin.take());
    let _ = server.kill();
    let _ = server.wait();
}
