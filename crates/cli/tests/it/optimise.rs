//! Pruning and quantising as people ask for it. How busy the machine is decides what the duel says, so no verdict on speed
//! is expected; what is said beside it is.

use crate::bench::{Home, Told, quick};
use graph::{DataType, Dim, GraphBuilder};
use serde_json::Value;
use std::fs;

fn document(told: &Told) -> Value {
    serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}\n{}", told.err))
}

/// A proof that was made, whatever it could tell: 4 where no engine's times decide, 0 otherwise.
fn proved(home: &Home, words: &[&str]) -> Told {
    let told = home.run(words);
    assert!(matches!(told.status, Some(0 | 4)), "{words:?}\n{}\n{}", told.out, told.err);
    told
}

/// Whether the exit code says what the document does.
fn exits_as_told(told: &Told, proof: &Value) {
    let open = |one: &Value| one["verdict"] == "cannot-tell" || one["verdict"] == "unmeasured";
    let speed = proof["speed"].as_array().unwrap();
    let wanted = if speed.iter().all(open) { 4 } else { 0 };
    assert_eq!(told.status, Some(wanted), "{speed:#?}");
}

fn keeps_the_schema(document: &Value) {
    let schema = include_str!("../../../../docs/schema/modelmeter.proof-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// A command with a proof that is as short as can be.
fn short<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let proof = ["--engines", "rten", "--processes", "2", "--turn", "5ms", "-b", "1", "-l", "8"];
    words.iter().copied().chain(proof).collect()
}

#[test]
fn a_structured_model_is_smaller_and_everything_is_told() {
    let home = Home::calibrated();
    let prune = ["prune", "encoder-small", "-m", "structured", "-s", "0.5", "-o", "small"];
    let told = proved(&home, &short(&[&prune[..], &["--json", "-"]].concat()));
    let proof = document(&told);
    keeps_the_schema(&proof);
    exits_as_told(&told, &proof);
    let number = |side: &str, key: &str| proof[side][key].as_u64().unwrap();
    for key in ["parameters", "nonzeros", "size", "compressed", "flops"] {
        assert!(number("after", key) < number("before", key), "{key}: {proof:#}");
    }
    assert_eq!(proof["optimisation"]["reached"], 0.5);
    let blocks = proof["blocks"].as_array().unwrap();
    let heads: Vec<&Value> = blocks.iter().filter(|block| block["what"] == "heads").collect();
    assert!(!heads.is_empty() && heads.len() * 2 == blocks.len(), "{blocks:?}");
    assert!(heads.iter().all(|block| block["after"] == 2 && block["before"] == 4), "{heads:?}");
    let speed = &proof["speed"][0];
    assert_eq!(speed["engine"], "rten");
    assert!(speed["speed_up"].as_f64().unwrap() > 0.0, "{speed:#}");
    assert!(proof["drift"]["outputs"][0]["cosine"].as_f64().unwrap() < 0.999_999);
    assert!(!proof["drift"]["layers"].as_array().unwrap().is_empty());
    assert_eq!(home.stored(), 4, "two processes per side");
    for file in ["config.json", "model.safetensors", "onnx/model.onnx"] {
        assert!(home.path("small").join(file).is_file(), "{file}");
    }
    let config = fs::read_to_string(home.path("small/config.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&config).unwrap()["d_ff"], 256);
    home.fine(&quick("./small", &[]));
    let again = ["prune", "./small", "-m", "structured", "-s", "0.5", "-o", "smaller"];
    home.refused(&again, 2, &["pruned already", "hint:"]);
}

#[test]
fn zeros_that_do_not_help_are_told_with_their_reason() {
    let home = Home::calibrated();
    let prune = ["prune", "encoder-small", "-s", "0.5", "-o", "sparse", "--json", "proof.json"];
    let told = proved(&home, &short(&prune));
    assert!(told.out.contains("50.0 % requested, 50.0 % reached"), "{}", told.out);
    assert!(told.out.contains("verdict"), "{}", told.out);
    let proof: Value =
        serde_json::from_str(&fs::read_to_string(home.path("proof.json")).unwrap()).unwrap();
    keeps_the_schema(&proof);
    let (before, after) = (&proof["before"], &proof["after"]);
    assert_eq!(before["parameters"], after["parameters"]);
    assert!(after["compressed"].as_u64().unwrap() < before["compressed"].as_u64().unwrap());
    let speed = &proof["speed"][0];
    exits_as_told(&told, &proof);
    let why = speed["why"].as_str().unwrap_or_default();
    let instead = speed["instead"].as_str().unwrap_or_default();
    match speed["verdict"].as_str().unwrap() {
        "faster" => {}
        // No effect was seen, so no cause is named.
        "cannot-tell" => {
            assert!(!why.contains("zeros") && !why.is_empty(), "{why}");
            assert!(instead.contains("quieter machine"), "{instead}");
        }
        _ => {
            assert!(why.contains("dense kernels do not skip zeros"), "{why}");
            assert!(instead.contains("structured"), "{instead}");
        }
    }
    let layers = proof["layers"].as_array().unwrap();
    assert!(layers.iter().all(|layer| (layer["sparsity"].as_f64().unwrap() - 0.5).abs() < 1e-3));
}

#[test]
fn int8_is_a_quarter_and_says_how_far_it_moved() {
    let home = Home::calibrated();
    for (more, how) in [(&["--per-channel"][..], "dynamic"), (&["--weights-only"], "weights-only")]
    {
        let quantize = ["quantize", "encoder-small", "--to", "int8", "-o", how, "--json", "-"];
        let proof = document(&proved(&home, &short(&[&quantize[..], more].concat())));
        keeps_the_schema(&proof);
        assert_eq!(proof["optimisation"]["how"], how);
        assert_eq!(proof["after"]["precision"], "int8");
        assert!(proof["drift"]["worst"].as_f64().unwrap() < 0.01, "{}", proof["drift"]);
        let size = |side: &str| proof[side]["size"].as_u64().unwrap();
        assert!(size("after") < size("before"));
        assert!(!home.path(how).join("model.safetensors").exists(), "nobody could load it");
    }
    let half = ["quantize", "encoder-small", "--to", "bf16", "-o", "half", "--no-proof"];
    home.fine(&half);
    assert!(home.path("half/model.safetensors").is_file());
    assert_eq!(home.stored(), 8, "two forms, two sides, two processes");
}

#[test]
fn a_search_keeps_the_smallest_that_does_not_drift() {
    let home = Home::calibrated();
    let search = ["optimize", "encoder-small", "--target", "size", "-o", "best", "--json", "-"];
    let found = document(&home.fine(&short(&search)));
    assert_eq!(found["schema"], "modelmeter.optimize/1");
    let attempts = found["attempts"].as_array().unwrap();
    assert!(attempts.len() >= 7, "all changes alone: {attempts:#?}");
    let best = &found["best"];
    assert!(best["command"].as_str().unwrap().contains("quantize --to"), "{best:#}");
    assert!(best["proof"]["drift"]["worst"].as_f64().unwrap() <= 0.01);
    for attempt in attempts.iter().filter(|one| one["refused"].is_null()) {
        assert_eq!(attempt["command"], best["command"], "one is kept");
    }
    keeps_the_schema(&best["proof"]);
    assert!(home.path("best/onnx/model.onnx").is_file());
    let left = fs::read_dir(home.path("")).unwrap().flatten();
    let hidden =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".modelmeter"));
    assert_eq!(hidden.count(), 0, "nothing else stays");
}

#[test]
fn a_search_that_could_tell_nothing_ends_with_4_and_writes_nothing() {
    let home = Home::calibrated();
    let search = ["optimize", "encoder-small", "--target", "latency", "-o", "best", "--json", "-"];
    let told = proved(&home, &short(&search));
    let found = document(&told);
    let attempts = found["attempts"].as_array().unwrap();
    let open = attempts.iter().filter(|one| one["open"] == true).count();
    for one in attempts.iter().filter(|one| !one["proof"].is_null()) {
        let verdict = &one["proof"]["speed"][0]["verdict"];
        let moves = one["proof"]["drift"]["worst"].as_f64().is_none_or(|drift| drift > 0.01);
        assert_eq!(one["open"] == true, verdict == "cannot-tell" && !moves, "{one:#}");
        let why = one["refused"].as_str().unwrap_or_default();
        assert!(one["open"] != true || why.starts_with("cannot tell whether"), "{why}");
    }
    let kept = !found["best"].is_null();
    assert_eq!(told.status, Some(if kept || open == 0 { 0 } else { 4 }), "{found:#}");
    assert_eq!(home.path("best").exists(), kept);
}

#[test]
fn a_search_that_may_move_the_answers_tries_changes_together() {
    let home = Home::calibrated();
    // What an earlier version wrote there, without a list of its files.
    fs::create_dir_all(home.path("best/onnx")).unwrap();
    for file in ["onnx/model.onnx", "onnx/model.safetensors.data", "vocab.txt"] {
        fs::write(home.path("best").join(file), "what was here before").unwrap();
    }
    let search = ["optimize", "encoder-small", "--target", "size", "--max-drift", "1"];
    let there = ["-o", "best", "--force", "--json", "-"];
    let found = document(&home.fine(&short(&[&search[..], &there].concat())));
    let attempts = found["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 10, "seven alone, and each of three cuts with the best int8");
    let best = &found["best"];
    let command = best["command"].as_str().unwrap();
    assert!(
        command.starts_with("prune --method structured --sparsity 0.3, then quantize"),
        "{command}"
    );
    let proof = &best["proof"];
    keeps_the_schema(proof);
    let kinds = ["structured", "quantised"];
    for (place, kind) in kinds.iter().enumerate() {
        assert_eq!(proof["optimisation"]["changes"][place]["kind"], *kind);
    }
    let parameters = |side: &str| proof[side]["parameters"].as_u64().unwrap();
    assert!(parameters("after") < parameters("before"), "heads and neurons are gone");
    let size = |side: &str| proof[side]["size"].as_u64().unwrap();
    let alone = |one: &&Value| one["command"].as_str() == Some("quantize --to int8 --per-channel");
    let alone = attempts.iter().find(alone).unwrap();
    assert!(size("after") < alone["proof"]["after"]["size"].as_u64().unwrap());
    assert!(home.path("best/onnx/model.onnx").is_file());
    assert!(!home.path("best/vocab.txt").exists(), "the old folder was replaced");
    let beside = fs::read_dir(home.path("best").parent().unwrap()).unwrap().flatten();
    let left = beside.filter(|entry| entry.file_name().to_string_lossy().contains("unfinished"));
    assert_eq!(left.count(), 0);
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_written() {
    let home = Home::calibrated();
    let refused = |more: &[&str], says: &[&str]| {
        let usual = ["prune", "encoder-small", "-o", "out"];
        home.refused(&[&usual[..], more].concat(), 2, says);
        assert!(!home.path("out").exists(), "{more:?}");
    };
    refused(&["--sparsity", "1"], &["at least 0 and below 1"]);
    refused(&["--sparsity", "-0.1"], &["at least 0 and below 1"]);
    refused(&["--layers", "*quarry*"], &["no weight matches `*quarry*`"]);
    refused(&["-m", "structured", "-s", "0.99"], &["all 4 heads"]);
    refused(&["-m", "n-m", "--pattern", "4:4"], &["4:4"]);
    refused(&["-m", "n-m", "-s", "0.3"], &["2:4 decides the sparsity"]);
    refused(&["--pattern", "2:4"], &["n-m"]);
    refused(&["--schedule", "gradual"], &["texts to calibrate"]);
    fs::write(home.path("texts.txt"), "one text\n").unwrap();
    refused(&["--calibrate", "texts.txt"], &["no tokenizer"]);
    refused(&["--calibrate", "nowhere.txt"], &["nowhere.txt"]);
    refused(&["--engines", "nobody"], &["unknown engine `nobody`"]);
    fs::create_dir(home.path("taken")).unwrap();
    let taken = ["prune", "encoder-small", "-o", "taken", "--no-proof"];
    home.refused(&taken, 2, &["`taken` exists", "--force"]);
    home.fine(&[&taken[..], &["--force"]].concat());
    assert!(home.path("taken/onnx/model.onnx").is_file());
    // What somebody put into it is not ours to delete.
    fs::write(home.path("taken/letter"), "dear reader").unwrap();
    let forced = [&taken[..], &["--force"]].concat();
    home.refused(
        &forced,
        2,
        &["`taken` is not replaced, even with `--force`", "`letter`", "mv taken taken.old"],
    );
    assert_eq!(fs::read_to_string(home.path("taken/letter")).unwrap(), "dear reader");
    fs::remove_file(home.path("taken/letter")).unwrap();
    home.refused(&["prune", "./taken", "-s", "0.5", "-o", "out"], 2, &["pruned already"]);
    home.refused(&["quantize", "encoder-small", "--to", "fp32", "-o", "out"], 2, &["fp32"]);
    home.refused(
        &["quantize", "encoder-small", "--to", "fp16", "--per-channel", "-o", "out"],
        2,
        &["for int8"],
    );
}

#[test]
fn a_graph_without_weights_or_without_heads_says_so() {
    let home = Home::calibrated();
    let mut builder = GraphBuilder::new("bare");
    let x = builder.input("x", DataType::Float, &[Dim::Fixed(2), Dim::Fixed(4)]);
    let y = builder.node("Softmax", &[&x], &[]);
    builder.output("y", &y, DataType::Float, &[Dim::Fixed(2), Dim::Fixed(4)]);
    builder.finish_model().write(home.path("bare.onnx")).unwrap();
    home.refused(&["prune", "bare.onnx", "-o", "out"], 2, &["it has no weights"]);

    let mut builder = GraphBuilder::new("vector");
    let x = builder.input("x", DataType::Float, &[Dim::Fixed(2), Dim::Fixed(4)]);
    let weight = graph::Tensor::from_f32s("w", &[4, 4], &[0.5; 16]);
    builder.initializer(weight);
    let y = builder.node("MatMul", &[&x, "w"], &[]);
    builder.output("y", &y, DataType::Float, &[Dim::Fixed(2), Dim::Fixed(4)]);
    builder.finish_model().write(home.path("vector.onnx")).unwrap();
    let structured = ["prune", "vector.onnx", "-m", "structured", "-s", "0.3", "-o", "out"];
    home.refused(&structured, 2, &["attention (projections", "feed-forward pair"]);
    assert!(!home.path("out").exists());
}

#[test]
fn a_disk_that_fills_half_way_leaves_nothing() {
    let home = Home::calibrated();
    // The model lies in the cache before the disk is small.
    home.fine(&quick("encoder-small", &[]));
    let program = env!("CARGO_BIN_EXE_modelmeter");
    let script = format!("ulimit -f 2000; exec {program} prune encoder-small -o full --no-proof");
    let mut command = home.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.path("")).env_clear();
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    command.env_clear();
    let output = shell.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("full"), "{err}");
    let left = fs::read_dir(home.path("")).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<String> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.contains("full")), "{left:?}");
}
