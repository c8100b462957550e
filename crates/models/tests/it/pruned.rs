//! Pruned folders as other tools read them: ONNX's checker, ONNX Runtime and `transformers`, on every family.

use crate::{
    parity::{checkpoints, models, python},
    scene::Scene,
};
use graph::{Block, BlockKind, PruneError, PruneMethod, PruneOptions, Pruning, plan_pruning};
use models::{Export, Exported, ModelError, Resolved};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use types::{Category, MadeFrom};

/// The largest difference allowed between the graph and the module of one folder.
const TOLERANCE: f64 = 2e-4;

const METHODS: [(&str, PruneMethod, f64); 3] = [
    ("magnitude", PruneMethod::Magnitude, 0.5),
    ("n-m", PruneMethod::Groups { keep: 2, of: 4 }, 0.5),
    ("structured", PruneMethod::Structured, 0.5),
];

fn options(resolved: &Resolved, method: PruneMethod, sparsity: f64) -> PruneOptions {
    // Sound of seven samples has not one frame.
    let length = if resolved.info.category == Category::Audio { 100 } else { 7 };
    let inputs = resolved.inputs(2, Some(length), &[]).or_else(|_| resolved.inputs(2, None, &[]));
    let inputs = inputs.unwrap().into_iter().map(|input| (input.name, input.dims)).collect();
    PruneOptions { inputs, ..PruneOptions::new(method, sparsity) }
}

fn export(
    resolved: &Resolved,
    pruning: Pruning<'_>,
    folder: &Path,
) -> Result<Exported, ModelError> {
    let Pruning { plan, blocks, uniform, .. } = pruning;
    let (blocks, uniform) = (blocks.as_slice(), uniform.as_slice());
    let fingerprint = resolved.info.fingerprint.clone();
    let made_from = MadeFrom { fingerprint, converted_to: None };
    Export { resolved, plan, blocks, uniform, made_from, folder, replace: false }.write(&mut |_| {})
}

/// The tiny models that have a configuration of `transformers`, each in a folder under `root`: other tests put graphs beside
/// the configurations, and those would be taken.
fn families(root: &Path) -> Vec<PathBuf> {
    let copy = |from: &PathBuf| {
        let folder = root.join(from.file_name().unwrap());
        fs::create_dir_all(&folder).unwrap();
        for file in ["config.json", "model.safetensors", "cases.safetensors"] {
            fs::copy(from.join(file), folder.join(file)).unwrap();
        }
        folder
    };
    let reference = ["minilm", "encoder-learned", "encoder-sinusoidal", "feed-forward"];
    let is_other = |folder: &PathBuf| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        reference.iter().any(|other| name.starts_with(other))
    };
    models(&[""]).iter().filter(|folder| !is_other(folder)).map(copy).collect()
}

/// Ways that a model made of convolutions is refused, and why.
const REFUSED: [(&str, &str, &str); 5] = [
    ("resnet", "n-m", NO_MATRIX),
    ("resnet-basic", "n-m", NO_MATRIX),
    ("resnet", "structured", "it has no softmax over scores and no pair of products"),
    ("resnet-basic", "structured", "it has no softmax over scores and no pair of products"),
    (
        "resnet-classes",
        "structured",
        "at `classifier.1.MatMul` they are an output of the model, `logits`",
    ),
];
const NO_MATRIX: &str = "no weight is a matrix whose sums have a multiple of 4 numbers";

#[test]
fn other_tools_read_every_pruned_family_and_agree() {
    let scene = Scene::new();
    let mut whole: BTreeMap<String, usize> = BTreeMap::new();
    let mut planned = 0;
    let root = scene.path("families");
    for folder in families(&root) {
        let resolved = scene.resolve(&folder).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        whole.insert(name.clone(), floats(&resolved.model));
        for (method_name, method, sparsity) in METHODS {
            let place = folder.join(format!("pruned-{method_name}"));
            let options = options(&resolved, method, sparsity);
            let refused =
                REFUSED.iter().find(|(model, way, _)| (*model, *way) == (&*name, method_name));
            let pruning = match (plan_pruning(&resolved.model, &options), refused) {
                (Ok(pruning), None) => pruning,
                (Err(error), Some((.., why))) => {
                    let begin = match method {
                        PruneMethod::Structured => {
                            "no attention (projections, scores, softmax, sum, projection) and no feed-forward pair (a product that widens, functions, a product) was found: "
                        }
                        _ => "nothing is left to prune: ",
                    };
                    assert_eq!(error.to_string(), format!("{begin}{why}"), "{name}");
                    continue;
                }
                (found, why) => panic!("{name} by {method_name}: {:?} and {why:?}", found.err()),
            };
            planned += 1;
            if method == PruneMethod::Structured {
                let has = |kind| pruning.blocks.iter().any(|block: &Block| block.kind == kind);
                assert!(has(BlockKind::Neurons), "{name}: {:?}", pruning.remarks);
                // One key for all heads: there is no group of them to cut, and the remark says so.
                let alone = name == "llama-tied";
                assert_eq!(has(BlockKind::Heads), !alone, "{name}: {:?}", pruning.remarks);
                assert_eq!(
                    pruning.remarks.iter().any(|r| r.code == types::RemarkCode::NotCut),
                    alone
                );
            }
            let exported = export(&resolved, pruning, &place).unwrap();
            assert!(exported.has_transformers, "{name} by {method_name}");
        }
    }
    python("check_pruned.py", &root);
    let text = fs::read_to_string(root.join("pruned.json")).unwrap();
    let found: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    assert_eq!((found.len(), whole.len()), (planned, 53));
    assert_eq!(planned, METHODS.len() * whole.len() - REFUSED.len());
    for (place, said) in found {
        let difference = said["difference"].as_f64().unwrap();
        assert!(difference <= TOLERANCE, "{place} differs by {difference}");
        let (model, method) = place.split_once("/pruned-").unwrap();
        let weights = said["weights"].as_u64().unwrap() as usize;
        let smaller = weights < whole[model];
        assert_eq!(smaller, method == "structured", "{place}: {weights} of {}", whole[model]);
    }
}

fn floats(model: &graph::Model) -> usize {
    let tensors = model.graph.initializers.iter().filter(|t| t.dtype == graph::DataType::Float);
    tensors.map(graph::Tensor::elements).sum()
}

#[test]
fn the_zeros_are_as_many_as_were_asked_for_and_lie_where_they_should() {
    let scene = Scene::new();
    let resolved = scene.resolve(checkpoints().join("bert")).unwrap();
    for (method_name, method, sparsity) in [
        ("magnitude", PruneMethod::Magnitude, 0.3),
        ("global", PruneMethod::GlobalMagnitude, 0.3),
        ("random", PruneMethod::Random, 0.3),
    ] {
        let pruning = plan_pruning(&resolved.model, &options(&resolved, method, sparsity)).unwrap();
        let targets = pruning.targets.clone();
        let exported = export(&resolved, pruning, &scene.path(method_name)).unwrap();
        let (mut numbers, mut zeros) = (0, 0);
        for target in &targets {
            assert!(!target.label.contains("embeddings") && !target.label.contains("LayerNorm"));
            let left = exported.converted.nonzeros[&target.tensor];
            if method != PruneMethod::GlobalMagnitude {
                let wanted = (target.numbers as f64 * sparsity).round() as u64;
                assert_eq!(target.numbers - left, wanted, "{}", target.label);
            }
            numbers += target.numbers;
            zeros += target.numbers - left;
        }
        let reached = zeros as f64 / numbers as f64;
        assert!((reached - sparsity).abs() < 1e-3, "{method_name}: {reached}");
        let again = scene.resolve(scene.path(method_name)).unwrap();
        let again = plan_pruning(&again.model, &options(&again, PruneMethod::Magnitude, 0.29));
        assert!(matches!(again, Err(PruneError::AlreadySparse { .. })), "{method_name}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_name() {
    let scene = Scene::new();
    let resolved = scene.resolve(checkpoints().join("bert")).unwrap();
    let refuse = |options: PruneOptions| plan_pruning(&resolved.model, &options).unwrap_err();
    let usual = |method, sparsity| options(&resolved, method, sparsity);
    for sparsity in [-0.1, 1.0, 1.5, f64::NAN] {
        let error = refuse(usual(PruneMethod::Magnitude, sparsity));
        assert!(matches!(error, PruneError::Sparsity { .. }), "{error}");
    }
    let mut named = usual(PruneMethod::Magnitude, 0.5);
    named.layers = vec!["*quarry*".into()];
    let error = refuse(named);
    assert!(error.to_string().contains("no weight matches `*quarry*`"), "{error}");
    let error = refuse(usual(PruneMethod::Structured, 0.99));
    assert!(matches!(error, PruneError::AllGone { .. }), "{error}");
    let error = refuse(usual(PruneMethod::Groups { keep: 4, of: 4 }, 0.0));
    assert!(matches!(error, PruneError::Groups { .. }), "{error}");
}

#[test]
fn a_model_that_lost_heads_is_not_cut_again() {
    let scene = Scene::new();
    let resolved = scene.resolve(checkpoints().join("gpt2")).unwrap();
    let cut = options(&resolved, PruneMethod::Structured, 0.5);
    let pruning = plan_pruning(&resolved.model, &cut).unwrap();
    export(&resolved, pruning, &scene.path("cut")).unwrap();
    let again = scene.resolve(scene.path("cut")).unwrap();
    let error = plan_pruning(&again.model, &cut).unwrap_err();
    assert!(matches!(error, PruneError::AlreadyCut { .. }), "{error}");
}

#[test]
fn a_folder_that_exists_stays_and_nothing_half_written_does() {
    let scene = Scene::new();
    let resolved = scene.resolve(checkpoints().join("bert")).unwrap();
    let plan =
        || plan_pruning(&resolved.model, &options(&resolved, PruneMethod::Magnitude, 0.5)).unwrap();
    fs::create_dir_all(scene.path("out/taken")).unwrap();
    fs::write(scene.path("out/taken/letter"), "dear reader").unwrap();
    let error = export(&resolved, plan(), &scene.path("out/taken")).unwrap_err();
    assert!(matches!(error, ModelError::FolderExists { .. }), "{error}");
    assert_eq!(fs::read_to_string(scene.path("out/taken/letter")).unwrap(), "dear reader");
    // A file where the folder's parent should be.
    fs::write(scene.path("out/file"), "").unwrap();
    export(&resolved, plan(), &scene.path("out/file/below")).unwrap_err();
    assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 2);
}
