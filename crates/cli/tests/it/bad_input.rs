//! Asked wrongly: exit code 2, a clear message, nothing stored, nothing lost.

use crate::bench::{Home, quick};
use std::{fs, path::PathBuf};

#[test]
fn an_unknown_model_names_its_neighbours() {
    let home = Home::new();
    home.refused(
        &quick("distilbert-base-uncasd", &[]),
        2,
        &["distilbert-base-uncasd", "distilbert-base-uncased"],
    );
    assert_eq!(home.stored(), 0);
}

#[test]
fn a_missing_file_is_not_looked_up_on_the_hub() {
    let home = Home::new();
    home.refused(&quick("./nowhere.onnx", &[]), 2, &["nowhere.onnx", "does not exist"]);
}

/// The prepared ONNX file of a preset, alone in a cache of this home.
fn prepared(home: &Home) -> PathBuf {
    let cache = home.path("cache");
    home.fine(&quick("feed-forward-baseline", &["--cache", cache.to_str().unwrap()]));
    let folder = fs::read_dir(cache.join("models")).unwrap().next().unwrap().unwrap().path();
    folder.join("model.onnx")
}

#[test]
fn truncated_and_foreign_onnx_files_are_told_apart() {
    let home = Home::new();
    let whole = fs::read(prepared(&home)).unwrap();
    fs::write(home.path("cut.onnx"), &whole[..whole.len() / 2]).unwrap();
    home.refused(&quick("cut.onnx", &[]), 2, &["cut.onnx", "cause:", "hint:"]);
    fs::write(home.path("text.onnx"), "this is a letter, not a model\n").unwrap();
    home.refused(&quick("text.onnx", &[]), 2, &["text.onnx", "cause:"]);
    fs::write(home.path("empty.onnx"), "").unwrap();
    home.refused(&quick("empty.onnx", &[]), 2, &["empty.onnx"]);
    assert_eq!(home.stored(), 1, "the first run is still there");
}

#[test]
fn a_model_whose_weights_are_cut_off_is_named() {
    let home = Home::new();
    let onnx = prepared(&home);
    let folder = home.path("broken");
    fs::create_dir(&folder).unwrap();
    fs::copy(&onnx, folder.join("model.onnx")).unwrap();
    let data = fs::read(onnx.with_file_name("model.safetensors.data")).unwrap();
    fs::write(folder.join("model.safetensors.data"), &data[..data.len() / 2]).unwrap();
    home.refused(&quick("broken/model.onnx", &[]), 2, &["model.safetensors.data"]);
    fs::remove_file(folder.join("model.safetensors.data")).unwrap();
    home.refused(&quick("broken/model.onnx", &[]), 2, &["model.safetensors.data"]);
}

#[test]
fn corrupt_safetensors_are_named() {
    let home = Home::new();
    let folder = home.path("bert");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("config.json"),
        r#"{"model_type":"bert","architectures":["BertModel"],"vocab_size":50,"hidden_size":32,
            "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":64,"hidden_act":"gelu",
            "max_position_embeddings":32,"type_vocab_size":2,"layer_norm_eps":1e-12}"#,
    )
    .unwrap();
    home.refused(&quick("./bert", &[]), 2, &["model.safetensors"]);
    fs::write(folder.join("model.safetensors"), b"\xff\xff\xff\xff\xff\xff\xff\x7f{}").unwrap();
    home.refused(&quick("./bert", &[]), 2, &["model.safetensors"]);
    let mut header = 200u64.to_le_bytes().to_vec();
    header.extend_from_slice(b"{\"x\":");
    fs::write(folder.join("model.safetensors"), header).unwrap();
    home.refused(&quick("./bert", &[]), 2, &["model.safetensors", "hint:"]);
}

#[test]
fn an_architecture_nobody_builds_says_what_would_run_it() {
    let home = Home::new();
    let folder = home.path("mamba");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), r#"{"model_type":"mamba"}"#).unwrap();
    fs::write(folder.join("model.safetensors"), b"\x02\0\0\0\0\0\0\0{}").unwrap();
    home.refused(&quick("./mamba", &["--engine", "rten"]), 2, &["mamba", "onnx"]);
    // Its framework would run it, and is not here.
    home.refused(&quick("./mamba", &[]), 3, &["only as a PyTorch module", "torch", "hint:"]);
}

#[test]
fn wrong_shapes_are_refused_with_the_input_that_is_meant() {
    let home = Home::new();
    let model = "feed-forward-baseline";
    home.refused(&quick(model, &["--batch-size", "0"]), 2, &["batch size", "at least 1"]);
    home.refused(&quick(model, &["--input", "nobody=1x512"]), 2, &["nobody"]);
    let told = home.run(&quick(model, &["--input", "x=1xtwo"]));
    assert_eq!(told.status, Some(2), "{}", told.err);
    home.refused(&quick("small-transformer", &["--sequence-length", "100000"]), 2, &["100000"]);
    home.refused(&quick("bert-base-uncased", &["-l", "513"]), 2, &["513", "512"]);
}

#[test]
fn contradicting_rules_are_refused() {
    let home = Home::new();
    home.refused(&["profile", "small-transformer", "--runs", "0"], 2, &["at least 1"]);
    home.refused(&["profile", "small-transformer", "--threads", "0"], 2, &["threads"]);
    home.refused(&["profile", "small-transformer", "--target-error", "200%"], 2, &["target error"]);
    let told = home.run(&["profile", "small-transformer", "--duration", "soon"]);
    assert_eq!(told.status, Some(2));
    assert!(told.err.contains("soon"), "{}", told.err);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_measuring() {
    let home = Home::new();
    home.refused(&quick("small-transformer", &["--json", "no/such/run.json"]), 2, &["no/such"]);
    home.refused(&quick("small-transformer", &["--output", "run.docx"]), 2, &["docx"]);
    assert_eq!(home.stored(), 0);
}

#[test]
fn a_device_or_precision_that_is_not_here_is_refused_with_reasons() {
    let home = Home::new();
    home.refused(&quick("small-transformer", &["--device", "cuda"]), 3, &["cuda", "rten", "hint:"]);
    home.refused(&quick("small-transformer", &["--precision", "fp16"]), 3, &["fp16", "rten"]);
    home.refused(&quick("small-transformer", &["--engine", "abacus"]), 2, &["abacus", "rten"]);
}

#[test]
fn text_without_a_tokenizer_is_refused() {
    let home = Home::new();
    home.refused(&quick("small-transformer", &["--text", "hello"]), 2, &["tokenizer"]);
    home.refused(&quick("small-transformer", &["--text-file", "nowhere.txt"]), 2, &["nowhere.txt"]);
}

#[test]
fn a_name_full_of_control_characters_cannot_touch_the_terminal() {
    let home = Home::new();
    let told = home.refused(&quick("evil\u{1b}[2Jname", &[]), 2, &["evil"]);
    assert!(!told.err.contains('\u{1b}'), "{:?}", told.err);
}

#[test]
fn a_bad_tag_is_refused_before_measuring_and_nothing_is_stored() {
    let home = Home::new();
    home.refused(&quick("feed-forward-baseline", &["--tag", " "]), 2, &["tag"]);
    home.refused(&quick("feed-forward-baseline", &["--tag", "fine", "--tag", "a\nb"]), 2, &["tag"]);
    assert_eq!(home.stored(), 0);
}

#[test]
fn two_outputs_cannot_share_a_place() {
    let home = Home::new();
    home.refused(
        &quick("feed-forward-baseline", &["--json", "-", "--csv", "-"]),
        2,
        &["only one format"],
    );
    home.refused(&quick("feed-forward-baseline", &["--json=x", "--csv=x"]), 2, &["two outputs"]);
}

#[test]
fn a_text_file_that_never_ends_is_refused() {
    let home = Home::new();
    let arguments = quick("small-transformer", &["--text-file", "/dev/zero"]);
    home.refused(&arguments, 2, &["/dev/zero", "not a file"]);
}

#[test]
fn sizes_beyond_the_machine_are_refused_with_the_bytes() {
    let home = Home::new();
    let batch = ["--batch-size", "1000000000000"];
    home.refused(&quick("feed-forward-baseline", &batch), 3, &["bytes", "--batch-size"]);
    home.refused(&quick("feed-forward-baseline", &["--threads", "99999"]), 2, &["99999"]);
    home.refused(&["profile", "feed-forward-baseline", "--duration", "0s"], 2, &["duration"]);
}

#[test]
fn a_mistyped_database_is_not_made() {
    let home = Home::new();
    home.refused(&["runs", "list", "--db", "nowhere/runs.db"], 2, &["nowhere/runs.db"]);
    home.refused(&["db", "vacuum", "--db", "nowhere.db"], 2, &["nowhere.db"]);
    assert!(!home.path("nowhere").exists() && !home.path("nowhere.db").exists());
}

#[test]
fn a_hint_names_only_what_would_not_fail_the_same_way() {
    let home = Home::new();
    let file = prepared(&home).display().to_string();
    let told =
        home.refused(&quick(&file, &["--engine", "rten", "--device", "cuda"]), 3, &["hint:"]);
    assert!(told.err.contains("`--device cpu` works here"), "{}", told.err);
    // `quantize` has no `--precision`.
    let there = ["quantize", "encoder-small", "--to", "int8", "-o", "small", "--no-proof"];
    home.fine(&there);
    let again = ["quantize", "./small", "--to", "fp16", "-o", "smaller", "--no-proof"];
    let told = home.refused(&again, 2, &["cannot be converted to fp16"]);
    assert!(!told.err.contains("--precision"), "{}", told.err);
}

/// A text model in a folder of this home, with this tokenizer beside it.
fn with_tokenizer(home: &Home, tokenizer: &str) -> String {
    let folder = home.path("text");
    if !folder.exists() {
        let cache = home.path("text-cache");
        home.fine(&quick("encoder-small", &["--cache", cache.to_str().unwrap()]));
        let made = fs::read_dir(cache.join("models")).unwrap().next().unwrap().unwrap().path();
        fs::rename(made, &folder).unwrap();
    }
    fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
    folder.join("model.onnx").display().to_string()
}

/// A tokenizer that knows one word, with something else in one place.
fn tokenizer(part: &str, value: &str) -> String {
    let mut parts = [
        ("normalizer", "null"),
        ("pre_tokenizer", r#"{"type":"Whitespace"}"#),
        ("post_processor", "null"),
        ("model", r#"{"type":"WordLevel","vocab":{"hello":0,"[UNK]":1},"unk_token":"[UNK]"}"#),
    ];
    parts.iter_mut().filter(|(name, _)| *name == part).for_each(|entry| entry.1 = value);
    let parts: Vec<String> =
        parts.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"decoder":null,{}}}"#,
        parts.join(",")
    )
}

#[test]
fn a_tokenizer_that_makes_its_library_panic_is_a_broken_file() {
    let home = Home::new();
    let profile = |tokenizer: &str, says: &[&str]| {
        let model = with_tokenizer(&home, tokenizer);
        home.refused(&quick(&model, &["--text", "hello"]), 2, says);
    };
    let says = ["the tokenizer", "tokenizer.json", "makes `tokenizers` fail", "hint: download"];
    let chars = r#"{"type":"Precompiled","precompiled_charsmap":"AAAA"}"#;
    profile(&tokenizer("normalizer", chars), &says);
    let template = r#"{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}},
        {"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}}"#;
    profile(&tokenizer("post_processor", template), &says);
    profile(&tokenizer("", "")[..200], &["the tokenizer", "EOF"]);
    assert_eq!(home.stored(), 1, "the one that made the model");
}

#[test]
fn a_tokenizer_that_needs_all_memory_is_stopped_by_the_limit() {
    let home = Home::new();
    // Each step makes the text forty times as long.
    let step = r#"{"type":"Replace","pattern":{"String":"h"},"content":"hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"}"#;
    let steps = [step; 8].join(",");
    let growing = format!(r#"{{"type":"Sequence","normalizers":[{steps}]}}"#);
    let model = with_tokenizer(&home, &tokenizer("normalizer", &growing));
    let limit = ["--text", "hello", "--memory-limit", "256", "--limit-by", "rlimit"];
    home.refused(&quick(&model, &limit), 3, &["read the tokenizer", "out of memory", "256 MiB"]);
}

#[test]
fn weights_outside_the_folder_and_graphs_in_a_circle_are_refused_before_any_engine_sees_them() {
    let home = Home::new();
    let made = prepared(&home);
    let folder = home.path("linked");
    fs::create_dir(&folder).unwrap();
    fs::copy(&made, folder.join("model.onnx")).unwrap();
    let data = "model.safetensors.data";
    std::os::unix::fs::symlink(made.with_file_name(data), folder.join(data)).unwrap();
    for engine in ["rten", "onnxruntime"] {
        let arguments = quick("linked/model.onnx", &["--engine", engine]);
        let told = home.run(&arguments);
        // An engine that is not here is said first.
        if told.status != Some(3) {
            home.refused(&arguments, 2, &[data, "a link to", "outside the model's folder"]);
        }
    }
}

#[test]
fn a_flipped_byte_in_prepared_weights_is_noticed_where_outputs_are_compared() {
    let home = Home::new();
    let made = prepared(&home);
    let data = made.with_file_name("model.safetensors.data");
    let cache = home.path("cache").display().to_string();
    let mut bytes = fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&data, bytes).unwrap();
    let compare = ["compare", "feed-forward-baseline", "--engines", "rten", "--cache", &cache];
    let compare = [&compare[..], &["--batch-sizes", "1,2", "--runs", "11"]].concat();
    let told = home.refused(&compare, 3, &["model.safetensors.data", "damaged", "hint: `rm -r "]);
    let command = told.err.split('`').find(|part| part.starts_with("rm -r ")).unwrap();
    let done = std::process::Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(done.success() && !data.exists(), "the hint works as it stands");
}
