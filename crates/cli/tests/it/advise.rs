//! Advice as people ask for it. How busy the machine is decides which rules about time can speak, so that nothing here
//! rests on what they say; rules about sizes speak always.

use crate::{
    bench::{Home, Told, quick, shared_cache},
    profile::minilm,
};
use serde_json::Value;
use std::fs;

/// The rules, as the help of the library names them.
const RULES: usize = 26;

fn document(told: &Told) -> Value {
    serde_json::from_str(&told.out).unwrap()
}

fn list<'a>(report: &'a Value, key: &str) -> &'a Vec<Value> {
    report[key].as_array().unwrap()
}

/// The entry of a rule in one of the lists.
fn entry<'a>(report: &'a Value, key: &str, rule: &str) -> &'a Value {
    let found = list(report, key).iter().find(|one| one["rule"] == rule);
    found.unwrap_or_else(|| panic!("`{rule}` is not in `{key}` of\n{report:#}"))
}

fn is_valid(report: &Value) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schema = fs::read_to_string(folder.join("modelmeter.advice-1.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let broken: Vec<String> =
        validator.iter_errors(report).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn every_rule_answers_and_the_document_keeps_its_schema() {
    let home = Home::calibrated();
    let told = home.fine(&["advise", "small-transformer", "--budget", "4s", "--json", "-"]);
    let report = document(&told);
    is_valid(&report);
    let lists = ["advice", "fine", "not_judged", "not_concerned"];
    assert_eq!(lists.iter().map(|key| list(&report, key).len()).sum::<usize>(), RULES);
    for advice in list(&report, "advice") {
        assert!(!list(advice, "evidence").is_empty(), "{advice:#}");
        assert_eq!(advice["trial"], Value::Null, "nobody asked to try");
    }
    entry(&report, "fine", "dynamic-batching");
    let sizes: Vec<u64> =
        list(&report, "sweep").iter().map(|p| p["batch_size"].as_u64().unwrap()).collect();
    assert!(sizes.contains(&4) && sizes.contains(&8), "{sizes:?}");
    let runs = document(&home.fine(&["runs", "list", "--json", "--tag", "advise", "--limit", "0"]));
    let passes: u64 = list(&report, "sweep").iter().map(|p| p["passes"].as_u64().unwrap()).sum();
    assert_eq!(list(&runs, "runs").len() as u64, passes, "every run of the sweep is stored");
}

#[test]
fn a_stored_run_is_judged_and_its_numbers_are_shown() {
    let home = Home::calibrated();
    home.fine(&quick("feed-forward-baseline", &[]));
    let told = home.fine(&["advise", "latest", "--budget", "2s", "--goal", "memory"]);
    for text in ["feed-forward-baseline", "Checked and fine", "dynamic-batching", "samples/s"] {
        assert!(told.out.contains(text), "`{text}` is not in\n{}", told.out);
    }
    assert!(told.out.lines().all(|line| line.chars().count() <= 80), "{}", told.out);
    assert!(!told.out.contains('\u{1b}'));
}

#[test]
fn a_training_run_gets_advice_about_its_steps() {
    let home = Home::calibrated();
    let train = ["profile", "encoder-small", "--train", "-b", "2", "-l", "8", "--runs", "11"];
    home.fine(&[&train[..], &["--engine", "rten", "--warmup", "2"]].concat());
    let told = home.run(&["advise", "latest", "--budget", "3s", "--json", "-"]);
    assert!(matches!(told.status, Some(0 | 4)), "{}\n{}", told.out, told.err);
    let report = document(&told);
    is_valid(&report);
    let lists = ["advice", "fine", "not_judged", "not_concerned"];
    assert_eq!(lists.iter().map(|key| list(&report, key).len()).sum::<usize>(), RULES);
    for rule in ["quantisation", "tokenisation", "padding", "cold-start"] {
        entry(&report, "not_concerned", rule);
    }
    entry(&report, "fine", "dynamic-batching");
    entry(&report, "fine", "gradient-checkpointing");
    assert!(list(&report, "sweep").len() > 1, "batch sizes are swept: {report:#}");
    let runs = document(&home.fine(&["runs", "list", "--json", "--limit", "0"]));
    let store = modelmeter::Store::open(home.database()).unwrap();
    for row in list(&runs, "runs") {
        let run = store.run(row["id"].as_str().unwrap()).unwrap();
        assert_eq!(run.cell.mode, modelmeter::Mode::Training, "a sweep over a training trains");
    }
}

#[test]
fn what_was_measured_counts_more_than_a_rule() {
    let home = Home::calibrated();
    let words = ["profile", "encoder-small", "-b", "2", "-l", "8", "--runs", "11", "--json", "-"];
    let words = [&words[..], &["--engine", "rten"]].concat();
    let store = || modelmeter::Store::open(home.database()).unwrap();
    let measured = |more: &[&str], id: &str, seconds: f64| {
        let told = home.fine(&[&words[..], more].concat());
        let old = modelmeter::RunId(document(&told)["id"].as_str().unwrap().into());
        let mut run = store().run(&old.0).unwrap();
        store().delete(&[old]).unwrap();
        run.id = modelmeter::RunId(id.into());
        run.verdict = types::Verdict::from_reasons(Vec::new());
        for summary in run.summaries.values_mut() {
            summary.median = seconds;
            summary.ci95_median.low = seconds / 1.01;
            summary.ci95_median.high = seconds * 1.01;
        }
        store().insert_runs(&[run]).unwrap();
    };
    measured(&[], "aaaaaaaa00000001", 0.010);
    measured(&["--precision", "int8"], "bbbbbbbb00000002", 0.017);
    let told = home.run(&["advise", "aaaaaaaa00000001", "--budget", "1s", "--json", "-"]);
    let report = document(&told);
    is_valid(&report);
    let fine = entry(&report, "fine", "quantisation");
    let value = fine["evidence"]["value"].as_f64().unwrap();
    assert!((value - 1.0 / 1.7).abs() < 1e-3, "{fine:#}");
    let text = fine["evidence"]["text"].as_str().unwrap();
    assert!(text.contains("bbbbbbbb") && text.contains("aaaaaaaa"), "{text}");
}

#[test]
fn a_run_whose_model_is_gone_is_judged_by_what_it_holds() {
    let home = Home::calibrated();
    home.fine(&quick("feed-forward-baseline", &[]));
    let graphs = fs::read_dir(shared_cache().join("models")).unwrap();
    let size = |folder: &std::path::PathBuf| {
        fs::metadata(folder.join("model.safetensors.data")).map_or(u64::MAX, |file| file.len())
    };
    let source = graphs.map(|entry| entry.unwrap().path()).min_by_key(size).unwrap();
    let model = home.path("mine");
    fs::create_dir(&model).unwrap();
    for file in ["model.onnx", "model.safetensors.data"] {
        fs::copy(source.join(file), model.join(file)).unwrap();
    }
    let path = model.join("model.onnx");
    let told = home.fine(&quick(path.to_str().unwrap(), &["--json", "-"]));
    let id = document(&told)["id"].as_str().unwrap().to_owned();
    fs::remove_dir_all(&model).unwrap();
    let report = document(&home.fine(&["advise", &id, "--try", "--json", "-"]));
    assert!(list(&report, "sweep").is_empty());
    assert_eq!(report["remarks"][0]["code"], "nothing-measured");
    let sweep = entry(&report, "not_judged", "batch-size");
    assert!(sweep["why"].as_str().unwrap().len() > 10, "{sweep}");
    entry(&report, "fine", "dynamic-batching");
    is_valid(&report);
}

#[test]
fn rows_that_are_too_long_are_found_and_the_proof_is_made() {
    let home = Home::calibrated();
    let model = minilm();
    let arguments = [
        "advise",
        model.to_str().unwrap(),
        "--text",
        "How fast is this?",
        "--text",
        "Fast.",
        "--sequence-length",
        "64",
        "--try=padding",
        "--budget",
        "4s",
        "--json",
        "-",
    ];
    let report = document(&home.fine(&arguments));
    is_valid(&report);
    let padding = entry(&report, "advice", "padding");
    // 7 tokens with the special ones.
    assert_eq!(padding["title"], "pad to 7 tokens, the longest row, not to 64");
    assert_eq!(padding["proof"]["change"]["sequence_length"], 7);
    let factor = padding["expected"]["factor"]["high"].as_f64().unwrap();
    assert!((factor - 64.0 / 7.0).abs() < 1e-9, "{factor}");
    let trial = &padding["trial"];
    assert_ne!(trial["verdict"], "refused", "outputs agree where both have them: {trial:#}");
    let processes = trial["processes"].as_u64().unwrap();
    assert!((2..=5).contains(&processes), "it ends when it is answered: {processes}");
    assert!(trial["factor"].as_f64().unwrap() > 0.0);
    for other in list(&report, "advice").iter().filter(|one| one["rule"] != "padding") {
        assert_eq!(other["trial"], Value::Null, "only padding was to be tried");
    }
}

#[test]
fn texts_of_unlike_length_are_proved_in_two_batches() {
    let home = Home::calibrated();
    let model = minilm();
    let long = "a sentence that goes on for much longer than the other ones do ".repeat(4);
    let mut arguments = vec!["advise", model.to_str().unwrap(), "--try=padding", "--budget", "4s"];
    for text in ["Fast.", long.as_str(), "Slow.", long.as_str()] {
        arguments.extend(["--text", text]);
    }
    arguments.extend(["--json", "-"]);
    let report = document(&home.fine(&arguments));
    let padding = entry(&report, "advice", "padding");
    assert_eq!(padding["proof"]["kind"], "buckets");
    assert_ne!(padding["trial"]["verdict"], "refused", "{padding:#}");
    assert_eq!(padding["trial"]["processes"], 3);
}

#[test]
fn batch_sizes_and_threads_can_be_compared() {
    let home = Home::calibrated();
    let short =
        ["--processes", "2", "--turns", "2", "--runs", "12", "--warmup", "2", "--json", "-"];
    let sizes = ["compare", "small-transformer", "--engines", "rten", "--batch-sizes", "4,2"];
    let report = document(&home.fine(&[&sizes[..], &short].concat()));
    assert_eq!(report["parity"][0]["holds"], true, "the rows both have are the same: {report:#}");
    assert_eq!(report["comparisons"][0]["side"], "batch 2");
    let is_per_sample = |remark: &Value| remark["code"] == "per-sample";
    assert!(list(&report, "remarks").iter().any(is_per_sample), "{report:#}");
    let threads =
        ["compare", "feed-forward-baseline", "--engines", "rten", "--thread-counts", "1,2"];
    let report = document(&home.fine(&[&threads[..], &short].concat()));
    assert_eq!(report["comparisons"][0]["side"], "2 threads");
    assert_eq!(report["sides"][0]["threads"], 1);
}

#[test]
fn what_is_asked_wrongly_is_said_before_anything_is_measured() {
    let home = Home::new();
    home.refused(&["advise", "abcdef"], 2, &["no database"]);
    home.refused(&["advise", "no-such-model"], 2, &["no-such-model"]);
    home.refused(&["advise", "small-transformer", "--budget", "0s"], 2, &["budget"]);
    home.refused(&["advise", "small-transformer", "--try=magic"], 2, &["magic", "batch-size"]);
    home.refused(&["advise", "small-transformer", "--json", "nowhere/a.json"], 2, &["nowhere"]);
    let told = home.run(&["advise", "small-transformer", "--goal", "speed"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(told.err.contains("latency, throughput, memory, start"), "{}", told.err);
    assert_eq!(home.stored(), 0);
    home.fine(&["db", "init"]);
    home.refused(&["advise", "ffffffffffff"], 2, &["ffffffffffff"]);
    home.refused(&["advise", "latest"], 2, &["no run is stored"]);
}
