//! Runs out of one database and into another, results of other tools in, questions that only read.

use crate::{
    bench::{Home, quick, told},
    schema::keeps_the_schema,
};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

/// Every file of another tool that the exchange is tested with.
fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/fixtures");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

fn fixture(name: &str) -> String {
    let path = fixtures().into_iter().find(|path| path.ends_with(name));
    path.unwrap_or_else(|| panic!("no {name}")).to_str().unwrap().to_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The lines of the only export that loses nothing, of a whole database.
fn everything(home: &Home, database: &str) -> Vec<Value> {
    let told = home.fine(&["db", "export", "-", "--db", database]);
    told.out.lines().map(json).collect()
}

/// The first run that fits, as a document.
fn shown(home: &Home, model: &str) -> (String, Value) {
    let list = json(&home.fine(&["runs", "list", "--json", "--model", model]).out);
    let id = list["runs"][0]["id"].as_str().unwrap().to_owned();
    let document = home.fine(&["runs", "show", &id, "--json"]).out;
    keeps_the_schema(&document);
    (id, json(&document))
}

#[test]
fn an_export_brings_equal_runs_into_another_database_once() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &["--tag", "one"]));
    home.fine(&quick("small-transformer", &["--tag", "two"]));
    home.fine(&["db", "import", &fixture("optimum_benchmark_report.json")]);
    home.fine(&["db", "export", "all.jsonl"]);
    let told = home.fine(&["db", "import", "all.jsonl", "--db", "other.db", "--json"]);
    let report = json(&told.out);
    assert_eq!(report["files"][0]["format"], "jsonl");
    assert_eq!((&report["files"][0]["new"], &report["files"][0]["known"]), (&3.into(), &0.into()));
    assert_eq!(everything(&home, "runs.db"), everything(&home, "other.db"));

    let again = json(&home.fine(&["db", "import", "all.jsonl", "--db", "other.db", "--json"]).out);
    assert_eq!((&again["files"][0]["new"], &again["files"][0]["known"]), (&0.into(), &3.into()));
    assert_eq!(everything(&home, "other.db").len(), 3);
}

#[test]
fn an_export_takes_the_filters_of_a_list_and_every_format() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &["--tag", "one"]));
    home.fine(&quick("small-transformer", &[]));
    let csv = home.fine(&["db", "export", "-", "--format", "csv", "--tag", "one"]).out;
    assert!(csv.contains("feed-forward-baseline") && !csv.contains("small-transformer"), "{csv}");
    home.fine(&["db", "export", "some.parquet", "--model", "small"]);
    assert!(fs::read(home.path("some.parquet")).unwrap().starts_with(b"PAR1"));
    fs::write(home.path("one.csv"), csv).unwrap();
    let told = home.fine(&["db", "import", "one.csv", "some.parquet", "--db", "other.db"]);
    assert!(told.out.contains("csv") && told.out.contains("parquet"), "{}", told.out);
    let list = json(&home.fine(&["runs", "list", "--json", "--db", "other.db"]).out);
    assert_eq!(list["runs"].as_array().unwrap().len(), 2);
    assert!(list["runs"].as_array().unwrap().iter().all(|run| run["imported"] == "modelmeter"));
    // The whole run takes the place of what a table told of it.
    home.fine(&["db", "export", "all.jsonl"]);
    home.fine(&["db", "import", "all.jsonl", "--db", "other.db"]);
    assert_eq!(everything(&home, "runs.db"), everything(&home, "other.db"));

    home.refused(&["db", "export", "runs.xlsx"], 2, &["runs.xlsx", "--format"]);
    home.refused(&["db", "export", "no/such/runs.csv"], 2, &["no/such"]);
    let told = home.run(&["db", "export", "runs.csv", "--format", "timm"]);
    assert_eq!(told.status, Some(2));
    assert!(told.err.contains("only read"), "{}", told.err);
    home.refused(&["db", "export", "runs.csv", "--db", "nowhere.db"], 2, &["nowhere.db"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error_of_an_export() {
    let home = Home::new();
    home.fine(&["db", "import", &fixture("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv")]);
    for format in ["jsonl", "csv", "parquet"] {
        let mut command = home.command(&["db", "export", "-", "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let told = told(child.wait_with_output().unwrap());
        assert_eq!((told.status, told.err.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn results_of_every_other_tool_are_imported_labelled_and_shown_without_placeholders() {
    let home = Home::new();
    for path in fixtures() {
        let file = path.to_str().unwrap();
        let report = json(&home.fine(&["db", "import", file, "--json"]).out);
        // The same results in another of the tool's formats are known already.
        let count = |report: &Value, what: &str| report["files"][0][what].as_u64().unwrap();
        let found = count(&report, "new") + count(&report, "known");
        assert!(found > 0, "{file}");
        let again = json(&home.fine(&["db", "import", file, "--json"]).out);
        assert_eq!(again["files"][0]["new"], 0, "{file}");
        assert_eq!(count(&again, "known"), found, "{file}");
    }
    let list = json(&home.fine(&["runs", "list", "--json", "--limit", "0"]).out);
    let runs = list["runs"].as_array().unwrap();
    for run in runs {
        assert!(run["imported"].is_string(), "{run}");
        let id = run["id"].as_str().unwrap();
        let document = home.fine(&["runs", "show", id, "--json"]).out;
        keeps_the_schema(&document);
        let document = json(&document);
        assert_eq!(document["imported"]["tool"], run["imported"]);
        let untold: Vec<&str> = document["imported"]["untold"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap())
            .collect();
        for (path, key) in [("cold.load", "load"), ("cell.device", "device"), ("cell.seed", "seed")]
        {
            assert_eq!(untold.contains(&path), document[key].is_null(), "{key} of {document:#}");
        }
        let page = home.fine(&["runs", "show", id]).out;
        assert!(page.contains("measured by"), "{page}");
        assert!(!page.contains("0 parameters") && !page.contains("on auto"), "{page}");
        assert!(!page.contains("unknown") && !page.contains("1970"), "{page}");
        if untold.contains(&"cold.load") {
            assert!(!page.contains("load 0"), "{page}");
        }
    }
    let table = home.fine(&["runs", "list", "--limit", "0"]).out;
    assert!(table.contains("imported (optimum-benchmark)"), "{table}");
    assert!(table.contains("imported (llama-bench)"), "{table}");
    assert!(!table.contains("1970"), "{table}");
    let status = home.fine(&["db", "status"]).out;
    assert!(status.contains("resnet50"), "{status}");
}

#[test]
fn stated_figures_are_shown_where_there_are_no_samples() {
    let home = Home::new();
    home.fine(&["db", "import", &fixture("benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv")]);
    let list = json(&home.fine(&["runs", "list", "--json"]).out);
    let run = &list["runs"][0];
    assert!(run["latency"]["median"].is_null());
    let mean = run["latency"]["mean"].as_f64().unwrap();
    assert!(mean > 0.0, "{run}");
    let (id, document) = shown(&home, run["model"].as_str().unwrap());
    assert!(document["latency"].is_null());
    assert_eq!(document["imported"]["stated"]["inference"]["mean"], mean);
    let page = home.fine(&["runs", "show", &id]).out;
    assert!(page.contains("stated") && page.contains("mean"), "{page}");
    let csv = home.fine(&["runs", "show", &id, "--csv"]).out;
    assert!(csv.contains("imported_from") && csv.contains("timm"), "{csv}");
    assert!(home.fine(&["runs", "list"]).out.contains("* a mean"));
}

#[test]
fn known_faults_are_put_right_and_told() {
    let home = Home::new();
    let told = home.fine(&["db", "import", &fixture("optimum_benchmark_training.json")]);
    assert!(told.err.contains("corrected") && told.err.contains("throughput"), "{}", told.err);
    let file = fixture("optimum_benchmark_training.json");
    let report = json(&home.fine(&["db", "import", &file, "--db", "other.db", "--json"]).out);
    let first = &report["files"][0]["corrections"][0];
    assert!(first["stated"].as_f64() != first["stored"].as_f64(), "{first}");
    assert!(!first["why"].as_str().unwrap().is_empty());
}

#[test]
fn what_the_user_knows_fills_what_a_file_does_not_tell() {
    let home = Home::new();
    let file = fixture("trtexec_times.json");
    home.fine(&[
        "db",
        "import",
        &file,
        "--model",
        "my-net",
        "--device",
        "cuda:1",
        "--precision",
        "fp16",
        "--batch-size",
        "8",
    ]);
    let (_, document) = shown(&home, "my-net");
    assert_eq!(document["device"], "tensorrt:0", "the file tells it");
    assert_eq!(document["precision"], "fp16");
    assert_eq!(document["batch_size"], 8);
    let told = home.run(&["db", "import", &file, "--device", "auto"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
}

#[test]
fn one_bad_record_does_not_stop_the_rest_and_is_told_with_its_place() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    home.fine(&["db", "export", "runs.jsonl"]);
    let line = fs::read_to_string(home.path("runs.jsonl")).unwrap();
    let mut other = json(&line);
    other["run"]["id"] = "0123456789abcdef".into();
    let mut evil = json(&line);
    evil["run"]["id"] = "../../etc/passwd".into();
    let broken = format!("{{\"schema\": \"modelmeter.whole-run/1\"\n{evil}\n{other}\n{line}");
    fs::write(home.path("broken.jsonl"), broken).unwrap();
    let told = home.fine(&["db", "import", "broken.jsonl", "--format", "jsonl"]);
    assert!(told.err.contains("line 1"), "{}", told.err);
    assert!(told.err.contains("not the id of a run"), "{}", told.err);
    assert_eq!(home.stored(), 2, "{}", told.err);
    // The same id with another content is not silently the same run.
    other["run"]["started_at"] = 1.into();
    fs::write(home.path("forged.jsonl"), format!("{other}\n")).unwrap();
    home.refused(&["db", "import", "forged.jsonl"], 2, &["another run is stored"]);
}

#[test]
fn files_that_are_no_results_are_refused_with_the_reason() {
    let home = Home::new();
    fs::write(home.path("letter.txt"), "dear reader\n").unwrap();
    fs::write(home.path("empty.jsonl"), "").unwrap();
    fs::write(home.path("results.csv"), "a;b\n1;2\n").unwrap();
    home.refused(&["db", "import", "letter.txt"], 2, &["letter.txt", "dear reader", "hint:"]);
    home.refused(&["db", "import", "nowhere.json"], 2, &["nowhere.json", "No such file"]);
    home.refused(&["db", "import", "empty.jsonl"], 2, &["empty.jsonl", "empty"]);
    home.refused(&["db", "import", "results.csv", "--format", "csv"], 2, &["run_id"]);
    home.refused(&["db", "import", "/dev/zero"], 2, &["/dev/zero", "not a file"]);
    home.refused(&["db", "import", "letter.txt", "nowhere.json"], 2, &["letter", "nowhere"]);
    let good = fixture("llama_bench.json");
    let told = home.run(&["db", "import", "letter.txt", &good]);
    assert_eq!(told.status, Some(1), "{}", told.err);
    assert!(told.err.contains("letter.txt") && home.stored() > 0, "{}", told.err);
    let told = home.run(&["db", "import", &good, "--format", "xlsx"]);
    assert_eq!(told.status, Some(2));
}

#[test]
fn standard_input_is_a_file_too() {
    let home = Home::new();
    let bytes = fs::read(fixture("llama_bench.jsonl")).unwrap();
    let mut command = home.command(&["db", "import", "-"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let told = told(child.wait_with_output().unwrap());
    assert_eq!(told.status, Some(0), "{}", told.err);
    assert!(home.stored() > 0);
}

#[test]
fn imported_runs_are_neither_compared_nor_advised_upon() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    home.fine(&["db", "import", &fixture("optimum_benchmark_inference.json")]);
    let list = json(&home.fine(&["runs", "list", "--json"]).out);
    let of = |imported: bool| {
        let runs = list["runs"].as_array().unwrap();
        let run = runs.iter().find(|run| run["imported"].is_string() == imported).unwrap();
        run["id"].as_str().unwrap().to_owned()
    };
    let (ours, theirs) = (of(false), of(true));
    home.refused(&["compare", &ours, &theirs], 2, &["imported", "optimum-benchmark", "hint:"]);
    home.refused(&["compare", &theirs, &ours], 2, &["imported"]);
    home.refused(&["advise", &theirs], 2, &["imported", "optimum-benchmark"]);
}

#[test]
fn a_question_is_answered_in_three_forms_and_cannot_write() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    let sql = "SELECT name, parameters, NULL AS missing FROM model";
    let table = home.fine(&["db", "query", sql]).out;
    assert!(table.contains("name") && table.contains("feed-forward-baseline"), "{table}");
    let answer = json(&home.fine(&["db", "query", sql, "--json"]).out);
    assert_eq!(answer["columns"], serde_json::json!(["name", "parameters", "missing"]));
    assert_eq!(answer["rows"][0][0], "feed-forward-baseline");
    assert!(answer["rows"][0][1].as_u64().unwrap() > 0 && answer["rows"][0][2].is_null());
    let csv = home.fine(&["db", "query", sql, "--csv"]).out;
    assert!(csv.starts_with("name,parameters,missing\r\nfeed-forward-baseline,"), "{csv}");
    let many = "SELECT key FROM metric";
    let told = home.fine(&["db", "query", many, "--limit", "2", "--csv"]);
    assert_eq!(told.out.lines().count(), 3);
    assert!(told.err.contains("--limit 0"), "{}", told.err);
    for sql in ["DELETE FROM run", "DROP TABLE run", "PRAGMA user_version = 7", "VACUUM"] {
        home.refused(&["db", "query", sql], 2, &["only queries that read are allowed"]);
    }
    home.refused(&["db", "query", "SELECT nonsense"], 2, &["nonsense"]);
    home.refused(&["db", "query", "SELECT 1", "--db", "nowhere.db"], 2, &["nowhere.db"]);
    assert_eq!(home.stored(), 1);
}

#[test]
fn the_status_says_which_models_were_measured_with_what() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &[]));
    home.fine(&quick("feed-forward-baseline", &["--batch-size", "2"]));
    home.fine(&quick("small-transformer", &[]));
    let status = json(&home.fine(&["db", "status", "--json"]).out);
    let of = |model: &str| {
        let all = status["coverage"].as_array().unwrap();
        all.iter().find(|entry| entry["model"] == model).unwrap().clone()
    };
    assert_eq!(of("feed-forward-baseline")["runs"], 2);
    assert_eq!(of("feed-forward-baseline")["cells"], 2);
    assert_eq!(of("small-transformer")["engine"], "rten");
    assert_eq!(status["plans"], serde_json::json!([]));
    let text = home.fine(&["db", "status"]).out;
    assert!(text.contains("rten on "), "{text}");
    assert!(text.contains("feed-forward-baseline") && text.contains("small-transformer"), "{text}");
}

#[test]
fn every_command_of_the_database_has_examples() {
    let home = Home::new();
    for command in ["init", "status", "path", "vacuum", "export", "import", "query"] {
        let help = home.fine(&["db", command, "--help"]).out;
        assert!(help.contains("Examples:"), "{help}");
    }
    let help = home.fine(&["db", "import", "--help"]).out;
    for format in exchange::Format::ALL {
        assert!(help.contains(format.name()), "{format} is not in\n{help}");
    }
}
