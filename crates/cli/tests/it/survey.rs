//! What stored runs say together: `analyze` and `recommend`.

use crate::{
    bench::{Home, quick, told},
    postgresql::SHARED,
};
use modelmeter::{Device, Mode, Precision, Run, RunId, Store};
use serde_json::Value;
use std::{fs, sync::OnceLock};
use types::{
    Direction, Metric, Phase, Provenance, Reason, ReasonCode, Summary, Unit, Verdict, Weights,
};

/// A real run, measured once; what a test is about is set in copies of it.
fn real() -> Run {
    static REAL: OnceLock<Run> = OnceLock::new();
    let measure = || {
        let home = Home::calibrated();
        home.fine(&quick("feed-forward-baseline", &[]));
        let store = Store::open(home.database()).unwrap();
        let list = json(&home.fine(&["runs", "list", "--json"]).out);
        store.run(list["runs"][0]["id"].as_str().unwrap()).unwrap()
    };
    REAL.get_or_init(measure).clone()
}

/// A valid run of `bert` with this median in milliseconds and this peak in megabytes.
pub(crate) fn run(
    number: u64,
    device: Device,
    batch: usize,
    milliseconds: f64,
    megabytes: f64,
) -> Run {
    let mut run = real();
    run.id = RunId(format!("{:016x}", 0x7f3a_0000_0000_0000 + number));
    run.started_at += number as i64 * 60_000_000;
    run.model.name = "bert".into();
    run.model.weights = Weights::Real;
    run.cell.model = "bert".into();
    run.cell.device = device;
    run.cell.batch_size = batch;
    run.verdict = Verdict::from_reasons(Vec::new());
    run.environment.machine.key = "m-5ca1ab1e".into();
    run.environment.machine.hostname = "bench".into();
    let median = milliseconds / 1e3;
    let scale = median / run.summaries[&Phase::Inference].median;
    run.summaries = [(Phase::Inference, scaled(&run.summaries[&Phase::Inference], scale))].into();
    let peak = if device == Device::Cpu { "memory.peak" } else { "gpu.memory.process" };
    for probe in &mut run.probes {
        probe.metrics.retain(|metric| metric.key != peak);
    }
    run.metrics = vec![
        number_of("throughput.samples", Unit::PerSecond, batch as f64 / median),
        number_of(peak, Unit::Bytes, megabytes * 1e6),
    ];
    run
}

fn number_of(key: &str, unit: Unit, value: f64) -> Metric {
    Metric::measured(key, unit, Direction::Lower, value)
}

fn scaled(summary: &Summary, by: f64) -> Summary {
    let mut scaled = summary.clone();
    scaled.count = 200;
    scaled.median *= by;
    (scaled.p90, scaled.p95, scaled.p99) =
        (scaled.median * 1.05, scaled.median * 1.1, scaled.median * 1.3);
    scaled.ci95_median.low = scaled.median * 0.99;
    scaled.ci95_median.high = scaled.median * 1.01;
    scaled
}

pub(crate) fn invalid(run: Run) -> Run {
    not_valid(run, ReasonCode::NotWarm)
}

/// The run with a verdict that this makes invalid.
pub(crate) fn not_valid(run: Run, code: ReasonCode) -> Run {
    let verdict = Verdict::from_reasons(vec![Reason {
        code,
        invalidates: true,
        text: "as a test says".into(),
        hint: None,
        about: None,
    }]);
    Run { verdict, ..run }
}

/// A home with these runs stored.
pub(crate) fn home_with(runs: &[Run]) -> Home {
    let home = Home::calibrated();
    let store = Store::open(home.database()).unwrap();
    store.insert_runs(runs).unwrap();
    home
}

/// A processor and a GPU, two batches each; the GPU is ten times as fast.
fn fleet() -> Vec<Run> {
    let gpu = Device::Cuda(0);
    vec![
        run(1, Device::Cpu, 1, 40.0, 300.0),
        run(2, Device::Cpu, 8, 320.0, 400.0),
        run(3, gpu, 1, 4.0, 900.0),
        run(4, gpu, 8, 16.0, 1000.0),
        run(5, Device::Cpu, 1, 41.0, 300.0),
        run(6, gpu, 1, 4.1, 900.0),
    ]
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// How many cells an analysis shows with these arguments.
fn shown(home: &Home, arguments: &[&str]) -> usize {
    let all: Vec<&str> = ["analyze", "--json"].iter().chain(arguments).copied().collect();
    let found = json(&home.run(&all).out);
    found["cells"].as_array().unwrap().len()
}

#[test]
fn an_analysis_puts_cells_beside_each_other_in_four_forms() {
    let home = home_with(&fleet());
    let page = home.fine(&["analyze"]).out;
    for words in ["bert", "cuda:0", "samples/s", "best batch", "6 runs in 4 cells", "* no other"] {
        assert!(page.contains(words), "`{words}` is not in\n{page}");
    }
    let found = json(&home.fine(&["analyze", "bert", "--json"]).out);
    assert_eq!(found["schema"], "modelmeter.analysis/1");
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    let gpu = cells.iter().find(|cell| cell["device"] == "cuda:0" && cell["batch_size"] == 1);
    let ratio = gpu.unwrap()["speed_up_over_cpu"]["ratio"].as_f64().unwrap();
    assert!((ratio - 10.0).abs() < 0.1, "{ratio}");
    assert_eq!(gpu.unwrap()["runs"].as_array().unwrap().len(), 2);
    assert_eq!(found["best_batches"][1]["best"]["batch_size"], 8);
    let csv = home.fine(&["analyze", "--csv"]).out;
    assert!(csv.starts_with("model,weights,provenance,machine,device,"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    let markdown = home.fine(&["analyze", "--markdown"]).out;
    assert!(markdown.contains("## bert") && markdown.contains("| cuda:0 |"), "{markdown}");
    assert_eq!(home.fine(&["analyse", "--quiet"]).out, "");
}

#[test]
fn a_file_gets_the_format_of_its_ending() {
    let home = home_with(&fleet());
    for (command, file, begins) in [
        ("analyze", "analysis.csv", "model,"),
        ("analyze", "analysis.json", "{\n  \"schema\": \"modelmeter.analysis/1\""),
        ("analyze", "analysis.MD", "# Analysis"),
        ("recommend", "advice.csv", "model,"),
        ("recommend", "advice.json", "{\n  \"schema\": \"modelmeter.recommendations/1\""),
        ("recommend", "advice.md", "# bert\n\nfor throughput\n"),
    ] {
        let told = home.fine(&[command, "--output", file]);
        assert!(!told.out.is_empty() && told.err.contains(file), "{}", told.err);
        let text = fs::read_to_string(home.path(file)).unwrap();
        assert!(text.starts_with(begins), "{file}: {text}");
    }
    // A flag says it for any ending, and `-` is standard output.
    home.fine(&["analyze", "--csv", "-o", "table.txt"]);
    assert!(fs::read_to_string(home.path("table.txt")).unwrap().starts_with("model,"));
    assert!(home.fine(&["analyze", "--csv", "-o", "-"]).out.starts_with("model,"));
    home.refused(&["analyze", "-o", "analysis.xlsx"], 2, &["analysis.xlsx", ".csv"]);
    home.refused(&["analyze", "-o", "-"], 2, &["--json"]);
    home.refused(&["recommend", "-o", "no/such/advice.md"], 2, &["no/such"]);
    assert_eq!(home.run(&["analyze", "--csv", "--json"]).status, Some(2));
}

#[test]
fn filters_choose_what_is_shown_and_not_what_it_is_held_against() {
    let mut runs = fleet();
    let mut other = run(10, Device::Cpu, 4, 70.0, 300.0);
    other.model.name = "gpt2".into();
    other.engine.id = "onnxruntime".into();
    other.cell.precision = Precision::Fp16;
    other.environment.machine.key = "m-0ther".into();
    other.environment.machine.hostname = "far".into();
    other.tags = vec!["nightly".into()];
    runs.push(other);
    let home = home_with(&runs);
    let gpu = json(&home.fine(&["analyze", "--device", "cuda", "--json"]).out);
    let cells = gpu["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    assert!(cells.iter().all(|cell| cell["speed_up_over_cpu"]["ratio"].is_number()));
    for (arguments, cells) in [
        (&[][..], 5),
        (&["bert"], 4),
        (&["--model", "gpt2,bert"], 5),
        (&["*t?"], 1),
        (&["--engine", "onnxruntime"], 1),
        (&["--engines", "rten,onnxruntime"], 5),
        (&["--precision", "fp16"], 1),
        (&["--batch-size", "1,4"], 3),
        (&["--machine", "FAR"], 1),
        (&["--machine", "m-5ca"], 4),
        (&["--tag", "nightly"], 1),
        (&["--since", "1d"], 5),
        (&["--mode", "training"], 0),
        (&["--device", "mps"], 0),
        (&["--sequence-length", "7"], 0),
        (&["--tag", "weekly"], 0),
    ] {
        assert_eq!(shown(&home, arguments), cells, "{arguments:?}");
    }
}

#[test]
fn nothing_that_answers_is_said_and_told_by_the_exit_code() {
    let home = home_with(&[invalid(run(1, Device::Cpu, 1, 4.0, 30.0))]);
    let told = home.run(&["analyze"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert!(
        told.out.contains("no valid run")
            && told.out.contains("1 not valid: 1 × warm-up did not settle"),
        "{}",
        told.out
    );
    let told = home.run(&["recommend", "bert"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert!(told.out.contains("no measured configuration is valid"), "{}", told.out);
    assert!(told.out.contains("not valid: warm-up did not settle"), "{}", told.out);
    assert_eq!(
        json(&home.run(&["recommend", "--json"]).out)["recommendations"][0]["best"],
        Value::Null
    );
    let told = home.run(&["recommend", "--device", "cuda"]);
    assert_eq!(told.status, Some(4), "{}", told.err);
    assert!(told.out.ends_with("no stored run matches this query\n"), "{}", told.out);
}

/// A cell that was measured on a quiet machine, and two that other work and an uncooled processor disturbed.
fn disturbed_fleet() -> Home {
    let gpu = Device::Cuda(0);
    home_with(&[
        run(1, Device::Cpu, 1, 40.0, 300.0),
        not_valid(run(2, Device::Cpu, 8, 320.0, 400.0), ReasonCode::BusyMachine),
        not_valid(run(3, Device::Cpu, 8, 330.0, 400.0), ReasonCode::BusyMachine),
        not_valid(run(4, gpu, 1, 4.0, 900.0), ReasonCode::Throttled),
    ])
}

#[test]
fn every_survey_says_how_many_runs_were_left_out_and_why_and_what_to_do() {
    let home = disturbed_fleet();
    let why = "3 not valid: 2 × other work, 1 × throttled clock";
    let again = "measure again (the newest; `modelmeter runs list --invalid` lists all)";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [&["analyze"][..], &["trend"]] {
        let page = words(&home.fine(command).out);
        for part in [why, again, "modelmeter profile", "--include-invalid"] {
            assert!(page.contains(part), "`{part}` is not in\n{page}");
        }
    }
    let page = words(&home.fine(&["recommend", "bert"]).out);
    for part in ["not valid: other work", "not valid: throttled clock", "measure again"] {
        assert!(page.contains(part), "`{part}` is not in\n{page}");
    }
    assert!(!page.contains("not measured"), "all of it was measured\n{page}");
    let list = home.fine(&["runs", "list", "--valid"]).out;
    assert!(list.contains("left out: 3 not valid: 2 × other work"), "{list}");
    assert!(home.fine(&["runs", "list"]).out.contains(why));
    let found = json(&home.fine(&["analyze", "--json"]).out);
    assert_eq!(found["runs"]["invalid_reasons"]["busy-machine"], 2);
    assert_eq!(found["not_valid"].as_array().unwrap().len(), 2);
    assert!(found["measure_again"].as_str().unwrap().starts_with("modelmeter profile"));
    let list = json(&home.fine(&["runs", "list", "--json"]).out);
    assert_eq!(list["not_valid"]["busy-machine"], 2);
    assert_eq!(list["runs"][0]["verdict"]["reason"], "throttled");
}

#[test]
fn what_is_not_valid_is_shown_where_it_was_asked_for_and_marked_everywhere() {
    let home = disturbed_fleet();
    let page = home.fine(&["analyze", "--include-invalid"]).out;
    assert_eq!(page.lines().filter(|line| line.starts_with('!')).count(), 3, "{page}");
    assert!(page.contains("! no valid run: do not rely on these numbers"), "{page}");
    let found = json(&home.fine(&["analyze", "--include-invalid", "--json"]).out);
    let cells = found["cells"].as_array().unwrap();
    let marked: Vec<&Value> = cells.iter().filter(|cell| cell["valid"] == false).collect();
    assert_eq!((cells.len(), marked.len()), (3, 2));
    assert!(marked.iter().all(|cell| cell["pareto"].is_null()), "nothing is concluded");
    let csv = home.fine(&["analyze", "--include-invalid", "--csv"]).out;
    assert_eq!(csv.lines().filter(|line| line.contains("false,")).count(), 2, "{csv}");
    // The fast one is not valid, so it is never first.
    let best = ["recommend", "bert", "--objective", "latency", "--include-invalid", "--json"];
    let found = json(&home.fine(&best).out);
    let candidates = found["recommendations"][0]["candidates"].as_array().unwrap();
    assert_eq!(candidates[0]["cell"]["valid"], true, "{candidates:?}");
    assert!(candidates.iter().any(|one| one["cell"]["valid"] == false), "{candidates:?}");
    let trend = json(&home.fine(&["trend", "--include-invalid", "--json", "-"]).out);
    let points = trend["series"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one["points"].as_array().unwrap());
    assert_eq!(points.filter(|point| point["valid"] == false).count(), 2);
    // Never in a gate.
    assert_eq!(home.run(&["trend", "--include-invalid", "--alert", "10%"]).status, Some(2));
    let gate =
        ["analyze", "--include-invalid", "--compare-to", "x.csv", "--regression-alert", "10%"];
    assert_eq!(home.run(&gate).status, Some(2));
    // Where nothing else is there, it is shown, and the exit code still says that it cannot be told.
    let home = home_with(&[not_valid(run(1, Device::Cpu, 1, 4.0, 30.0), ReasonCode::BusyMachine)]);
    for command in ["analyze", "recommend"] {
        let told = home.run(&[command, "--include-invalid"]);
        assert_eq!(told.status, Some(4), "{}", told.out);
        assert!(told.out.contains("4.00") && told.out.contains("not valid"), "{}", told.out);
    }
}

#[test]
fn on_a_device_with_its_own_memory_the_peak_is_the_devices_everywhere() {
    let mut old = run(1, Device::Cuda(0), 1, 4.0, 900.0);
    old.metrics.push(number_of("memory.peak", Unit::Bytes, 2500e6));
    let home = home_with(&[old]);
    let found = json(&home.fine(&["analyze", "--json"]).out);
    assert_eq!(found["cells"][0]["memory"]["peak"], 900_000_000);
    let list = json(&home.fine(&["runs", "list", "--json"]).out);
    assert_eq!(list["runs"][0]["memory"]["peak"], 900_000_000);
    let id = list["runs"][0]["id"].as_str().unwrap();
    let shown = json(&home.fine(&["runs", "show", id, "--json"]).out);
    assert_eq!(shown["memory"]["peak"], 900_000_000);
    assert_eq!(shown["memory"]["host_peak"], 2_500_000_000_u64);
    let page = home.fine(&["runs", "show", id]).out;
    assert!(page.contains("peak on cuda:0 900 MB") && page.contains("host peak 2.50 GB"), "{page}");
    let csv = home.fine(&["runs", "show", id, "--csv"]).out;
    let of = |name: &str| {
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
        let place = head.iter().position(|column| *column == name).unwrap();
        row[place].parse::<f64>().unwrap_or(f64::NAN)
    };
    assert_eq!((of("memory_peak_bytes"), of("memory_host_peak_bytes")), (900e6, 2500e6));
}

#[test]
fn a_wrong_name_says_what_was_meant() {
    let home = Home::new();
    home.refused(&["analyze"], 2, &["no database", "hint:"]);
    home.fine(&["db", "init"]);
    home.refused(&["analyze"], 2, &["no run is stored yet", "modelmeter profile"]);
    home.refused(&["recommend", "--all"], 2, &["no run is stored yet"]);
    let home = home_with(&fleet());
    home.refused(&["analyze", "brt"], 2, &["the model `brt`", "did you mean `bert`?"]);
    home.refused(&["recommend", "--model", "zzzz"], 2, &["the model `zzzz`", "known: `bert`"]);
    home.refused(&["analyze", "--engine", "rtn"], 2, &["the engine `rtn`", "`rten`"]);
    home.refused(&["analyze", "--machine", "benhc"], 2, &["the machine `benhc`", "`bench`"]);
    home.refused(&["analyze", "--device", "cuba"], 2, &["cuba"]);
    home.refused(&["recommend", "--all", "--model", "bert"], 2, &["--all"]);
}

#[test]
fn a_recommendation_names_the_best_the_next_and_what_it_rests_on() {
    let home = home_with(&fleet());
    let page = home.fine(&["recommend", "bert"]).out;
    for words in [
        "for throughput",
        "on cuda:0 · fp32 · batch 8",
        "runner-up",
        "slower",
        "based on",
        "7f3a0000",
    ] {
        assert!(page.contains(words), "`{words}` is not in\n{page}");
    }
    let found = json(&home.fine(&["recommend", "--all", "--objective", "memory", "--json"]).out);
    let first = &found["recommendations"][0];
    assert_eq!(first["objective"], "memory");
    assert_eq!(first["best"]["cell"]["device"], "cpu");
    assert_eq!(first["best"]["value"], 300e6);
    let latency = ["recommend", "bert", "--objective", "latency", "--slo", "p95:3ms", "--json"];
    let told = home.run(&latency);
    assert_eq!(told.status, Some(4));
    let out = json(&told.out)["recommendations"][0]["left_out"].as_array().unwrap().clone();
    assert!(out.len() == 4 && out.iter().all(|one| one["reason"] == "slo"), "{out:?}");
    let small = ["recommend", "bert", "--memory-limit", "500MB", "--slo", "p95:100ms", "--json"];
    let best = &json(&home.fine(&small).out)["recommendations"][0]["best"]["cell"];
    assert_eq!((&best["device"], &best["batch_size"]), (&"cpu".into(), &1.into()));
}

#[test]
fn limits_that_are_none_are_refused_with_an_example() {
    let home = home_with(&fleet());
    for (arguments, says) in [
        (["--slo", "50ms"], "p95:50ms"),
        (["--slo", "p98:50ms"], "known percentiles: p50"),
        (["--slo", "p95:50"], "`50ms` or `50s`"),
        (["--memory-limit", "2g"], "`GiB`"),
        (["--memory-limit", "lots"], "2GB"),
        (["--objective", "speed"], "known objectives: latency, throughput, memory, energy, cost"),
    ] {
        let [name, value] = arguments;
        home.refused(&["recommend", name, value], 2, &[value, says]);
    }
}

#[test]
fn cost_takes_prices_and_typos_in_them_are_told_with_their_line() {
    let home = home_with(&fleet());
    home.refused(&["recommend", "--objective", "cost"], 2, &["--prices prices.toml"]);
    let write = |text: &str| fs::write(home.path("prices.toml"), text).unwrap();
    // Ten times as fast and twenty times as dear.
    write("currency = \"EUR\"\n[devices]\ncpu = 0.1\n[machines]\nbench.cuda = 2\n");
    let cost = ["recommend", "bert", "--prices", "prices.toml"];
    let page = home.fine(&cost).out;
    assert!(page.contains("for cost") && page.contains("EUR a million samples"), "{page}");
    let json_of = |arguments: &[&str]| json(&home.fine(&[arguments, &["--json"]].concat()).out);
    let found = json_of(&cost);
    let best = &found["recommendations"][0]["best"];
    assert_eq!(best["cell"]["device"], "cuda:0", "at batch 8 the GPU is twenty times as fast");
    let value = best["value"].as_f64().unwrap();
    assert!((value / (2.0 / 3600.0 / 500.0) - 1.0).abs() < 1e-9, "{value}");
    let single = json_of(&[&cost[..], &["--batch-size", "1"]].concat());
    assert_eq!(single["recommendations"][0]["best"]["cell"]["device"], "cpu");

    write("[devices]\ncpu = 0.1\ncuba = 2\n");
    home.refused(&cost, 2, &["prices.toml", "line 3", "`cuba`", "did you mean `cuda`?"]);
    write("[device]\ncpu = 0.1\n");
    home.refused(&cost, 2, &["line 1", "unknown key `device`", "did you mean `devices`?"]);
    write("[devices]\ncpu = \"cheap\"\n");
    home.refused(&cost, 2, &["line 2", "cheap"]);
    home.refused(
        &["recommend", "--prices", "nowhere.toml"],
        2,
        &["could not read", "nowhere.toml"],
    );
    write("[devices]\nmps = 1\n");
    let told = home.run(&cost);
    assert_eq!(told.status, Some(4));
    assert!(told.out.contains("has no price"), "{}", told.out);
    let both = ["recommend", "--objective", "latency", "--prices", "prices.toml"];
    home.refused(&both, 2, &["prices", "--objective cost"]);
}

#[test]
fn nothing_is_recommended_from_invalid_predicted_or_imported_numbers() {
    let mut runs = fleet();
    runs.push(invalid(run(20, Device::Cuda(0), 8, 0.1, 1.0)));
    let mut predicted = run(21, Device::Cuda(0), 16, 16.0, 1.0);
    for metric in &mut predicted.metrics {
        metric.provenance = Provenance::Predicted;
        metric.value = metric.value.map(|value| value * 1e6);
    }
    runs.push(predicted);
    let home = home_with(&runs);
    let best = json(&home.fine(&["recommend", "bert", "--json"]).out)["recommendations"][0]["best"]
        .clone();
    assert_eq!(best["cell"]["runs"], serde_json::json!(["7f3a000000000004"]), "{best}");

    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../exchange/tests/fixtures/optimum_benchmark_inference.json"
    );
    let home = Home::calibrated();
    home.fine(&["db", "import", fixture]);
    let told = home.run(&["recommend", "--all"]);
    assert_eq!(told.status, Some(4), "{}", told.out);
    assert!(told.out.contains("another tool measured it"), "{}", told.out);
    let told = home.fine(&["recommend", "--all", "--imported"]);
    assert!(
        told.out.contains("imported") && told.out.contains("measured by another tool"),
        "{}",
        told.out
    );
    assert!(home.fine(&["analyze"]).out.contains("imported"));
}

#[test]
fn what_was_really_measured_is_analysed() {
    let home = Home::calibrated();
    for batch in ["1", "4"] {
        home.fine(&quick("feed-forward-baseline", &["--batch-size", batch]));
    }
    home.fine(&quick("feed-forward-baseline", &["--train", "--batch-size", "1"]));
    let found = json(&home.run(&["analyze", "--json"]).out);
    let runs = &found["runs"];
    assert_eq!(runs["seen"], 3);
    // Whether a run on a busy machine is valid is its own affair.
    let all = runs["pooled"].as_u64().unwrap() + runs["invalid"].as_u64().unwrap();
    assert_eq!(all, 3, "{runs}");
    for cell in found["cells"].as_array().unwrap() {
        assert!(cell["latency"]["median"].as_f64().unwrap() > 0.0);
        assert!(cell["memory"]["peak"].as_u64().unwrap() > 1_000_000, "{cell}");
        let is_training = cell["mode"] == Mode::Training.name();
        assert_eq!(cell["variant"].as_str().unwrap().is_empty(), !is_training, "{cell}");
    }
}

#[test]
fn a_server_says_the_same_as_a_file() {
    let mut runs = fleet();
    runs.extend((30..50).map(|number| run(number, Device::Cpu, 1, 39.0, 300.0)));
    runs.push(invalid(run(60, Device::Cpu, 8, 1.0, 1.0)));
    let home = home_with(&runs);
    let server = SHARED.database();
    Store::open(&server).unwrap().insert_runs(&runs).unwrap();
    for arguments in [
        &["analyze", "--json"][..],
        &["analyze", "bert", "--json", "--since", "1d"],
        &["recommend", "--all", "--json"],
    ] {
        let output = home.command(arguments).env("MODELMETER_DB", &server).output().unwrap();
        assert_eq!(told(output).out, home.fine(arguments).out, "{arguments:?}");
    }
    let tally = &json(&home.fine(&["analyze", "--json"]).out)["runs"];
    assert_eq!((&tally["seen"], &tally["invalid"]), (&27.into(), &1.into()));
    assert_eq!((&tally["pooled"], &tally["older"]), (&12.into(), &14.into()));
}

#[test]
fn help_has_examples_and_says_where_formulas_are() {
    let home = Home::calibrated();
    for command in ["analyze", "recommend"] {
        let help = home.fine(&[command, "--help"]).out;
        for words in ["Examples:", "Exit codes:", "docs/ANALYSIS.md", "--output"] {
            assert!(help.contains(words), "{help}");
        }
    }
}
