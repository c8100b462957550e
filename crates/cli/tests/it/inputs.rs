//! What really goes in: shapes that were given or guessed, lengths, values; and what is said of each.

use crate::bench::{Home, quick};
use engine::Media;
use graph::{DataType, Dim, GraphBuilder, Tensor};
use models::Preprocessor;
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
    let home = Home::calibrated();
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
    let home = Home::calibrated();
    squash(&home, "images.onnx", "images", &["batch", "3", "height", "width"]);
    assert!(
        remarks(&measured(&home, "images.onnx", &["-b", "1"])).contains("is assumed to be 224")
    );
    let run = measured(&home, "images.onnx", &["--input", "images=1x3x32x32"]);
    assert!(!remarks(&run).contains("assumed to be"), "{}", remarks(&run));
    assert_eq!(run["inputs"][0]["given"], true);
}

#[test]
fn every_length_is_a_cell_of_its_own() {
    let home = Home::calibrated();
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
    let home = Home::calibrated();
    squash(&home, "image.onnx", "image", &["batch", "3", "16", "16"]);
    let run = measured(&home, "image.onnx", &["-l", "64"]);
    assert!(remarks(&run).contains("`--sequence-length 64` has no effect"), "{}", remarks(&run));
    assert_eq!(run["sequence_length"], Value::Null);
}

#[test]
fn guessed_sizes_that_fail_give_way_to_others() {
    let home = Home::calibrated();
    positions(&home, "clip.onnx", None);
    let run = measured(&home, "clip.onnx", &[]);
    // 128 tokens do not fit the table, and the batch was innocent.
    assert_eq!(run["inputs"][0]["dims"], json!([4, 77]));
    let told = remarks(&run);
    assert!(told.contains("tried on rten: batch 4: failed; batch 1"), "{told}");
    assert!(told.contains("failed; batch 4, length 77: ran"), "{told}");
    positions(&home, "one.onnx", Some(1));
    let run = measured(&home, "one.onnx", &[]);
    assert_eq!((&run["batch_size"], &run["inputs"][0]["dims"]), (&json!(1), &json!([1, 77])));
}

#[test]
fn what_was_tried_is_said_and_the_hint_was_seen_to_work() {
    let home = Home::calibrated();
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
    let home = Home::calibrated();
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
    assert!(questions.contains("3..7") && questions.contains("hash"), "{questions}");
    home.refused(&quick("look.onnx", &["--input", "ids=7..3"]), 2, &["`7..3` is not a range"]);
}

/// Pictures of two shapes and what `transformers` makes of each with two configurations.
const TRANSFORMERS: &str = r#"
import numpy
from PIL import Image
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

rows, columns = numpy.mgrid[0:90, 0:130]
waves = [127 + 120 * numpy.sin(rows / 7 + phase) * numpy.cos(columns / (9 + phase)) for phase in range(3)]
picture = Image.fromarray(numpy.stack(waves, -1).astype("uint8"))
picture.save("wide.png")
picture.transpose(Image.Transpose.ROTATE_90).save("high.png")
sides = {"height": 48, "width": 56}
vit = ViTImageProcessorPil(size=sides)
clip = CLIPImageProcessorPil(size={"shortest_edge": 40}, crop_size={"height": 32, "width": 36})
for name, processor in {"vit": vit, "clip": clip}.items():
    processor.to_json_file(name + ".json")
    for file in ["wide", "high"]:
        made = processor(Image.open(file + ".png"), return_tensors="np")["pixel_values"]
        numpy.save(name + "-" + file + ".npy", made)
"#;

#[test]
fn pictures_are_made_ready_as_transformers_does() {
    let home = Home::calibrated();
    python(&home, TRANSFORMERS);
    for (name, step) in [("vit", 1.0 / 255.0 / 0.5), ("clip", 1.0 / 255.0 / 0.26)] {
        let preprocessor = Preprocessor::read(&home.path(&format!("{name}.json"))).unwrap();
        for file in ["wide", "high"] {
            let worst =
                furthest(&home, &format!("{name}-{file}.npy"), &format!("{file}.png"), |dims| {
                    types::MediaRecipe::Image(preprocessor.image([dims[2], dims[3]], false))
                });
            // The other rounds to whole levels between its two passes.
            assert!(worst <= 2.01 * step as f32, "{name} {file}: {worst} of {step}");
        }
    }
}

/// A recording and what `transformers` makes of it for Whisper and for Wav2Vec2.
const TRANSFORMERS_SOUND: &str = r#"
import numpy, wave
from transformers import Wav2Vec2FeatureExtractor, WhisperFeatureExtractor

times = numpy.arange(24000) / 16000
sound = numpy.sin(times * 2 * numpy.pi * (200 + 900 * times)) * 0.4 + numpy.sin(times * 3000) * 0.1 + 0.05
levels = (sound * 32767).astype("<i2")
with wave.open("sweep.wav", "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(16000)
    file.writeframes(levels.tobytes())
sound = levels.astype("float32") / 32768
whisper = WhisperFeatureExtractor(chunk_length=2)
wav2vec2 = Wav2Vec2FeatureExtractor(do_normalize=True)
for name, extractor, key in [("whisper", whisper, "input_features"), ("wav2vec2", wav2vec2, "input_values")]:
    extractor.to_json_file(name + ".json")
    made = extractor(sound, sampling_rate=16000, return_tensors="np")[key]
    numpy.save(name + ".npy", made.astype("float32"))
"#;

#[test]
fn recordings_are_made_ready_as_transformers_does() {
    let home = Home::calibrated();
    python(&home, TRANSFORMERS_SOUND);
    let read = |name: &str| Preprocessor::read(&home.path(name)).unwrap();
    let wav2vec2 = types::MediaRecipe::Sound(read("wav2vec2.json").sound());
    let worst = furthest(&home, "wav2vec2.npy", "sweep.wav", |_| wav2vec2.clone());
    assert!(worst <= 1e-4, "{worst}");
    // One second and a half in a window of two: the end is silence. Values lie between -1 and 2.
    let whisper = read("whisper.json");
    let worst = furthest(&home, "whisper.npy", "sweep.wav", |dims| {
        types::MediaRecipe::Spectrogram(whisper.spectrogram(dims[1], dims[2]).unwrap())
    });
    assert!(worst <= 1e-3, "{worst}");
}

/// Runs a script in the home folder with the Python of the tests.
fn python(home: &Home, script: &str) {
    let mut command = std::process::Command::new(crate::bench::python());
    let done = command.args(["-c", script]).current_dir(home.path("")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The largest difference between an array and what we make of a file.
fn furthest(
    home: &Home,
    array: &str,
    file: &str,
    recipe: impl Fn(&[usize]) -> types::MediaRecipe,
) -> f32 {
    let (expected, _) = models::read_npy(&home.path(array), "x").unwrap();
    let spec = types::InputSpec {
        name: "x".into(),
        dtype: types::ElementType::F32,
        dims: expected.dims.clone(),
        role: types::InputRole::Other,
        fill: types::Fill::Constant { value: 0.0 },
    };
    let job = types::MediaJob {
        input: "x".into(),
        files: vec![home.path(file)],
        recipe: recipe(&expected.dims),
    };
    let made = Media::open(&job, &[spec]).unwrap().make().unwrap();
    let (types::Elements::F32(made), types::Elements::F32(expected)) =
        (made.elements, expected.elements)
    else {
        panic!("not floats");
    };
    assert_eq!(made.len(), expected.len());
    made.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn pictures_are_made_ready_in_every_sample() {
    let home = Home::calibrated();
    squash(&home, "image.onnx", "image", &["batch", "3", "8", "8"]);
    let write = "from PIL import Image\nimport os\nos.mkdir('pictures')\n\
                 for n in range(2): Image.new('RGB', (20, 10), (n * 200, 9, 9)).save(f'pictures/{n}.png')";
    python(&home, write);
    let run = measured(&home, "image.onnx", &["--data", "pictures"]);
    assert_eq!((&run["batch_size"], &run["latency_phase"]), (&json!(2), &json!("total")));
    let mean = |phase: &str| run["phases"][phase]["mean"].as_f64().unwrap();
    assert!(mean("total") >= mean("preprocess") + mean("inference"));
    let told = home.fine(&quick("image.onnx", &["--data", "pictures/0.png", "--engine", "rten"]));
    assert!(told.out.contains("preprocess"), "{}", told.out);
    let columns = home.fine(&["runs", "show", "latest", "--csv"]).out;
    assert!(columns.contains("preprocess_median_ms"), "{columns}");
    home.refused(&quick("image.onnx", &["--data", "sound.wav"]), 2, &["could not read"]);
}

#[test]
fn a_training_makes_pictures_ready_in_a_phase_beside_the_step() {
    let home = Home::calibrated();
    let mut builder = GraphBuilder::new("pooled");
    let x = builder.input(
        "pixel_values",
        DataType::Float,
        &[dim("batch"), dim("3"), dim("8"), dim("8")],
    );
    let pooled = builder.node("GlobalAveragePool", &[&x], &[]);
    let flat = builder.node("Flatten", &[&pooled], &[]);
    let weight = builder.initializer(Tensor::from_f32s("head.weight", &[3, 4], &[0.1; 12]));
    let logits = builder.node("MatMul", &[&flat, &weight], &[]);
    builder.output("logits", &logits, DataType::Float, &[dim("batch"), dim("4")]);
    builder.finish_model().write(home.path("image.onnx")).unwrap();
    let write = "from PIL import Image\nImage.new('RGB', (20, 10), (200, 9, 9)).save('red.png')";
    python(&home, write);
    let run = measured(&home, "image.onnx", &["--data", "red.png", "--train"]);
    let mean = |phase: &str| run["phases"][phase]["mean"].as_f64().unwrap();
    // Who trains has files made ready ahead: the step is what it takes without them.
    let parts = ["forward", "loss", "backward", "optimizer"].map(mean);
    assert!(mean("preprocess") > 0.0 && mean("total") >= parts.iter().sum::<f64>());
    assert_eq!(run["latency_phase"], "total");
    let said = run["verdict"]["reasons"].to_string();
    assert!(!said.contains("files-prepared-once"), "{said}");
}

#[test]
fn recordings_fill_the_length_that_they_have() {
    let home = Home::calibrated();
    squash(&home, "sound.onnx", "input_values", &["batch", "samples"]);
    let mut wav = b"RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00".to_vec();
    let samples: Vec<u8> = (0..800_i16).flat_map(|n| (n * 16).to_le_bytes()).collect();
    wav.extend(16_000_u32.to_le_bytes());
    wav.extend(32_000_u32.to_le_bytes());
    wav.extend(b"\x02\x00\x10\x00data");
    wav.extend((samples.len() as u32).to_le_bytes());
    wav.extend(&samples);
    let size = wav.len() as u32 - 8;
    wav[4..8].copy_from_slice(&size.to_le_bytes());
    fs::write(home.path("tone.wav"), &wav).unwrap();
    let run = measured(&home, "sound.onnx", &["--data", "tone.wav"]);
    assert_eq!(run["inputs"][0]["dims"], json!([1, 800]));
    assert!(run["phases"]["preprocess"].is_object(), "{}", run["phases"]);
    wav[24..28].copy_from_slice(&8000_u32.to_le_bytes());
    wav[28..32].copy_from_slice(&16_000_u32.to_le_bytes());
    fs::write(home.path("tone.wav"), &wav).unwrap();
    let slow = quick("sound.onnx", &["--data", "tone.wav", "--engine", "rten"]);
    home.refused(&slow, 2, &["8000 samples per second, the model takes 16000"]);
}

#[test]
fn arrays_come_by_name_from_one_file() {
    let home = Home::calibrated();
    squash(&home, "x.onnx", "x", &["batch", "3"]);
    let write = "import numpy\nx = numpy.ones((5, 3), 'float32')\nnumpy.savez('a.npz', x=x)\n\
                 numpy.savez_compressed('b.npz', x=x)\nnumpy.save('c.npy', x)\n\
                 numpy.savez('wrong.npz', y=x)\n\
                 from safetensors.numpy import save_file\nsave_file({'x': x}, 'd.safetensors')";
    python(&home, write);
    for file in ["a.npz", "b.npz", "c.npy", "d.safetensors"] {
        let run = measured(&home, "x.onnx", &["--data", file]);
        assert_eq!(run["inputs"][0]["dims"], json!([5, 3]), "{file}");
        assert_eq!(run["batch_size"], 5, "{file}");
        assert_eq!(run["inputs"][0]["values"], format!("from `{file}`"));
    }
    home.refused(&quick("x.onnx", &["--data", "wrong.npz"]), 2, &["has no input `y`"]);
}
