//! Sizes beyond all numbers, pipes and devices in place of files, names that are none.

use crate::scene::{Scene, TINY_BERT, embedding, passing};
use ::safetensors::Dtype;
use graph::{DataType, Model};
use models::{ModelError, Resolved};
use std::{
    error::Error,
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};
use types::InputShape;

fn open(scene: &Scene, model: &Model) -> Resolved {
    let path = scene.path("model.onnx");
    model.write(&path).unwrap();
    scene.resolve(path).unwrap()
}

fn shape(name: &str, dims: &[usize]) -> InputShape {
    InputShape { name: name.into(), dims: dims.to_vec() }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn cause(error: &ModelError) -> String {
    error.source().unwrap().to_string()
}

#[test]
fn inputs_beyond_all_memory_are_refused_with_their_bytes() {
    let scene = Scene::new();
    let declared: &[&str] = &["1099511627776", "1099511627776"];
    let resolved = open(&scene, &passing(&[("x", DataType::Float, declared)]));
    let batch = resolved.default_batch(&[]).unwrap();
    let error = resolved.inputs(batch, None, &[]).unwrap_err();
    let expected = "input `x` of shape 1099511627776x1099511627776 would need \
                    4835703278458516698824704 bytes";
    assert_eq!(error.to_string(), expected);
    let free: &[&str] = &["batch", "?", "?"];
    let resolved = open(&scene, &passing(&[("x", DataType::Float, free)]));
    let four = 1 << 32;
    let error = resolved.inputs(four, None, &[shape("x", &[four, four, 1])]).unwrap_err();
    assert!(error.to_string().ends_with("would need 73786976294838206464 bytes"), "{error}");
    let error = resolved.inputs(i64::MAX as usize, None, &[]).unwrap_err();
    assert!(matches!(error, ModelError::TooManyBytes { .. }), "{error}");
    let error = resolved.inputs(usize::MAX, None, &[]).unwrap_err();
    assert!(matches!(error, ModelError::TooManyBytes { .. }), "{error}");
}

#[test]
fn one_fixed_input_decides_batch_and_length_for_all() {
    let scene = Scene::new();
    let resolved = scene.resolve("encoder-small").unwrap();
    for name in ["input_ids", "attention_mask"] {
        let fixed = [shape(name, &[2, 16])];
        assert_eq!((resolved.default_batch(&fixed), resolved.length(&fixed)), (Some(2), Some(16)));
        let inputs = resolved.inputs(2, None, &fixed).unwrap();
        assert!(inputs.iter().all(|input| input.dims == [2, 16]), "{inputs:?}");
        let error = resolved.inputs(2, Some(128), &fixed).unwrap_err();
        assert!(matches!(error, ModelError::FixedLength { fixed: 16, .. }), "{error}");
    }
    assert_eq!(resolved.length(&[]), resolved.default_length);
    assert_eq!(scene.resolve("feed-forward-baseline").unwrap().length(&[]), None);
}

#[test]
fn rank_and_repetition_are_told_before_all_else() {
    let scene = Scene::new();
    let resolved = open(&scene, &embedding(&["batch", "sequence"]));
    let error = resolved.inputs(4, Some(128), &[shape("input_ids", &[2, 16, 3])]).unwrap_err();
    assert_eq!(error.to_string(), "input `input_ids` has 2 dimensions, 3 were given");
    let twice = [shape("input_ids", &[2, 16]), shape("input_ids", &[2, 8])];
    let error = resolved.inputs(2, None, &twice).unwrap_err();
    assert_eq!(error.to_string(), "input `input_ids` was given twice");
}

#[test]
fn a_zero_is_told_with_its_input_and_place() {
    let scene = Scene::new();
    let resolved = open(&scene, &passing(&[("x", DataType::Float, &["0", "3"])]));
    let batch = resolved.default_batch(&[]).unwrap();
    let error = resolved.inputs(batch, None, &[]).unwrap_err();
    assert_eq!(error.to_string(), "dimension 0 of input `x` is 0; it must be at least 1");
    let resolved = open(&scene, &passing(&[("x", DataType::Float, &["batch", "n"])]));
    for (dims, place) in [([0, 3], 0), ([2, 0], 1)] {
        let fixed = [shape("x", &dims)];
        let batch = resolved.default_batch(&fixed).unwrap();
        let error = resolved.inputs(batch, None, &fixed).unwrap_err();
        assert!(
            matches!(error, ModelError::ZeroDimension { position, .. } if position == place),
            "{error}"
        );
    }
    let error = resolved.inputs(0, None, &[]).unwrap_err();
    assert!(matches!(error, ModelError::ZeroBatch), "{error}");
}

#[test]
fn absurd_configurations_are_refused_before_anything_is_built() {
    let refuse = |from: &str, to: &str| {
        let config = TINY_BERT.replace(from, to);
        models::build(&serde_json::from_str(&config).unwrap()).unwrap_err().to_string()
    };
    let layers = refuse("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 1000000000");
    assert!(layers.ends_with("it must be a whole number from 1 to 10000"), "{layers}");
    let hidden = refuse("\"hidden_size\": 8", "\"hidden_size\": 1000000000000");
    assert!(hidden.contains("`hidden_size` is `1000000000000`"), "{hidden}");
    assert!(hidden.ends_with("from 1 to 2147483647"), "{hidden}");
    let hidden = refuse("\"hidden_size\": 8", "\"hidden_size\": 100000000");
    assert!(hidden.ends_with("from 1 to 1048576"), "{hidden}");
}

#[test]
fn pipes_devices_and_links_in_circles_are_no_files() {
    let scene = Scene::new();
    make_pipe(&scene.path("pipe.onnx"));
    symlink("/dev/null", scene.path("null.onnx")).unwrap();
    symlink(scene.path("loop.onnx"), scene.path("loop.onnx")).unwrap();
    symlink("nothing", scene.path("lost.onnx")).unwrap();
    for (name, why) in [
        ("pipe.onnx", "named pipe"),
        ("null.onnx", "device"),
        ("loop.onnx", "symbolic links"),
        ("lost.onnx", "a link to `nothing`"),
    ] {
        let error = scene.resolve(scene.path(name)).unwrap_err();
        assert!(error.to_string().ends_with("is not a file"), "{error}");
        assert!(cause(&error).contains(why), "{name}: {}", cause(&error));
    }
}

#[test]
fn pipes_inside_a_folder_are_refused_instead_of_waited_for() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    fs::remove_file(scene.path("bert/config.json")).unwrap();
    make_pipe(&scene.path("bert/config.json"));
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(cause(&error).contains("named pipe"), "{error}");
    let pipe = scene.path("tokenizer.json");
    make_pipe(&pipe);
    let Err(error) = models::Tokeniser::load(&pipe) else { panic!("a pipe was loaded") };
    assert!(cause(&error).contains("named pipe"), "{error}");
    scene.write("sharded/config.json", TINY_BERT);
    let index = r#"{"weight_map": {"a": "part.safetensors"}}"#;
    scene.write("sharded/model.safetensors.index.json", index);
    make_pipe(&scene.path("sharded/part.safetensors"));
    let error = scene.resolve(scene.path("sharded")).unwrap_err();
    assert!(cause(&error).contains("named pipe"), "{error}");
}

#[test]
fn shards_outside_the_folder_are_refused() {
    let scene = Scene::new();
    scene.bert("other", Dtype::F32);
    scene.write("bert/config.json", TINY_BERT);
    let outside = scene.path("other/model.safetensors").display().to_string();
    for name in ["../other/model.safetensors", outside.as_str(), ""] {
        let index = serde_json::json!({"weight_map": {"a": name}}).to_string();
        scene.write("bert/model.safetensors.index.json", index);
        let error = scene.resolve(scene.path("bert")).unwrap_err();
        let expected = format!("it names `{name}`, which is outside the model's folder");
        assert_eq!(cause(&error), expected);
    }
}

#[test]
fn empty_names_and_addresses_are_answered_as_such() {
    let scene = Scene::new();
    for name in ["", "  "] {
        let error = scene.resolve(name).unwrap_err();
        assert!(matches!(error, ModelError::NoName), "{error}");
    }
    let error = scene.resolve("http://example.org/model.onnx").unwrap_err();
    assert!(error.to_string().ends_with("models are given by name or by path"), "{error}");
}

#[test]
fn a_failed_preparation_leaves_nothing_and_old_remains_are_swept() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let config = TINY_BERT.replace("\"intermediate_size\": 12", "\"intermediate_size\": 10");
    scene.write("bert/config.json", config);
    scene.resolve(scene.path("bert")).unwrap_err();
    let names = || {
        let entries = fs::read_dir(scene.path("cache/models")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert!(names().is_empty(), "{:?}", names());
    let (old, new) = (".unfinished-1-0-old", ".unfinished-1-0-new");
    for name in [old, new] {
        scene.write(&format!("cache/models/{name}/part"), "x");
    }
    let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
    let folder = fs::File::open(scene.path(&format!("cache/models/{old}"))).unwrap();
    folder.set_modified(two_days_ago).unwrap();
    scene.resolve("feed-forward-baseline").unwrap();
    assert!(!names().contains(&old.to_owned()) && names().contains(&new.to_owned()));
}

#[test]
fn a_byte_order_mark_is_skipped_and_damage_has_a_hint() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    scene.write("bert/config.json", format!("\u{feff}{TINY_BERT}"));
    scene.resolve(scene.path("bert")).unwrap();
    scene.write("bert/config.json", "{\"model_type\"");
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(error.hint().unwrap().contains("plain JSON"));
}

#[test]
fn types_that_cannot_be_generated_are_said_in_plain_words() {
    let scene = Scene::new();
    for (dtype, words, hint) in [
        (DataType::Uint16, "numbers of type uint16", "float32"),
        (DataType::Uint64, "numbers of type uint64", "float32"),
        (DataType::Complex64, "numbers of type complex64", "float32"),
        (DataType::Undefined, "a sequence, a map or an optional value", "preprocessing"),
    ] {
        let mut resolved = open(&scene, &passing(&[("x", DataType::Float, &["batch"])]));
        resolved.model.graph.inputs[0].dtype = dtype;
        let error = resolved.inputs(1, None, &[]).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
    }
}

#[test]
fn files_that_are_too_large_are_refused_by_their_size_before_they_are_read() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let grow = |name: &str, bytes: u64| {
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(scene.path(name))
            .unwrap()
            .set_len(bytes)
            .unwrap();
    };
    grow("bert/config.json", 1 << 40);
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert_eq!(cause(&error), "it has 1099511627776 bytes; at most 8388608 are read");
    for name in ["tokenizer.json", "net.toml", "x.npy", "x.safetensors"] {
        grow(name, 1 << 40);
    }
    let Err(error) = models::Tokeniser::load(&scene.path("tokenizer.json")) else { panic!() };
    assert!(cause(&error).ends_with("at most 268435456 are read"), "{}", cause(&error));
    let error = scene.resolve(scene.path("net.toml")).unwrap_err();
    assert!(cause(&error).ends_with("at most 8388608 are read"), "{}", cause(&error));
    for name in ["x.npy", "x.safetensors"] {
        let error = models::read_data(&scene.path(name)).unwrap_err();
        assert!(cause(&error).ends_with("at most 1073741824 are read"), "{}", cause(&error));
    }
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    scene.write("bert/config.json", "[".repeat(1 << 20));
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(cause(&error).contains("recursion limit"), "{}", cause(&error));
    scene.write("net.toml", format!("a = {}", "[".repeat(1 << 20)));
    scene.resolve(scene.path("net.toml")).unwrap_err();
}

#[test]
fn changed_bytes_of_a_prepared_model_are_found_and_whole_ones_pass() {
    let scene = Scene::new();
    let onnx = scene.resolve("feed-forward-baseline").unwrap().onnx;
    models::verify_prepared(&onnx).unwrap();
    let data = onnx.with_file_name("model.safetensors.data");
    let mut bytes = fs::read(&data).unwrap();
    *bytes.last_mut().unwrap() ^= 0x80;
    fs::write(&data, bytes).unwrap();
    let error = models::verify_prepared(&onnx).unwrap_err();
    assert!(matches!(error, ModelError::Damaged { .. }), "{error}");
    assert!(error.hint().unwrap().starts_with("`rm -r "), "{:?}", error.hint());
    // A graph that somebody else wrote has nothing to compare with.
    models::verify_prepared(&scene.path("model.onnx")).unwrap();
}
