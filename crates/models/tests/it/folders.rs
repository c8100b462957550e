//! Hugging Face folders: whole ones, and all the ways they come broken.

use crate::scene::{Scene, TINY_BERT, checkpoint_of, embedding, safetensors};
use ::safetensors::Dtype;
use models::{Layout, ModelError, Resolved};
use std::{collections::BTreeMap, fs};
use types::{
    Category, InputShape, ModelSource, Module, Postprocess, Precision, Remark, RemarkCode, Weights,
};

/// The values of a weight in the prepared model.
fn values(resolved: &Resolved, name: &str) -> Vec<f32> {
    let tensor =
        resolved.model.graph.initializers.iter().find(|tensor| tensor.name == name).unwrap();
    let bytes = resolved.model.bytes(tensor).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn assert_same_weights(resolved: &Resolved, weights: &BTreeMap<String, (Vec<usize>, Vec<f32>)>) {
    let blueprint = models::build(&serde_json::from_str(TINY_BERT).unwrap()).unwrap();
    for weight in &blueprint.weights {
        let (dims, stored) = &weights[&weight.checkpoint[0]];
        let prepared = values(resolved, &weight.name);
        if weight.layout == Layout::Transposed {
            let (rows, columns) = (dims[0], dims[1]);
            for (place, value) in prepared.iter().enumerate() {
                let (line, row) = (place / rows, place % rows);
                assert_eq!(*value, stored[row * columns + line], "{}", weight.name);
            }
        } else {
            assert_eq!(prepared, *stored, "{}", weight.name);
        }
    }
}

#[test]
fn weights_arrive_turned_and_converted_from_every_float_type() {
    for dtype in [Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F64] {
        let scene = Scene::new();
        let weights = scene.bert("bert", dtype);
        let resolved = scene.resolve(scene.path("bert")).unwrap();
        assert_eq!(resolved.info.weights, Weights::Real);
        assert!(matches!(resolved.info.source, ModelSource::Folder { .. }));
        assert_eq!(
            (resolved.info.name.as_str(), resolved.info.architecture.as_str()),
            ("bert", "bert")
        );
        assert_eq!((resolved.max_length, resolved.default_length), (Some(16), Some(16)));
        assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);
        let stored = match dtype {
            Dtype::F16 => Precision::Fp16,
            Dtype::BF16 => Precision::Bf16,
            _ => Precision::Fp32,
        };
        assert_eq!(
            resolved.stored,
            Some(stored),
            "engines must know what the weights were kept in"
        );
        assert_same_weights(&resolved, &weights);
    }
}

#[test]
fn a_matrix_of_several_blocks_is_turned_whole() {
    // 1100 × 1100 is more than one block of 2²⁰ values.
    let scene = Scene::new();
    let config = TINY_BERT.replace("\"hidden_size\": 8", "\"hidden_size\": 1100");
    let weights = checkpoint_of(&config);
    scene.write("wide/config.json", &config);
    scene.write("wide/model.safetensors", safetensors(&weights, Dtype::F32));
    let resolved = scene.resolve(scene.path("wide")).unwrap();
    let name = "encoder.layer.0.attention.self.query.weight";
    let (_, stored) = &weights[name];
    let prepared = values(&resolved, name);
    assert!((0..1100).all(|line| {
        (0..1100).all(|row| prepared[line * 1100 + row] == stored[row * 1100 + line])
    }));
}

#[test]
fn shards_are_put_together() {
    let scene = Scene::new();
    scene.write("bert/config.json", TINY_BERT);
    let weights = checkpoint_of(TINY_BERT);
    let (mut map, mut shards) = (BTreeMap::new(), [BTreeMap::new(), BTreeMap::new()]);
    for (index, (name, weight)) in weights.iter().enumerate() {
        map.insert(name.clone(), format!("model-{}.safetensors", index % 2));
        shards[index % 2].insert(name.clone(), weight.clone());
    }
    let index = serde_json::json!({ "weight_map": map }).to_string();
    scene.write("bert/model.safetensors.index.json", index);
    scene.write("bert/model-0.safetensors", safetensors(&shards[0], Dtype::F32));
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(error.to_string().contains("model-1.safetensors` does not exist"), "{error}");
    scene.write("bert/model-1.safetensors", safetensors(&shards[1], Dtype::F32));
    assert_same_weights(&scene.resolve(scene.path("bert")).unwrap(), &weights);
}

#[test]
fn a_checkpoint_that_changes_is_prepared_again() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let first = scene.resolve(scene.path("bert")).unwrap();
    let mut weights = checkpoint_of(TINY_BERT);
    weights.values_mut().for_each(|(_, values)| values[0] += 1.0);
    scene.write("bert/model.safetensors", safetensors(&weights, Dtype::F32));
    let second = scene.resolve(scene.path("bert")).unwrap();
    assert_ne!(first.info.fingerprint, second.info.fingerprint);
    assert_same_weights(&second, &weights);
}

#[test]
fn the_same_weights_elsewhere_have_the_same_fingerprint() {
    let scene = Scene::new();
    scene.bert("one", Dtype::F32);
    scene.bert("two", Dtype::F32);
    let fingerprint = |name| scene.resolve(scene.path(name)).unwrap().info.fingerprint;
    assert_eq!(fingerprint("one"), fingerprint("two"));
}

#[test]
fn a_missing_pooler_is_drawn_and_said() {
    let scene = Scene::new();
    let mut weights = scene.bert("bert", Dtype::F32);
    weights.retain(|name, _| !name.contains("pooler"));
    scene.write("bert/model.safetensors", safetensors(&weights, Dtype::F32));
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    assert!(resolved.remarks[0].text.contains("`pooler.dense.weight`"), "{:?}", resolved.remarks);
}

#[test]
fn a_head_that_nobody_builds_is_left_away_and_said() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    scene.write("bert/config.json", TINY_BERT.replace("BertModel", "BertForPreTraining"));
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    let expected = "built without the head of `BertForPreTraining`";
    assert_eq!(resolved.remarks, [Remark::new(RemarkCode::HeadLeftOut, expected)]);
}

#[test]
fn a_finished_graph_in_the_folder_is_used() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    fs::create_dir(scene.path("bert/onnx")).unwrap();
    embedding(&["batch", "sequence"]).write(scene.path("bert/onnx/model.onnx")).unwrap();
    scene.write("bert/modules.json", r#"[{"type": "sentence_transformers.models.Pooling"}]"#);
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    assert!(resolved.onnx.ends_with("onnx/model.onnx"));
    assert_eq!((resolved.info.architecture.as_str(), resolved.max_length), ("bert", Some(16)));
    assert_eq!(resolved.postprocess, Postprocess::MeanPool);
    assert_eq!(resolved.info.name, "bert");
}

#[test]
fn a_checkout_tells_its_commit() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let commit = "89abcdef0123456789abcdef0123456789abcdef";
    scene.write("bert/.git/HEAD", commit);
    assert_eq!(scene.resolve(scene.path("bert")).unwrap().commit.as_deref(), Some(commit));
}

#[test]
fn a_truncated_checkpoint_says_how_much_is_missing() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let path = scene.path("bert/model.safetensors");
    let whole = fs::read(&path).unwrap();
    for length in [whole.len() - 4, whole.len() / 2, 100, 8, 3] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = scene.resolve(scene.path("bert")).unwrap_err();
        let ModelError::Truncated { needed, present, .. } = error else { panic!("{error}") };
        assert_eq!(present, length as u64);
        assert!(needed > present && needed <= whole.len() as u64, "{needed}");
        assert_eq!(error.hint().unwrap(), "download or export the file again");
    }
    let models = scene.path("cache/models");
    assert!(!models.exists() || fs::read_dir(models).unwrap().next().is_none());
}

#[test]
fn a_damaged_header_is_refused() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let path = scene.path("bert/model.safetensors");
    let whole = fs::read(&path).unwrap();
    let mut long = whole.clone();
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut text = whole.clone();
    text[8] = b'x';
    let mut extra = whole.clone();
    extra.push(0);
    for bytes in [long, text, extra] {
        fs::write(&path, bytes).unwrap();
        let error = scene.resolve(scene.path("bert")).unwrap_err();
        assert!(matches!(error, ModelError::Header { .. }), "{error}");
    }
}

#[test]
fn a_tensor_that_is_missing_misshapen_or_of_another_kind_is_named() {
    let scene = Scene::new();
    let weights = scene.bert("bert", Dtype::F32);
    let name = "embeddings.word_embeddings.weight";
    let refuse = |weights: &BTreeMap<_, _>, dtype| {
        scene.write("bert/model.safetensors", safetensors(weights, dtype));
        scene.resolve(scene.path("bert")).unwrap_err()
    };
    let mut missing = weights.clone();
    missing.remove(name);
    let error = refuse(&missing, Dtype::F32);
    assert!(
        error.to_string().ends_with("has no tensor `embeddings.word_embeddings.weight`"),
        "{error}"
    );
    let mut misshapen = weights.clone();
    misshapen.insert(name.into(), (vec![8, 40], vec![0.0; 320]));
    let error = refuse(&misshapen, Dtype::F32);
    assert!(
        error.to_string().contains("has shape [8, 40], the configuration expects [40, 8]"),
        "{error}"
    );
    let error = refuse(&weights, Dtype::I32);
    assert!(error.to_string().ends_with("is stored as I32, which is not supported"), "{error}");
    assert!(
        fs::read_dir(scene.path("cache/models")).unwrap().next().is_none(),
        "left something behind"
    );
}

#[test]
fn pickles_and_no_weights_at_all_are_told_apart() {
    let scene = Scene::new();
    scene.write("bert/config.json", TINY_BERT);
    assert!(matches!(scene.resolve(scene.path("bert")), Err(ModelError::NoWeights { .. })));
    scene.write("bert/pytorch_model.bin", "pickle");
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(error.to_string().contains("only as a pickle (`pytorch_model.bin`)"), "{error}");
    assert!(error.hint().unwrap().contains("safetensors"));
}

#[test]
fn an_unknown_architecture_is_left_to_its_framework() {
    let scene = Scene::new();
    scene.bert("net", Dtype::BF16);
    scene.write("net/config.json", r#"{"model_type": "albert", "vocab_size": 40}"#);
    let resolved = scene.resolve(scene.path("net")).unwrap();
    assert!(resolved.is_program());
    assert!(matches!(&resolved.module, Some(Module::Folder { path }) if path.is_absolute()));
    assert!(resolved.no_graph.unwrap().contains("architecture `albert` is not supported"));
    assert!(resolved.remarks[0].text.contains("no graph is built for `albert`"));
    assert_eq!((resolved.stored, resolved.info.category), (Some(Precision::Bf16), Category::Text));
    let numbers: usize = checkpoint_of(TINY_BERT).values().map(|(_, values)| values.len()).sum();
    assert_eq!(resolved.info.parameters, numbers as u64);
}

#[test]
fn more_inputs_may_be_given_than_a_configuration_tells() {
    let scene = Scene::new();
    scene.bert("net", Dtype::F32);
    scene.write("net/config.json", r#"{"model_type": "albert", "vocab_size": 40}"#);
    let resolved = scene.resolve(scene.path("net")).unwrap();
    let given = |name: &str, dims: &[usize]| InputShape { name: name.into(), dims: dims.to_vec() };
    let shapes = [given("input_ids", &[3, 5]), given("bbox_ids", &[3, 5, 4])];
    let inputs = resolved.inputs(3, None, &shapes).unwrap();
    let told: Vec<(&str, &[usize])> =
        inputs.iter().map(|spec| (spec.name.as_str(), spec.dims.as_slice())).collect();
    let expected: [(&str, &[usize]); 3] =
        [("input_ids", &[3, 5]), ("attention_mask", &[3, 5]), ("bbox_ids", &[3, 5, 4])];
    assert_eq!(told, expected);
}

#[test]
fn a_broken_configuration_is_refused() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    scene.write("bert/config.json", "{\"model_type\": ");
    let error = scene.resolve(scene.path("bert")).unwrap_err();
    assert!(matches!(error, ModelError::Config { .. }), "{error}");
    fs::create_dir(scene.path("empty")).unwrap();
    let error = scene.resolve(scene.path("empty")).unwrap_err();
    assert!(error.to_string().contains("neither `config.json` nor `onnx/model.onnx`"), "{error}");
}

#[test]
fn what_a_training_left_is_not_the_weights() {
    let scene = Scene::new();
    scene.write("trained/config.json", TINY_BERT);
    for name in ["scheduler.pt", "optimizer.pt", "rng_state.pth", "training_args.bin"] {
        scene.write(&format!("trained/{name}"), "x");
    }
    let error = scene.resolve(scene.path("trained")).unwrap_err();
    assert!(matches!(error, ModelError::NoWeights { .. }), "{error}");
    scene.write("trained/model.pt", "x");
    let error = scene.resolve(scene.path("trained")).unwrap_err();
    let ModelError::OnlyPickle { file, .. } = &error else { panic!("{error}") };
    assert_eq!(file, "model.pt");
    scene.write("trained/pytorch_model.bin", "x");
    let error = scene.resolve(scene.path("trained")).unwrap_err();
    let ModelError::OnlyPickle { file, .. } = &error else { panic!("{error}") };
    assert_eq!(file, "pytorch_model.bin");
}
