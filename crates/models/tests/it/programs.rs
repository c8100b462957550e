//! Models as PyTorch's modules: those that are built here, and programs that exist nowhere else.

use crate::scene::{Scene, TINY_BERT};
use ::safetensors::Dtype;
use models::{ModelError, Request, Resolved};
use types::{ElementType, Fill, InputRole, InputShape, ModelSource, Module};

fn shape(name: &str, dims: &[usize]) -> InputShape {
    InputShape { name: name.into(), dims: dims.to_vec() }
}

fn class_of(resolved: &Resolved) -> (&str, serde_json::Value) {
    match resolved.module.as_ref().unwrap() {
        Module::Transformers { class, config, .. } => {
            (class, serde_json::from_str(config).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_is_the_class_that_was_built() {
    let scene = Scene::new();
    scene.bert("bert", Dtype::F32);
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    let (class, config) = class_of(&resolved);
    assert_eq!((class, config["model_type"].as_str()), ("BertModel", Some("bert")));

    // A head that nobody builds is left away, in the module as in the graph.
    let config = TINY_BERT.replace("BertModel", "BertForMultipleChoice");
    scene.write("bert/config.json", config);
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    assert_eq!(class_of(&resolved).0, "BertModel");
    assert!(resolved.remarks.iter().any(|remark| remark.text.contains("BertForMultipleChoice")));
}

#[test]
fn the_weights_are_the_file_that_the_graph_points_to() {
    let scene = Scene::new();
    let resolved = scene.resolve("feed-forward-baseline").unwrap();
    let Some(Module::FeedForward { weights, .. }) = &resolved.module else {
        panic!("{:?}", resolved.module)
    };
    let bytes = std::fs::read(&weights.file).unwrap();
    let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for tensor in &weights.tensors {
        assert!(file.tensor(&tensor.stored).is_ok(), "{}", tensor.stored);
    }
    assert_eq!(file.len(), weights.tensors.len());
}

#[test]
fn a_graph_from_a_file_is_no_module() {
    let scene = Scene::new();
    let resolved = scene.resolve("feed-forward-baseline").unwrap();
    let again = scene.resolve(&resolved.onnx).unwrap();
    assert_eq!(again.module, None);
    assert!(!again.is_program());
}

#[test]
fn files_of_pytorch_are_programs_without_a_graph() {
    let scene = Scene::new();
    for ending in ["pt", "pt2", "pth", "ts", "bin", "PT2"] {
        let path = scene.write(&format!("net.{ending}"), "whatever is inside");
        let resolved = scene.resolve(&path).unwrap();
        assert!(resolved.is_program() && resolved.model.graph.nodes.is_empty());
        assert!(matches!(&resolved.module, Some(Module::Archive { path }) if path.is_absolute()));
        assert_eq!(resolved.info.architecture, "torch module");
        assert_eq!((resolved.info.name.as_str(), resolved.info.parameters), ("net", 0));
        assert_eq!(resolved.info.size.0, 18);
        assert!(matches!(resolved.info.source, ModelSource::File { .. }));
        assert!(graph::analyse(&resolved.model, &[]).work.coverage.0.is_finite());
    }
    for missing in ["none.pt", "none.pt2"] {
        let error = scene.resolve(missing).unwrap_err();
        assert!(matches!(error, ModelError::MissingFile { .. }), "{error}");
    }
}

#[test]
fn a_program_changes_its_fingerprint_with_its_bytes() {
    let scene = Scene::new();
    let fingerprint = |content: &str| {
        let path = scene.write(&format!("{content}/net.pt2"), content);
        scene.resolve(path).unwrap().info.fingerprint
    };
    assert_ne!(fingerprint("one"), fingerprint("two"));
}

fn factory(scene: &Scene, name: &str, file: &str, function: &str) -> Request {
    Request { torch_module: Some((scene.path(file), function.into())), ..scene.request(name) }
}

#[test]
fn a_function_is_called_after_its_file() {
    let scene = Scene::new();
    scene.write("nets.py", "def make(): ...");
    let resolved = models::resolve(&factory(&scene, "", "nets.py", "make"), &mut |_| {}).unwrap();
    assert_eq!(resolved.info.name, "nets:make");
    let Some(Module::Factory { file, function }) = &resolved.module else {
        panic!("{:?}", resolved.module)
    };
    assert!(file.is_absolute() && function == "make");
    let named = models::resolve(&factory(&scene, "mine", "nets.py", "make"), &mut |_| {}).unwrap();
    assert_eq!(named.info.name, "mine");
}

#[test]
fn a_function_that_cannot_be_found_is_refused_with_what_to_say() {
    let scene = Scene::new();
    let path = scene.write("nets.py", "def make(): ...");
    let refuse = |request: &Request| models::resolve(request, &mut |_| {}).unwrap_err();
    let error = refuse(&factory(&scene, "", "none.py", "make"));
    assert!(matches!(error, ModelError::MissingFile { .. }), "{error}");
    let error = refuse(&factory(&scene, "", "nets.py", " "));
    assert!(error.hint().unwrap().contains("nets.py:NAME"), "{error}");
    std::fs::create_dir(scene.path("folder.py")).unwrap();
    let error = refuse(&factory(&scene, "", "folder.py", "make"));
    assert!(matches!(error, ModelError::NotAFile { .. }), "{error}");
    let error = scene.resolve(path).unwrap_err();
    assert!(error.to_string().contains("which of its functions"), "{error}");
    assert!(error.hint().unwrap().contains("--torch-module"), "{error}");
}

#[test]
fn a_program_takes_exactly_the_inputs_that_are_given() {
    let scene = Scene::new();
    let resolved = scene.resolve(scene.write("net.pt2", "x")).unwrap();
    let given = [
        shape("input_ids", &[2, 7]),
        shape("attention_mask", &[2, 7]),
        shape("token_type_ids", &[2, 7]),
        shape("position_ids", &[2, 7]),
        shape("pixels", &[2, 3, 8, 8]),
        shape("x", &[2]),
    ];
    assert_eq!(resolved.default_batch(&given), Some(2));
    let specs = resolved.inputs(2, None, &given).unwrap();
    let seen: Vec<_> =
        specs.iter().map(|spec| (spec.dtype, spec.role, spec.fill.clone())).collect();
    let normal = Fill::Normal { mean: 0.0, std: 1.0 };
    assert_eq!(
        seen,
        [
            (ElementType::I64, InputRole::TokenIds, Fill::Integers { low: 0, high: 100 }),
            (ElementType::I64, InputRole::AttentionMask, Fill::Constant { value: 1.0 }),
            (ElementType::I64, InputRole::TokenTypes, Fill::Constant { value: 0.0 }),
            (ElementType::I64, InputRole::Other, Fill::Positions),
            (ElementType::F32, InputRole::Image, normal.clone()),
            (ElementType::F32, InputRole::Other, normal),
        ]
    );
    assert!(specs.iter().zip(&given).all(|(spec, given)| spec.dims == given.dims));
    // It may bring inputs of its own; then it is one sample unless said otherwise.
    assert_eq!((resolved.default_batch(&[]), resolved.length(&[])), (Some(1), None));
    assert_eq!(resolved.inputs(8, None, &[]).unwrap(), []);
    assert!(!resolved.has_tokens());
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let scene = Scene::new();
    let resolved = scene.resolve(scene.write("net.pt2", "x")).unwrap();
    let refuse = |batch, given: &[InputShape]| resolved.inputs(batch, None, given).unwrap_err();
    let error = refuse(2, &[shape("x", &[2]), shape("x", &[2])]);
    assert!(matches!(error, ModelError::GivenTwice { .. }), "{error}");
    let error = refuse(2, &[shape("x", &[2, 0])]);
    assert!(matches!(error, ModelError::ZeroDimension { position: 1, .. }), "{error}");
    let error = refuse(8, &[shape("x", &[2])]);
    assert!(matches!(error, ModelError::FixedBatch { fixed: 2, asked: 8, .. }), "{error}");
    let error = refuse(usize::MAX, &[shape("x", &[usize::MAX, usize::MAX])]);
    assert!(matches!(error, ModelError::TooManyBytes { .. }), "{error}");
    assert!(matches!(refuse(0, &[]), ModelError::ZeroBatch));
}
