//! GGUF files of every family and format that are read, against what `transformers` makes of the same files.

use crate::{
    parity::{Answers, python},
    scene::Scene,
};
use models::ModelError;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use types::{Precision, Remark, RemarkCode};

/// As far as two ways of adding up the same products may differ.
const TOLERANCE: f32 = 1e-4;

/// The folder with all files, written once for all tests.
fn files() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gguf");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        python("make_gguf.py", &folder);
        folder
    })
}

fn difference(scene: &Scene, file: &Path) -> f32 {
    let resolved = scene.resolve(file).unwrap();
    let answers = Answers::read(&file.with_extension("safetensors"));
    answers.largest_difference(&rten::Model::load_file(&resolved.onnx).unwrap())
}

#[test]
fn every_family_and_format_answers_as_transformers_does() {
    let scene = Scene::new();
    let mut count = 0;
    for entry in fs::read_dir(files()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|ending| ending == "gguf") {
            let difference = difference(&scene, &file);
            assert!(difference <= TOLERANCE, "{}: {difference:e}", file.display());
            count += 1;
        }
    }
    assert_eq!(count, 15);
}

/// Rounding to blocks of 8 bits happens in products of one row only, so that many rows show whether the weights are the same.
#[test]
fn weights_in_blocks_answer_as_the_same_weights_in_floats() {
    let scene = Scene::new();
    let mut count = 0;
    for entry in fs::read_dir(files()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if file.extension().is_none_or(|ending| ending != "gguf") {
            continue;
        }
        let request =
            models::Request { precision: Some(Precision::Stored), ..scene.request(&file) };
        let resolved = models::resolve(&request, &mut |_| {});
        if name.ends_with("F32") || name.ends_with("F16") || name.ends_with("BF16") {
            let error = resolved.unwrap_err().to_string();
            assert!(error.contains("stored"), "{error}");
            continue;
        }
        let resolved = resolved.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let blocks = resolved.model.graph.nodes.iter().filter(|node| node.op_type == "MatMulNBits");
        assert!(blocks.count() >= 8, "{name}");
        if name.starts_with("llama") {
            // In each of two layers: query, key and value are one product, and so are gate and up.
            let parted = resolved.model.graph.nodes.iter().filter(|node| node.op_type == "Split");
            assert_eq!(parted.count(), 4, "{name}");
        }
        let whole = scene.resolve(&file).unwrap();
        assert_eq!(resolved.info.parameters, whole.info.parameters, "{name}");
        assert_ne!(resolved.info.fingerprint, whole.info.fingerprint);
        let no_remark = |remark: &Remark| remark.code != RemarkCode::QuantisedWeights;
        assert!(resolved.remarks.iter().all(no_remark), "{name}: nothing was rounded");
        let answers = Answers::read(&file.with_extension("safetensors"));
        let found = answers.largest_difference(&rten::Model::load_file(&resolved.onnx).unwrap());
        assert!(found <= TOLERANCE, "{name}: {found:e}");
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn a_real_file_answers_and_splits_text_as_transformers_does() {
    let scene = Scene::new();
    let file = files().join("real/smollm2.gguf");
    let difference = difference(&scene, &file);
    // Thirty layers; its scores go up to 30.
    assert!(difference <= 3e-3, "{difference:e}");
    let resolved = scene.resolve(&file).unwrap();
    assert_eq!(resolved.info.parameters, 134_515_008);
    assert_eq!(resolved.info.architecture, "llama");
    assert_eq!(resolved.max_length, Some(8192));
    assert_eq!(resolved.stored, None);
    let expected = "weights kept as Q4_1 and Q8_0 run as fp32";
    assert_eq!(resolved.remarks, [Remark::new(RemarkCode::QuantisedWeights, expected)]);
    let tokenizer = resolved.tokenizer.unwrap();
    let tokenizer = tokenizers::Tokenizer::from_file(tokenizer).unwrap();
    let expected = fs::read(file.with_file_name("tokens.json")).unwrap();
    let expected: BTreeMap<String, Vec<u32>> = serde_json::from_slice(&expected).unwrap();
    assert_eq!(expected.len(), 3);
    for (text, ids) in expected {
        assert_eq!(tokenizer.encode(text.as_str(), true).unwrap().get_ids(), ids, "{text}");
        assert_eq!(tokenizer.decode(&ids, false).unwrap(), text);
    }
}

#[test]
fn a_sixteen_bit_file_is_one() {
    let stored = |name: &str| Scene::new().resolve(files().join(name)).unwrap().stored;
    assert_eq!(stored("llama-F16.gguf"), Some(types::Precision::Fp16));
    assert_eq!(stored("llama-BF16.gguf"), Some(types::Precision::Bf16));
    assert_eq!(stored("llama-Q4_K.gguf"), None);
}

#[test]
fn a_file_that_was_cut_off_or_damaged_is_refused_in_words() {
    let scene = Scene::new();
    let whole = fs::read(files().join("gpt2-Q4_0.gguf")).unwrap();
    for length in [0, 3, 4, 20, 100, 2000, whole.len() - 1] {
        let file = scene.write("cut.gguf", &whole[..length]);
        let error = scene.resolve(&file).unwrap_err();
        assert!(
            matches!(error, ModelError::Truncated { .. } | ModelError::Read { .. }),
            "{length}: {error}"
        );
    }
    let damaged = |at: usize, bytes: &[u8]| {
        let mut content = whole.clone();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        let file = scene.write("damaged.gguf", content);
        scene.resolve(&file).unwrap_err().to_string()
    };
    assert!(damaged(0, b"GGML").contains("does not begin with `GGUF`"));
    assert!(damaged(4, &[1]).contains("version 1 of the format"));
    assert!(damaged(4, &[0, 0, 0, 3]).contains("other byte order"));
    assert!(damaged(8, &[0xff; 8]).contains("18446744073709551615 tensors"));
    assert!(damaged(16, &[0xff; 8]).contains("18446744073709551615 keys"));
    let family = whole.windows(4).position(|bytes| bytes == b"gpt2").unwrap();
    let error = damaged(family, b"bert");
    assert!(error.contains("`bert`") && error.contains("llama, qwen2, gemma3, gpt2"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_no_name_on_the_hub() {
    let error = Scene::new().resolve("nothing.gguf").unwrap_err();
    assert!(matches!(error, ModelError::MissingFile { .. }), "{error}");
}

/// A Llama of one block without data of its own: what is damaged is refused before any weight is read.
fn llama(keys: &[Vec<u8>], tensors: &[(&str, &[u64], u32)]) -> Vec<u8> {
    let sizes = [("embedding_length", 32), ("attention.head_count", 2), ("context_length", 16)];
    let number = |name: &str, value: u32| key(name, 4, &value.to_le_bytes());
    let mut all = vec![
        key("general.architecture", 8, &text("llama")),
        number("llama.feed_forward_length", 32),
    ];
    all.extend(sizes.iter().map(|(name, value)| number(&format!("llama.{name}"), *value)));
    all.extend_from_slice(keys);
    let own: [(&str, &[u64], u32); 2] =
        [("token_embd.weight", &[32, 12], 0), ("blk.0.attn_norm.weight", &[32], 0)];
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(((own.len() + tensors.len()) as u64).to_le_bytes());
    bytes.extend((all.len() as u64).to_le_bytes());
    bytes.extend(all.concat());
    for (name, dims, kind) in own.iter().chain(tensors) {
        bytes.extend(text(name));
        bytes.extend((dims.len() as u32).to_le_bytes());
        bytes.extend(dims.iter().flat_map(|size| size.to_le_bytes()));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(32) + 32 * 12 * 4, 0);
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn key(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&text(name)[..], &kind.to_le_bytes(), value].concat()
}

fn refused(keys: &[Vec<u8>], tensors: &[(&str, &[u64], u32)]) -> String {
    let scene = Scene::new();
    let file = scene.write("small.gguf", llama(keys, tensors));
    scene.resolve(&file).unwrap_err().to_string()
}

fn blocks(count: u32) -> Vec<u8> {
    key("llama.block_count", 4, &count.to_le_bytes())
}

#[test]
fn dimensions_that_no_file_can_hold_are_refused_in_every_format() {
    const UNKNOWN: u32 = 99;
    let huge: [(&[u64], u32); 4] = [
        (&[1 << 40, 1 << 40], UNKNOWN),
        (&[1 << 60], UNKNOWN),
        (&[0, 1 << 62, 8], 0),
        (&[0, 1 << 62], 0),
    ];
    for (dims, kind) in huge {
        for name in ["rope_freqs.weight", "output.weight"] {
            let error = refused(&[blocks(1)], &[(name, dims, kind)]);
            assert!(error.contains("larger than any file") || error.contains("ends"), "{error}");
        }
    }
    // As many numbers as it needs, but in another shape.
    let error = refused(&[blocks(1)], &[("rope_freqs.weight", &[2, 4], 0)]);
    assert!(error.contains("does not fit its heads"), "{error}");
    let error = refused(&[blocks(1)], &[("rope_freqs.weight", &[8], UNKNOWN)]);
    assert!(error.contains("does not fit its heads"), "{error}");
}

#[test]
fn every_block_that_a_file_claims_must_occur() {
    let error = refused(&[blocks(1000)], &[("blk.999.x", &[1], 0)]);
    assert!(error.contains("1000 blocks") && error.contains("`blk.1.`"), "{error}");
    let error = refused(&[blocks(10_000)], &[("blk.9999.x", &[1], 0)]);
    assert!(error.contains("at most 1024"), "{error}");
}

#[test]
fn a_number_that_is_none_is_refused() {
    for name in ["rope.freq_base", "attention.layer_norm_rms_epsilon"] {
        for value in [f32::NAN, f32::INFINITY] {
            let broken = key(&format!("llama.{name}"), 6, &value.to_le_bytes());
            let error = refused(&[blocks(1), broken], &[]);
            assert!(error.contains(name) && error.contains("not a finite number"), "{error}");
        }
    }
}
