//! Bare `.onnx` files: what their inputs mean, how large they become, what is refused.

use crate::scene::{Scene, embedding, passing};
use graph::{Attribute, DataType, GraphBuilder, Model, Tensor};
use models::{Ask, Guess, ModelError, Resolved, Settlement};
use std::fs;
use types::{
    Category, Fill, InputRole, InputShape, InputSpec, InputValues, LengthUnit, ModelSource,
    ValueSource, Weights,
};

fn open(scene: &Scene, model: &Model) -> Resolved {
    let path = scene.path("model.onnx");
    model.write(&path).unwrap();
    scene.resolve(path).unwrap()
}

fn shape(name: &str, dims: &[usize]) -> InputShape {
    InputShape { name: name.into(), dims: dims.to_vec() }
}

/// What becomes of a batch, a length and given shapes.
fn settle(
    resolved: &Resolved,
    batch: usize,
    length: Option<usize>,
    given: &[InputShape],
) -> Settlement {
    resolved.settlement(&Ask { batch, length, given, ..Ask::default() }).unwrap()
}

fn find<'a>(inputs: &'a [InputSpec], name: &str) -> &'a InputSpec {
    inputs.iter().find(|input| input.name == name).unwrap()
}

#[test]
fn token_ids_stay_inside_the_table_they_pick_from() {
    let scene = Scene::new();
    let resolved = open(&scene, &embedding(&["batch_size", "sequence_length"]));
    assert_eq!(resolved.info.weights, Weights::Real);
    assert_eq!((resolved.info.category, resolved.info.parameters), (Category::Text, 100));
    assert!(matches!(resolved.info.source, ModelSource::File { .. }));
    assert_eq!(resolved.default_length, Some(128));
    assert_eq!(resolved.default_batch(&[]), None);
    let inputs = resolved.inputs(4, Some(16), &[]).unwrap();
    assert!(inputs.iter().all(|input| input.dims == [4, 16]));
    let expected = [
        ("input_ids", InputRole::TokenIds, Fill::Integers { low: 0, high: 50 }),
        ("attention_mask", InputRole::AttentionMask, Fill::Constant { value: 1.0 }),
        ("token_type_ids", InputRole::TokenTypes, Fill::Constant { value: 0.0 }),
    ];
    for (name, role, fill) in expected {
        assert_eq!((find(&inputs, name).role, &find(&inputs, name).fill), (role, &fill));
    }
}

#[test]
fn the_file_is_used_where_it_lies() {
    let scene = Scene::new();
    let resolved = open(&scene, &embedding(&["batch", "sequence"]));
    assert_eq!(resolved.onnx, fs::canonicalize(scene.path("model.onnx")).unwrap());
    assert!(!scene.path("cache/models").exists());
    let again = scene.resolve(scene.path("model.onnx")).unwrap();
    assert_eq!(again.info.fingerprint, resolved.info.fingerprint);
    let other = open(&scene, &embedding(&["batch", "length"]));
    assert_ne!(other.info.fingerprint, resolved.info.fingerprint);
}

#[test]
fn dimensions_without_names_are_told_by_their_place() {
    let scene = Scene::new();
    let resolved = open(&scene, &embedding(&["?", "?"]));
    assert_eq!(resolved.inputs(3, Some(7), &[]).unwrap()[0].dims, [3, 7]);
    let resolved = open(&scene, &embedding(&["s0", "s1"]));
    assert_eq!(resolved.inputs(3, Some(7), &[]).unwrap()[0].dims, [3, 7]);
}

#[test]
fn images_are_recognised_in_both_orders() {
    let scene = Scene::new();
    let first: &[&str] = &["batch", "3", "height", "width"];
    let resolved = open(&scene, &passing(&[("pixel_values", DataType::Float, first)]));
    assert_eq!(resolved.info.category, Category::Vision);
    assert_eq!(resolved.default_length, None);
    let assumed = settle(&resolved, 2, None, &[]).assumptions;
    assert_eq!(assumed, ["each side of input `pixel_values` is assumed to be 224"]);
    let inputs = resolved.inputs(2, None, &[]).unwrap();
    assert_eq!(inputs[0].dims, [2, 3, 224, 224]);
    assert_eq!(inputs[0].fill, Fill::Uniform { low: 0.0, high: 1.0 });
    let last: &[&str] = &["?", "300", "300", "3"];
    let resolved = open(&scene, &passing(&[("image", DataType::Uint8, last)]));
    let inputs = resolved.inputs(2, None, &[]).unwrap();
    assert_eq!((inputs[0].role, &inputs[0].dims[..]), (InputRole::Image, &[2, 300, 300, 3][..]));
    assert_eq!(inputs[0].fill, Fill::Integers { low: 0, high: 256 });
    assert!(settle(&resolved, 2, None, &[]).assumptions.is_empty());
}

#[test]
fn a_free_image_is_larger_for_a_detector_and_low_for_a_line_of_text() {
    let scene = Scene::new();
    let line: &[&str] = &["d0", "3", "48", "d1"];
    let resolved = open(&scene, &passing(&[("x", DataType::Float, line)]));
    assert_eq!(resolved.inputs(1, None, &[]).unwrap()[0].dims, [1, 3, 48, 320]);
    let path = scene.path("ocr_rec.onnx");
    passing(&[("x", DataType::Float, &["?", "3", "?", "?"])]).write(&path).unwrap();
    let resolved = scene.resolve(path).unwrap();
    assert_eq!(resolved.inputs(1, None, &[]).unwrap()[0].dims, [1, 3, 48, 320]);
    let path = scene.path("yolo.onnx");
    passing(&[("images", DataType::Float, &["?", "3", "?", "?"])]).write(&path).unwrap();
    let resolved = scene.resolve(path).unwrap();
    assert_eq!(resolved.inputs(1, None, &[]).unwrap()[0].dims, [1, 3, 640, 640]);
    let assumed = settle(&resolved, 1, None, &[]).assumptions;
    assert!(assumed[0].contains("640"), "{assumed:?}");
}

#[test]
fn sound_comes_with_its_rate_and_state() {
    let scene = Scene::new();
    let resolved = open(
        &scene,
        &passing(&[
            ("input", DataType::Float, &["?", "?"]),
            ("state", DataType::Float, &["2", "?", "128"]),
            ("sr", DataType::Int64, &[]),
        ]),
    );
    assert_eq!(resolved.info.category, Category::Audio);
    let inputs = resolved.inputs(1, None, &[]).unwrap();
    assert_eq!((inputs[0].role, &inputs[0].dims[..]), (InputRole::Audio, &[1, 512][..]));
    assert_eq!(inputs[1].dims, [2, 1, 128]);
    assert_eq!(inputs[1].fill, Fill::Constant { value: 0.0 });
    assert_eq!(
        (&inputs[2].dims[..], &inputs[2].fill),
        (&[][..], &Fill::Constant { value: 16000.0 })
    );
    let wave: &[&str] = &["batch_size", "sequence_length"];
    let masked =
        [("attention_mask", DataType::Int64, wave), ("input_values", DataType::Float, wave)];
    let resolved = open(&scene, &passing(&masked));
    let inputs = resolved.inputs(2, None, &[]).unwrap();
    assert!(inputs.iter().all(|input| input.dims == [2, 16_000]), "{inputs:?}");
    assert_eq!(resolved.inputs(2, Some(800), &[]).unwrap()[0].dims, [2, 800]);
    let long: &[&str] = &["?", "43844", "1"];
    let resolved = open(&scene, &passing(&[("serving_default", DataType::Float, long)]));
    assert_eq!(resolved.inputs(2, None, &[]).unwrap()[0].role, InputRole::Audio);
}

#[test]
fn formulas_follow_the_symbols_they_are_made_of() {
    let scene = Scene::new();
    let past: &[&str] = &["batch", "2", "past_sequence_length", "4"];
    let resolved = open(
        &scene,
        &passing(&[
            ("input_ids", DataType::Int64, &["batch", "sequence_length"]),
            (
                "attention_mask",
                DataType::Int64,
                &["batch", "past_sequence_length + sequence_length"],
            ),
            ("position_ids", DataType::Int64, &["batch", "sequence_length"]),
            ("past_key_values.0.key", DataType::Float, past),
            ("use_cache_branch", DataType::Bool, &["1"]),
        ]),
    );
    assert_eq!(resolved.info.category, Category::Generation);
    let inputs = resolved.inputs(2, Some(9), &[]).unwrap();
    assert_eq!(find(&inputs, "attention_mask").dims, [2, 9]);
    assert_eq!(find(&inputs, "past_key_values.0.key").dims, [2, 2, 0, 4]);
    assert_eq!(find(&inputs, "position_ids").fill, Fill::Positions);
    assert_eq!(find(&inputs, "use_cache_branch").fill, Fill::Constant { value: 0.0 });
    let assumed = settle(&resolved, 2, Some(9), &[]).assumptions;
    assert!(assumed.iter().any(|remark| remark.contains("vocabulary")), "{assumed:?}");
    let fixed = [shape("past_key_values.0.key", &[2, 2, 5, 4])];
    let inputs = resolved.inputs(2, Some(9), &fixed).unwrap();
    assert_eq!(find(&inputs, "attention_mask").dims, [2, 14]);
}

#[test]
fn shapes_can_be_fixed_and_must_agree() {
    let scene = Scene::new();
    let image: &[&str] = &["batch", "3", "height", "width"];
    let resolved = open(
        &scene,
        &passing(&[
            ("pixel_values", DataType::Float, image),
            ("ids", DataType::Int64, &["batch", "seq"]),
        ]),
    );
    let fixed = [shape("pixel_values", &[4, 3, 96, 64])];
    assert_eq!(resolved.default_batch(&fixed), Some(4));
    let inputs = resolved.inputs(4, Some(5), &fixed).unwrap();
    assert_eq!((&inputs[0].dims[..], &inputs[1].dims[..]), (&[4, 3, 96, 64][..], &[4, 5][..]));
    let refuse = |fixed: &[InputShape]| resolved.inputs(4, None, fixed).unwrap_err();
    let error = refuse(&[shape("pixels", &[1])]);
    assert_eq!(
        error.to_string(),
        "`model` has no input `pixels`; its inputs are `pixel_values`, `ids`"
    );
    let error = refuse(&[shape("pixel_values", &[4, 3, 96])]);
    assert_eq!(error.to_string(), "input `pixel_values` has 4 dimensions, 3 were given");
    let error = refuse(&[shape("pixel_values", &[4, 1, 96, 96])]);
    let expected = "dimension 1 of input `pixel_values` is 3 in the model, 1 was given";
    assert_eq!(error.to_string(), expected);
    let error = refuse(&[shape("pixel_values", &[4, 3, 96, 96]), shape("ids", &[5, 2])]);
    assert!(matches!(error, ModelError::Contradiction { bound: 4, asked: 5, .. }), "{error}");
    let error = resolved.inputs(2, None, &fixed).unwrap_err();
    assert!(matches!(error, ModelError::FixedBatch { fixed: 4, asked: 2, .. }), "{error}");
}

#[test]
fn a_batch_or_length_that_the_file_fixes_is_the_only_one() {
    let scene = Scene::new();
    let resolved = open(&scene, &embedding(&["1", "32"]));
    assert_eq!((resolved.default_batch(&[]), resolved.default_length), (Some(1), Some(32)));
    assert_eq!(resolved.inputs(1, None, &[]).unwrap()[0].dims, [1, 32]);
    let error = resolved.inputs(4, None, &[]).unwrap_err();
    assert_eq!(error.hint().unwrap(), "use `--batch-size 1`");
    assert!(error.to_string().contains("fixed to 1 by input `input_ids`, 4 was given"), "{error}");
    let error = resolved.inputs(1, Some(64), &[]).unwrap_err();
    assert_eq!(error.hint().unwrap(), "use `--sequence-length 32`");
}

#[test]
fn strings_cannot_be_generated() {
    let scene = Scene::new();
    let resolved = open(&scene, &passing(&[("texts", DataType::String, &["batch"])]));
    let error = resolved.inputs(1, None, &[]).unwrap_err();
    assert_eq!(error.to_string(), "input `texts` needs strings, which cannot be generated");
}

#[test]
fn a_vocabulary_is_found_in_a_constant_behind_a_quantised_table() {
    let scene = Scene::new();
    let mut builder = GraphBuilder::new("quantised");
    let ids = builder.input("words", DataType::Int64, &["n".into(), "len".into()]);
    let table = Tensor::from_bytes("", DataType::Uint8, &[30, 2], vec![1; 60]);
    let table = builder.node("Constant", &[], &[("value", Attribute::Tensor(table))]);
    let (scale, zero) =
        (builder.scalar_f32(0.1), Tensor::from_bytes("z", DataType::Uint8, &[], vec![0]));
    let zero = builder.initializer(zero);
    let table = builder.node("DequantizeLinear", &[&table, &scale, &zero], &[]);
    let rows = builder.node("Gather", &[&table, &ids], &[]);
    builder.output("rows", &rows, DataType::Float, &[]);
    let resolved = open(&scene, &builder.finish_model());
    let inputs = resolved.inputs(1, Some(3), &[]).unwrap();
    assert_eq!(
        (inputs[0].role, &inputs[0].fill),
        (InputRole::TokenIds, &Fill::Integers { low: 0, high: 30 })
    );
}

#[test]
fn missing_and_broken_files_are_told_apart() {
    let scene = Scene::new();
    for name in ["nothing.onnx", "./bert-base-uncased", "/nowhere/model", "net.toml"] {
        let error = scene.resolve(name).unwrap_err();
        assert!(matches!(error, ModelError::MissingFile { .. }), "`{name}`: {error}");
    }
    let whole = {
        let path = scene.path("model.onnx");
        embedding(&["batch", "sequence"]).write(&path).unwrap();
        fs::read(path).unwrap()
    };
    for bytes in [&whole[..whole.len() / 2], b"not a model at all", b""] {
        let path = scene.write("broken.onnx", bytes);
        let error = scene.resolve(path).unwrap_err();
        assert!(matches!(error, ModelError::Onnx { .. }), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    for name in ["weights.safetensors", "notes.txt"] {
        let error = scene.resolve(scene.write(name, "x")).unwrap_err();
        assert!(matches!(error, ModelError::NotAModel { .. }), "{error}");
    }
}

#[test]
fn a_shape_that_was_given_is_not_remarked_as_assumed() {
    let scene = Scene::new();
    let image: &[&str] = &["batch", "3", "height", "width"];
    let resolved = open(&scene, &passing(&[("images", DataType::Float, image)]));
    assert_eq!(settle(&resolved, 1, None, &[]).assumptions.len(), 1);
    let given = [shape("images", &[1, 3, 320, 320])];
    assert_eq!(settle(&resolved, 1, None, &given).assumptions, [""; 0]);
    let range = ValueSource::Range { range: "0..9".parse().unwrap() };
    let values = [InputValues { name: "ids".into(), source: range }];
    let ids: &[&str] = &["batch", "seq"];
    let resolved = open(
        &scene,
        &passing(&[("ids", DataType::Int64, ids), ("input_ids", DataType::Int64, ids)]),
    );
    let ask = Ask { batch: 1, values: &values, ..Ask::default() };
    let assumed = resolved.settlement(&ask).unwrap().assumptions;
    let is_guess = |text: &&String| text.contains("vocabulary");
    assert_eq!(assumed.iter().filter(is_guess).count(), 1, "{assumed:?}");
    assert!(
        assumed.iter().filter(is_guess).all(|text| text.contains("`input_ids`")),
        "{assumed:?}"
    );
}

#[test]
fn one_of_something_in_three_dimensions_is_a_batch_of_one() {
    let scene = Scene::new();
    let resolved = open(&scene, &passing(&[("x", DataType::Float, &["1", "34", "96"])]));
    assert_eq!(resolved.info.category, Category::Other);
    assert_eq!(resolved.default_batch(&[]), Some(1));
    let error = resolved.inputs(64, None, &[]).unwrap_err();
    assert!(matches!(error, ModelError::FixedBatch { fixed: 1, asked: 64, .. }), "{error}");
}

#[test]
fn without_a_dimension_that_counts_samples_there_is_one() {
    let scene = Scene::new();
    let image: &[&str] = &["3", "224", "224"];
    for (name, dtype, dims) in [
        ("image", DataType::Float, image),
        ("waveform", DataType::Float, &["samples"]),
        ("input_ids", DataType::Int64, &["sequence"]),
    ] {
        let resolved = open(&scene, &passing(&[(name, dtype, dims)]));
        assert_eq!(resolved.default_batch(&[]), Some(1), "{name}");
        let error = resolved.inputs(64, None, &[]).unwrap_err();
        assert!(matches!(error, ModelError::NoBatch { asked: 64, .. }), "{name}: {error}");
        assert_eq!(error.hint().unwrap(), "use `--batch-size 1`");
        resolved.inputs(1, None, &[]).unwrap();
    }
}

#[test]
fn a_length_without_tokens_is_told_with_what_it_counts() {
    let scene = Scene::new();
    let sound: &[&str] = &["batch", "samples"];
    let resolved = open(&scene, &passing(&[("input_values", DataType::Float, sound)]));
    let length = |asked| settle(&resolved, 2, asked, &[]).length;
    assert_eq!(length(Some(3000)), Some((3000, LengthUnit::Samples)));
    assert_eq!(length(None), None);
    // What is asked for and usual anyway is the same work.
    assert_eq!(length(Some(16_000)), None);
    let frames: &[&str] = &["batch", "80", "?"];
    let resolved = open(&scene, &passing(&[("mel", DataType::Float, frames)]));
    let found = settle(&resolved, 2, Some(3000), &[]);
    assert_eq!((found.length, found.is_length_unused), (Some((3000, LengthUnit::Frames)), false));
    let steps: &[&str] = &["batch", "time", "8"];
    let resolved = open(&scene, &passing(&[("x", DataType::Float, steps)]));
    let found = settle(&resolved, 2, Some(50), &[]);
    assert_eq!(found.length, Some((50, LengthUnit::Steps)));
    assert_eq!(found.inputs[0].dims, [2, 50, 8]);
}

#[test]
fn a_length_that_changes_nothing_is_noticed() {
    let scene = Scene::new();
    let image: &[&str] = &["batch", "3", "224", "224"];
    let resolved = open(&scene, &passing(&[("image", DataType::Float, image)]));
    assert!(settle(&resolved, 2, Some(64), &[]).is_length_unused);
    assert!(!settle(&resolved, 2, None, &[]).is_length_unused);
    let resolved = open(&scene, &embedding(&["batch", "32"]));
    assert!(!settle(&resolved, 2, Some(32), &[]).is_length_unused);
    assert_eq!(settle(&resolved, 2, None, &[]).length, Some((32, LengthUnit::Tokens)));
}

#[test]
fn a_state_that_fixes_its_batch_says_the_usual_one() {
    let scene = Scene::new();
    let inputs: [(&str, DataType, &[&str]); 2] =
        [("x", DataType::Float, &["?", "576"]), ("h", DataType::Float, &["1", "1", "128"])];
    let resolved = open(&scene, &passing(&inputs));
    assert_eq!((resolved.default_batch(&[]), resolved.state_batch()), (None, Some(1)));
}

#[test]
fn values_stay_in_the_range_that_their_use_allows() {
    let scene = Scene::new();
    let bytes: &[&str] = &["batch", "2048"];
    let resolved = open(&scene, &passing(&[("bytes", DataType::Int32, bytes)]));
    let inputs = resolved.inputs(1, None, &[]).unwrap();
    assert_eq!(inputs[0].fill, Fill::Integers { low: 0, high: 256 });
    // Floats that pick rows of a table, and numbers that are spread over a given depth.
    let mut builder = GraphBuilder::new("picks");
    let ids = builder.input("letters", DataType::Float, &["n".into(), "len".into()]);
    let kinds = builder.input("kinds", DataType::Int64, &["n".into(), "len".into()]);
    let table = builder.initializer(Tensor::from_f32s("table", &[9, 2], &[0.5; 18]));
    let cast = builder.node("Cast", &[&ids], &[("to", 7.into())]);
    let rows = builder.node("Gather", &[&table, &cast], &[]);
    let (depth, ends) = (builder.scalar_i64(5), builder.constant_f32(&[0.0, 1.0]));
    let hot = builder.node("OneHot", &[&kinds, &depth, &ends], &[]);
    builder.output("rows", &rows, DataType::Float, &[]);
    builder.output("hot", &hot, DataType::Float, &[]);
    let resolved = open(&scene, &builder.finish_model());
    let inputs = resolved.inputs(1, Some(3), &[]).unwrap();
    assert_eq!(find(&inputs, "letters").fill, Fill::Integers { low: 0, high: 9 });
    assert_eq!(find(&inputs, "kinds").fill, Fill::Integers { low: 0, high: 5 });
}

#[test]
fn a_range_replaces_the_recipe_where_it_fits() {
    let scene = Scene::new();
    let dims: &[&str] = &["batch", "4"];
    let inputs = [("x", DataType::Float, dims), ("byte", DataType::Uint8, dims)];
    let resolved = open(&scene, &passing(&inputs));
    let ranged = |name: &str, range: &str| {
        let source = ValueSource::Range { range: range.parse().unwrap() };
        let values = [InputValues { name: name.into(), source }];
        resolved
            .settlement(&Ask { batch: 2, values: &values, ..Ask::default() })
            .map(|found| find(&found.inputs, name).fill.clone())
    };
    assert_eq!(ranged("x", "-1..1").unwrap(), Fill::Uniform { low: -1.0, high: 1.0 });
    assert_eq!(ranged("byte", "0..255").unwrap(), Fill::Integers { low: 0, high: 256 });
    let error = ranged("byte", "0..256").unwrap_err();
    assert_eq!(error.to_string(), "input `byte` holds bytes; `0..256` does not fit it");
    assert!(ranged("byte", "0..0.5").is_err());
    let source = ValueSource::Range { range: "0..1".parse().unwrap() };
    let values = [InputValues { name: "y".into(), source }];
    let error = resolved.settlement(&Ask { batch: 2, values: &values, ..Ask::default() });
    assert!(matches!(error.unwrap_err(), ModelError::UnknownInput { .. }));
}

#[test]
fn other_sizes_begin_with_a_batch_of_one_and_the_ends_of_position_tables() {
    let scene = Scene::new();
    let mut builder = GraphBuilder::new("positions");
    let ids = builder.input("input_ids", DataType::Int64, &["batch".into(), "seq".into()]);
    let table = builder.initializer(Tensor::from_f32s("table", &[50, 2], &[0.5; 100]));
    let positions = Tensor::from_f32s("position_embedding", &[1, 77, 2], &[0.5; 154]);
    let positions = builder.initializer(positions);
    let rows = builder.node("Gather", &[&table, &ids], &[]);
    let sum = builder.node("Add", &[&rows, &positions], &[]);
    builder.output("sum", &sum, DataType::Float, &[]);
    let resolved = open(&scene, &builder.finish_model());
    let ask = Ask { batch: 4, ..Ask::default() };
    let trials = resolved.trials(&ask, false).unwrap();
    assert_eq!((trials[0].batch, trials[0].guess), (1, Guess::default()));
    assert_eq!(trials[1].guess.length, Some(77));
    assert_eq!(trials[1].words(), "batch 1, length 77");
    let kept = resolved.trials(&ask, true).unwrap();
    assert!(kept.iter().all(|trial| trial.batch == 4), "{kept:?}");
    let asked = resolved.trials(&Ask { length: Some(20), ..ask }, true).unwrap();
    assert_eq!(asked, []);
}
