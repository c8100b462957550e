//! Bare `.onnx` files: what their inputs mean, how large they become, what is refused.

use crate::scene::{Scene, embedding, passing};
use graph::{Attribute, DataType, GraphBuilder, Model, Tensor};
use models::{ModelError, Resolved};
use std::fs;
use types::{Category, Fill, InputRole, InputShape, InputSpec, ModelSource, Weights};

fn open(scene: &Scene, model: &Model) -> Resolved {
    let path = scene.path("model.onnx");
    model.write(&path).unwrap();
    scene.resolve(path).unwrap()
}

fn shape(name: &str, dims: &[usize]) -> InputShape {
    InputShape { name: name.into(), dims: dims.to_vec() }
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
    assert_eq!(resolved.remarks, ["each side of input `pixel_values` was taken as 224"]);
    let inputs = resolved.inputs(2, None, &[]).unwrap();
    assert_eq!(inputs[0].dims, [2, 3, 224, 224]);
    assert_eq!(inputs[0].fill, Fill::Uniform { low: 0.0, high: 1.0 });
    let last: &[&str] = &["?", "300", "300", "3"];
    let resolved = open(&scene, &passing(&[("image", DataType::Uint8, last)]));
    let inputs = resolved.inputs(2, None, &[]).unwrap();
    assert_eq!((inputs[0].role, &inputs[0].dims[..]), (InputRole::Image, &[2, 300, 300, 3][..]));
    assert_eq!(inputs[0].fill, Fill::Integers { low: 0, high: 256 });
    assert!(resolved.remarks.is_empty());
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
    assert!(resolved.remarks[0].contains("640"), "{:?}", resolved.remarks);
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
    assert!(
        resolved.remarks.iter().any(|remark| remark.contains("vocabulary")),
        "{:?}",
        resolved.remarks
    );
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
    let expected = "dimension 1 of input `pixel_values` is 3 in the model, 1 was asked for";
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
    assert!(
        error.to_string().contains("fixed to 1 by input `input_ids`, 4 was asked for"),
        "{error}"
    );
    let error = resolved.inputs(1, Some(64), &[]).unwrap_err();
    assert_eq!(error.hint().unwrap(), "use `--sequence-length 32`");
}

#[test]
fn strings_cannot_be_generated() {
    let scene = Scene::new();
    let resolved = open(&scene, &passing(&[("texts", DataType::String, &["batch"])]));
    let error = resolved.inputs(1, None, &[]).unwrap_err();
    assert_eq!(error.to_string(), "input `texts` wants strings, which cannot be generated");
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
