//! What really goes in: shapes that were given or guessed, lengths, values; and what is said of each.

use crate::bench::{Home, quick};
use modelmeter::graph::{DataType, Dim, GraphBuilder, Tensor};
use serde_json::{Value, json};
use std::fs;

/// A dimension: a number or a name.
fn dim(text: &str) -> Dim {
    text.parse().map_or_else(|_| Dim::Symbol(text.into()), Dim::Fixed)
}

/// A graph that only squashes its input.
fn squash(home: &Home, file: &str, input: &str, dims: &[&str]) {
    let mut builder = GraphBuilder::new("squash");
    let dims: Vec<Dim> = dims.iter().map(|text| dim(text)).collect();
    let x = builder.input(input, DataType::Float, &dims);
    let y = builder.node("Tanh", &[&x], &[]);
    builder.output("y", &y, DataType::Float, &dims);
    builder.finish_model().write(home.path(file)).unwrap();
}

/// A graph that adds the vectors of 77 positions to those of its ids; in `rows` it first becomes that many rows.
fn positions(home: &Home, file: &str, rows: Option<i64>) {
    let mut builder = GraphBuilder::new("positions");
    let ids = builder.input("input_ids", DataType::Int64, &[dim("batch"), dim("sequence")]);
    let table = builder.initializer(Tensor::from_f32s("table", &[50, 2], &[0.5; 100]));
    let places = Tensor::from_f32s("position_embedding", &[1, 77, 2], &[0.5; 154]);
    let places = builder.initializer(places);
    let mut found = builder.node("Gather", &[&table, &ids], &[]);
    if let Some(rows) = rows {
        let shape = builder.constant_i64(&[rows, 77, 2]);
        found = builder.node("Reshape", &[&found, &shape], &[]);
    }
    let sum = builder.node("Add", &[&found, &places], &[]);
    builder.output("sum", &sum, DataType::Float, &[]);
    builder.finish_model().write(home.path(file)).unwrap();
}

fn measured(home: &Home, model: &str, more: &[&str]) -> Value {
    let more: Vec<&str> = ["--engine", "rten", "--json", "-"].iter().chain(more).copied().collect();
    serde_json::from_str(&home.fine(&quick(model, &more)).out).unwrap()
}

fn remarks(run: &Value) -> String {
    run["verdict"]["reasons"].to_string()
}

#[test]
fn a_batch_that_the_file_fixes_is_the_one_that_counts() {
    let home = Home::new();
    squash(&home, "wake.onnx", "x", &["1", "34", "96"]);
    home.refused(&quick("wake.onnx", &["-b", "64"]), 2, &["fixed to 1", "--batch-size 1"]);
    let run = measured(&home, "wake.onnx", &[]);
    assert_eq!(run["batch_size"], 1);
    assert_eq!(run["inputs"][0]["name"], "x");
    assert_eq!(run["inputs"][0]["type"], "f32");
    assert_eq!(run["inputs"][0]["dims"], json!([1, 34, 96]));
    let throughput = run["throughput"]["samples_per_second"].as_f64();
    let mean = run["latency"]["mean"].as_f64().unwrap() / 1e3;
    assert!((throughput.unwrap() * mean - 1.0).abs() < 1e-3, "one sample an inference");
    let shown = home.fine(&["runs", "show", "latest"]).out;
    assert!(shown.contains("batch 1") && shown.contains("x 1×34×96"), "{shown}");
}

#[test]
fn a_given_shape_is_not_called_assumed() {
    let home = Home::new();
    squash(&home, "images.onnx", "images", &["batch", "3", "height", "width"]);
    assert!(remarks(&measured(&home, "images.onnx", &["-b", "1"])).contains("was taken as 224"));
    let run = measured(&home, "images.onnx", &["--input", "images=1x3x32x32"]);
    assert!(!remarks(&run).contains("taken as"), "{}", remarks(&run));
    assert_eq!(run["inputs"][0]["given"], true);
}

#[test]
fn every_length_is_a_cell_of_its_own() {
    let home = Home::new();
    squash(&home, "sound.onnx", "input_values", &["batch", "samples"]);
    for length in ["300", "400", "16000"] {
        let run = measured(&home, "sound.onnx", &["-b", "2", "-l", length]);
        assert_eq!(run["inputs"][0]["dims"], json!([2, length.parse::<u64>().unwrap()]));
    }
    // The usual length, asked for or not, is one cell.
    let run = measured(&home, "sound.onnx", &["-b", "2"]);
    assert_eq!((&run["sequence_length"], &run["length_unit"]), (&Value::Null, &Value::Null));
    let count = "SELECT COUNT(*) FROM question";
    let cells = home.fine(&["db", "query", count, "--csv"]).out;
    assert_eq!(cells.lines().last(), Some("3"), "{cells}");
    let told = home.fine(&quick("sound.onnx", &["-b", "2", "-l", "300", "--engine", "rten"]));
    assert!(told.out.contains("batch 2 × 300 samples of sound"), "{}", told.out);
    let run = measured(&home, "sound.onnx", &["-b", "2", "-l", "300"]);
    assert_eq!((&run["sequence_length"], &run["length_unit"]), (&json!(300), &json!("samples")));
}

#[test]
fn a_length_that_changes_nothing_is_remarked() {
    let home = Home::new();
    squash(&home, "image.onnx", "image", &["batch", "3", "16", "16"]);
    let run = measured(&home, "image.onnx", &["-l", "64"]);
    assert!(remarks(&run).contains("`--sequence-length 64` changes nothing"), "{}", remarks(&run));
    assert_eq!(run["sequence_length"], Value::Null);
}

#[test]
fn guessed_sizes_that_fail_give_way_to_others() {
    let home = Home::new();
    positions(&home, "clip.onnx", None);
    let run = measured(&home, "clip.onnx", &[]);
    // 128 tokens do not fit the table, and the batch was innocent.
    assert_eq!(run["inputs"][0]["dims"], json!([4, 77]));
    assert!(remarks(&run).contains("batch 4, length 77 ran, after batch 4; batch 1"), "{run}");
    positions(&home, "one.onnx", Some(1));
    let run = measured(&home, "one.onnx", &[]);
    assert_eq!((&run["batch_size"], &run["inputs"][0]["dims"]), (&json!(1), &json!([1, 77])));
}

#[test]
fn what_was_tried_is_said_and_the_hint_was_seen_to_work() {
    let home = Home::new();
    positions(&home, "one.onnx", Some(1));
    let four = ["-b", "4", "-l", "77", "--engine", "rten"];
    let told = home.refused(&quick("one.onnx", &four), 3, &["hint: `--batch-size 1` runs here"]);
    assert!(!told.err.contains("tried:"), "nothing was free to try\n{}", told.err);
    let one = ["-b", "1", "-l", "77", "--engine", "rten"];
    home.fine(&quick("one.onnx", &one));
    // No guess helps: five rows are never made of ids of one sample or four.
    positions(&home, "five.onnx", Some(5));
    let five = quick("five.onnx", &["--engine", "rten"]);
    home.refused(&five, 3, &["tried: batch 4; batch 1; batch 1, length 77;", "--input input_ids="]);
}

#[test]
fn values_come_from_a_range_or_a_file() {
    let home = Home::new();
    let mut builder = GraphBuilder::new("look");
    let ids = builder.input("ids", DataType::Int64, &[dim("batch"), dim("sequence")]);
    let table = builder.initializer(Tensor::from_f32s("table", &[50, 2], &[0.5; 100]));
    let rows = builder.node("Gather", &[&table, &ids], &[]);
    builder.output("rows", &rows, DataType::Float, &[]);
    builder.finish_model().write(home.path("look.onnx")).unwrap();
    let run = measured(&home, "look.onnx", &["--input", "ids=3..7"]);
    assert_eq!(run["inputs"][0]["values"], "whole numbers 3 to 7");
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";
    npy.extend(format!("{header:<117}\n").bytes());
    npy.extend([1_i32, 2, 3, 4, 5, 49].iter().flat_map(|id| id.to_le_bytes()));
    fs::write(home.path("ids.npy"), &npy).unwrap();
    let run = measured(&home, "look.onnx", &["--input", "ids=@ids.npy"]);
    assert_eq!((&run["batch_size"], &run["sequence_length"]), (&json!(2), &json!(3)));
    assert_eq!(run["inputs"][0]["values"], "from `ids.npy`");
    // The model sees the very numbers: an id outside its table fails.
    let last = npy.len() - 4;
    npy[last..].copy_from_slice(&50_i32.to_le_bytes());
    fs::write(home.path("ids.npy"), &npy).unwrap();
    home.refused(
        &quick("look.onnx", &["--input", "ids=@ids.npy", "--engine", "rten"]),
        3,
        &["failed"],
    );
    let questions = home.fine(&["db", "query", "SELECT variant FROM question", "--csv"]).out;
    assert!(questions.contains("ids 3..7") && questions.contains("ids from a file"), "{questions}");
    home.refused(&quick("look.onnx", &["--input", "ids=7..3"]), 2, &["`7..3` is not a range"]);
}
