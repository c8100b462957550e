//! The graphs we build against PyTorch: the same tiny weights, the same inputs, the same answers.
//!
//! One Python process writes all checkpoints, inputs and expected outputs; the graphs run on `rten` here and on
//! ONNX Runtime in a second Python process, after ONNX's own checker has read them.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test, which is what it is for")]

mod answers;
mod filled;

pub(crate) use answers::Answers;
use filled::Filled;
pub(crate) use filled::fill;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The largest difference allowed between an output of ours and PyTorch's.
const TOLERANCE: f32 = 1e-4;

/// The repository's Python.
pub(crate) fn python(script: &str, folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    let script = root.join("tests/python").join(script);
    let output = Command::new(python).arg(script).arg(folder).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the Python script failed:\n{talk}");
}

/// The folder with all checkpoints, written once for all tests.
pub(crate) fn checkpoints() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parity");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        python("make_checkpoint.py", &folder);
        folder
    })
}

/// The names of all models whose folder begins with one of these.
pub(crate) fn models(beginnings: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(checkpoints()).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| {
        let name = folder.file_name().unwrap().to_string_lossy();
        folder.is_dir() && beginnings.iter().any(|beginning| name.starts_with(beginning))
    });
    folders.sort();
    folders
}

pub(crate) fn blueprint(folder: &Path) -> modelmeter_models::Blueprint {
    let text = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    if config.get("model_type").is_some() {
        modelmeter_models::build(&config).unwrap()
    } else if config.get("d_model").is_some() {
        modelmeter_models::build_encoder(&serde_json::from_value(config).unwrap()).unwrap()
    } else {
        modelmeter_models::build_feed_forward(&serde_json::from_value(config).unwrap()).unwrap()
    }
}

/// Builds and runs every such model, and compares every output of every case.
fn assert_parity(beginnings: &[&str], count: usize) {
    let folders = models(beginnings);
    assert_eq!(folders.len(), count, "{folders:?}");
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let filled = fill(blueprint(&folder), &folder.join("model.safetensors"));
        // A count of batches that only training looks at.
        let unused = filled.unused.iter().filter(|name| !name.ends_with("num_batches_tracked"));
        assert_eq!(unused.collect::<Vec<_>>(), [""; 0], "{name} leaves checkpoint tensors unused");
        let answers = Answers::read(&folder.join("cases.safetensors"));
        let difference = answers.largest_difference(&filled.load(&name));
        assert!(difference <= TOLERANCE, "{name} differs from PyTorch by {difference}");
    }
}

#[test]
fn text_encoders_equal_transformers() {
    assert_parity(&["bert", "distilbert", "roberta", "xlm-roberta", "camembert"], 22);
}

#[test]
fn decoders_equal_transformers() {
    assert_parity(&["gpt2", "llama", "mistral", "qwen2", "gemma3"], 13);
}

#[test]
fn encoder_decoders_equal_transformers() {
    assert_parity(&["t5"], 4);
}

#[test]
fn vision_models_equal_transformers() {
    assert_parity(&["vit"], 2);
}

#[test]
fn convolution_networks_equal_transformers() {
    assert_parity(&["resnet"], 3);
}

#[test]
fn detectors_equal_transformers() {
    assert_parity(&["yolos"], 3);
}

#[test]
fn encoders_of_sound_equal_transformers() {
    assert_parity(&["whisper", "wav2vec2"], 4);
}

#[test]
fn text_and_image_towers_equal_transformers() {
    assert_parity(&["clip"], 2);
}

#[test]
fn reference_networks_equal_torch() {
    assert_parity(&["encoder", "feed-forward"], 3);
}

/// Layers join across engines only where a node's path is a module's path.
#[test]
fn every_node_lies_in_a_module_that_pytorch_has() {
    let folders = models(&[""]);
    for folder in folders.iter().filter(|folder| !folder.ends_with("minilm")) {
        let text = std::fs::read_to_string(folder.join("modules.json")).unwrap();
        let modules: Vec<String> = serde_json::from_str(&text).unwrap();
        for node in blueprint(folder).model.graph.nodes {
            let module = node.name.rsplit_once('.').map_or("", |(module, _)| module);
            let known = modules.iter().any(|known| known == module);
            assert!(known, "{}: `{}` lies in no module", folder.display(), node.name);
        }
    }
}

#[test]
fn a_trained_model_gives_pytorchs_sentence_vectors() {
    let folder = checkpoints().join("minilm");
    let text = std::fs::read_to_string(folder.join("source.json")).unwrap();
    let source: PathBuf = serde_json::from_str::<String>(&text).unwrap().into();
    let filled = fill(blueprint(&source), &source.join("model.safetensors"));
    // A buffer with the numbers 0, 1, 2, …
    assert_eq!(filled.unused, ["embeddings.position_ids"]);
    let answers = Answers::read(&folder.join("cases.safetensors"));
    let cosines = answers.sentence_cosines(&filled.load("minilm"));
    assert_eq!(cosines.len(), 5);
    for cosine in cosines {
        assert!(cosine > 0.99999, "{cosine}");
    }
}

/// Written with older and newer operators, a graph still gives PyTorch's answers.
#[test]
fn graphs_keep_their_answers_in_every_opset() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opsets");
    let _ = std::fs::remove_dir_all(&root);
    for name in ["bert", "llama-grouped", "t5", "clip-end", "resnet-classes", "wav2vec2"] {
        let folder = checkpoints().join(name);
        let filled = fill(blueprint(&folder), &folder.join("model.safetensors"));
        for opset in [13, 15, 18, 21, 23] {
            let target = root.join(format!("{name}-{opset}"));
            std::fs::create_dir_all(&target).unwrap();
            let model = filled.model.with_opset(opset).unwrap();
            assert_eq!(model.opset(), opset);
            model.write(target.join("model.onnx")).unwrap();
            let answers = "cases.safetensors";
            std::fs::copy(folder.join(answers), target.join(answers)).unwrap();
        }
    }
    python("check_onnx.py", &root);
}

#[test]
fn onnxs_checker_and_onnx_runtime_accept_every_graph() {
    let folders = models(&[""]);
    for folder in folders.iter().filter(|folder| !folder.ends_with("minilm")) {
        let Filled { model, .. } = fill(blueprint(folder), &folder.join("model.safetensors"));
        model.write(folder.join("model.onnx")).unwrap();
    }
    python("check_onnx.py", checkpoints());
}
